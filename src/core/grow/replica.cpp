#include "replica.hpp"

#include <algorithm>
#include <numeric>

namespace boostforest {

namespace {

constexpr std::int64_t kDrawsPerCheck = 1 << 16;

// A dealt seed: this mark, 20 bits of the key, whether most rows are left out by one bag, the number of bags and that
// of the bag. Other seeds are random words: one in 2^32 has the mark, and its tree has other rows than it would have
// had, which is as good.
constexpr std::uint64_t kDealtMark = 0xDEA17BA6;
constexpr int kMarkShift = 32, kKeyShift = 12, kBagBits = 6;
constexpr std::uint64_t kBagMask = (1 << kBagBits) - 1, kMostlyOne = 1 << 5;

void deal(const Deal& deal, std::int64_t n_rows, const double* cumulative, Worker& worker, std::int32_t* counts) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const bool counts_nothing = cumulative != nullptr && cumulative[i] == (i == 0 ? 0.0 : cumulative[i - 1]);
        counts[i] = counts_nothing || deal.leaves_out(i) ? 0 : 1;
    }
    worker.check(16 * n_rows);
}

}  // namespace

Key dealt_seed(Key key, int n_bags, int bag, bool mostly_one) {
    const std::uint64_t own = key & ((std::uint64_t{1} << (kMarkShift - kKeyShift)) - 1);
    return kDealtMark << kMarkShift | own << kKeyShift |
           (static_cast<std::uint64_t>(n_bags) | (mostly_one ? kMostlyOne : 0)) << kBagBits |
           static_cast<std::uint64_t>(bag);
}

std::optional<Deal> read_deal(Key seed) {
    const std::uint64_t how = seed >> kBagBits & kBagMask, n_bags = how & (kMostlyOne - 1), bag = seed & kBagMask;
    if (seed >> kMarkShift != kDealtMark || n_bags < kLeastDealt || bag >= n_bags) return std::nullopt;
    return Deal{.key = child(seed >> kKeyShift, kBootstrap),
                .n_bags = n_bags,
                .bag = bag,
                .mostly_one = (how & kMostlyOne) != 0};
}

void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, Worker& worker, std::int32_t* counts) {
    if (const auto dealt = read_deal(seed)) {
        deal(*dealt, n_rows, sampling.cumulative, worker, counts);
        return;
    }
    const Key key = child(seed, kBootstrap);
    const double* end = sampling.cumulative == nullptr ? nullptr : sampling.cumulative + n_rows;
    std::fill_n(counts, n_rows, 0);
    for (std::int64_t first = 0; first < sampling.n_draws; first += kDrawsPerCheck) {
        const std::int64_t last = std::min(first + kDrawsPerCheck, sampling.n_draws);
        if (end == nullptr) {
            for (std::int64_t i = first; i < last; ++i) ++counts[below(key, i, n_rows)];
        } else {
            for (std::int64_t i = first; i < last; ++i) {
                const double* hit = std::upper_bound(sampling.cumulative, end, uniform(key, i) * end[-1]);
                ++counts[std::min<std::int64_t>(hit - sampling.cumulative, n_rows - 1)];
            }
        }
        worker.check(16 * (last - first));
    }
}

Replica::Replica(const Dataset& data, const Sampling& sampling)
    : data_(data), sampling_(sampling), counts_(data.n_rows, 1), weights_(data.n_rows, 1.0) {
    if (!sampling.bootstrap && sampling.weight != nullptr) std::copy_n(sampling.weight, data.n_rows, weights_.data());
    by_counts_ = sampling.bootstrap ? !sampling.balance_classes : sampling.weight == nullptr;
}

void Replica::draw(Key seed, Worker& worker) {
    if (!sampling_.bootstrap) return;  // the same rows for every tree
    if (sampling_.drawn != nullptr) {
        std::copy_n(sampling_.drawn, data_.n_rows, counts_.data());
    } else {
        draw_bootstrap(seed, data_.n_rows, sampling_, worker, counts_.data());
    }
    std::copy(counts_.begin(), counts_.end(), weights_.begin());
    const bool dealt_by_weight = sampling_.drawn == nullptr && sampling_.cumulative != nullptr && read_deal(seed);
    by_counts_ = !dealt_by_weight && !sampling_.balance_classes;
    if (dealt_by_weight) weigh_dealt();
    if (sampling_.balance_classes) balance_classes();
}

// Rows that are drawn by their weights come as often as these say; those that are dealt count as much, 1 on average.
void Replica::weigh_dealt() {
    const double* cumulative = sampling_.cumulative;
    const double unit = static_cast<double>(data_.n_rows) / cumulative[data_.n_rows - 1];
    for (std::int64_t i = 0; i < data_.n_rows; ++i)
        weights_[i] *= (cumulative[i] - (i == 0 ? 0.0 : cumulative[i - 1])) * unit;
}

// class_weight="balanced_subsample": rows / (classes · rows of the class), over the replica.
void Replica::balance_classes() {
    std::vector<double> drawn(data_.n_classes, 0.0);
    for (std::int64_t i = 0; i < data_.n_rows; ++i) drawn[static_cast<std::size_t>(data_.y[i])] += weights_[i];
    const auto n_present = static_cast<double>(std::ranges::count_if(drawn, [](double n) { return n > 0; }));
    const double n_drawn = std::accumulate(drawn.begin(), drawn.end(), 0.0);
    for (std::int64_t i = 0; i < data_.n_rows; ++i)
        if (counts_[i] > 0)
            weights_[i] = weights_[i] * n_drawn / (n_present * drawn[static_cast<std::size_t>(data_.y[i])]);
}

}  // namespace boostforest
