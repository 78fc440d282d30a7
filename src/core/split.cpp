#include "split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels.hpp"

namespace boostforest {

namespace {

// Σ p_c², and -Σ p_c log2 p_c, of class weights that stand `stride` apart.
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

// What the gains are sums of. xgb: w, then per output w g and (unless all 1) w h. mse: w, w y. gini, c45: w by class.
void SplitFinder::make_statistics(const SplitProblem& p, Criterion criterion) {
    const std::int64_t n = p.n;
    if (criterion == Criterion::kGini || criterion == Criterion::kC45) {
        n_stats_ = p.n_classes;
        double* s = stats_.get(static_cast<std::size_t>(n_stats_) * n);
        for (int c = 0; c < p.n_classes; ++c)
            for (std::int64_t i = 0; i < n; ++i) s[c * n + i] = p.y[i] == c ? p.w[i] : 0.0;
    } else {
        const int per_output = p.h == nullptr ? 1 : 2;
        n_stats_ = criterion == Criterion::kMse ? 2 : 1 + per_output * p.n_outputs;
        double* s = stats_.get(static_cast<std::size_t>(n_stats_) * n);
        std::copy_n(p.w, n, s);
        if (criterion == Criterion::kMse) {
            for (std::int64_t i = 0; i < n; ++i) s[n + i] = p.w[i] * p.y[i];
        } else {
            for (int c = 0; c < p.n_outputs; ++c) {
                s += n;
                for (std::int64_t i = 0; i < n; ++i) s[i] = p.w[i] * p.g[c * p.stride + i];
                if (p.h == nullptr) continue;
                s += n;
                for (std::int64_t i = 0; i < n; ++i) s[i] = p.w[i] * p.h[c * p.stride + i];
            }
        }
    }
    const double* s = stats_.data();
    double* totals = totals_.get(n_stats_);
    for (int k = 0; k < n_stats_; ++k) totals[k] = std::accumulate(s + k * n, s + (k + 1) * n, 0.0);
}

// gain_ and weight_ (of the left side) of every column, from the left sums.
void SplitFinder::compute_gains(const SplitProblem& p, const SplitRules& rules, int width) {
    const double* sums = sums_.data();
    const double* totals = totals_.data();
    double* gain = gain_.get(width);
    double* weight = weight_.get(width);
    std::fill_n(gain, width, 0.0);
    if (rules.criterion == Criterion::kXgb) {
        std::copy_n(sums, width, weight);
        for (int c = 0; c < p.n_outputs; ++c) {
            const int g = p.h == nullptr ? 1 + c : 1 + 2 * c;
            const int h = p.h == nullptr ? 0 : g + 1;  // h = 1: its sum is the weight
            kernels().add_gain(width, totals[g], totals[h], sums + g * width, sums + h * width, rules.reg_lambda, gain);
        }
        for (int j = 0; j < width; ++j) gain[j] *= 0.5;
        return;
    }
    if (rules.criterion == Criterion::kMse) {
        std::copy_n(sums, width, weight);
        kernels().add_gain(width, totals[1], totals[0], sums + width, sums, 0.0, gain);
        for (int j = 0; j < width; ++j) gain[j] -= totals[1] * totals[1] / totals[0];
        return;
    }
    const bool is_gini = rules.criterion == Criterion::kGini;
    const auto impurity = is_gini ? gini : entropy;
    double rest[2];
    double* right = right_.get(p.n_classes);
    for (int j = 0; j < width; ++j) {
        double left_weight = 0;
        for (int c = 0; c < p.n_classes; ++c) {
            left_weight += sums[c * width + j];
            right[c] = totals[c] - sums[c * width + j];
        }
        weight[j] = left_weight;
        rest[0] = left_weight;
        rest[1] = p.weight - left_weight;
        if (rest[0] <= 0 || rest[1] <= 0) continue;
        const double parent = p.weight * impurity(totals, 1, p.n_classes, p.weight);
        const double sides = rest[0] * impurity(sums + j, width, p.n_classes, rest[0]) +
                             rest[1] * impurity(right, 1, p.n_classes, rest[1]);
        gain[j] = is_gini ? parent - sides : (parent - sides) / entropy(rest, 1, 2, p.weight);
    }
}

void SplitFinder::try_columns(const SplitProblem& p, const SplitRules& rules, const Columns& columns, Key cuts_key,
                              Split& best) {
    const int width = columns.width;
    double* lo = lo_.get(width);
    double* hi = hi_.get(width);
    double* cuts = cuts_.get(width);
    double* sums = sums_.get(static_cast<std::size_t>(n_stats_) * width);
    kernels().column_range(columns.x, columns.rows, p.n, width, lo, hi);
    int best_column = 0;
    for (int k = 0; k < rules.n_cuts; ++k) {
        for (int j = 0; j < width; ++j) cuts[j] = hi[j];
        for (int j = 0; j < columns.n; ++j) {
            const std::int64_t name = columns.names == nullptr ? j : columns.names[j];
            best.possible = best.possible || lo[j] < hi[j];
            cuts[j] = lo[j] + uniform(cuts_key, name * rules.n_cuts + k) * (hi[j] - lo[j]);
        }
        kernels().left_sums(columns.x, columns.rows, p.n, width, cuts, stats_.data(), p.n, n_stats_, sums);
        compute_gains(p, rules, width);
        const double* gain = gain_.data();
        const double* weight = weight_.data();
        for (int j = 0; j < columns.n; ++j) {
            if (weight[j] < rules.min_samples_leaf || p.weight - weight[j] < rules.min_samples_leaf) continue;
            // Ties go to the feature that comes first.
            if (best.feature < 0 || gain[j] > best.gain || (gain[j] == best.gain && j < best_column)) {
                best.feature = columns.names == nullptr ? j : columns.names[j];
                best.threshold = cuts[j];
                best.gain = gain[j];
                best_column = j;
            }
        }
    }
}

SplitFinder::Columns SplitFinder::copy_columns(const SplitProblem& p, const std::int32_t* features, int n) {
    const int width = padded_width(n);
    double* out = copied_.get(static_cast<std::size_t>(width) * p.n);
    for (std::int64_t i = 0; i < p.n; ++i) {
        const double* row = p.x + static_cast<std::int64_t>(p.rows[i]) * p.width;
        for (int j = 0; j < n; ++j) out[i * width + j] = row[features[j]];
        std::fill(out + i * width + n, out + (i + 1) * width, 0.0);
    }
    std::int32_t* identity = identity_.get(p.n);
    std::iota(identity, identity + p.n, 0);
    return {out, identity, width, n, features};
}

Split SplitFinder::find(const SplitProblem& p, const SplitRules& rules, Key attempt) {
    make_statistics(p, rules.criterion);
    const Key cuts = child(attempt, kCuts);
    Split best;
    if (rules.max_features >= p.n_features) {
        try_columns(p, rules, {p.x, p.rows, p.width, p.n_features, nullptr}, cuts, best);
        return best;
    }
    // A random order of the features, walked in chunks until one has a valid cut, as scikit-learn's forests do.
    const Key order_key = child(attempt, kFeatureOrder);
    std::int32_t* order = order_.get(p.n_features);
    std::iota(order, order + p.n_features, 0);
    for (int i = 0; i < p.n_features; ++i) std::swap(order[i], order[i + below(order_key, i, p.n_features - i)]);
    for (int i = 0; i < p.n_features && best.feature < 0; i += rules.max_features) {
        const int n = std::min(rules.max_features, p.n_features - i);
        try_columns(p, rules, copy_columns(p, order + i, n), cuts, best);
    }
    return best;
}

void draw_batch(Key key, std::int64_t n, std::int64_t b, Buffer<std::int64_t>& taken, std::int64_t* positions) {
    // Open addressing, at most half full; 0 marks an empty slot, so positions are kept as position + 1.
    const std::uint64_t slots = std::bit_ceil(static_cast<std::uint64_t>(2 * b));
    std::int64_t* table = taken.get(slots);
    std::fill_n(table, slots, 0);
    const auto insert = [&](std::int64_t value) {
        std::uint64_t slot = (static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15ULL >> 32) & (slots - 1);
        for (; table[slot] != 0; slot = (slot + 1) & (slots - 1))
            if (table[slot] == value + 1) return false;
        table[slot] = value + 1;
        return true;
    };
    for (std::int64_t t = 0; t < b; ++t) {
        const std::int64_t last = n - b + t;
        const auto value = static_cast<std::int64_t>(below(key, t, last + 1));
        positions[t] = insert(value) ? value : last;
        if (positions[t] == last && value != last) insert(last);
    }
    std::sort(positions, positions + b);
}

}  // namespace boostforest
