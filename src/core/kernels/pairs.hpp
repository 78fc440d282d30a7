// Histograms of boosted trees: pairs of derivatives added up by bin. Part of all.cpp: compiled once per instruction
// set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

typedef float Pair __attribute__((vector_size(8)));
typedef double Sums __attribute__((vector_size(16)));

inline Sums load_pair(const float* from) {
    Pair pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return __builtin_convertvector(pair, Sums);
}

inline void add_pair(double* to, Sums pair) {
    Sums sums;
    __builtin_memcpy(&sums, to, sizeof sums);
    sums += pair;
    __builtin_memcpy(to, &sums, sizeof sums);
}

// Several columns at a time: additions to the same bin wait for each other, those of different columns do not.
template <int kColumns, bool kAll>
inline void add_single_pairs(const std::uint8_t* const* codes, const std::int32_t* rows, Index n, const float* pairs,
                             double* const* sums) {
    for (Index i = 0; i < n; ++i) {
        const Index row = kAll ? i : rows[i];
        const Sums pair = load_pair(pairs + 2 * row);
        for (int k = 0; k < kColumns; ++k) add_pair(sums[k] + 2 * codes[k][row], pair);
    }
}

template <int kColumns>
inline void add_columns(const std::uint8_t* const* codes, const std::int32_t* rows, Index n, const float* pairs,
                        double* const* sums) {
    if (rows == nullptr) return add_single_pairs<kColumns, true>(codes, rows, n, pairs, sums);
    add_single_pairs<kColumns, false>(codes, rows, n, pairs, sums);
}

void add_pairs(const std::uint8_t* const* codes, int n_columns, const std::int32_t* rows, Index n, const float* pairs,
               int n_outputs, double* const* sums) {
    if (n_outputs == 1) {
        if (n_columns == 4) return add_columns<4>(codes, rows, n, pairs, sums);
        if (n_columns == 3) return add_columns<3>(codes, rows, n, pairs, sums);
        if (n_columns == 2) return add_columns<2>(codes, rows, n, pairs, sums);
        return add_columns<1>(codes, rows, n, pairs, sums);
    }
    const Index size = 2 * static_cast<Index>(n_outputs);
    for (int k = 0; k < n_columns; ++k) {
        for (Index i = 0; i < n; ++i) {
            const Index row = rows == nullptr ? i : rows[i];
            const float* from = pairs + size * row;
            double* to = sums[k] + size * codes[k][row];
            for (Index c = 0; c < size; c += 2) add_pair(to + c, load_pair(from + c));
        }
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
