#include "split_search.hpp"

#include <algorithm>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastShare = 1e-9;  // of the score before a split that a gain must be: anything less is rounding

}  // namespace

BinSplitSearch::BinSplitSearch(const Bins& bins, int n_outputs, double lambda)
    : bins_(bins), n_outputs_(n_outputs), lambda_(lambda), start_{0} {
    for (int j = 0; j < bins.n_features(); ++j) start_.push_back(start_.back() + 2 * padded_width(bins.n_bins(j)));
    gains_.get(start_.back());
    for (Buffer<double>* buffer : {&left_g_, &left_h_, &left_total_}) buffer->get(padded_width(Bins::kMost + 1));
}

void BinSplitSearch::start(const std::vector<int>& features) {
    features_ = &features;
    before_ = 0;
    for (const int j : features) std::fill(gains_.data() + start_[j], gains_.data() + start_[j + 1], 0.0);
}

double BinSplitSearch::score(const Totals& totals) const {
    double score = 0;
    for (int k = 0; k < n_outputs_; ++k) score += totals[2 * k] * totals[2 * k] / (totals[2 * k + 1] + lambda_);
    return score;
}

void BinSplitSearch::add_node(Histograms& histograms, int slot, const Totals& totals, double least_h) {
    before_ += score(totals);
    for (const int j : *features_) {
        const int n_bins = bins_.n_bins(j), width = padded_width(n_bins);
        double* gains = gains_.data() + start_[j];
        const double* sums = histograms.of(slot, j);
        add_feature(sums, j, totals, least_h, false, gains);
        if (bins_.has_missing(j)) add_feature(sums, j, totals, least_h, true, gains + width);
    }
}

void BinSplitSearch::add_feature(const double* sums, int feature, const Totals& totals, double least_h,
                                 bool missing_left, double* gains) {
    const int n_bins = bins_.n_bins(feature), width = padded_width(n_bins), step = 2 * n_outputs_;
    double *g = left_g_.data(), *h = left_h_.data(), *all = left_total_.data();
    for (int k = 0; k < n_outputs_; ++k) {
        const double* cell = sums + 2 * k;
        double sum_g = missing_left ? cell[step * n_bins] : 0.0, sum_h = missing_left ? cell[step * n_bins + 1] : 0.0;
        for (int b = 0; b < n_bins; ++b, cell += step) {
            g[b] = sum_g += cell[0];
            h[b] = sum_h += cell[1];
        }
        for (int b = n_bins; b < width; ++b) g[b] = h[b] = 0;
        kernels().add_gain(width, totals[2 * k], totals[2 * k + 1], g, h, lambda_, gains);
        if (least_h <= 0) continue;
        for (int b = 0; b < n_bins; ++b) all[b] = (k == 0 ? 0.0 : all[b]) + h[b];
    }
    if (least_h <= 0) return;
    double total = 0;
    for (int k = 0; k < n_outputs_; ++k) total += totals[2 * k + 1];
    for (int b = 0; b < n_bins; ++b)
        if (all[b] < least_h || total - all[b] < least_h) gains[b] = -kInfinity;
}

BinSplit BinSplitSearch::best() const {
    BinSplit best;
    double most = before_ * (1 + kLeastShare) + std::numeric_limits<double>::min();
    for (const int j : *features_) {
        const int n_bins = bins_.n_bins(j), width = padded_width(n_bins);
        const double* gains = gains_.data() + start_[j];
        // With missing values, all others may stand on one side.
        const int n_borders = n_bins - 1;
        for (int side = 0; side < (bins_.has_missing(j) ? 2 : 1); ++side) {
            const int last = bins_.has_missing(j) && side == 0 ? n_bins : n_borders;
            for (int b = 0; b < last; ++b) {
                if (!(gains[side * width + b] > most)) continue;
                most = gains[side * width + b];
                best = {.feature = j, .bin = b, .missing_left = side == 1, .gain = most - before_};
            }
        }
    }
    return best;
}

}  // namespace boostforest
