#include "split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

// What the gains are sums of. xgb: w, then w g and w h of each output. mse: w, w y. gini, c45: w by class.
void SplitFinder::make_statistics(const SplitProblem& p, Criterion criterion) {
    const Sample& s = p.sample;
    if (criterion == Criterion::kXgb) {
        stats_.resize(1 + 2 * p.loss.n_outputs());
        stats_[0] = s.w;
        p.loss.statistics(s, loss_work_, stats_.data() + 1);
        if (stats_[2] == s.w) stats_.resize(2);  // h = 1: the weight need not be summed twice
    } else if (criterion == Criterion::kMse) {
        double* wy = label_stats_.get(s.n);
        for (std::int64_t i = 0; i < s.n; ++i) wy[i] = s.w[i] * s.y[i];
        stats_ = {s.w, wy};
    } else {
        double* by_class = label_stats_.get(static_cast<std::size_t>(p.n_classes) * s.n);
        stats_.resize(p.n_classes);
        for (int c = 0; c < p.n_classes; ++c, by_class += s.n) {
            for (std::int64_t i = 0; i < s.n; ++i) by_class[i] = s.y[i] == c ? s.w[i] : 0.0;
            stats_[c] = by_class;
        }
    }
    totals_.resize(stats_.size());
    for (std::size_t k = 0; k < stats_.size(); ++k) totals_[k] = kernels().sum(stats_[k], s.n);
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
        for (int g = 1; g < static_cast<int>(stats_.size()); g += 2) {
            const int h = stats_.size() == 2 ? 0 : g + 1;
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
        rest[1] = p.sample.weight - left_weight;
        if (rest[0] <= 0 || rest[1] <= 0) continue;
        const double parent = p.sample.weight * impurity(totals, 1, p.n_classes, p.sample.weight);
        const double sides = rest[0] * impurity(sums + j, width, p.n_classes, rest[0]) +
                             rest[1] * impurity(right, 1, p.n_classes, rest[1]);
        gain[j] = is_gini ? parent - sides : (parent - sides) / entropy(rest, 1, 2, p.sample.weight);
    }
}

// Calls visit(i, j) for the cells that are missing: row i of the sample, column j.
template <class Visit>
void SplitFinder::for_each_missing(const SplitProblem& p, const Columns& columns, Visit visit) {
    for (std::int64_t i = 0; i < p.sample.n; ++i) {
        const std::int32_t row = p.sample.rows[i];
        if (columns.names == nullptr) {
            p.missing->for_each(row, [&](int j) { visit(i, j); });
        } else {
            for (int j = 0; j < columns.n; ++j)
                if (p.missing->test(row, columns.names[j])) visit(i, j);
        }
    }
}

// Finds the columns that some rows miss, adds up the statistics of these rows, and takes the range of the others.
void SplitFinder::find_missing(const SplitProblem& p, const Columns& columns) {
    gappy_.clear();
    if (p.missing == nullptr) return;
    const int width = columns.width;
    const Sample& s = p.sample;
    double* sums = missing_sums_.get(stats_.size() * width);
    std::fill_n(sums, stats_.size() * width, 0.0);
    std::vector<std::uint8_t>& seen = seen_missing_;
    seen.assign(width, 0);
    for_each_missing(p, columns, [&](std::int64_t i, int j) {
        for (std::size_t k = 0; k < stats_.size(); ++k) sums[k * width + j] += stats_[k][i];
        seen[j] = 1;
    });
    for (int j = 0; j < columns.n; ++j) {
        if (seen[j] == 0) continue;
        gappy_.push_back(j);
        const int name = columns.names == nullptr ? j : columns.names[j];
        double lo = std::numeric_limits<double>::infinity(), hi = -lo;
        for (std::int64_t i = 0; i < s.n; ++i) {
            if (p.missing->test(s.rows[i], name)) continue;
            const double value = columns.x[static_cast<std::int64_t>(columns.rows[i]) * width + j];
            lo = std::min(lo, value);
            hi = std::max(hi, value);
        }
        lo_.data()[j] = lo <= hi ? lo : 0;
        hi_.data()[j] = lo <= hi ? hi : 0;
    }
}

// Takes the missing rows out of the left sums, where the kernel has counted them by what they are filled with.
void SplitFinder::take_out_missing(const SplitProblem& p, const Columns& columns, const double* cuts) {
    if (gappy_.empty()) return;
    const int width = columns.width;
    double* counted = counted_sums_.get(stats_.size() * width);
    std::fill_n(counted, stats_.size() * width, 0.0);
    for_each_missing(p, columns, [&](std::int64_t i, int j) {
        if (columns.x[static_cast<std::int64_t>(columns.rows[i]) * width + j] > cuts[j]) return;
        for (std::size_t k = 0; k < stats_.size(); ++k) counted[k * width + j] += stats_[k][i];
    });
    for (const int j : gappy_)
        for (std::size_t k = 0; k < stats_.size(); ++k) sums_.data()[k * width + j] -= counted[k * width + j];
}

// Puts them all on the left.
void SplitFinder::put_missing_left(const Columns& columns) {
    for (const int j : gappy_)
        for (std::size_t k = 0; k < stats_.size(); ++k)
            sums_.data()[k * columns.width + j] += missing_sums_.data()[k * columns.width + j];
}

void SplitFinder::take_best(const SplitProblem& p, const SplitRules& rules, const Columns& columns, const double* cuts,
                            bool missing_left, Split& best) {
    const double* gain = gain_.data();
    const double* weight = weight_.data();
    const auto consider = [&](int j) {
        if (weight[j] < rules.min_samples_leaf || p.sample.weight - weight[j] < rules.min_samples_leaf) return;
        // Ties go to the feature that comes first.
        if (best.feature >= 0 && !(gain[j] > best.gain) && !(gain[j] == best.gain && j < best_column_)) return;
        best.feature = columns.names == nullptr ? j : columns.names[j];
        best.threshold = cuts[j];
        best.gain = gain[j];
        best.missing_left = missing_left;
        best_column_ = j;
    };
    if (missing_left) {
        for (const int j : gappy_) consider(j);
    } else {
        for (int j = 0; j < columns.n; ++j) consider(j);
    }
}

void SplitFinder::try_columns(const SplitProblem& p, const SplitRules& rules, const Columns& columns, Key cuts_key,
                              Split& best) {
    const int width = columns.width;
    double* lo = lo_.get(width);
    double* hi = hi_.get(width);
    double* cuts = cuts_.get(width);
    double* sums = sums_.get(stats_.size() * width);
    kernels().column_range(columns.x, columns.rows, p.sample.n, width, lo, hi);
    find_missing(p, columns);
    best.possible = best.possible || !gappy_.empty();
    for (int k = 0; k < rules.n_cuts; ++k) {
        if (k > 0) p.worker.check(p.sample.n * width);  // the first one belongs to what the caller has counted
        for (int j = 0; j < width; ++j) cuts[j] = hi[j];
        for (int j = 0; j < columns.n; ++j) {
            const std::int64_t name = columns.names == nullptr ? j : columns.names[j];
            best.possible = best.possible || lo[j] < hi[j];
            cuts[j] = lo[j] + uniform(cuts_key, name * rules.n_cuts + k) * (hi[j] - lo[j]);
        }
        kernels().left_sums(columns.x, columns.rows, p.sample.n, width, cuts, stats_.data(),
                            static_cast<int>(stats_.size()), sums);
        take_out_missing(p, columns, cuts);
        compute_gains(p, rules, width);
        take_best(p, rules, columns, cuts, false, best);
        if (gappy_.empty()) continue;
        put_missing_left(columns);
        compute_gains(p, rules, width);
        take_best(p, rules, columns, cuts, true, best);
    }
    best.saw_missing = best.feature >= 0 && std::find(gappy_.begin(), gappy_.end(), best_column_) != gappy_.end();
}

// Every cut between the two values of an indicator parts the rows alike: only the best one's is drawn.
void SplitFinder::try_indicators(const SplitProblem& p, const SplitRules& rules, Key cuts_key, Split& best) {
    const Indicators& table = *p.indicators;
    const Sample& s = p.sample;
    const int n_stats = static_cast<int>(stats_.size());
    const int step = padded_width(n_stats + 1);  // the last one counts rows
    double* values = row_stats_.get(static_cast<std::size_t>(step) * s.n);
    const auto write = [&, stats = stats_.data()](int n_here) {
        for (std::int64_t i = 0; i < s.n; ++i) {
            double* own = values + i * step;
            for (int k = 0; k < n_here; ++k) own[k] = stats[k][i];
            own[n_here] = 1;
            for (int k = n_here + 1; k < step; ++k) own[k] = 0;
        }
    };
    n_stats == 3 ? write(3) : write(n_stats);  // the loops of a number that is known are unrolled
    double* rare = member_sums_.get(static_cast<std::size_t>(step) * table.n());
    std::fill_n(rare, static_cast<std::size_t>(step) * table.n(), 0.0);
    lists_.read(table, s.rows, s.n);
    kernels().add_members(lists_.member.data(), lists_.owner.data(), lists_.n_members, values, step, rare);

    active_.resize(table.n());
    int n_active = 0;
    for (int m = 0; m < table.n(); ++m) {  // without branches: they could not be predicted
        const double count = rare[m * step + n_stats];
        active_[n_active] = m;
        n_active += (count > 0) & (count < static_cast<double>(s.n)) & p.features.contains(table.feature[m]);
    }
    if (n_active == 0) return;
    best.possible = true;
    const int width = padded_width(n_active);
    double* sums = sums_.get(static_cast<std::size_t>(n_stats) * width);
    std::fill_n(sums, static_cast<std::size_t>(n_stats) * width, 0.0);
    for (int a = 0; a < n_active; ++a) {
        const int m = active_[a];
        const bool rare_is_left = table.rare[m] < table.frequent[m];
        for (int k = 0; k < n_stats; ++k)
            sums[k * width + a] = rare_is_left ? rare[m * step + k] : totals_[k] - rare[m * step + k];
    }
    compute_gains(p, rules, width);
    for (int a = 0; a < n_active; ++a) {
        const double gain = gain_.data()[a], weight = weight_.data()[a];
        const int m = active_[a], feature = table.feature[m];
        if (weight < rules.min_samples_leaf || s.weight - weight < rules.min_samples_leaf) continue;
        if (best.feature >= 0 && !(gain > best.gain) && !(gain == best.gain && feature < best.feature)) continue;
        const auto [low, high] = std::minmax(table.rare[m], table.frequent[m]);
        best.feature = feature;
        best.threshold = low + uniform(cuts_key, std::int64_t{feature} * rules.n_cuts) * (high - low);
        best.gain = gain;
        best.saw_missing = best.missing_left = false;
    }
}

SplitFinder::Columns SplitFinder::copy_columns(const SplitProblem& p, const std::int32_t* features, int n) {
    const int width = padded_width(n);
    const std::int64_t n_rows = p.sample.n;
    double* out = copied_.get(static_cast<std::size_t>(width) * n_rows);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const double* row = p.x + static_cast<std::int64_t>(p.sample.rows[i]) * p.width;
        for (int j = 0; j < n; ++j) out[i * width + j] = row[features[j]];
        std::fill(out + i * width + n, out + (i + 1) * width, 0.0);
    }
    std::int32_t* identity = identity_.get(n_rows);
    std::iota(identity, identity + n_rows, 0);
    return {out, identity, width, n, features};
}

// All features that may be cut, at once.
void SplitFinder::try_all(const SplitProblem& p, const SplitRules& rules, Key cuts, Split& best) {
    const FeatureList& features = p.features;
    if (p.indicators == nullptr) {
        try_columns(p, rules,
                    features.numbers == nullptr ? Columns{p.x, p.sample.rows, p.width, features.n, nullptr}
                                                : copy_columns(p, features.numbers, features.n),
                    cuts, best);
        return;
    }
    const Indicators& table = *p.indicators;
    if (features.numbers == nullptr) {
        if (table.n_rest() > 0)
            try_columns(p, rules, {table.x.data(), p.sample.rows, table.width, table.n_rest(), table.rest.data()}, cuts,
                        best);
    } else {
        some_.clear();
        for (int j = 0; j < features.n; ++j)
            if (table.number[features[j]] < 0) some_.push_back(features[j]);
        if (!some_.empty())
            try_columns(p, rules, copy_columns(p, some_.data(), static_cast<int>(some_.size())), cuts, best);
    }
    try_indicators(p, rules, cuts, best);
}

Split SplitFinder::find(const SplitProblem& p, const SplitRules& rules, Key attempt) {
    make_statistics(p, rules.criterion);
    const Key cuts = child(attempt, kCuts);
    const int n_features = p.features.n;
    Split best;
    if (rules.max_features >= n_features) {
        try_all(p, rules, cuts, best);
        return best;
    }
    // A random order of the features, walked in chunks until one has a valid cut, as scikit-learn's forests do.
    const Key order_key = child(attempt, kFeatureOrder);
    std::int32_t* order = order_.get(n_features);
    for (int i = 0; i < n_features; ++i) order[i] = p.features[i];
    for (int i = 0; i < n_features; ++i) std::swap(order[i], order[i + below(order_key, i, n_features - i)]);
    for (int i = 0; i < n_features && best.feature < 0; i += rules.max_features) {
        const int n = std::min(rules.max_features, n_features - i);
        try_columns(p, rules, copy_columns(p, order + i, n), cuts, best);
    }
    return best;
}

const std::uint64_t* draw_batch(Key key, std::int64_t n, std::int64_t b, Buffer<std::uint64_t>& taken) {
    const std::int64_t n_words = (n + 63) / 64;
    std::uint64_t* bits = taken.get(n_words + 1);
    std::fill_n(bits, n_words, 0);
    bits[n_words] = ~std::uint64_t{0};
    for (std::int64_t t = 0; t < b; ++t) {
        const auto last = static_cast<std::uint64_t>(n - b + t), drawn = below(key, t, last + 1);
        const bool fresh = (bits[drawn / 64] >> (drawn % 64) & 1) == 0;
        const std::uint64_t value = fresh ? drawn : last;  // a selection, not a branch, that could not be predicted
        bits[value / 64] |= std::uint64_t{1} << (value % 64);
    }
    return bits;
}

}  // namespace boostforest
