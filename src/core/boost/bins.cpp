#include "bins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

struct Value {
    double x, weight;
};

// The distinct values in ascending order, with the weight of their rows.
std::vector<Value> distinct_values(std::vector<Value>& values) {
    std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.x < b.x; });
    std::vector<Value> distinct;
    for (const Value& value : values) {
        if (!distinct.empty() && distinct.back().x == value.x) {
            distinct.back().weight += value.weight;
        } else {
            distinct.push_back(value);
        }
    }
    return distinct;
}

// Halfway between two neighbours, or near it where that has fewer digits, so that files are smaller; the lower one
// where rounding would reach the upper.
double between(double low, double high) {
    constexpr int kAll = 53;
    const double middle = low + (high - low) / 2, most = (high - low) / 4;
    int power = 0;
    const double fraction = std::frexp(middle, &power);
    for (int digits = 1; digits < kAll; ++digits) {
        const double shorter = std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), power - digits);
        if (std::abs(shorter - middle) <= most && low <= shorter && shorter < high) return shorter;
    }
    return middle < high ? middle : low;
}

// A bin ends when it has its share of the weight that is left: a heavy value takes none from the others.
std::vector<double> find_borders(const std::vector<Value>& values, int most_bins) {
    std::vector<double> borders;
    const std::size_t n = values.size();
    if (n <= static_cast<std::size_t>(most_bins)) {
        for (std::size_t i = 1; i < n; ++i) borders.push_back(between(values[i - 1].x, values[i].x));
        return borders;
    }
    double left = 0, own = 0;
    for (const Value& value : values) left += value.weight;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        own += values[i].weight;
        const int n_left = most_bins - static_cast<int>(borders.size());
        if (n_left == 1) break;
        const double share = left / n_left;
        // Ends here too where the next value alone would take it further beyond its share than it is short of it.
        if (own < share && own + values[i + 1].weight - share <= share - own) continue;
        borders.push_back(between(values[i].x, values[i + 1].x));
        left -= own;
        own = 0;
    }
    return borders;
}

}  // namespace

Bins::Bins(const Dataset& data, const double* weight, int most_bins, int n_threads, Control& control)
    : n_rows_(data.n_rows),
      borders_(data.n_features),
      largest_(data.n_features, 0.0),
      has_missing_(data.n_features, 0),
      codes_(static_cast<std::size_t>(data.n_rows) * data.n_features) {
    const std::int64_t width = padded_width(data.n_features);
    parallel_for(data.n_features, n_threads, control, [&](std::int64_t j, Worker& worker) {
        worker.check(32 * n_rows_);
        std::vector<Value> values;
        values.reserve(n_rows_);
        const auto is_missing = [&](std::int64_t i) {
            return data.missing != nullptr && data.missing->test(i, static_cast<int>(j));
        };
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            const double own = weight == nullptr ? 1 : weight[i];
            if (own > 0 && !is_missing(i)) values.push_back({data.x[i * width + j], own});
        }
        std::vector<double>& borders = borders_[j];
        const std::vector<Value> distinct = distinct_values(values);
        borders = find_borders(distinct, most_bins);
        if (!distinct.empty()) largest_[j] = distinct.back().x;
        std::uint8_t* codes = codes_.data() + j * n_rows_;
        for (std::int64_t i = 0; i < n_rows_; ++i) {
            if (is_missing(i)) {
                has_missing_[j] = 1;
                codes[i] = static_cast<std::uint8_t>(borders.size() + 1);
            } else {
                const double x = data.x[i * width + j];
                codes[i] =
                    static_cast<std::uint8_t>(std::lower_bound(borders.begin(), borders.end(), x) - borders.begin());
            }
        }
    });
    by_width_.resize(data.n_features);
    std::iota(by_width_.begin(), by_width_.end(), 0);
    std::stable_sort(by_width_.begin(), by_width_.end(), [&](int a, int b) { return n_bins(a) > n_bins(b); });
}

}  // namespace boostforest
