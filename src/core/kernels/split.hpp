// Split search: ranges, left sums and gains of all columns at once. Part of all.cpp: compiled once per instruction
// set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

template <class V>
inline void range_block(const double* x, const std::int32_t* rows, Index n, Index width, double* lo, double* hi) {
    V lo0 = load<V>(x + rows[0] * width), hi0 = lo0, lo1 = lo0, hi1 = lo0;
    for (Index i = 1; i + 1 < n; i += 2) {  // two chains: the latency of min and max is longer than their cost
        const V a = load<V>(x + rows[i] * width), b = load<V>(x + rows[i + 1] * width);
        lo0 = a < lo0 ? a : lo0;
        hi0 = a > hi0 ? a : hi0;
        lo1 = b < lo1 ? b : lo1;
        hi1 = b > hi1 ? b : hi1;
    }
    const V last = load<V>(x + rows[n - 1] * width);  // once more, or not: that cannot be predicted
    lo0 = last < lo0 ? last : lo0;
    hi0 = last > hi0 ? last : hi0;
    store<V>(lo, lo0 < lo1 ? lo0 : lo1);
    store<V>(hi, hi0 > hi1 ? hi0 : hi1);
}

void column_range(const double* x, const std::int32_t* rows, Index n, int width, double* lo, double* hi) {
    for_columns(width, [&]<class V>(int j) { range_block<V>(x + j, rows, n, width, lo + j, hi + j); });
}

// What is added up together: thresholds of some columns, and where their sums go.
struct CutPart {
    Index column;
    const double* cuts;
    double* sums;
};

template <class V>
[[gnu::always_inline]] inline V plus_where_left(V total, V value, V cut, V own) {
#if defined(__AVX512F__)
    return value <= cut ? total + own : total;  // one instruction
#else
    return total + (value <= cut ? own : V{});
#endif
}

// Several parts at once: each addition has to wait for the one before it of the same sum.
template <class V, int kStats, int kParts>
inline void left_sums_of(const double* x, const std::int32_t* rows, Index n, Index width, const CutPart* parts,
                         const double* const* stats, Index stride) {
    V cut[kParts], total[kParts * kStats];
    unrolled<0, kParts>([&]<int p>() { cut[p] = load<V>(parts[p].cuts); });
    unrolled<0, kParts * kStats>([&]<int t>() { total[t] = V{}; });
    for (Index i = 0; i < n; ++i) {
        const double* row = x + rows[i] * width;
        V own[kStats];
        unrolled<0, kStats>([&]<int k>() { own[k] = splat<V>(stats[k][i]); });
        unrolled<0, kParts>([&]<int p>() {
            const V value = load<V>(row + parts[p].column);
            unrolled<0, kStats>([&]<int k>() {
                V& sum = total[p * kStats + k];
                sum = plus_where_left(sum, value, cut[p], own[k]);
            });
        });
    }
    unrolled<0, kParts * kStats>([&]<int t>() { store<V>(parts[t / kStats].sums + (t % kStats) * stride, total[t]); });
}

template <int kStats>
inline void left_sums_by(const double* x, const std::int32_t* rows, Index n, int width, const double* cuts, int n_cuts,
                         const double* const* stats, Index stride, double* sums) {
    constexpr int kMost = kStats > 2 ? 2 : 4;  // as many as registers hold
    CutPart parts[kMost];
    with_vector(width, [&]<class V>() {
        int n_parts = 0;
        for (int c = 0; c < n_cuts; ++c)
            for (int j = 0; j < width; j += Traits<V>::kSize) {
                const Index place = c * Index{width} + j;
                parts[n_parts++] = {j, cuts + place, sums + place};
                if (n_parts < kMost) continue;
                left_sums_of<V, kStats, kMost>(x, rows, n, width, parts, stats, stride);
                n_parts = 0;
            }
        if (n_parts == 3) left_sums_of<V, kStats, 3>(x, rows, n, width, parts, stats, stride);
        if (n_parts == 2) left_sums_of<V, kStats, 2>(x, rows, n, width, parts, stats, stride);
        if (n_parts == 1) left_sums_of<V, kStats, 1>(x, rows, n, width, parts, stats, stride);
    });
}

void left_sums(const double* x, const std::int32_t* rows, Index n, int width, const double* cuts, int n_cuts,
               const double* const* stats, int n_stats, double* sums) {
    const Index stride = static_cast<Index>(n_cuts) * width;
    for (int k = 0; k < n_stats; k += 4) {
        const double* const* s = stats + k;
        double* out = sums + k * stride;
        switch (n_stats - k) {
            case 1: left_sums_by<1>(x, rows, n, width, cuts, n_cuts, s, stride, out); break;
            case 2: left_sums_by<2>(x, rows, n, width, cuts, n_cuts, s, stride, out); break;
            case 3: left_sums_by<3>(x, rows, n, width, cuts, n_cuts, s, stride, out); break;
            default: left_sums_by<4>(x, rows, n, width, cuts, n_cuts, s, stride, out);
        }
    }
}

void add_members(const std::uint16_t* member, const std::int32_t* owner, Index n, const double* values, int step,
                 double* sums) {
    with_vector(step, [=]<class V>() {
        for (Index i = 0; i < n; ++i) {
            double* sum = sums + member[i] * Index{step};
            const double* value = values + owner[i] * Index{step};
            for (int k = 0; k < step; k += Traits<V>::kSize) store<V>(sum + k, load<V>(sum + k) + load<V>(value + k));
        }
    });
}

// G_L²/(H_L + λ) + G_R²/(H_R + λ).
template <class V>
[[gnu::always_inline]] inline V gain_of(double g, double h, const double* g_left, const double* h_left, double lambda) {
    const V gl = load<V>(g_left), hl = load<V>(h_left) + lambda;
    const V gr = g - gl, hr = h + (2 * lambda) - hl;
    const V left = hl > 0 ? gl * gl / hl : V{}, right = hr > 0 ? gr * gr / hr : V{};
    return left + right;
}

void add_gain(int width, double g, double h, const double* g_left, const double* h_left, double lambda, double* gain) {
    for_columns(width, [&]<class V>(int j) {
        store<V>(gain + j, load<V>(gain + j) + gain_of<V>(g, h, g_left + j, h_left + j, lambda));
    });
}

// As in grow/comparable.hpp.
template <class V>
[[gnu::always_inline]] inline V comparable(V value) {
    constexpr std::int64_t kHalf = std::int64_t{1} << 31;
    decltype(value < value) bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = (bits + kHalf) & ~(2 * kHalf - 1);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

void boosting_gains(int width, int n_outputs, bool unit_curvature, const double* totals, const double* sums,
                    double lambda, double* gain) {
    for_columns(width, [&]<class V>(int j) {
        V total{};
        for (int c = 0; c < n_outputs; ++c) {
            const int g = unit_curvature ? 1 + c : 1 + 2 * c, h = unit_curvature ? 0 : g + 1;
            total += gain_of<V>(totals[g], totals[h], sums + g * Index{width} + j, sums + h * Index{width} + j, lambda);
        }
        store<V>(gain + j, comparable<V>(0.5 * total));
    });
}

// Bits of the lanes that are equal.
inline std::uint32_t equal_lanes(Vec a, Vec b) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);  // lane_bits(a == b) would be made a vector and a mask again
#else
    return lane_bits(a == b);
#endif
}

int best_place(const double* gain, const double* left_weight, int width, int n, int n_cuts, double total,
               double least) {
    double best = -__builtin_inf();
    int found = -1;
    for (int j = 0; j < n; j += kVec) {
        const VecMask here = first(n - j);
        Vec top = splat<Vec>(-__builtin_inf());
        VecMask cut{};  // of the largest gain of each column, the first
        for (int c = 0; c < n_cuts; ++c) {
            const int place = c * width + j;
            const Vec own = load<Vec>(gain + place), left = load<Vec>(left_weight + place);
            const VecMask is_larger = here & (left >= least) & (total - left >= least) & (own > top);
            top = is_larger ? own : top;
            cut = is_larger ? VecMask{} + c : cut;
        }
        const double own = largest(top);
        if (!(own > best)) continue;
        const int lane = __builtin_ctz(equal_lanes(top, splat<Vec>(own)));
        best = own;
        found = static_cast<int>(cut[lane]) * width + j + lane;
    }
    return found;
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
