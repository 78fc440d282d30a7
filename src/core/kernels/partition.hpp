// Rows moving to their side of a split, or into a batch. Part of all.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "simd.hpp"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

#if defined(__AVX512F__) && defined(__AVX512VL__)
// Eight values at a time, those of one side packed together. What is written behind them has been read already, except
// at the end, where the store stops.
inline void pack(double* to, __mmask8 side, const double* from, __mmask8 written) {
    _mm512_mask_storeu_pd(to, written, _mm512_maskz_compress_pd(side, _mm512_loadu_pd(from)));
}
inline void pack(std::int32_t* to, __mmask8 side, const std::int32_t* from, __mmask8 written) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm256_mask_storeu_epi32(to, written, _mm256_maskz_compress_epi32(side, values));
}

template <class T>
inline Index part(T* values, const std::uint8_t* left, Index n, T* right) {
    Index n_left = 0, n_right = 0;
    for (Index i = 0; i < n; i += 8) {
        const Index here = n - i < 8 ? n - i : 8;
        const auto all = static_cast<__mmask8>((1U << here) - 1);
        const auto to_left = static_cast<__mmask8>(left[i / 8] & all), to_right = static_cast<__mmask8>(~to_left & all);
        pack(right + n_right, to_right, values + i, 0xFF);
        pack(values + n_left, to_left, values + i, all);
        n_left += __builtin_popcount(to_left);
        n_right += __builtin_popcount(to_right);
    }
    __builtin_memcpy(values + n_left, right, n_right * sizeof(T));
    return n_left;
}
#else
// Without branches: which way a row goes cannot be predicted.
template <class T>
inline Index part(T* values, const std::uint8_t* left, Index n, T* right) {
    Index n_left = 0, n_right = 0;
    for (Index i = 0; i < n; ++i) {
        const T value = values[i];
        const Index is_left = left[i / 8] >> (i % 8) & 1;
        values[n_left] = value;
        right[n_right] = value;
        n_left += is_left;
        n_right += 1 - is_left;
    }
    __builtin_memcpy(values + n_left, right, n_right * sizeof(T));
    return n_left;
}
#endif

Index part_values(double* values, const std::uint8_t* left, Index n, double* scratch) {
    return part(values, left, n, scratch);
}

Index part_rows(std::int32_t* rows, const std::uint8_t* left, Index n, std::int32_t* scratch) {
    return part(rows, left, n, scratch);
}

// Bits set among `count` from `position` on.
inline int count_bits(const std::uint64_t* words, Index position, Index count) {
    int set = 0;
    for (; count > 63; position += 63, count -= 63) set += count_bits(words, position, 63);
    const std::uint64_t* word = words + position / 64;
    const int shift = static_cast<int>(position % 64);
    const std::uint64_t bits = word[0] >> shift | word[1] << 1 << (63 - shift);
    return set + __builtin_popcountll(bits & ((std::uint64_t{1} << count) - 1));
}

// Number of the first bit that is set, from `position` on. There is one.
inline Index next_bit(const std::uint64_t* words, Index position) {
    Index word = position / 64;
    std::uint64_t bits = words[word] >> (position % 64) << (position % 64);
    while (bits == 0) bits = words[++word];
    return word * 64 + __builtin_ctzll(bits);
}

Index take_draws(const std::int32_t* rows, Index n, const std::int32_t* counts, const std::uint64_t* taken, bool few,
                 std::int32_t* taken_rows, std::int32_t* n_taken) {
    Index n_out = 0, position = 0;
    if (few) {
        Index next = next_bit(taken, 0);
        for (Index i = 0; i < n; ++i) {
            const Index begin = position;
            position += counts[rows[i]];
            if (next >= position) continue;
            taken_rows[n_out] = rows[i];
            n_taken[n_out++] = count_bits(taken, begin, position - begin);
            next = next_bit(taken, position);
        }
        return n_out;
    }
    for (Index i = 0; i < n; ++i) {  // without branches: which rows are drawn cannot be predicted
        const std::int32_t count = counts[rows[i]];
        const int drawn = count_bits(taken, position, count);
        position += count;
        taken_rows[n_out] = rows[i];
        n_taken[n_out] = drawn;
        n_out += drawn > 0;
    }
    return n_out;
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
