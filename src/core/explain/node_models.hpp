// The models of a tree's nodes, read one at a time, and what becomes of their scores.
#pragma once

#include <cstdint>
#include <vector>

#include "../forest/forest.hpp"
#include "../forest/tree_view.hpp"

namespace boostforest {

// How the scores of a node become what it adds to the tree's output.
enum class Shape : std::uint8_t {
    kLinear,   // as they are
    kClipped,  // within the node's range
    kSigmoid,  // probability of the second of two classes
    kSoftmax,  // probabilities of the classes
};

Shape shape_of(const TreeView& tree, Link link);

// Whether the output of a tree is a sum of models along the path, each a function of a linear score. Trees under
// constraints, and those on hidden layers, are not.
bool is_sum_of_models(const TreeView& tree, Link link);

// Whether a tree may be walked with all its branches: it has no more levels than this.
constexpr int kMostLevels = 200;
bool is_walked(const TreeView& tree);

class NodeModels {
   public:
    // input_width: doubles that may be read of the slopes of a model on features, else hidden_width; what lies behind
    // the last is finite.
    NodeModels(const TreeView& tree, Link link, int input_width);

    // Reads the model of a node; false if it has none.
    bool load(std::int32_t node);

    Shape shape() const { return shape_; }
    int n_outputs() const { return tree_.n_outputs; }
    bool has_slopes() const { return tree_.n_inputs > 0; }
    double intercept(int output) const { return params_[output * size_]; }
    const double* slopes(int output) const { return params_ + output * size_ + 1; }
    double lower() const { return lower_; }
    double upper() const { return upper_; }

    // Score of an output for inputs: a row of so many doubles, zero behind the last.
    double score(int output, const double* inputs) const;

    // What the node adds for one score per output; scores and out may be the same.
    void finish(const double* scores, double* out) const;

   private:
    const TreeView& tree_;
    Shape shape_;
    std::int64_t size_, width_;  // parameters per output, and doubles that may be read of its slopes
    double lower_ = 0, upper_ = 0;
    const double* params_ = nullptr;
    std::vector<double> copy_;
};

// Scores to probabilities that sum to 1; scores and out may be the same.
void softmax_of(const double* scores, int n, double* out);

}  // namespace boostforest
