// What the models of a tree are linear in: the features that they see, or units that the tree makes of these. Whoever
// works with a node's model asks here and need not know which.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/parallel.hpp"
#include "../base/random.hpp"
#include "../kernels/kernels.hpp"
#include "../table/dataset.hpp"
#include "node_model.hpp"

namespace boostforest {

// A tree before its first model.
struct TreeStart {
    const Dataset& data;
    const NodeRules& rules;    // of the tree
    Key seed;                  // of the tree
    const Sample& sample;      // its rows, or a batch of them if they are many
    const std::int32_t* rows;  // numbers of all its rows
    std::int64_t n_rows;
    Worker& worker;  // that grows the tree: asked between long steps whether to go on
};

// Which of the slopes that are stored the inputs of a tree have; the others are 0.
struct StoredSlopes {
    const std::int32_t* numbers = nullptr;  // of the inputs, ascending; null: every slope is an input's
    int n = 0;                              // slopes of a model
};

// The features that node models see, all of them (ModelKind::kLinear) or none (kConstant); derive from it for others.
class NodeInputs {
   public:
    explicit NodeInputs(ModelKind kind) : kind_(kind) {}
    virtual ~NodeInputs() = default;

    // What is stored of a model on these inputs.
    ModelKind kind() const { return kind_; }

    // Called for every tree; sets what follows.
    virtual void start(const TreeStart& tree) {
        const bool any = kind_ == ModelKind::kLinear;
        x_ = tree.data.model_x;
        n_ = any ? tree.data.n_model_features : 0;
        width_ = padded_width(tree.data.n_model_features);
        indicators_ = any ? tree.data.model_indicators : nullptr;
    }
    int n() const { return n_; }                                  // inputs
    int width() const { return width_; }                          // doubles per row of them
    const Indicators* indicators() const { return indicators_; }  // columns kept as lists too; null: none

    // The table of the inputs, rows of width() doubles; the rows of the sample get the numbers that they have there.
    // Good until the next call.
    virtual const double* find(Sample&) { return x_; }

    // What is stored of models on these inputs.
    virtual StoredSlopes slopes() const { return {.numbers = nullptr, .n = n_}; }

    // The tree's hidden layer, if it has one; see HiddenLayer::values.
    virtual std::vector<double> hidden() const { return {}; }

   protected:
    const ModelKind kind_;
    int n_ = 0, width_ = 0;
    const double* x_ = nullptr;  // what node models see of the features
    const Indicators* indicators_ = nullptr;
};

}  // namespace boostforest
