#include "replica.hpp"

#include <algorithm>

namespace boostforest {

namespace {

constexpr std::int64_t kDrawsPerCheck = 1 << 16;

}  // namespace

void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, Worker& worker, std::int32_t* counts) {
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
                ++counts[std::min(hit - sampling.cumulative, n_rows - 1)];
            }
        }
        worker.check(16 * (last - first));
    }
}

Replica::Replica(const Dataset& data, const Sampling& sampling)
    : data_(data), sampling_(sampling), counts_(data.n_rows, 1), weights_(data.n_rows, 1.0) {
    if (!sampling.bootstrap && sampling.weight != nullptr) std::copy_n(sampling.weight, data.n_rows, weights_.data());
}

void Replica::draw(Key seed, Worker& worker) {
    if (!sampling_.bootstrap) return;  // the same rows for every tree
    if (sampling_.drawn != nullptr) {
        std::copy_n(sampling_.drawn, data_.n_rows, counts_.data());
    } else {
        draw_bootstrap(seed, data_.n_rows, sampling_, worker, counts_.data());
    }
    std::copy(counts_.begin(), counts_.end(), weights_.begin());
    if (sampling_.balance_classes) balance_classes();
}

// class_weight="balanced_subsample": rows / (classes · rows of the class), over the replica.
void Replica::balance_classes() {
    std::vector<double> drawn(data_.n_classes, 0.0);
    for (std::int64_t i = 0; i < data_.n_rows; ++i) drawn[static_cast<std::size_t>(data_.y[i])] += counts_[i];
    const auto n_present = std::count_if(drawn.begin(), drawn.end(), [](double n) { return n > 0; });
    const auto n_draws = static_cast<double>(sampling_.n_draws);
    for (std::int64_t i = 0; i < data_.n_rows; ++i)
        if (counts_[i] > 0)
            weights_[i] =
                counts_[i] * n_draws / (static_cast<double>(n_present) * drawn[static_cast<std::size_t>(data_.y[i])]);
}

}  // namespace boostforest
