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

// Labels of kOutputs outputs, and where their results go. Of n outputs the last one stands in for those that are
// missing.
struct SmallOutputs {
    const double* z;  // label of row i for output c: z[c * stride + i]
    Index stride;
    int n;
    double* slopes;      // `width` doubles per output
    double* intercepts;  // one per output
    const double* labels(int c) const { return z + (c < n ? c : n - 1) * stride; }
};

// Solves A s = b for the symmetric A of kSize rows; b becomes s. Gauss and Jordan's elimination, symmetric as long as
// swept columns hold the shares of their pivots: so every factor stands in the pivot's row, and no substitution
// follows. The next pivot is computed by itself, as it will stand in its row: everything waits for its inverse.
template <class V, int kSize, int kOutputs>
[[gnu::always_inline]] inline void solve_in_registers(V (&a)[kSize], V (&b)[kOutputs], double tiny) {
    double pivot = a[0][0];
    unrolled<0, kSize>([&]<int k>() {
        const double inverse = pivot > tiny ? 1 / pivot : 0;
        if constexpr (k + 1 < kSize) pivot = a[k + 1][k + 1] - a[k][k + 1] * inverse * a[k][k + 1];
        const V share = a[k] * inverse;
        unrolled<k + 1, kSize>([&]<int i>() { a[i] = with_place<V, k>(a[i] - share[i] * a[k], share[i]); });
        unrolled<0, kOutputs>([&]<int c>() {
            const double unknown = b[c][k] * inverse;
            b[c] = with_place<V, k>(b[c] - unknown * a[k], unknown);
        });
    });
}

template <class V, int kSize, int kOutputs>
inline bool small_ridge_of(const double* x, Index n, int d, const double* v, double lambda, const SmallOutputs& out) {
    constexpr Index kWidth = Traits<V>::kSize;
    V a[kSize] = {}, sum_x{}, b[kOutputs] = {};
    double total = 0, sum_vz[kOutputs] = {};
    const double* z[kOutputs];
    unrolled<0, kOutputs>([&]<int c>() { z[c] = out.labels(c); });
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * kWidth;
        const V weighted = v[r] * load<V>(row);
        total += v[r];
        sum_x += weighted;
        unrolled<0, kOutputs>([&]<int c>() {
            sum_vz[c] += v[r] * z[c][r];
            b[c] += z[c][r] * weighted;
        });
        unrolled<0, kSize>([&]<int i>() { a[i] += row[i] * weighted; });
    }
    const V mean = sum_x / total;
    double largest = 0;
    unrolled<0, kSize>([&]<int i>() {
        a[i] -= mean[i] * sum_x;
        const double pivot = a[i][i] + lambda;
        largest = pivot > largest ? pivot : largest;
        a[i] = with_place<V, i>(a[i], pivot);
    });
    if (n <= d && lambda < kSafePenalty * largest) return false;
    unrolled<0, kOutputs>([&]<int c>() { b[c] -= sum_vz[c] / total * sum_x; });
    solve_in_registers<V, kSize, kOutputs>(a, b, largest * d * kTinyPivot);
    unrolled<0, kOutputs>([&]<int c>() {
        if (c >= out.n) return;
        store<V>(out.slopes + c * kWidth, b[c]);
        out.intercepts[c] = sum_vz[c] / total - sum(b[c] * mean);
    });
    return true;
}

// The same for kHalf + kRest features in rows of two vectors: A and B are the left and right half of the first kHalf
// rows, D the right half of the others. Their left half C is wanted in swept columns only, so it may start with
// anything.
template <class V, int kHalf, int kRest, int kOutputs>
[[gnu::always_inline]] inline void solve_in_blocks(V (&a)[kHalf], V (&b)[kHalf], V (&d)[kRest], V (&low)[kOutputs],
                                                   V (&high)[kOutputs], double tiny) {
    V c[kRest] = {};
    double pivot = a[0][0];
    unrolled<0, kHalf>([&]<int k>() {
        const double inverse = pivot > tiny ? 1 / pivot : 0;
        if constexpr (k + 1 < kHalf)
            pivot = a[k + 1][k + 1] - a[k][k + 1] * inverse * a[k][k + 1];
        else
            pivot = d[0][0] - b[k][0] * inverse * b[k][0];
        const V share = a[k] * inverse, other = b[k] * inverse;
        unrolled<k + 1, kHalf>([&]<int i>() {
            a[i] = with_place<V, k>(a[i] - share[i] * a[k], share[i]);
            b[i] -= share[i] * b[k];
        });
        unrolled<0, kRest>([&]<int i>() {
            c[i] = with_place<V, k>(c[i] - other[i] * a[k], other[i]);
            d[i] -= other[i] * b[k];
        });
        unrolled<0, kOutputs>([&]<int q>() {
            const double unknown = low[q][k] * inverse;
            low[q] = with_place<V, k>(low[q] - unknown * a[k], unknown);
            high[q] -= unknown * b[k];
        });
    });
    unrolled<0, kRest>([&]<int k>() {
        const double inverse = pivot > tiny ? 1 / pivot : 0;
        if constexpr (k + 1 < kRest) pivot = d[k + 1][k + 1] - d[k][k + 1] * inverse * d[k][k + 1];
        const V share = d[k] * inverse;
        unrolled<k + 1, kRest>([&]<int i>() {
            c[i] -= share[i] * c[k];
            d[i] = with_place<V, k>(d[i] - share[i] * d[k], share[i]);
        });
        unrolled<0, kOutputs>([&]<int q>() {
            const double unknown = high[q][k] * inverse;
            low[q] -= unknown * c[k];
            high[q] = with_place<V, k>(high[q] - unknown * d[k], unknown);
        });
    });
}

template <class V, int kRest, int kOutputs>
inline bool ridge_in_blocks_of(const double* x, Index n, int n_features, const double* v, double lambda,
                               const SmallOutputs& out) {
    constexpr int kHalf = Traits<V>::kSize;
    V a[kHalf] = {}, b[kHalf] = {}, d[kRest] = {}, sum_low{}, sum_high{}, low[kOutputs] = {}, high[kOutputs] = {};
    double total = 0, sum_vz[kOutputs] = {};
    const double* z[kOutputs];
    unrolled<0, kOutputs>([&]<int c>() { z[c] = out.labels(c); });
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * (2 * kHalf);
        const V w_low = v[r] * load<V>(row), w_high = v[r] * load<V>(row + kHalf);
        total += v[r];
        sum_low += w_low;
        sum_high += w_high;
        unrolled<0, kOutputs>([&]<int c>() {
            sum_vz[c] += v[r] * z[c][r];
            low[c] += z[c][r] * w_low;
            high[c] += z[c][r] * w_high;
        });
        unrolled<0, kHalf>([&]<int i>() {
            a[i] += row[i] * w_low;
            b[i] += row[i] * w_high;
        });
        unrolled<0, kRest>([&]<int i>() { d[i] += row[kHalf + i] * w_high; });
    }
    const V mean_low = sum_low / total, mean_high = sum_high / total;
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
    unrolled<0, kOutputs>([&]<int c>() {
        low[c] -= sum_vz[c] / total * sum_low;
        high[c] -= sum_vz[c] / total * sum_high;
    });
    solve_in_blocks<V, kHalf, kRest, kOutputs>(a, b, d, low, high, largest * n_features * kTinyPivot);
    unrolled<0, kOutputs>([&]<int c>() {
        if (c >= out.n) return;
        double* slopes = out.slopes + c * 2 * kHalf;
        store<V>(slopes, low[c]);
        store<V>(slopes + kHalf, high[c]);
        if constexpr (kHalf == 8)
            out.intercepts[c] = sum_vz[c] / total - sum(low[c] * mean_low + high[c] * mean_high);
        else
            out.intercepts[c] = sum_vz[c] / total - sum(Lanes<V, 2>{{low[c] * mean_low, high[c] * mean_high}});
    });
    return true;
}

template <int kOutputs>
bool small_ridge_with(const double* x, Index n, int width, int d, const double* v, double lambda,
                      const SmallOutputs& out) {
    const auto run = [&](auto* ridge) { return ridge(x, n, d, v, lambda, out); };
#if defined(__AVX512F__)
    if (width == 4) return run(small_ridge_of<V4, 4, kOutputs>);
    if (width == 8)
        return run(d == 8   ? small_ridge_of<V8, 8, kOutputs>
                   : d == 7 ? small_ridge_of<V8, 7, kOutputs>
                   : d == 6 ? small_ridge_of<V8, 6, kOutputs>
                            : small_ridge_of<V8, 5, kOutputs>);  // hidden units may be fewer
    return run(d > 14   ? ridge_in_blocks_of<V8, 8, kOutputs>
               : d > 12 ? ridge_in_blocks_of<V8, 6, kOutputs>
               : d > 10 ? ridge_in_blocks_of<V8, 4, kOutputs>
                        : ridge_in_blocks_of<V8, 2, kOutputs>);
#elif defined(__AVX__)
    if (width == 4) return run(small_ridge_of<V4, 4, kOutputs>);
    if (width == 8)
        return run(d == 8   ? ridge_in_blocks_of<V4, 4, kOutputs>
                   : d == 7 ? ridge_in_blocks_of<V4, 3, kOutputs>
                   : d == 6 ? ridge_in_blocks_of<V4, 2, kOutputs>
                            : ridge_in_blocks_of<V4, 1, kOutputs>);
    return false;  // too few registers
#else
    return width == 4 && run(ridge_in_blocks_of<V2, 2, kOutputs>);
#endif
}

bool small_ridge(const double* x, Index n, int width, int d, const double* v, const double* z, Index stride,
                 int n_outputs, double lambda, double* slopes, double* intercepts) {
    const SmallOutputs out{z, stride, n_outputs, slopes, intercepts};
    switch (n_outputs) {
        case 1: return small_ridge_with<1>(x, n, width, d, v, lambda, out);
        case 2:
        case 3: return small_ridge_with<3>(x, n, width, d, v, lambda, out);
        case 4: return small_ridge_with<4>(x, n, width, d, v, lambda, out);
        default: return false;
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
