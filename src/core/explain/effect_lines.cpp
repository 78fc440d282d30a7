#include "effect_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}

EffectLines::EffectLines(const Grid& grid, const PreparedRows& rows, const double* row_weights)
    : grid_(grid),
      rows_(rows),
      row_weights_(row_weights),
      n_values_(static_cast<std::int32_t>(grid.n())),
      changes_(static_cast<std::size_t>((row_weights == nullptr ? rows.n() : 1) * (n_values_ + 1))) {}

void EffectLines::add_tree(const TreeView& tree, Link link, double weight) {
    NodeModels models(tree, link, rows_.input_width());
    tree_ = &tree;
    models_ = &models;
    weight_ = weight;
    make_room(rows_.n());
    for (std::int32_t i = 0; i < rows_.n(); ++i) {
        row_[i] = i;
        range_[i] = {0, n_values_};
        constant_[i] = slope_[i] = 0;
    }
    visit(0, 0, rows_.n());
}

void EffectLines::make_room(std::int64_t n) {
    if (static_cast<std::int64_t>(row_.size()) >= n) return;
    row_.resize(2 * n);
    range_.resize(2 * n, {0, 0});
    constant_.resize(2 * n);
    slope_.resize(2 * n);
}

void EffectLines::give(double* out) const {
    const double* values = grid_.values();
    const Change *next = changes_.data(), *end = next + changes_.size();
    for (; next < end; ++next) {  // the last one of a row ends its lines
        Change sum{0, 0};
        for (std::int32_t i = 0; i < n_values_; ++i, ++next) {
            sum.constant += next->constant;
            sum.slope += next->slope;
            *out++ += sum.constant + sum.slope * values[i];
        }
    }
}

// row_[first] and the next ones are at the node; those of the nodes below follow.
void EffectLines::visit(std::int32_t node, std::int64_t first, std::int64_t n) {
    if (n == 0) return;
    if (models_->load(node)) add_models(first, n);
    if (tree_->feature[node] < 0) {
        for (std::int64_t i = first; i < first + n; ++i) {
            change(row_[i], range_[i].begin(), constant_[i], slope_[i]);
            change(row_[i], range_[i].end(), -constant_[i], -slope_[i]);
        }
        return;
    }
    const std::int64_t left = first + n, right = left + n;
    make_room(right + n);
    std::int64_t n_left = 0, n_right = 0;
    part(node, first, n, left, right, n_left, n_right);
    visit(tree_->left[node] + 1, right, n_right);
    visit(tree_->left[node], left, n_left);
}

// Without branches, which could not be foreseen.
void EffectLines::part(std::int32_t node, std::int64_t first, std::int64_t n, std::int64_t left, std::int64_t right,
                       std::int64_t& n_left, std::int64_t& n_right) {
    const std::int32_t feature = tree_->feature[node];
    const double threshold = tree_->threshold[node];
    const bool missing_left = tree_->missing_left[node] != 0;
    std::int64_t to_left = left, to_right = right;
    std::int32_t* row = row_.data();
    Range* range = range_.data();
    double *constant = constant_.data(), *slope = slope_.data();
    const auto give = [&](std::int64_t i, Range range_left, Range range_right) {
        row[to_left] = row[to_right] = row[i];
        constant[to_left] = constant[to_right] = constant[i];
        slope[to_left] = slope[to_right] = slope[i];
        range[to_left] = range_left;
        range[to_right] = range_right;
    };
    if (grid_.replaces(feature)) {
        const std::int32_t cut = first_above({0, n_values_}, threshold);
        for (std::int64_t i = first; i < first + n; ++i) {
            const std::int32_t begin = range[i].begin(), end = range[i].end();
            give(i, {begin, std::min(end, cut)}, {std::max(begin, cut), end});
            to_left += static_cast<std::int64_t>(begin < cut);
            to_right += static_cast<std::int64_t>(end > cut);
        }
    } else {
        const double* routed = rows_.routed(0) + feature;
        const std::int64_t width = rows_.width();
        for (std::int64_t i = first; i < first + n; ++i) {
            const double value = routed[row[i] * width];
            const bool is_left = (value <= threshold) | (std::isnan(value) & missing_left);
            give(i, range[i], range[i]);
            to_left += static_cast<std::int64_t>(is_left);
            to_right += static_cast<std::int64_t>(!is_left);
        }
    }
    n_left = to_left - left;
    n_right = to_right - right;
}

// The place of the first value above a bound; without branches, too.
std::int32_t EffectLines::first_above(Range among, double bound) const {
    const double *values = grid_.values(), *at = values + among.begin();
    for (std::int32_t n = among.end() - among.begin(); n > 0;) {
        const std::int32_t half = (n + 1) / 2;
        at += at[half - 1] <= bound ? half : 0;
        n -= half;
    }
    return static_cast<std::int32_t>(at - values);
}

void EffectLines::change(std::int32_t row, std::int32_t value, double constant, double slope) {
    const double weight = row_weights_ == nullptr ? weight_ : weight_ * row_weights_[row];
    Change& at = changes_[row_weights_ == nullptr ? std::int64_t{row} * (n_values_ + 1) + value : value];
    at.constant += weight * constant;
    at.slope += weight * slope;
}

// Adds the node's model to the lines of the rows.
void EffectLines::add_models(std::int64_t first, std::int64_t n) {
    const bool has_slopes = models_->has_slopes(), is_clipped = models_->shape() == Shape::kClipped;
    const double* inputs = rows_.inputs(0);
    const std::int64_t width = rows_.input_width();
    const std::int32_t* row = row_.data() + first;
    double* starts = starts_.get(n);
    if (has_slopes) {
        kernels().linear_rows(inputs, row, n, static_cast<int>(width), models_->slopes(0), models_->intercept(0),
                              starts);
    } else {
        std::fill_n(starts, n, models_->intercept(0));
    }
    const bool moves = has_slopes && !grid_.inputs().empty();
    const std::int32_t input = moves ? grid_.inputs()[0] : 0;
    const double slope = moves ? models_->slopes(0)[input] : 0.0;
    const double lower = is_clipped ? models_->lower() : -kInfinite, upper = is_clipped ? models_->upper() : kInfinite;
    const double* values = grid_.values();
    const Range* range = range_.data() + first;
    double *constant = constant_.data() + first, *line_slope = slope_.data() + first;
    std::int32_t *bent = bent_.get(n), n_bent = 0;
    for (std::int32_t i = 0; i < n; ++i) {
        const double start = starts[i] - slope * inputs[row[i] * width + input];
        const double a = start + slope * values[range[i].begin()], b = start + slope * values[range[i].end() - 1];
        const double least = std::min(a, b), most = std::max(a, b);
        const bool inside = (least >= lower) & (most <= upper), outside = (most <= lower) | (least >= upper);
        const double bound = most <= lower ? lower : upper, beyond = outside ? bound : 0.0;
        constant[i] += inside ? start : beyond;
        line_slope[i] += inside ? slope : 0.0;
        starts[i] = start;
        bent[n_bent] = i;
        n_bent += static_cast<std::int32_t>(!inside & !outside);
    }
    for (std::int32_t k = 0; k < n_bent; ++k) add_clipped(row[bent[k]], range[bent[k]], starts[bent[k]], slope);
}

// Three lines: a bound, the model's score, and the other bound.
void EffectLines::add_clipped(std::int32_t row, Range range, double start, double slope) {
    const double before = slope > 0 ? models_->lower() : models_->upper();
    const double after = slope > 0 ? models_->upper() : models_->lower();
    const std::int32_t from = first_above(range, (before - start) / slope);
    const std::int32_t to = first_above({from, range.end()}, (after - start) / slope);
    change(row, range.begin(), before, 0);
    change(row, from, start - before, slope);
    change(row, to, after - start, -slope);
    change(row, range.end(), -after, 0);
}

}  // namespace boostforest
