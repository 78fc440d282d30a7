// Rows moving to their side of a split, or into a batch. Part of all.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "../base/random.hpp"
#include "simd.hpp"

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

// Calls body(first value, those that go left, those that go right, those that there are, how many have gone left and
// right before) for every eight values; returns how many go left.
template <class Body>
[[gnu::always_inline]] inline Index for_sides(const std::uint8_t* left, Index n, Body body) {
    Index n_left = 0, n_right = 0;
    for (Index i = 0; i < n; i += 8) {
        const Index here = n - i < 8 ? n - i : 8;
        const auto all = static_cast<__mmask8>((1U << here) - 1);
        const auto to_left = static_cast<__mmask8>(left[i / 8] & all), to_right = static_cast<__mmask8>(~to_left & all);
        body(i, to_left, to_right, all, n_left, n_right);
        n_left += __builtin_popcount(to_left);
        n_right += __builtin_popcount(to_right);
    }
    return n_left;
}

Index part_rows(std::int32_t* rows, const std::uint8_t* left, Index n, std::int32_t* scratch) {
    const Index n_left = for_sides(
        left, n,
        [=](Index i, __mmask8 to_left, __mmask8 to_right, __mmask8 all, Index before_left, Index before_right) {
            pack(scratch + before_right, to_right, rows + i, 0xFF);
            pack(rows + before_left, to_left, rows + i, all);
        });
    __builtin_memcpy(rows + n_left, scratch, (n - n_left) * sizeof(*rows));
    return n_left;
}

Index part_columns(std::int32_t* rows, double* const* columns, int n_columns, const std::uint8_t* left, Index n,
                   std::int32_t* row_scratch, double* scratch) {
    const Index stride = n + 8;
    const Index n_left = for_sides(
        left, n,
        [=](Index i, __mmask8 to_left, __mmask8 to_right, __mmask8 all, Index before_left, Index before_right) {
            pack(row_scratch + before_right, to_right, rows + i, 0xFF);
            pack(rows + before_left, to_left, rows + i, all);
            for (int k = 0; k < n_columns; ++k) {
                pack(scratch + k * stride + before_right, to_right, columns[k] + i, 0xFF);
                pack(columns[k] + before_left, to_left, columns[k] + i, all);
            }
        });
    for (Index i = n_left; i < n; i += 8) {
        const auto here = static_cast<__mmask8>((1U << (n - i < 8 ? n - i : 8)) - 1);
        const Index from = i - n_left;
        _mm256_mask_storeu_epi32(rows + i, here,
                                 _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row_scratch + from)));
        for (int k = 0; k < n_columns; ++k)
            _mm512_mask_storeu_pd(columns[k] + i, here, load<Vec>(scratch + k * stride + from));
    }
    return n_left;
}

void mark_left(const double* column, Index width, const std::int32_t* rows, Index n, double threshold,
               std::uint8_t* left, double* nearest) {
    const __m512d limit = _mm512_set1_pd(threshold);
    const __m512i step = _mm512_set1_epi64(width);
    __m512d below = _mm512_set1_pd(-__builtin_inf());
    __m512d above = _mm512_set1_pd(__builtin_inf());
    for (Index i = 0; i < n; i += 8) {
        const auto all = static_cast<__mmask8>((1U << (n - i < 8 ? n - i : 8)) - 1);
        const __m512i at = _mm512_mul_epi32(_mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(all, rows + i)), step);
        const __m512d values = _mm512_mask_i64gather_pd(limit, all, at, column, sizeof(double));
        const __mmask8 is_left = _mm512_cmp_pd_mask(values, limit, _CMP_LE_OQ);
        below = _mm512_mask_max_pd(below, is_left & all, below, values);
        above = _mm512_mask_min_pd(above, static_cast<__mmask8>(~is_left), above, values);
        left[i / 8] = static_cast<std::uint8_t>(is_left);
    }
    nearest[0] = _mm512_reduce_max_pd(below);
    nearest[1] = _mm512_reduce_min_pd(above);
}

Index take_nonzero(const std::int32_t* counts, Index n, std::int32_t* rows) {
    Index n_out = 0;
    for (Index i = 0; i < n; i += 8) {
        const auto all = static_cast<__mmask8>((1U << (n - i < 8 ? n - i : 8)) - 1);
        const __m256i here = _mm256_maskz_loadu_epi32(all, counts + i);
        const __mmask8 taken = _mm256_test_epi32_mask(here, here);
        const __m256i numbers =
            _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(i)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + n_out), _mm256_maskz_compress_epi32(taken, numbers));
        n_out += __builtin_popcount(taken);
    }
    return n_out;
}
#else
// Without branches: which way a row goes cannot be predicted.
Index part_rows(std::int32_t* rows, const std::uint8_t* left, Index n, std::int32_t* scratch) {
    Index n_left = 0, n_right = 0;
    for (Index i = 0; i < n; ++i) {
        const std::int32_t row = rows[i];
        const Index is_left = left[i / 8] >> (i % 8) & 1;
        rows[n_left] = row;
        scratch[n_right] = row;
        n_left += is_left;
        n_right += 1 - is_left;
    }
    __builtin_memcpy(rows + n_left, scratch, n_right * sizeof(*rows));
    return n_left;
}

Index part_columns(std::int32_t* rows, double* const* columns, int n_columns, const std::uint8_t* left, Index n,
                   std::int32_t* row_scratch, double* scratch) {
    for (int k = 0; k < n_columns; ++k) {
        double* values = columns[k];
        Index n_left = 0, n_right = 0;
        for (Index i = 0; i < n; ++i) {
            const double value = values[i];
            const Index is_left = left[i / 8] >> (i % 8) & 1;
            values[n_left] = value;
            scratch[n_right] = value;
            n_left += is_left;
            n_right += 1 - is_left;
        }
        __builtin_memcpy(values + n_left, scratch, n_right * sizeof(double));
    }
    return part_rows(rows, left, n, row_scratch);
}

void mark_left(const double* column, Index width, const std::int32_t* rows, Index n, double threshold,
               std::uint8_t* left, double* nearest) {
    constexpr double kInfinity = __builtin_inf();
    double below = -kInfinity, above = kInfinity;
    for (Index i = 0; i < n; i += 8) {
        unsigned bits = 0;
        for (Index k = 0; k < (n - i < 8 ? n - i : 8); ++k) {
            const double value = column[rows[i + k] * width];
            const bool is_left = value <= threshold;
            const double on_left = is_left ? value : -kInfinity, on_right = is_left ? kInfinity : value;
            below = on_left > below ? on_left : below;
            above = on_right < above ? on_right : above;
            bits |= unsigned{is_left} << k;
        }
        left[i / 8] = static_cast<std::uint8_t>(bits);
    }
    nearest[0] = below;
    nearest[1] = above;
}

Index take_nonzero(const std::int32_t* counts, Index n, std::int32_t* rows) {
    Index n_out = 0;
    for (Index i = 0; i < n; ++i) {
        rows[n_out] = static_cast<std::int32_t>(i);
        n_out += counts[i] != 0;
    }
    return n_out;
}
#endif

// Bits set among `count` from `position` on.
inline int count_bits(const std::uint64_t* words, Index position, Index count) {
    constexpr Index kMost = 56;  // that are in eight bytes, wherever in the first of them they start
    int set = 0;
    for (; count > kMost; position += kMost, count -= kMost) set += count_bits(words, position, kMost);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    std::uint64_t bits;
    __builtin_memcpy(&bits, reinterpret_cast<const char*>(words) + position / 8, sizeof bits);
    bits >>= position % 8;
#else
    const std::uint64_t* word = words + position / 64;
    const int shift = static_cast<int>(position % 64);
    const std::uint64_t bits = word[0] >> shift | word[1] << 1 << (63 - shift);
#endif
    return set + __builtin_popcountll(bits & ((std::uint64_t{1} << count) - 1));
}

// Number of the first bit that is set, from `position` on. There is one.
inline Index next_bit(const std::uint64_t* words, Index position) {
    Index word = position / 64;
    std::uint64_t bits = words[word] >> (position % 64) << (position % 64);
    while (bits == 0) bits = words[++word];
    return word * 64 + __builtin_ctzll(bits);
}

void draw_batch(Key key, Index n, Index b, std::uint64_t* taken) {
    const Index n_words = (n + 63) / 64;
    for (Index i = 0; i < n_words; ++i) taken[i] = 0;
    taken[n_words] = ~std::uint64_t{0};
    // Byte by byte, where bytes lie in the order of their bits: a load that follows a store to the same place waits.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    using Part = std::uint8_t;
#else
    using Part = std::uint64_t;
#endif
    constexpr std::uint32_t kSize = 8 * sizeof(Part), kLanes = 16;
    auto* parts = reinterpret_cast<Part*>(taken);
    std::uint32_t numbers[kLanes];
    const auto n_drawn = static_cast<std::uint32_t>(b), n_others = static_cast<std::uint32_t>(n - b);
    for (std::uint32_t first = 0; first < n_drawn; first += kLanes) {
        const std::uint32_t here = n_drawn - first < kLanes ? n_drawn - first : kLanes, last = n_others + first;
        for (std::uint32_t t = 0; t < kLanes; ++t) numbers[t] = below_short(key, first + t, last + t + 1);
        for (std::uint32_t t = 0; t < here; ++t) {
            // One that was drawn before stands for the last one. A mask, not a branch, which could not be predicted.
            const std::uint32_t drawn = numbers[t], before = parts[drawn / kSize] >> (drawn % kSize) & 1;
            const std::uint32_t number = drawn ^ ((drawn ^ (last + t)) & (0 - before));
            parts[number / kSize] |= static_cast<Part>(Part{1} << (number % kSize));
        }
    }
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
