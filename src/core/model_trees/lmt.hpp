// Logistic model trees (Landwehr, Hall and Frank 2005): C4.5's splits, a LogitBoost model at every node that continues
// the one of its parent, and CART's pruning.
#pragma once

#include <cstdint>
#include <vector>

#include "cost_complexity.hpp"
#include "gain_ratio.hpp"
#include "logit_boost.hpp"

namespace boostforest {

struct LmtRules {
    IterationRules iterations;
    bool choose_at_every_node = false;  // choose the number of iterations at every node, not once at the root
    bool split = true;                  // false: the root's model alone, which is SimpleLogistic
    bool prune = true;
    double min_split = 15;  // weight that a node needs to be split
    double min_leaf = 2;    // weight that each side of a split needs
};

// A fitted tree as columns, one value per node; node 0 is the root, the children of a node stand next to each other.
struct LmtColumns {
    std::vector<std::int32_t> feature;  // split feature, -1 for a leaf
    std::vector<double> threshold;      // x[feature] <= threshold goes left; a value of the table; 0 for a leaf
    std::vector<std::int32_t> left;     // left child (right = left + 1; 0 for a leaf)
    std::vector<double> n_samples;      // weight of the training rows that reached the node
    std::vector<double> wrong;          // weight of those that the node's model gets wrong
    std::vector<double> gain;           // information gain of the split, in bits, times n_samples (0 for a leaf)
    std::vector<std::int32_t> n_iter;   // LogitBoost iterations at this node
    std::vector<std::int32_t> model;    // number of the leaf's model, -1 for other nodes
    std::vector<double> params;         // models of the leaves one after another: outputs × (intercept, slopes), for
                                        // scaled features
};

LmtColumns fit_lmt(const LogisticTable& table, const LmtRules& rules, Worker& worker);

// A fitted tree for prediction.
struct LmtView {
    const std::int32_t* feature;
    const double* threshold;
    const std::int32_t* left;
    const std::int32_t* model;
    const double* params;
    const double* mean;   // of the features; stands for a missing value
    const double* scale;  // what they are divided by, less their mean, before a model sees them
    int n_features, n_outputs;
};

// Leaf of every row (rows of n_features values, NaN is missing).
void apply_lmt(const LmtView& tree, const double* x, std::int64_t n, std::int32_t* leaves);

// Outputs of every row: out[i * n_outputs + c].
void predict_lmt(const LmtView& tree, const double* x, std::int64_t n, double* out);

}  // namespace boostforest
