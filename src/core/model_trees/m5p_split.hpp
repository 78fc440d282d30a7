// How a node of an M5' tree is split: all features, all thresholds, by the spread that the split takes away.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"

namespace boostforest::m5p {

// The target in a node.
struct Totals {
    double weight = 0;   // Σ w
    double mean = 0;     // Σ w y / Σ w
    double squares = 0;  // Σ w (y - mean)²
};

struct Split {
    int feature = -1;    // -1: no split is allowed
    double threshold{};  // midway between the values on both sides
    double gain{};       // what it takes off the measure of spread, times the weight of the node
};

// The rows, sorted once by every feature; a split divides each of these lists in place, so that the rows of a node
// stay next to each other and in order.
class SortedRows {
   public:
    // x: n_rows × n_features, row after row.
    SortedRows(const double* x, std::int64_t n_rows, int n_features, Worker& worker);

    Totals totals(std::int64_t begin, std::int64_t end, const double* y, const double* weight) const;

    // The best split of the rows begin … end - 1; every side gets a weight of at least min_side.
    Split best_split(std::int64_t begin, std::int64_t end, const double* y, const double* weight, const Totals& node,
                     double min_side, Worker& worker);

    // Splits the rows; returns where the right part begins.
    std::int64_t divide(std::int64_t begin, std::int64_t end, const Split& split);

    // Row numbers from this place on.
    const std::int32_t* rows(std::int64_t begin) const { return order(n_features_) + begin; }

   private:
    // Fills the arrays of thresholds for one feature; returns how many there are.
    std::int64_t find_cuts(int feature, std::int64_t begin, std::int64_t end, const double* y, const double* weight,
                           const Totals& node, double min_side);

    // The threshold with the least cost below the given one, which is lowered to it; -1: none.
    std::int64_t cheapest(std::int64_t n_cuts, double& cost);

    std::int32_t* order(int list) const { return orders_.data() + list * n_rows_; }

    std::int64_t n_rows_;
    int n_features_;
    Buffer<double> columns_;       // feature after feature
    Buffer<std::int32_t> orders_;  // per feature: rows by ascending value; then once more by number
    Buffer<std::int32_t> moved_;   // scratch of divide
    std::vector<std::uint8_t> is_left_;

    // Thresholds of one feature.
    Buffer<std::int32_t> position_;                  // the last row on the left, counted from the node's first
    Buffer<double> left_share_;                      // W_L / W
    Buffer<double> left_variance_, right_variance_;  // V_L / V, V_R / V
    Buffer<float> rough_cost_;
};

}  // namespace boostforest::m5p
