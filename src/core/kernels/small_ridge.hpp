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

template <class V, int kPlace>
[[gnu::always_inline]] inline V with_place(V v, double value) {
    return places<V>() == kPlace ? splat<V>(value) : v;
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
    if (n <= d && lambda < 1e-5 * largest) return false;
    const V s = solve_in_registers<V, kSize>(a, b - z_mean * sum_x, largest * d * (8 * 2.220446049250313e-16));
    store<V>(slopes, s);
    intercept = z_mean - sum(s * mean);
    return true;
}

bool small_ridge(const double* x, Index n, int width, int d, const double* v, const double* z, double lambda,
                 double* slopes, double& intercept) {
    if (width == 4) return small_ridge_of<V4, 4>(x, n, d, v, z, lambda, slopes, intercept);
    switch (d) {
        case 8: return small_ridge_of<V8, 8>(x, n, d, v, z, lambda, slopes, intercept);
        case 7: return small_ridge_of<V8, 7>(x, n, d, v, z, lambda, slopes, intercept);
        case 6: return small_ridge_of<V8, 6>(x, n, d, v, z, lambda, slopes, intercept);
        default:
            return small_ridge_of<V8, 5>(x, n, d, v, z, lambda, slopes, intercept);  // units of a hidden layer: fewer
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
