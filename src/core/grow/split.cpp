#include "split.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr int kCutsAtOnce = 8;  // thresholds per column whose sums are added up together

}  // namespace

Split SplitFinder::find(const Sample& sample, const SplitRules& rules, const FeatureList& features, Key attempt,
                        Worker& worker) {
    sample_ = &sample;
    rules_ = &rules;
    features_ = features;
    worker_ = &worker;
    thresholds_key_ = child(attempt, kCuts);
    best_ = {};
    gains_.start(sample, data_.loss, rules.criterion, data_.n_classes);
    const int n_features = features.n;
    if (rules.max_features >= n_features) {
        try_all();
        return best_;
    }
    // A random order of the features, walked in chunks until one has a valid threshold, as scikit-learn's forests do.
    const Key order_key = child(attempt, kFeatureOrder);
    std::int32_t* order = order_.get(n_features);
    for (int i = 0; i < n_features; ++i) order[i] = features[i];
    for (int i = 0; i < n_features; ++i) std::swap(order[i], order[i + below(order_key, i, n_features - i)]);
    for (int i = 0; i < n_features && best_.feature < 0; i += rules.max_features)
        try_columns(copy_columns(order + i, std::min(rules.max_features, n_features - i)));
    return best_;
}

// All features that may be split on, at once.
void SplitFinder::try_all() {
    const FeatureList& features = features_;
    Candidates all{.x = data_.x,
                   .rows = sample_->rows,
                   .width = padded_width(data_.n_features),
                   .n = features.n,
                   .names = nullptr};
    if (data_.indicators == nullptr) {
        try_columns(features.numbers == nullptr ? all : copy_columns(features.numbers, features.n));
        return;
    }
    const Indicators& table = *data_.indicators;
    if (features.numbers == nullptr) {
        all.x = table.x.data();
        all.width = table.width;
        all.n = table.n_rest();
        all.names = table.rest.data();
        if (all.n > 0) try_columns(all);
    } else {
        some_.clear();
        for (int j = 0; j < features.n; ++j)
            if (table.number[features[j]] < 0) some_.push_back(features[j]);
        if (!some_.empty()) try_columns(copy_columns(some_.data(), static_cast<int>(some_.size())));
    }
    try_indicators();
}

SplitFinder::Candidates SplitFinder::copy_columns(const std::int32_t* features, int n) {
    const std::int64_t width = padded_width(n), table_width = padded_width(data_.n_features), n_rows = sample_->n;
    double* out = copied_.get(width * n_rows);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const double* row = data_.x + sample_->rows[i] * table_width;
        for (int j = 0; j < n; ++j) out[i * width + j] = row[features[j]];
        std::fill(out + i * width + n, out + (i + 1) * width, 0.0);
    }
    std::int32_t* identity = identity_.get(n_rows);
    std::iota(identity, identity + n_rows, 0);
    return {.x = out, .rows = identity, .width = static_cast<int>(width), .n = n, .names = features};
}

void SplitFinder::try_columns(const Candidates& columns) {
    const int width = columns.width, n_stats = gains_.n_stats(), n_cuts = rules_->n_cuts;
    double* lo = lo_.get(width);
    double* hi = hi_.get(width);
    kernels().column_range(columns.x, columns.rows, sample_->n, width, lo, hi);
    find_missing(columns);
    const int n_at_once = std::min(n_cuts, with_missing_.empty() ? kCutsAtOnce : 1);
    double* thresholds = thresholds_.get(std::int64_t{n_at_once} * width);
    double* sums = sums_.get(std::int64_t{n_at_once} * width * n_stats);
    bool possible = !with_missing_.empty();
    const Key key = thresholds_key_;
    for (int j = 0; j < columns.n; ++j) possible |= lo[j] < hi[j];
    for (int first = 0; first < n_cuts; first += n_at_once) {
        const int n = std::min(n_at_once, n_cuts - first);
        if (first > 0) worker_->check(n * sample_->n * width);  // the first ones belong to what the caller has counted
        for (int k = 0; k < n; ++k) {
            double* own = thresholds + std::int64_t{k} * width;
            for (int j = 0; j < width; ++j) own[j] = hi[j];
            for (int j = 0; j < columns.n; ++j) {
                const double draw = uniform(key, std::int64_t{columns.name(j)} * n_cuts + first + k);
                own[j] = lo[j] + draw * (hi[j] - lo[j]);
            }
        }
        kernels().left_sums(columns.x, columns.rows, sample_->n, width, thresholds, n, gains_.stats(), n_stats, sums);
        take_out_missing(columns);
        gains_.compute(sums, n * width, rules_->reg_lambda);
        take_best(columns, n, false);
        if (with_missing_.empty()) continue;
        put_missing_left(columns);
        gains_.compute(sums, width, rules_->reg_lambda);
        take_best(columns, 1, true);
    }
    best_.possible = best_.possible || possible;
    best_.saw_missing = best_.feature >= 0 &&
                        std::find(with_missing_.begin(), with_missing_.end(), best_column_) != with_missing_.end();
}

void SplitFinder::take_best(const Candidates& columns, int n_cuts, bool missing_left) {
    const double* gain = gains_.gain();
    const double* weight = gains_.left_weight();
    const double least = rules_->min_samples_leaf, total = sample_->weight;
    const auto consider = [&](int place) {
        const int j = place % columns.width;
        if (weight[place] < least || total - weight[place] < least) return;
        // Ties go to the feature that comes first.
        const bool is_first = gain[place] == best_.gain && j < best_column_;
        if (best_.feature >= 0 && !(gain[place] > best_.gain) && !is_first) return;
        best_.feature = columns.name(j);
        best_.threshold = thresholds_.data()[place];
        best_.gain = gain[place];
        best_.left_weight = weight[place];
        best_.missing_left = missing_left;
        best_column_ = j;
    };
    if (missing_left) {
        for (const int j : with_missing_) consider(j);
    } else {
        const int place = kernels().best_place(gain, weight, columns.width, columns.n, n_cuts, total, least);
        if (place >= 0) consider(place);
    }
}

// Calls visit(i, j) for the cells that are missing: row i of the sample, column j.
template <class Visit>
void SplitFinder::for_each_missing(const Candidates& columns, Visit visit) const {
    for (std::int64_t i = 0; i < sample_->n; ++i) {
        const std::int32_t row = sample_->rows[i];
        if (columns.names == nullptr) {
            data_.missing->for_each(row, [&](int j) { visit(i, j); });
        } else {
            for (int j = 0; j < columns.n; ++j)
                if (data_.missing->test(row, columns.names[j])) visit(i, j);
        }
    }
}

// Finds the columns that some rows miss, adds up the statistics of these rows, and takes the range of the others.
void SplitFinder::find_missing(const Candidates& columns) {
    with_missing_.clear();
    if (data_.missing == nullptr) return;
    const std::int64_t width = columns.width, n_stats = gains_.n_stats();
    double* sums = missing_sums_.get(n_stats * width);
    std::fill_n(sums, n_stats * width, 0.0);
    seen_missing_.assign(width, 0);
    for_each_missing(columns, [&, stats = gains_.stats()](std::int64_t i, int j) {
        for (int k = 0; k < n_stats; ++k) sums[k * width + j] += stats[k][i];
        seen_missing_[j] = 1;
    });
    for (int j = 0; j < columns.n; ++j) {
        if (seen_missing_[j] == 0) continue;
        with_missing_.push_back(j);
        double lo = std::numeric_limits<double>::infinity(), hi = -lo;
        for (std::int64_t i = 0; i < sample_->n; ++i) {
            if (data_.missing->test(sample_->rows[i], columns.name(j))) continue;
            const double value = columns.x[columns.rows[i] * width + j];
            lo = std::min(lo, value);
            hi = std::max(hi, value);
        }
        lo_.data()[j] = lo <= hi ? lo : 0;
        hi_.data()[j] = lo <= hi ? hi : 0;
    }
}

// Takes the missing rows out of the left sums, where the kernel has counted them by what they are filled with. There is
// one threshold for each column then.
void SplitFinder::take_out_missing(const Candidates& columns) {
    if (with_missing_.empty()) return;
    const std::int64_t width = columns.width, n_stats = gains_.n_stats();
    double* counted = counted_sums_.get(n_stats * width);
    std::fill_n(counted, n_stats * width, 0.0);
    for_each_missing(columns, [&, stats = gains_.stats(), thresholds = thresholds_.data()](std::int64_t i, int j) {
        if (columns.x[columns.rows[i] * width + j] > thresholds[j]) return;
        for (int k = 0; k < n_stats; ++k) counted[k * width + j] += stats[k][i];
    });
    for (const int j : with_missing_)
        for (int k = 0; k < n_stats; ++k) sums_.data()[k * width + j] -= counted[k * width + j];
}

// Puts them all on the left.
void SplitFinder::put_missing_left(const Candidates& columns) {
    for (const int j : with_missing_)
        for (int k = 0; k < gains_.n_stats(); ++k)
            sums_.data()[k * columns.width + j] += missing_sums_.data()[k * columns.width + j];
}

// Every threshold between the two values of an indicator splits the rows alike: only the best one's is drawn.
void SplitFinder::try_indicators() {
    const Indicators& table = *data_.indicators;
    const int n_stats = gains_.n_stats(), step = padded_width(n_stats + 1);
    const double* rare = sum_members(step);
    const auto n_rows = static_cast<double>(sample_->n);
    active_.resize(table.n());
    int n_active = 0;
    for (int m = 0; m < table.n(); ++m) {  // without branches: they could not be predicted
        const double count = rare[m * step + n_stats];
        active_[n_active] = m;
        n_active += (count > 0) & (count < n_rows) & features_.contains(table.feature[m]);
    }
    if (n_active == 0) return;
    best_.possible = true;
    const std::int64_t width = padded_width(n_active);
    double* sums = sums_.get(n_stats * width);
    std::fill_n(sums, n_stats * width, 0.0);
    for (int a = 0; a < n_active; ++a) {
        const int m = active_[a];
        const bool rare_is_left = table.rare[m] < table.frequent[m];
        for (int k = 0; k < n_stats; ++k)
            sums[k * width + a] = rare_is_left ? rare[m * step + k] : gains_.totals()[k] - rare[m * step + k];
    }
    gains_.compute(sums, static_cast<int>(width), rules_->reg_lambda);
    for (int a = 0; a < n_active; ++a) {
        const double gain = gains_.gain()[a], weight = gains_.left_weight()[a];
        const int m = active_[a], feature = table.feature[m];
        if (weight < rules_->min_samples_leaf || sample_->weight - weight < rules_->min_samples_leaf) continue;
        if (best_.feature >= 0 && !(gain > best_.gain) && !(gain == best_.gain && feature < best_.feature)) continue;
        const auto [low, high] = std::minmax(table.rare[m], table.frequent[m]);
        const double draw = uniform(thresholds_key_, std::int64_t{feature} * rules_->n_cuts);
        best_ = {.feature = feature,
                 .threshold = low + draw * (high - low),
                 .gain = gain,
                 .left_weight = weight,
                 .possible = true};
    }
}

// Statistics of the rows that have the rare value of each indicator, then how many they are, `step` doubles apart.
const double* SplitFinder::sum_members(int step) {
    const Indicators& table = *data_.indicators;
    const std::int64_t n = sample_->n;
    double* values = row_stats_.get(static_cast<std::size_t>(step) * n);
    const auto write = [=, stats = gains_.stats()](int n_stats) {
        for (std::int64_t i = 0; i < n; ++i) {
            double* own = values + i * step;
            for (int k = 0; k < n_stats; ++k) own[k] = stats[k][i];
            own[n_stats] = 1;
            for (int k = n_stats + 1; k < step; ++k) own[k] = 0;
        }
    };
    gains_.n_stats() == 3 ? write(3) : write(gains_.n_stats());  // the loops of a number that is known are unrolled
    double* sums = member_sums_.get(static_cast<std::size_t>(step) * table.n());
    std::fill_n(sums, static_cast<std::size_t>(step) * table.n(), 0.0);
    lists_.read(table, sample_->rows, n);
    kernels().add_members(lists_.member.data(), lists_.owner.data(), lists_.n_members, values, step, sums);
    return sums;
}

}  // namespace boostforest
