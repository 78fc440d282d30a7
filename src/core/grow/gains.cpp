#include "gains.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"
#include "comparable.hpp"

namespace boostforest {

namespace {

// 1 - Σ p_c², and -Σ p_c log2 p_c, of class weights that stand `stride` apart.
double gini(const double* weights, std::int64_t stride, int n_classes, double total) {
    double squares = 0;
    for (int c = 0; c < n_classes; ++c) squares += weights[c * stride] * weights[c * stride];
    return total > 0 ? 1 - squares / (total * total) : 0;
}

double entropy(const double* weights, std::int64_t stride, int n_classes, double total) {
    double bits = 0;
    for (int c = 0; c < n_classes; ++c) {
        const double p = weights[c * stride] / total;
        if (p > 0) bits -= p * std::log2(p);
    }
    return bits;
}

}  // namespace

// xgb: w, then w g and w h of each output (w g alone where h = 1). mse: w, then w y of each target. gini, c45: w by
// class.
void Gains::start(const Sample& s, const Loss& loss, Criterion criterion, int n_classes) {
    criterion_ = criterion;
    n_classes_ = n_classes;
    weight_ = s.weight;
    if (criterion == Criterion::kXgb) {
        n_outputs_ = loss.n_outputs();
        stats_.resize(1 + 2 * n_outputs_);
        stats_[0] = s.w;
        loss.statistics(s, loss_work_, stats_.data() + 1);
        unit_curvature_ = stats_[2] == s.w;
        if (unit_curvature_) {  // h = 1: the weight need not be summed twice
            for (int c = 0; c < n_outputs_; ++c) stats_[1 + c] = stats_[1 + 2 * c];
            stats_.resize(1 + n_outputs_);
        }
    } else if (criterion == Criterion::kMse) {
        double* wy = label_stats_.get(loss.n_targets() * s.n);
        stats_ = {s.w};
        for (int k = 0; k < loss.n_targets(); ++k, wy += s.n) {
            loss.labels(s, k, wy);
            for (std::int64_t i = 0; i < s.n; ++i) wy[i] *= s.w[i];
            stats_.push_back(wy);
        }
    } else {
        double* by_class = label_stats_.get(static_cast<std::size_t>(n_classes) * s.n);
        stats_.resize(n_classes);
        for (int c = 0; c < n_classes; ++c, by_class += s.n) {
            for (std::int64_t i = 0; i < s.n; ++i) by_class[i] = s.y[i] == c ? s.w[i] : 0.0;
            stats_[c] = by_class;
        }
    }
    totals_.resize(stats_.size());
    const int n_known = stats_[0] == s.w ? 1 : 0;
    if (n_known > 0) totals_[0] = s.weight;
    kernels().sums(stats_.data() + n_known, n_stats() - n_known, s.n, totals_.data() + n_known);
}

void Gains::compute(const double* sums, int width, double reg_lambda) {
    const double* totals = totals_.data();
    double* gain = gain_.get(width);
    left_weight_ = sums;
    if (criterion_ == Criterion::kXgb)
        return kernels().boosting_gains(width, n_outputs_, unit_curvature_, totals, sums, reg_lambda, gain);
    std::fill_n(gain, width, 0.0);
    if (criterion_ == Criterion::kMse) {
        double before = 0;
        for (int k = 1; k < n_stats(); ++k) {
            kernels().add_gain(width, totals[k], totals[0], sums + k * width, sums, 0.0, gain);
            before += totals[k] * totals[k] / totals[0];
        }
        for (int j = 0; j < width; ++j) gain[j] = comparable(gain[j] - before, before);
    } else {
        compare_impurities(sums, width);
    }
}

void Gains::compare_impurities(const double* sums, int width) {
    const bool is_gini = criterion_ == Criterion::kGini;
    const auto impurity = is_gini ? gini : entropy;
    double* right = right_.get(n_classes_);
    double* left = added_weight_.get(width);
    left_weight_ = left;
    for (int j = 0; j < width; ++j) {
        double left_weight = 0;
        for (int c = 0; c < n_classes_; ++c) {
            left_weight += sums[c * width + j];
            right[c] = totals_[c] - sums[c * width + j];
        }
        left[j] = left_weight;
        const double sides[2] = {left_weight, weight_ - left_weight};
        if (sides[0] <= 0 || sides[1] <= 0) continue;
        const double before = weight_ * impurity(totals_.data(), 1, n_classes_, weight_);
        const double after = sides[0] * impurity(sums + j, width, n_classes_, sides[0]) +
                             sides[1] * impurity(right, 1, n_classes_, sides[1]);
        const double gain = comparable(before - after, weight_);
        gain_.data()[j] = is_gini ? gain : comparable(gain / entropy(sides, 1, 2, weight_));
    }
}

}  // namespace boostforest
