// Ridge regression on as many features as two vectors hold, from the sums over the rows to the solution in registers.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "linalg.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

constexpr double kSafePenalty = 1e-5;                     // of the largest pivot: rounding does not count beside it
constexpr double kTinyPivot = 8 * 2.220446049250313e-16;  // of the largest one, times the features: lost in rounding

template <class V, int kPlace>
[[gnu::always_inline]] inline V with_place(V v, double value) {
    v[kPlace] = value;
    return v;
}

// Solves A s = b for the symmetric A of kSize rows; returns s. Gauss and Jordan's elimination, symmetric as long as
// swept columns hold the shares of their pivots: so every factor stands in the pivot's row, and no substitution
// follows.
template <class V, int kSize>
[[gnu::always_inline]] inline V solve_in_registers(V (&a)[kSize], V b, double tiny) {
    unrolled<0, kSize>([&]<int k>() {
        const double pivot = a[k][k], inverse = pivot > tiny ? 1 / pivot : 0;
        const V share = a[k] * inverse;
        unrolled<k + 1, kSize>([&]<int i>() { a[i] = with_place<V, k>(a[i] - share[i] * a[k], share[i]); });
        const double unknown = b[k] * inverse;
        b = with_place<V, k>(b - unknown * a[k], unknown);
    });
    return b;
}

template <class V, int kSize>
inline bool small_ridge_of(const double* x, Index n, int d, const double* v, const double* z, double lambda,
                           double* slopes, double& intercept) {
    constexpr Index kWidth = Traits<V>::kSize;
    V a[kSize] = {}, sum_x{}, b{};
    double total = 0, sum_vz = 0;
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * kWidth;
        const V weighted = v[r] * load<V>(row);
        total += v[r];
        sum_vz += v[r] * z[r];
        sum_x += weighted;
        b += z[r] * weighted;
        unrolled<0, kSize>([&]<int i>() { a[i] += row[i] * weighted; });
    }
    const V mean = sum_x / total;
    const double z_mean = sum_vz / total;
    double largest = 0;
    unrolled<0, kSize>([&]<int i>() {
        a[i] -= mean[i] * sum_x;
        const double pivot = a[i][i] + lambda;
        largest = pivot > largest ? pivot : largest;
        a[i] = with_place<V, i>(a[i], pivot);
    });
    if (n <= d && lambda < kSafePenalty * largest) return false;
    const V s = solve_in_registers<V, kSize>(a, b - z_mean * sum_x, largest * d * kTinyPivot);
    store<V>(slopes, s);
    intercept = z_mean - sum(s * mean);
    return true;
}

// The same for kHalf + kRest features in rows of two vectors: A and B are the left and right half of the first kHalf
// rows, D the right half of the others. Their left half C is wanted in swept columns only, so it may start with
// anything.
template <class V, int kHalf, int kRest>
[[gnu::always_inline]] inline void solve_in_blocks(V (&a)[kHalf], V (&b)[kHalf], V (&d)[kRest], V& low, V& high,
                                                   double tiny) {
    V c[kRest] = {};
    unrolled<0, kHalf>([&]<int k>() {
        const double pivot = a[k][k], inverse = pivot > tiny ? 1 / pivot : 0;
        const V share = a[k] * inverse, other = b[k] * inverse;
        unrolled<k + 1, kHalf>([&]<int i>() {
            a[i] = with_place<V, k>(a[i] - share[i] * a[k], share[i]);
            b[i] -= share[i] * b[k];
        });
        unrolled<0, kRest>([&]<int i>() {
            c[i] = with_place<V, k>(c[i] - other[i] * a[k], other[i]);
            d[i] -= other[i] * b[k];
        });
        const double unknown = low[k] * inverse;
        low = with_place<V, k>(low - unknown * a[k], unknown);
        high -= unknown * b[k];
    });
    unrolled<0, kRest>([&]<int k>() {
        const double pivot = d[k][k], inverse = pivot > tiny ? 1 / pivot : 0;
        const V share = d[k] * inverse;
        unrolled<k + 1, kRest>([&]<int i>() {
            c[i] -= share[i] * c[k];
            d[i] = with_place<V, k>(d[i] - share[i] * d[k], share[i]);
        });
        const double unknown = high[k] * inverse;
        low -= unknown * c[k];
        high = with_place<V, k>(high - unknown * d[k], unknown);
    });
}

template <class V, int kRest>
inline bool ridge_in_blocks_of(const double* x, Index n, int n_features, const double* v, const double* z,
                               double lambda, double* slopes, double& intercept) {
    constexpr int kHalf = Traits<V>::kSize;
    V a[kHalf] = {}, b[kHalf] = {}, d[kRest] = {}, sum_low{}, sum_high{}, low{}, high{};
    double total = 0, sum_vz = 0;
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * (2 * kHalf);
        const V w_low = v[r] * load<V>(row), w_high = v[r] * load<V>(row + kHalf);
        total += v[r];
        sum_vz += v[r] * z[r];
        sum_low += w_low;
        sum_high += w_high;
        low += z[r] * w_low;
        high += z[r] * w_high;
        unrolled<0, kHalf>([&]<int i>() {
            a[i] += row[i] * w_low;
            b[i] += row[i] * w_high;
        });
        unrolled<0, kRest>([&]<int i>() { d[i] += row[kHalf + i] * w_high; });
    }
    const V mean_low = sum_low / total, mean_high = sum_high / total;
    const double z_mean = sum_vz / total;
    double largest = 0;
    const auto add_penalty = [&]<int i>(V row) {
        const double pivot = row[i] + lambda;
        largest = pivot > largest ? pivot : largest;
        return with_place<V, i>(row, pivot);
    };
    unrolled<0, kHalf>([&]<int i>() {
        a[i] = add_penalty.template operator()<i>(a[i] - mean_low[i] * sum_low);
        b[i] -= mean_low[i] * sum_high;
    });
    unrolled<0, kRest>([&]<int i>() { d[i] = add_penalty.template operator()<i>(d[i] - mean_high[i] * sum_high); });
    if (n <= n_features && lambda < kSafePenalty * largest) return false;
    low -= z_mean * sum_low;
    high -= z_mean * sum_high;
    solve_in_blocks<V, kHalf, kRest>(a, b, d, low, high, largest * n_features * kTinyPivot);
    store<V>(slopes, low);
    store<V>(slopes + kHalf, high);
    if constexpr (kHalf == 8)
        intercept = z_mean - sum(low * mean_low + high * mean_high);
    else
        intercept = z_mean - sum(Lanes<V, 2>{{low * mean_low, high * mean_high}});
    return true;
}

bool small_ridge(const double* x, Index n, int width, int d, const double* v, const double* z, double lambda,
                 double* slopes, double& intercept) {
    const auto run = [&](auto* ridge) { return ridge(x, n, d, v, z, lambda, slopes, intercept); };
#if defined(__AVX512F__)
    if (width == 4) return run(small_ridge_of<V4, 4>);
    if (width == 8)
        return run(d == 8   ? small_ridge_of<V8, 8>
                   : d == 7 ? small_ridge_of<V8, 7>
                   : d == 6 ? small_ridge_of<V8, 6>
                            : small_ridge_of<V8, 5>);  // hidden units may be fewer
    return run(d > 14   ? ridge_in_blocks_of<V8, 8>
               : d > 12 ? ridge_in_blocks_of<V8, 6>
               : d > 10 ? ridge_in_blocks_of<V8, 4>
                        : ridge_in_blocks_of<V8, 2>);
#elif defined(__AVX__)
    if (width == 4) return run(small_ridge_of<V4, 4>);
    if (width == 8)
        return run(d == 8   ? ridge_in_blocks_of<V4, 4>
                   : d == 7 ? ridge_in_blocks_of<V4, 3>
                   : d == 6 ? ridge_in_blocks_of<V4, 2>
                            : ridge_in_blocks_of<V4, 1>);
    return false;  // too few registers
#else
    return width == 4 && run(ridge_in_blocks_of<V2, 2>);
#endif
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
