#include "m5p_split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "../base/rows.hpp"

namespace boostforest::m5p {

namespace {

// The measure of spread is the fifth root of the variance, as in Weka; the paper has the square root.
constexpr double kPower = 0.2;
constexpr double kNoVariance = 1e-10;  // share of the node's variance that counts as 0: its fifth root is not rounding
constexpr double kTie = 1e-9;          // of one feature's thresholds the first of equals is taken, up to rounding
constexpr double kFeatureTie = 1e-6;   // another feature must be better by this much
constexpr float kRoughness = 4e-6F;    // more than the relative error of rough_root

// Fifth root of a number in [1e-10, 1e10], to seven digits or so: a guess from the exponent, then Newton steps.
// No branches and no calls: the loop around it is vectorised.
float rough_root(float v) {
    const auto bits = static_cast<float>(std::bit_cast<std::int32_t>(v));
    float root = std::bit_cast<float>(static_cast<std::int32_t>(bits * 0.2F + 852.0e6F));
    for (int step = 0; step < 3; ++step) {
        const float square = root * root;
        root = 0.8F * root + 0.2F * v / (square * square);
    }
    return root;
}

}  // namespace

SortedRows::SortedRows(const double* x, std::int64_t n_rows, int n_features, Worker& worker)
    : n_rows_(n_rows), n_features_(n_features), is_left_(n_rows) {
    columns_.get(static_cast<std::size_t>(n_rows) * n_features);
    orders_.get(static_cast<std::size_t>(n_rows) * (n_features + 1));
    moved_.get(n_rows);
    std::vector<std::pair<double, std::int32_t>> pairs(n_rows);
    for (int j = 0; j < n_features; ++j) {
        worker.check(n_rows * 64);
        double* column = columns_.data() + j * n_rows;
        for (std::int64_t i = 0; i < n_rows; ++i)
            pairs[i] = {column[i] = x[i * n_features + j], static_cast<std::int32_t>(i)};
        std::sort(pairs.begin(), pairs.end());
        for (std::int64_t i = 0; i < n_rows; ++i) order(j)[i] = pairs[i].second;
    }
    std::iota(order(n_features), order(n_features) + n_rows, 0);
}

Totals SortedRows::totals(std::int64_t begin, std::int64_t end, const double* y, const double* weight) const {
    Totals node;
    const std::int32_t* list = rows(0);
    for (std::int64_t i = begin; i < end; ++i) {
        node.weight += weight[list[i]];
        node.mean += weight[list[i]] * y[list[i]];
    }
    node.mean /= node.weight;
    for (std::int64_t i = begin; i < end; ++i) {
        const double t = y[list[i]] - node.mean;
        node.squares += weight[list[i]] * t * t;
    }
    return node;
}

std::int64_t SortedRows::find_cuts(int feature, std::int64_t begin, std::int64_t end, const double* y,
                                   const double* weight, const Totals& node, double min_side) {
    const double* column = columns_.data() + feature * n_rows_;
    const std::int32_t* list = order(feature) + begin;
    const double variance = node.squares / node.weight;
    double w = 0, s = 0, q = 0;  // of the rows on the left
    std::int64_t n_cuts = 0;
    for (std::int64_t i = 0; i + 1 < end - begin; ++i) {
        const std::int32_t row = list[i];
        const double t = y[row] - node.mean, wt = weight[row] * t;
        w += weight[row];
        s += wt;
        q += wt * t;
        if (w < min_side || !(column[list[i + 1]] > column[row])) continue;
        const double right = node.weight - w;
        if (right < min_side) break;
        position_.data()[n_cuts] = static_cast<std::int32_t>(i);
        left_share_.data()[n_cuts] = w / node.weight;
        left_variance_.data()[n_cuts] = std::max((q - s * s / w) / (w * variance), kNoVariance);
        right_variance_.data()[n_cuts] = std::max((node.squares - q - s * s / right) / (right * variance), kNoVariance);
        ++n_cuts;
    }
    return n_cuts;
}

// What is left after a split: (W_L root(V_L / V) + W_R root(V_R / V)) / W, at most 1. A rough root first: only a split
// that may be the cheapest is looked at closely.
std::int64_t SortedRows::cheapest(std::int64_t n_cuts, double& cost) {
    const double *share = left_share_.data(), *left = left_variance_.data(), *right = right_variance_.data();
    float* rough = rough_cost_.data();
    for (std::int64_t k = 0; k < n_cuts; ++k) {
        const auto s = static_cast<float>(share[k]);
        rough[k] = s * rough_root(static_cast<float>(left[k])) + (1 - s) * rough_root(static_cast<float>(right[k]));
    }
    std::int64_t best = -1;
    for (std::int64_t k = 0; k < n_cuts; ++k) {
        if (rough[k] * (1 - kRoughness) >= cost) continue;
        const double exact = share[k] * std::pow(left[k], kPower) + (1 - share[k]) * std::pow(right[k], kPower);
        if (exact >= cost - kTie) continue;
        cost = exact;
        best = k;
    }
    return best;
}

Split SortedRows::best_split(std::int64_t begin, std::int64_t end, const double* y, const double* weight,
                             const Totals& node, double min_side, Worker& worker) {
    Split best;
    if (!(node.squares > 0)) return best;
    const std::int64_t n = end - begin;
    position_.get(n);
    left_share_.get(n);
    left_variance_.get(n);
    right_variance_.get(n);
    rough_cost_.get(n);
    double best_cost = 2;
    for (int j = 0; j < n_features_; ++j) {
        worker.check(n * 8);
        double cost = best_cost - kFeatureTie;
        const std::int64_t n_cuts = find_cuts(j, begin, end, y, weight, node, min_side);
        const std::int64_t cut = cheapest(n_cuts, cost);
        if (cut < 0) continue;
        best_cost = cost;
        const double* column = columns_.data() + j * n_rows_;
        const std::int32_t* at = order(j) + begin + position_.data()[cut];
        best = {j, midway(column[at[0]], column[at[1]]), 0};
    }
    best.gain = std::pow(node.squares / node.weight, kPower) * (1 - best_cost) * node.weight;
    return best;
}

std::int64_t SortedRows::divide(std::int64_t begin, std::int64_t end, const Split& split) {
    const double* column = columns_.data() + split.feature * n_rows_;
    std::int64_t n_left = 0;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t row = order(split.feature)[i];
        is_left_[row] = column[row] <= split.threshold;
        n_left += is_left_[row];
    }
    for (int list = 0; list <= n_features_; ++list) {
        if (list == split.feature) continue;  // divided already
        partition_rows(order(list) + begin, end - begin, moved_.data(),
                       [this](std::int32_t row) { return is_left_[row] != 0; });
    }
    return begin + n_left;
}

}  // namespace boostforest::m5p
