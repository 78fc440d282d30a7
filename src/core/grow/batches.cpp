#include "batches.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest {

const std::uint64_t* draw_batch(Key key, std::int64_t n, std::int64_t b, Buffer<std::uint64_t>& taken) {
    std::uint64_t* bits = taken.get((n + 63) / 64 + 1);
    kernels().draw_batch(key, n, b, bits);
    return bits;
}

Sample Batches::draw(const Leaf& leaf, const std::int32_t* leaf_rows, std::int64_t size, Key key) {
    const std::int64_t stride = padded_rows(size);
    std::int32_t* rows = rows_.get(size + 1);
    std::int32_t* n_taken = n_taken_.get(size + 1);
    double* w = w_.get(size + 1);
    double* y = y_.get(size + 1);
    const bool few = leaf.count > 4 * size;
    const std::uint64_t* taken = draw_batch(key, leaf.count, size, taken_);
    Sample sample{
        .rows = rows,
        .n = kernels().take_draws(leaf_rows, leaf.n_rows(), replica_.counts(), taken, few, rows, n_taken),
        .w = w,
        .y = y,
        .state = state_.get(data_.loss.n_state() * stride),
        .stride = stride,
    };
    for (std::int64_t i = 0; i < sample.n; ++i) y[i] = data_.y[rows[i]];
    if (replica_.weighs_by_counts()) {
        std::copy_n(n_taken, sample.n, w);
        sample.weight = static_cast<double>(size);
        return sample;
    }
    for (std::int64_t i = 0; i < sample.n; ++i) {
        w[i] = replica_.weights()[rows[i]] * n_taken[i] / replica_.counts()[rows[i]];
        sample.weight += w[i];
    }
    return sample;
}

}  // namespace boostforest
