#include "effect_walk.hpp"

#include <cmath>

namespace boostforest {

EffectWalk::EffectWalk(const Grid& grid, const PreparedRows& rows, const double* row_weights)
    : grid_(grid), rows_(rows), row_weights_(row_weights) {
    equal_weights_ = row_weights != nullptr && std::adjacent_find(row_weights, row_weights + rows.n(),
                                                                  std::not_equal_to<>()) == row_weights + rows.n();
    if (equal_weights_) std::fill_n(weights_.get(rows.n()), rows.n(), rows.n() > 0 ? row_weights[0] : 0.0);
    const double *first = rows.routed(0), *last = first + rows.n() * rows.width();
    has_missing_ = std::any_of(first, last, [](double value) { return std::isnan(value); });
}

const double* EffectWalk::weights(const std::int32_t* rows, std::int64_t n) {
    if (equal_weights_) return weights_.data();
    double* own = weights_.get(n);
    for (std::int64_t i = 0; i < n; ++i) own[i] = row_weights_[rows[i]];
    return own;
}

double EffectWalk::total_weight(const std::int32_t* rows, std::int64_t n) {
    if (equal_weights_) return static_cast<double>(n) * weights_.data()[0];
    return kernels().sum(weights(rows, n), n);
}

std::int64_t EffectWalk::part(const TreeView& tree, std::int32_t node, std::int32_t* rows, std::int64_t n) {
    const double* column = rows_.routed(0) + tree.feature[node];
    std::uint8_t* left = left_.get((n + 7) / 8);
    double nearest[2];  // not needed here
    kernels().mark_left(column, rows_.width(), rows, n, tree.threshold[node], left, nearest);
    if (has_missing_ && tree.missing_left[node] != 0)
        for (std::int64_t i = 0; i < n; ++i)
            left[i / 8] |=
                static_cast<std::uint8_t>(std::isnan(column[std::int64_t{rows[i]} * rows_.width()]) << i % 8);
    return kernels().part_rows(rows, left, n, scratch_.get(n + 8));
}

}  // namespace boostforest
