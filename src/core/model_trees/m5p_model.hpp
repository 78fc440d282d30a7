// The linear model of a node of an M5' tree.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"

namespace boostforest::m5p {

// value = intercept + Σ slopes[k] * x[features[k]], in scaled units.
struct LinearModel {
    double intercept = 0;
    double squared_error = 0;            // weighted sum over the node's rows
    std::vector<std::int32_t> features;  // that the model uses
    std::vector<double> slopes;          // of these

    int n_parameters() const { return static_cast<int>(features.size()) + 1; }
};

struct NodeRows {
    const double* x;           // scaled features of all rows, n_features doubles each
    int n_features;            // features
    const std::int32_t* rows;  // row numbers of the node
    std::int64_t n;            // how many
    const double* y;           // scaled target of all rows
    const double* weight;      // weights of all rows
    double total_weight;       // Σ of the node's weights
    double y_mean;             // of the node's rows
    double y_squares;          // Σ w (y - y_mean)²
};

// Fits one node at a time; its memory is reused.
class ModelFitter {
   public:
    // Least squares on these features. Features that repeat others are dropped first, then, while Akaike's criterion
    // falls, the one with the smallest standardised slope.
    LinearModel fit(const NodeRows& node, const std::vector<std::int32_t>& features);

   private:
    class Regression;

    void gather(const NodeRows& node, const std::vector<std::int32_t>& features, int width);
    Regression standardise(const NodeRows& node, int n_features, int width);

    Buffer<double> x_, y_, weight_;         // the node's rows, features and target less their means
    Buffer<double> mean_, deviation_;       // of the features in the node
    Buffer<double> gram_, sum_x_, sum_xy_;  // Σ w x xᵀ, Σ w x, Σ w x y
    Buffer<double> factor_, rotated_;       // see Regression
};

}  // namespace boostforest::m5p
