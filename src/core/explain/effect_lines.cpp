#include "effect_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t kSlack = 32;  // add_sigmoids takes four vectors at a time

}  // namespace

EffectLines::EffectLines(const Grid& grid, const PreparedRows& rows, const double* row_weights)
    : grid_(grid),
      rows_(rows),
      each_(row_weights == nullptr),
      n_values_(static_cast<std::int32_t>(grid.n())),
      walk_(grid, rows, row_weights),
      changes_(static_cast<std::size_t>((each_ ? rows.n() : 1) * (n_values_ + 1))),
      lines_(static_cast<std::size_t>(each_ ? rows.n() : 0)),
      stride_(n_values_ + kSlack) {
    std::fill_n(slopes_.get(rows.input_width()), rows.input_width(), 0.0);
}

void EffectLines::add_tree(const TreeView& tree, Link link, double weight) {
    NodeModels models(tree, link, rows_.input_width());
    models_ = &models;
    weight_ = weight;
    walk_.walk(
        tree, 0, rows_.n(),
        [&](std::int32_t node, const std::int32_t* rows, std::int64_t n, GridRange range) {
            if (models.load(node)) add_model(rows, n, range);
        },
        [&](const std::int32_t* rows, std::int64_t n, GridRange range) { end_lines(rows, n, range); });
}

void EffectLines::give(double* out) const {
    const double* values = grid_.values();
    const Change *next = changes_.data(), *end = next + changes_.size();
    const double* curve = curves_.empty() ? nullptr : curves_.data();
    for (; next < end; ++next) {  // the last one of a row ends its lines
        Change sum{0, 0};
        for (std::int32_t i = 0; i < n_values_; ++i, ++next) {
            sum.constant += next->constant;
            sum.slope += next->slope;
            *out++ += sum.constant + sum.slope * values[i] + (curve == nullptr ? 0.0 : curve[i]);
        }
        if (curve != nullptr) curve += stride_;
    }
}

void EffectLines::end_lines(const std::int32_t* rows, std::int64_t n, GridRange range) {
    if (!each_) return;
    for (std::int64_t i = 0; i < n; ++i) {
        Change &line = lines_[rows[i]], *own = changes_of(rows[i]);
        own[range.begin].constant += weight_ * line.constant;
        own[range.begin].slope += weight_ * line.slope;
        own[range.end].constant -= weight_ * line.constant;
        own[range.end].slope -= weight_ * line.slope;
        line = {0, 0};
    }
}

// Three lines: a bound, the model's score, and the other bound.
void EffectLines::add_clipped(Change* changes, double weight, GridRange range, const RangeLine& line,
                              double start) const {
    const double before = line.slope > 0 ? line.lower : line.upper, after = line.slope > 0 ? line.upper : line.lower;
    const double a = (before - start) / line.slope, b = (after - start) / line.slope;
    Change &from = changes[range.place(grid_.first_above(a))], &to = changes[range.place(grid_.first_above(b))];
    from.constant += weight * (start - before);
    from.slope += weight * line.slope;
    to.constant += weight * (after - start);
    to.slope -= weight * line.slope;
}

// Adds the node's model to the lines of the rows.
void EffectLines::add_model(const std::int32_t* rows, std::int64_t n, GridRange range) {
    const bool is_clipped = models_->shape() == Shape::kClipped;
    RangeLine line{.slope = 0,
                   .lower = is_clipped ? models_->lower() : -kInfinite,
                   .upper = is_clipped ? models_->upper() : kInfinite,
                   .least = 0,
                   .most = 0};
    if (!models_->has_slopes()) {
        double value = models_->intercept(0);
        models_->finish(&value, &value);
        if (each_) {
            for (std::int64_t i = 0; i < n; ++i) lines_[rows[i]].constant += value;
        } else {
            const double total = weight_ * walk_.total_weight(rows, n) * value;
            changes_[range.begin].constant += total;
            changes_[range.end].constant -= total;
        }
        return;
    }
    const auto width = static_cast<int>(rows_.input_width());
    const double* slopes = models_->slopes(0);
    if (!grid_.inputs().empty()) {  // starts are scores at 0
        const std::int32_t input = grid_.inputs()[0];
        line.slope = slopes[input];
        const double a = line.slope * grid_.values()[range.begin], b = line.slope * grid_.values()[range.end - 1];
        line.least = std::min(a, b);
        line.most = std::max(a, b);
        slopes = std::copy_n(slopes, width, slopes_.data()) - width;
        slopes_.data()[input] = 0;
    }
    double* starts = starts_.get(n);
    kernels().linear_rows(rows_.inputs(0), rows, n, width, slopes, models_->intercept(0), starts);
    if (models_->shape() == Shape::kSigmoid) return add_sigmoids(rows, n, range, line.slope, starts);
    each_ ? add_to_rows(rows, n, range, line, starts) : add_sums(rows, n, range, line, starts);
}

// The values of the range are moved to the front of moves_.
void EffectLines::add_sigmoids(const std::int32_t* rows, std::int64_t n, GridRange range, double slope,
                               double* starts) {
    if (curves_.empty()) curves_.resize((each_ ? rows_.n() : 1) * stride_);
    const double* values = grid_.values();
    const double first = values[range.begin], last = values[range.end - 1], middle = 0.5 * (first + last);
    const bool as_factors = std::abs(slope) * (last - middle) <= kMostReach;
    const std::int64_t n_values = range.end - range.begin;
    double* moves = moves_.get(n_values + kSlack);
    for (std::int64_t i = 0; i < n_values; ++i)
        moves[i] = as_factors ? -slope * (values[range.begin + i] - middle) : slope * values[range.begin + i];
    if (as_factors) kernels().exponential(moves, n_values, moves);
    std::fill_n(moves + n_values, kSlack, 0.0);
    if (as_factors)
        for (std::int64_t i = 0; i < n; ++i) starts[i] += slope * middle;
    kernels().add_sigmoids(starts, n, moves, n_values, as_factors ? kMostReach + kBeyond : 0,
                           each_ ? nullptr : walk_.weights(rows, n), weight_, each_ ? rows : nullptr, stride_,
                           curves_.data() + range.begin);
}

void EffectLines::add_sums(const std::int32_t* rows, std::int64_t n, GridRange range, const RangeLine& line,
                           const double* starts) {
    const double* weights = walk_.weights(rows, n);
    LineSums sums;
    const std::int64_t n_bent = kernels().line_sums(line, starts, weights, n, sums, bent_.get(n));
    double at_begin = sums.start, at_end = sums.start;
    if (sums.below > 0) at_begin += sums.below * line.lower, at_end += sums.below * line.lower;
    if (sums.above > 0) at_begin += sums.above * line.upper, at_end += sums.above * line.upper;
    const double slope = weight_ * sums.weight * line.slope;
    double bent_weight = 0;
    for (std::int64_t k = 0; k < n_bent; ++k) {
        const std::int32_t i = bent_.data()[k];
        bent_weight += weights[i];
        add_clipped(changes_.data(), weight_ * weights[i], range, line, starts[i]);
    }
    if (n_bent > 0) {
        at_begin += bent_weight * (line.slope > 0 ? line.lower : line.upper);
        at_end += bent_weight * (line.slope > 0 ? line.upper : line.lower);
    }
    changes_[range.begin].constant += weight_ * at_begin;
    changes_[range.begin].slope += slope;
    changes_[range.end].constant -= weight_ * at_end;
    changes_[range.end].slope -= slope;
}

void EffectLines::add_to_rows(const std::int32_t* rows, std::int64_t n, GridRange range, const RangeLine& line,
                              const double* starts) {
    std::int32_t *bent = bent_.get(n), n_bent = 0;
    for (std::int32_t i = 0; i < n; ++i) {
        const double least = starts[i] + line.least, most = starts[i] + line.most;
        const bool inside = (least >= line.lower) & (most <= line.upper);
        const bool outside = (most <= line.lower) | (least >= line.upper);
        const double bound = most <= line.lower ? line.lower : line.upper, beyond = outside ? bound : 0.0;
        lines_[rows[i]].constant += inside ? starts[i] : beyond;
        lines_[rows[i]].slope += inside ? line.slope : 0.0;
        bent[n_bent] = i;
        n_bent += static_cast<std::int32_t>(!inside & !outside);
    }
    const double before = line.slope > 0 ? line.lower : line.upper, after = line.slope > 0 ? line.upper : line.lower;
    for (std::int32_t k = 0; k < n_bent; ++k) {
        Change* own = changes_of(rows[bent[k]]);
        own[range.begin].constant += weight_ * before;
        own[range.end].constant -= weight_ * after;
        add_clipped(own, weight_, range, line, starts[bent[k]]);
    }
}

}  // namespace boostforest
