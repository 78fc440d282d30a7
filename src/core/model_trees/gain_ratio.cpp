#include "gain_ratio.hpp"

#include <algorithm>
#include <cmath>

#include "../base/rows.hpp"

namespace boostforest {

namespace {

constexpr double kSmall = 1e-6;         // gains and ratios that differ by less are the same
constexpr double kBelowAverage = 1e-3;  // how far a gain may lie below the average one
constexpr double kSideShare = 0.1, kLargestSide = 25;
constexpr double kLargestTable = 1 << 20;

}  // namespace

GainRatioFinder::GainRatioFinder(const LogisticTable& table)
    : table_(table), totals_(table.n_classes), left_(table.n_classes) {
    double total = 0;
    bool is_whole = true;
    for (std::int64_t i = 0; i < table.n_rows; ++i) {
        total += table.weight[i];
        is_whole = is_whole && table.weight[i] == std::floor(table.weight[i]);
    }
    if (!is_whole || total > kLargestTable) return;
    whole_.resize(static_cast<std::size_t>(total) + 1);
    for (std::size_t k = 1; k < whole_.size(); ++k) whole_[k] = static_cast<double>(k) * std::log2(k);
}

double GainRatioFinder::x_log_x(double weight) const {
    if (!whole_.empty()) return whole_[static_cast<std::size_t>(weight)];
    return weight > 0 ? weight * std::log2(weight) : 0;
}

// The information of class weights n_c with the sum n, times n, is n log n - Σ n_c log n_c. The two sums over the
// classes follow the threshold from row to row.
GainRatioSplit GainRatioFinder::best_cut(const std::int32_t* sorted, std::int64_t n, int feature, double min_side) {
    const double* x = table_.x + feature * table_.n_rows;
    std::fill(left_.begin(), left_.end(), 0.0);
    double left = 0, left_log = 0, right_log = totals_log_, best = 0, best_left = 0;
    std::int64_t n_cuts = 0, best_at = -1;
    const double information = x_log_x(total_) - totals_log_;
    for (std::int64_t i = 0; i + 1 < n; ++i) {
        const int c = static_cast<int>(table_.y[sorted[i]]);
        const double w = table_.weight[sorted[i]], before = left_[c];
        left_log += x_log_x(before + w) - x_log_x(before);
        right_log += x_log_x(std::max(totals_[c] - before - w, 0.0)) - x_log_x(totals_[c] - before);
        left_[c] += w;
        left += w;
        if (!(x[sorted[i]] < x[sorted[i + 1]]) || left < min_side || total_ - left < min_side) continue;
        ++n_cuts;
        const double sides = x_log_x(left) - left_log + x_log_x(total_ - left) - right_log;
        const double gain = (information - sides) / total_;
        if (gain > best + kSmall) {
            best = gain;
            best_at = i;
            best_left = left;
        }
    }
    if (best_at < 0) return {};
    best -= std::log2(static_cast<double>(n_cuts)) / total_;  // what it costs to say which threshold
    if (best < kSmall) return {};
    const double of_split = (x_log_x(total_) - x_log_x(best_left) - x_log_x(total_ - best_left)) / total_;
    return {feature, midway(x[sorted[best_at]], x[sorted[best_at + 1]]), best, best / of_split};
}

GainRatioSplit GainRatioFinder::find(const std::int32_t* sorted, std::int64_t stride, std::int64_t n, double min_leaf,
                                     Worker& worker) {
    std::fill(totals_.begin(), totals_.end(), 0.0);
    for (std::int64_t i = 0; i < n; ++i) totals_[static_cast<int>(table_.y[sorted[i]])] += table_.weight[sorted[i]];
    total_ = totals_log_ = 0;
    for (const double weight : totals_) {
        total_ += weight;
        totals_log_ += x_log_x(weight);
    }
    const bool is_pure = std::count_if(totals_.begin(), totals_.end(), [](double w) { return w > 0; }) < 2;
    if (is_pure || total_ < 2 * min_leaf) return {};
    const double min_side = std::max(min_leaf, std::min(kSideShare * total_ / table_.n_classes, kLargestSide));

    std::vector<GainRatioSplit> cuts;
    double average = 0;
    for (int j = 0; j < table_.n_features; ++j) {
        worker.check(n * 4);
        const GainRatioSplit cut = best_cut(sorted + j * stride, n, j, min_side);
        if (cut.feature < 0) continue;
        cuts.push_back(cut);
        average += cut.gain;
    }
    average /= static_cast<double>(cuts.size());
    GainRatioSplit best;
    for (const GainRatioSplit& cut : cuts)
        if (cut.gain >= average - kBelowAverage && cut.ratio > best.ratio + kSmall) best = cut;
    return best;
}

}  // namespace boostforest
