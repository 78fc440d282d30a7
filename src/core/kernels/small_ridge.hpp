// Ridge regression on at most eight features, from the sums over the rows to the solution in registers. Part of
// kernels.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "linalg.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// body<kFrom>() … body<kTo - 1>(): arrays of vectors stay in registers only where every index is a constant.
template <int kFrom, int kTo, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
    if constexpr (kFrom < kTo) {
        body.template operator()<kFrom>();
        unrolled<kFrom + 1, kTo>(body);
    }
}

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

#if defined(__AVX512F__)
// The same for 8 + kRest features in rows of 16: A and B are the left and right half of the first eight rows, D the
// right half of the others. Their left half C is wanted in swept columns only, so it may start with anything.
template <int kRest>
[[gnu::always_inline]] inline void solve_in_blocks(V8 (&a)[8], V8 (&b)[8], V8 (&d)[kRest], V8& low, V8& high,
                                                   double tiny) {
    V8 c[kRest] = {};
    unrolled<0, 8>([&]<int k>() {
        const double pivot = a[k][k], inverse = pivot > tiny ? 1 / pivot : 0;
        const V8 share = a[k] * inverse, other = b[k] * inverse;
        unrolled<k + 1, 8>([&]<int i>() {
            a[i] = with_place<V8, k>(a[i] - share[i] * a[k], share[i]);
            b[i] -= share[i] * b[k];
        });
        unrolled<0, kRest>([&]<int i>() {
            c[i] = with_place<V8, k>(c[i] - other[i] * a[k], other[i]);
            d[i] -= other[i] * b[k];
        });
        const double unknown = low[k] * inverse;
        low = with_place<V8, k>(low - unknown * a[k], unknown);
        high -= unknown * b[k];
    });
    unrolled<0, kRest>([&]<int k>() {
        const double pivot = d[k][k], inverse = pivot > tiny ? 1 / pivot : 0;
        const V8 share = d[k] * inverse;
        unrolled<k + 1, kRest>([&]<int i>() {
            c[i] -= share[i] * c[k];
            d[i] = with_place<V8, k>(d[i] - share[i] * d[k], share[i]);
        });
        const double unknown = high[k] * inverse;
        low -= unknown * c[k];
        high = with_place<V8, k>(high - unknown * d[k], unknown);
    });
}

template <int kRest>
inline bool medium_ridge_of(const double* x, Index n, int n_features, const double* v, const double* z, double lambda,
                            double* slopes, double& intercept) {
    V8 a[8] = {}, b[8] = {}, d[kRest] = {}, sum_low{}, sum_high{}, low{}, high{};
    double total = 0, sum_vz = 0;
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * 16;
        const V8 w_low = v[r] * load<V8>(row), w_high = v[r] * load<V8>(row + 8);
        total += v[r];
        sum_vz += v[r] * z[r];
        sum_low += w_low;
        sum_high += w_high;
        low += z[r] * w_low;
        high += z[r] * w_high;
        unrolled<0, 8>([&]<int i>() {
            a[i] += row[i] * w_low;
            b[i] += row[i] * w_high;
        });
        unrolled<0, kRest>([&]<int i>() { d[i] += row[8 + i] * w_high; });
    }
    const V8 mean_low = sum_low / total, mean_high = sum_high / total;
    const double z_mean = sum_vz / total;
    double largest = 0;
    const auto add_penalty = [&]<int i>(V8 row) {
        const double pivot = row[i] + lambda;
        largest = pivot > largest ? pivot : largest;
        return with_place<V8, i>(row, pivot);
    };
    unrolled<0, 8>([&]<int i>() {
        a[i] = add_penalty.template operator()<i>(a[i] - mean_low[i] * sum_low);
        b[i] -= mean_low[i] * sum_high;
    });
    unrolled<0, kRest>([&]<int i>() { d[i] = add_penalty.template operator()<i>(d[i] - mean_high[i] * sum_high); });
    if (n <= n_features && lambda < kSafePenalty * largest) return false;
    low -= z_mean * sum_low;
    high -= z_mean * sum_high;
    solve_in_blocks<kRest>(a, b, d, low, high, largest * n_features * kTinyPivot);
    store<V8>(slopes, low);
    store<V8>(slopes + 8, high);
    intercept = z_mean - sum(low * mean_low + high * mean_high);
    return true;
}
#endif

bool small_ridge(const double* x, Index n, int width, int d, const double* v, const double* z, double lambda,
                 double* slopes, double& intercept) {
    if (width == 4) return small_ridge_of<V4, 4>(x, n, d, v, z, lambda, slopes, intercept);
    if (width == 8) {
        switch (d) {
            case 8: return small_ridge_of<V8, 8>(x, n, d, v, z, lambda, slopes, intercept);
            case 7: return small_ridge_of<V8, 7>(x, n, d, v, z, lambda, slopes, intercept);
            case 6: return small_ridge_of<V8, 6>(x, n, d, v, z, lambda, slopes, intercept);
            default:
                return small_ridge_of<V8, 5>(x, n, d, v, z, lambda, slopes, intercept);  // hidden units may be fewer
        }
    }
#if defined(__AVX512F__)  // others have too few registers
    switch ((d + 1) / 2) {
        case 8: return medium_ridge_of<8>(x, n, d, v, z, lambda, slopes, intercept);
        case 7: return medium_ridge_of<6>(x, n, d, v, z, lambda, slopes, intercept);
        case 6: return medium_ridge_of<4>(x, n, d, v, z, lambda, slopes, intercept);
        default: return medium_ridge_of<2>(x, n, d, v, z, lambda, slopes, intercept);
    }
#else
    return false;
#endif
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
