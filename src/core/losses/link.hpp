// Links: how the scores that trees add up become what a forest averages and predicts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../kernels/kernels.hpp"

namespace boostforest {

// Identity: the scores themselves. Log: e^F. Sigmoid: the probability of the second of two classes. Softmax: those of
// all classes.
enum class Link : std::uint8_t { kIdentity, kLog, kSigmoid, kSoftmax };

constexpr double kLargestLog = 230;  // beyond ±230 the log link counts a score as that: sums of 1e100 are finite

// Replaces n scores of each output (outputs × n, `stride` apart) by what they stand for. Whole vectors are written.
inline void apply_link(Link link, double* f, std::int64_t stride, std::int64_t n, int n_outputs) {
    switch (link) {
        case Link::kIdentity: return;
        case Link::kLog:
            for (int c = 0; c < n_outputs; ++c) {
                double* own = f + c * stride;
                for (std::int64_t i = 0; i < n; ++i) own[i] = std::clamp(own[i], -kLargestLog, kLargestLog);
                kernels().exponential(own, n, own);
            }
            return;
        case Link::kSigmoid:
            for (int c = 0; c < n_outputs; ++c) kernels().sigmoid(f + c * stride, n, f + c * stride);
            return;
        case Link::kSoftmax: kernels().softmax(f, stride, n, n_outputs, f, stride);
    }
}

// The same of several targets, whose outputs end at target_end: a softmax over each, of one output a sigmoid. Null:
// there is one target.
inline void apply_link(Link link, double* f, std::int64_t stride, std::int64_t n, int n_outputs,
                       const std::int32_t* target_end) {
    if (target_end == nullptr || link != Link::kSoftmax) return apply_link(link, f, stride, n, n_outputs);
    for (int first = 0; first < n_outputs; first = *target_end++)
        apply_link(*target_end - first == 1 ? Link::kSigmoid : Link::kSoftmax, f + first * stride, stride, n,
                   *target_end - first);
}

}  // namespace boostforest
