#include "split_search.hpp"

#include <algorithm>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastShare = 1e-9;  // of the score before a split that a gain must be: anything less is rounding

// Sums of one output along the bins of a feature.
struct SumAlong {
    const double* cell;  // w g and w h of the first bin, a step away from those of the next
    int n_bins;
    double *g, *h;  // of all bins up to each, then zeros up to a whole vector
};

template <int kFeatures>
void add_along(const SumAlong* features, int step, bool missing_left) {
    double g[kFeatures], h[kFeatures];
    int common = features[0].n_bins;
    for (int i = 0; i < kFeatures; ++i) {
        const SumAlong& f = features[i];
        g[i] = missing_left ? f.cell[step * f.n_bins] : 0.0;
        h[i] = missing_left ? f.cell[step * f.n_bins + 1] : 0.0;
        common = std::min(common, f.n_bins);
    }
    for (int b = 0; b < common; ++b) {
        for (int i = 0; i < kFeatures; ++i) {
            features[i].g[b] = g[i] += features[i].cell[step * b];
            features[i].h[b] = h[i] += features[i].cell[step * b + 1];
        }
    }
    for (int i = 0; i < kFeatures; ++i) {
        const SumAlong& f = features[i];
        for (int b = common; b < f.n_bins; ++b) {
            f.g[b] = g[i] += f.cell[step * b];
            f.h[b] = h[i] += f.cell[step * b + 1];
        }
        for (int b = f.n_bins; b < padded_width(f.n_bins); ++b) f.g[b] = f.h[b] = 0;
    }
}

// Sums of some values of the cells along the bins: those of value c, from `stride` · c on, end in zeros up to a whole
// vector.
template <int kValues>
void add_values_along(const double* cells, int size, int n_bins, bool missing_left, double* sums, int stride) {
    double sum[kValues];
    for (int c = 0; c < kValues; ++c) sum[c] = missing_left ? cells[size * n_bins + c] : 0.0;
    for (int b = 0; b < n_bins; ++b)
        for (int c = 0; c < kValues; ++c) sums[stride * c + b] = sum[c] += cells[size * b + c];
    for (int c = 0; c < kValues; ++c)
        for (int b = n_bins; b < padded_width(n_bins); ++b) sums[stride * c + b] = 0;
}

constexpr int kStride = padded_width(Bins::kMost + 1);

}  // namespace

BinSplitSearch::BinSplitSearch(const Bins& bins, Cell cell, double lambda)
    : bins_(bins), cell_(cell), lambda_(lambda), start_{0} {
    for (int j = 0; j < bins.n_features(); ++j) start_.push_back(start_.back() + 2 * padded_width(bins.n_bins(j)));
    gains_.get(start_.back());
    for (int i = 0; i < kAtOnce; ++i)
        for (Buffer<double>* buffer : {&left_g_[i], &left_h_[i], &left_total_[i]}) buffer->get(kStride);
    if (cell.one_h) left_.get(cell.size() * kStride);
}

void BinSplitSearch::start(const std::vector<int>& features) {
    features_ = &features;
    before_ = 0;
    for (const int j : features) {
        // With missing values, all others may stand on one side. What lies behind the last border is never the best.
        const int n_bins = bins_.n_bins(j), width = padded_width(n_bins);
        double* gains = gains_.data() + start_[j];
        std::fill(gains, gains + 2 * width, 0.0);
        std::fill(gains + (bins_.has_missing(j) ? n_bins : n_bins - 1), gains + width, -kInfinity);
        std::fill(gains + width + n_bins - 1, gains + 2 * width, -kInfinity);
    }
}

double BinSplitSearch::score(const Totals& totals) const {
    double score = 0;
    for (int k = 0; k < cell_.n_outputs; ++k)
        score += totals[cell_.g(k)] * totals[cell_.g(k)] / (totals[cell_.h(k)] + lambda_);
    return score;
}

void BinSplitSearch::add_node(Histograms& histograms, int slot, const Totals& totals, double least_h) {
    before_ += score(totals);
    const std::vector<int>& all = *features_;
    if (cell_.one_h) {
        for (const int j : all)
            for (int side = 0; side < (bins_.has_missing(j) ? 2 : 1); ++side)
                add_shared(histograms.of(slot, j), j, totals, least_h, side == 1);
        return;
    }
    for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
        const int n = static_cast<int>(std::min<std::size_t>(kAtOnce, all.size() - first));
        add_features(histograms, slot, all.data() + first, n, totals, least_h, false);
    }
    for (const int& j : all)
        if (bins_.has_missing(j)) add_features(histograms, slot, &j, 1, totals, least_h, true);
}

void BinSplitSearch::add_features(Histograms& histograms, int slot, const int* features, int n, const Totals& totals,
                                  double least_h, bool missing_left) {
    const int n_outputs = cell_.n_outputs, step = cell_.size();
    SumAlong sums[kAtOnce];
    double* gains[kAtOnce];
    for (int i = 0; i < n; ++i) {
        const int j = features[i], n_bins = bins_.n_bins(j);
        sums[i] = {.cell = histograms.of(slot, j), .n_bins = n_bins, .g = left_g_[i].data(), .h = left_h_[i].data()};
        gains[i] = gains_.data() + start_[j] + (missing_left ? padded_width(n_bins) : 0);
    }
    for (int k = 0; k < n_outputs; ++k) {
        switch (n) {
            case 1: add_along<1>(sums, step, missing_left); break;
            case 2: add_along<2>(sums, step, missing_left); break;
            case 3: add_along<3>(sums, step, missing_left); break;
            default: add_along<kAtOnce>(sums, step, missing_left);
        }
        for (int i = 0; i < n; ++i) {
            const int width = padded_width(sums[i].n_bins);
            kernels().add_bin_gain(width, totals[2 * k], totals[2 * k + 1], sums[i].g, sums[i].h, lambda_, gains[i]);
            sums[i].cell += 2;
            double* all = left_total_[i].data();
            if (least_h <= 0 || n_outputs == 1) continue;
            for (int b = 0; b < width; ++b) all[b] = (k == 0 ? 0.0 : all[b]) + sums[i].h[b];
        }
    }
    if (least_h <= 0) return;
    double total = 0;
    for (int k = 0; k < n_outputs; ++k) total += totals[2 * k + 1];
    for (int i = 0; i < n; ++i) {
        const double* all = n_outputs == 1 ? sums[i].h : left_total_[i].data();
        kernels().drop_light(padded_width(sums[i].n_bins), all, total, least_h, gains[i]);
    }
}

void BinSplitSearch::add_shared(const double* cells, int feature, const Totals& totals, double least_h,
                                bool missing_left) {
    const int size = cell_.size(), n_bins = bins_.n_bins(feature), width = padded_width(n_bins);
    int c = 0;
    for (; c + 4 <= size; c += 4)
        add_values_along<4>(cells + c, size, n_bins, missing_left, left_.data() + c * kStride, kStride);
    for (; c < size; ++c)
        add_values_along<1>(cells + c, size, n_bins, missing_left, left_.data() + c * kStride, kStride);
    const double h = totals[cell_.h(0)], *h_left = left_.data() + cell_.h(0) * kStride;
    double* gains = gains_.data() + start_[feature] + (missing_left ? width : 0);
    kernels().add_bin_gains(width, cell_.n_outputs, totals.data(), h, left_.data(), kStride, h_left, lambda_, gains);
    if (least_h > 0) kernels().drop_light(width, h_left, h, least_h, gains);
}

BinSplit BinSplitSearch::best() const {
    BinSplit best;
    double most = before_ * (1 + kLeastShare) + std::numeric_limits<double>::min();
    for (const int j : *features_) {
        const int width = padded_width(bins_.n_bins(j));
        for (int side = 0; side < (bins_.has_missing(j) ? 2 : 1); ++side) {
            const double* gains = gains_.data() + start_[j] + side * width;
            double least, largest;
            kernels().value_range(gains, width, least, largest);
            if (!(largest > most)) continue;
            most = largest;
            const int b = static_cast<int>(std::find(gains, gains + width, largest) - gains);
            best = {.feature = j, .bin = b, .missing_left = side == 1, .gain = most - before_};
        }
    }
    return best;
}

}  // namespace boostforest
