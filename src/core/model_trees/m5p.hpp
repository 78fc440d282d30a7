// M5': model trees as Wang and Witten (1997) describe them and Weka grows them. The Python docstring gives the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/parallel.hpp"

namespace boostforest::m5p {

// The training table. Features and target are given raw, with what scales them: models are fitted in scaled units.
struct Table {
    const double* x;        // n_rows × n_features, row after row, no NaN
    const double* y;        // target
    const double* weight;   // above 0; a row of weight 2 counts as two rows
    std::int64_t n_rows;    // rows
    int n_features;         // features
    const double* x_mean;   // per feature
    const double* x_scale;  // per feature: standard deviation, 1 for a constant one
    double y_mean;          // of the target
    double y_scale;         // its standard deviation, 1 for a constant one
};

struct Rules {
    double min_samples_leaf;  // a node of less weight is not split
    bool prune;               // cut back by the adjusted error
    bool smooth;              // mix the models on the path into those of the leaves
    bool regression_tree;     // the model of every node is the mean
};

// One tree; one value per node unless said otherwise. The children of a node stand behind it, next to each other.
struct Columns {
    std::vector<std::int32_t> feature;  // split feature, -1 for a leaf
    std::vector<double> threshold;      // x[feature] <= threshold goes left
    std::vector<std::int32_t> left;     // left child; the right one is left + 1; 0 for a leaf
    std::vector<double> n_samples;      // weight of the training rows that reached the node
    std::vector<double> gain;           // what the split takes off the measure of spread, times n_samples
    std::vector<std::int32_t> model;    // number of the leaf's model, -1 for an inner node
    std::vector<double> error;   // per model: training error of the leaf (root of the mean square) before smoothing
    std::vector<double> centre;  // per model: its value at the means of the features
    std::vector<double> slopes;  // models × features
};

Columns fit(const Table& table, const Rules& rules, Control& control);

// A read-only view of a tree's columns, checked by whoever makes it.
struct View {
    const std::int32_t* feature;
    const double* threshold;
    const std::int32_t* left;
    const std::int32_t* model;
    const double* centre;
    const double* slopes;
    const double* x_mean;
    int n_features;
};

// A missing value (NaN) counts as the mean of its feature. Both write one value per row.
void predict(const View& tree, const double* x, std::int64_t n_rows, double* out);
void apply(const View& tree, const double* x, std::int64_t n_rows, std::int32_t* leaves);

}  // namespace boostforest::m5p
