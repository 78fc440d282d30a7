// A read-only view of one tree inside the flat columns of a forest (see tree.hpp for the columns themselves).
#pragma once

#include <cstdint>

#include "stored.hpp"

namespace boostforest {

// What the nodes of a tree carry. The numbers are part of the model file format.
enum class ModelKind : std::uint8_t {
    kConstant = 0,  // per output: intercept
    kLinear = 1,    // per output: intercept, then one slope per feature that node models see
    kHidden = 2,    // per output: intercept, then one slope per unit of the tree's hidden layer
    kPython = 255,  // nothing: the models are Python's, and so is their evaluation
};

// A node in eight bytes, so that a row finds where to go in one place. Most trees of bytes fit: their thresholds have
// few digits.
struct ShortNode {
    float threshold;        // at a leaf the number of its model, or the score itself (has_short_scores)
    std::uint16_t left;     // 0 at a leaf
    std::uint16_t feature;  // 0 at a leaf; the highest bit is missing_left
    static constexpr int kFeatureBits = 15;
};

// What a row that goes down many trees reads of each comes first, in one line of a cache.
struct alignas(64) TreeView {
    const ShortNode* short_nodes;  // feature, threshold, missing_left and left in one place; null: there are none
    const void* params;            // the tree's parameters, model after model in the order of their nodes
    const std::int8_t* exponent;   // per model and output the power of two that they are multiples of; only of bytes
    std::int64_t n_params;         // values that may be read from params on: those of later trees as well
    std::int64_t n_exponents;      // the same of exponent
    const std::int8_t* monotone;   // with constraints, per feature: 1 or -1 if scores must rise or fall with it, 0:
                                   //   free; otherwise null, as are the last two
    std::int32_t n_outputs;        // 1, or the number of classes if more than two; of several targets those of all
    std::int32_t n_inputs;         // slopes of a model: none, features, or hidden units
    Stored stored;                 // what params, lower and upper hold
    ModelKind kind;                // what params holds
    bool sum_path;                 // score = Σ of the clipped models on the path; else the leaf's model alone
    const std::int32_t* feature;   // split feature, -1 for a leaf
    const double* threshold;       // x[feature] <= threshold goes left
    const std::uint8_t* missing_left;  // 1: a missing value goes left, 0: right
    const std::int32_t* left;          // left child, counted from this tree's root; the right child is left + 1
    const void* lower;                 // clip range of the node's output (-inf, inf where nothing is clipped)
    const void* upper;
    const std::int32_t*
        leaf_number;                 // leaves before the node, where only leaves have models; otherwise null: all nodes
                                     //   have one but a root that is split
    std::int64_t n_nodes, n_models;  // of this tree: nodes, and those of them that have models
    std::int32_t n_model_features;   // features that node models see
    const std::int32_t* target_end;  // of several targets: outputs up to the end of each; otherwise null
    const double* hidden;            // the tree's hidden layer, see HiddenLayer::values; only where kind is kHidden
    const std::int32_t* slope_of;    // per feature: its place among those that node models see, -1: none
    const float* n_samples;          // weight of the training rows that reached the node
};

// Whether all there is to a tree are constants at its leaves, as in boosted trees.
inline bool only_constants(const TreeView& tree) {
    return tree.kind == ModelKind::kConstant && !tree.sum_path && tree.monotone == nullptr;
}

// Whether a row may go down a tree together with others, and two trees together. A hidden layer gives each tree inputs
// of its own.
inline bool goes_together(const TreeView& tree) {
    return tree.kind <= ModelKind::kLinear && tree.monotone == nullptr;
}
inline bool go_together(const TreeView& a, const TreeView& b) {
    return goes_together(a) && goes_together(b) && a.kind == b.kind && a.sum_path == b.sum_path &&
           (a.short_nodes == nullptr) == (b.short_nodes == nullptr);
}

// Whether short nodes of the tree hold its score: then nothing else is read.
inline bool has_short_scores(const TreeView& tree) {
    return tree.short_nodes != nullptr && only_constants(tree) && tree.n_outputs == 1;
}

constexpr int kTreesAtOnce = 16;               // that a single row goes down together
constexpr std::int64_t kUnpackedRoom = 32776;  // doubles that a tree of bytes is unpacked to, at most

}  // namespace boostforest
