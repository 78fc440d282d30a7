// GBDT-PL: gradient boosting of piecewise linear trees, after Shi, Li and Li (2019). The Python docstring gives the
// rules.
//
//   booster        rounds: derivatives of the loss, one tree per output, scores
//   grower         one tree, the leaf with the largest gain first
//   split_search   histograms of a node, and its best split
//   leaf_model     penalised least squares: the models of the leaves
//   predict        scores of a fitted ensemble
#pragma once

#include <cstdint>
#include <vector>

#include "../base/parallel.hpp"
#include "../losses/loss.hpp"

namespace boostforest::gbdt_pl {

constexpr int kMaxBins = 256;

// The training table: features scaled to mean 0 and standard deviation 1, and the bins they fall into.
struct Table {
    const double* x;             // column after column
    const std::uint8_t* bins;    // n_rows × n_features, row after row
    const std::int32_t* n_bins;  // per feature
    const double* bin_mean;      // n_features × kMaxBins: mean of the values in a bin
    const double* bin_end;       // n_features × kMaxBins: what is not above it falls into the bin or one before
    const double* y;             // target, or number of the class
    const double* weight;        // above 0
    std::int64_t n_rows;         // rows
    int n_features;              // features
};

struct Rules {
    int n_rounds;             // rounds of boosting
    double learning_rate;     // what of a tree's prediction is added to the scores
    int max_leaves;           // leaves per tree at the most
    int max_depth;            // splits on a path at the most
    int max_regressors;       // features in the model of a leaf at the most
    double lambda, alpha;     // L2 and L1 penalty of all coefficients, the intercept's too
    double min_child_weight;  // Σ h on either side of a split
    double min_samples_leaf;  // Σ w on either side of a split
};

// All trees, one after another: n_outputs trees per round. One value per node unless said otherwise. Children stand
// behind their parent, next to each other.
struct Columns {
    std::vector<std::int64_t> tree_start;    // first node of each tree, then the number of nodes
    std::vector<std::int32_t> feature;       // split feature, -1 for a leaf
    std::vector<double> threshold;           // x[feature] <= threshold goes left; scaled
    std::vector<std::int32_t> left;          // left child, counted from the tree's first node; 0 for a leaf
    std::vector<double> gain;                // what the split takes off the loss; 0 for a leaf
    std::vector<double> n_samples;           // Σ w
    std::vector<double> intercept;           // of a leaf, times the learning rate; 0 for an inner node
    std::vector<std::int64_t> term_start;    // first term of each node's model, then the number of terms
    std::vector<std::int32_t> term_feature;  // per term
    std::vector<double> term_slope;          // per term: slope of the scaled feature, times the learning rate
};

// n_classes: 0 in regression. start: a score per output that every row begins with. Each item that the control counts
// is a round.
Columns fit(const Table& table, int n_classes, const double* start, const Rules& rules, int n_threads,
            Control& control);

// A read-only view of the columns, checked by whoever makes it.
struct View {
    const std::int64_t* tree_start;
    const std::int32_t* feature;
    const double* threshold;
    const std::int32_t* left;
    const double* intercept;
    const std::int64_t* term_start;
    const std::int32_t* term_feature;
    const double* term_slope;
    int n_features;
    int n_outputs;
};

// Adds the scores of the rounds first … last - 1 to out (n_rows × n_outputs); x is scaled, row after row.
void add_scores(const View& trees, std::int64_t first, std::int64_t last, const double* x, std::int64_t n_rows,
                double* out, int n_threads, Control& control);

}  // namespace boostforest::gbdt_pl
