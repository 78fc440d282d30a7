// Histograms of boosted trees: derivatives of rows added up by bin, and gains of borders between bins. Part of all.cpp:
// compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

typedef float F2 __attribute__((vector_size(8)));
typedef float F4 __attribute__((vector_size(16)));

template <class F, class V>
inline V load_floats(const float* from) {
    F floats;
    __builtin_memcpy(&floats, from, sizeof floats);
    return __builtin_convertvector(floats, V);
}

template <class V>
inline void add_to(double* to, V values) {
    store<V>(to, load<V>(to) + values);
}

// Several columns at a time: additions to the same bin wait for each other, those of different columns do not.
template <class F, class V, int kColumns, bool kAll>
inline void add_whole_cells(const std::uint8_t* const* codes, const std::int32_t* rows, Index n, const float* values,
                            double* const* sums) {
    constexpr int kSize = Traits<V>::kSize;
    for (Index i = 0; i < n; ++i) {
        const Index row = kAll ? i : rows[i];
        const V cell = load_floats<F, V>(values + kSize * row);
        for (int k = 0; k < kColumns; ++k) add_to<V>(sums[k] + kSize * codes[k][row], cell);
    }
}

template <class F, class V, int kColumns>
inline void add_columns(const std::uint8_t* const* codes, const std::int32_t* rows, Index n, const float* values,
                        double* const* sums) {
    if (rows == nullptr) return add_whole_cells<F, V, kColumns, true>(codes, rows, n, values, sums);
    add_whole_cells<F, V, kColumns, false>(codes, rows, n, values, sums);
}

template <class F, class V>
inline void add_up_to_four(const std::uint8_t* const* codes, int n_columns, const std::int32_t* rows, Index n,
                           const float* values, double* const* sums) {
    if (n_columns == 4) return add_columns<F, V, 4>(codes, rows, n, values, sums);
    if (n_columns == 3) return add_columns<F, V, 3>(codes, rows, n, values, sums);
    if (n_columns == 2) return add_columns<F, V, 2>(codes, rows, n, values, sums);
    add_columns<F, V, 1>(codes, rows, n, values, sums);
}

void add_cells(const std::uint8_t* const* codes, int n_columns, const std::int32_t* rows, Index n, const float* values,
               int size, double* const* sums) {
    if (size == 2) return add_up_to_four<F2, V2>(codes, n_columns, rows, n, values, sums);
    if (size == 4) return add_up_to_four<F4, V4>(codes, n_columns, rows, n, values, sums);
    for (int k = 0; k < n_columns; ++k) {
        for (Index i = 0; i < n; ++i) {
            const Index row = rows == nullptr ? i : rows[i];
            const float* from = values + Index{size} * row;
            double* to = sums[k] + Index{size} * codes[k][row];
            int c = 0;
            for (; c + 2 <= size; c += 2) add_to<V2>(to + c, load_floats<F2, V2>(from + c));
            if (c < size) to[c] += from[c];
        }
    }
}

// One division instead of two; products are rounded, so that all instruction sets have the same gains.
template <class V>
inline V both_sides(V left, V right, V hl, V hr) {
    const V squares = rounded(left * hr) + rounded(right * hl);
    return (hl > 0 ? hr : V{}) > 0 ? squares / (hl * hr) : V{};
}

void add_bin_gain(int width, double g, double h, const double* g_left, const double* h_left, double lambda,
                  double* gain) {
    for_columns(width, [&]<class V>(int j) {
        const V gl = load<V>(g_left + j), hl = load<V>(h_left + j) + lambda;
        const V gr = g - gl, hr = h + (2 * lambda) - hl;
        store<V>(gain + j, load<V>(gain + j) + both_sides<V>(rounded(gl * gl), rounded(gr * gr), hl, hr));
    });
}

void add_bin_gains(int width, int n, const double* g, double h, const double* g_left, Index stride,
                   const double* h_left, double lambda, double* gain) {
    for_columns(width, [&]<class V>(int j) {
        const V hl = load<V>(h_left + j) + lambda, hr = h + (2 * lambda) - hl;
        V left{}, right{};
        for (int k = 0; k < n; ++k) {
            const V gl = load<V>(g_left + k * stride + j), gr = g[k] - gl;
            left += rounded(gl * gl);
            right += rounded(gr * gr);
        }
        store<V>(gain + j, load<V>(gain + j) + both_sides<V>(left, right, hl, hr));
    });
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
