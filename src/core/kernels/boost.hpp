// Boosted trees: derivatives of rows added up by bin, gains of the borders between bins, and the leaves of rows. See
// boost/histograms.hpp for how histograms are laid out. Part of all.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "simd.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

typedef float F8 __attribute__((vector_size(32)));
typedef std::int32_t W8 __attribute__((vector_size(32)));
typedef std::uint64_t U8 __attribute__((vector_size(64)));
typedef std::int64_t I8Memory __attribute__((vector_size(64), aligned(8), may_alias));

template <class F>
inline F load_floats(const float* p) {
    F v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class F>
inline void store_floats(float* p, F v) {
    __builtin_memcpy(p, &v, sizeof v);
}
inline I8 load_cells(const std::int64_t* p) {
    return *reinterpret_cast<const I8Memory*>(p);
}

// Whole numbers nearest to the values in a unit, a power of two: no product is rounded.
inline VecMask whole_numbers(const double* values, double unit) {
    constexpr double kRounds = 0x1.8p52;  // what is added to it has its digits at the end
    const Vec rounds = splat<Vec>(kRounds);
    return reinterpret_cast<VecMask>(load<Vec>(values) * unit + rounds) - reinterpret_cast<VecMask>(rounds);
}

void pack_pairs(const double* first, const double* second, Index n, double first_unit, double second_unit,
                std::int64_t* cells, Index stride) {
    for (Index i = 0; i < n; i += kVec) {
        VecMask pairs = whole_numbers(second + i, second_unit);
        if (first != nullptr) pairs += whole_numbers(first + i, first_unit) << 32;
        const Index here = n - i < kVec ? n - i : kVec;
        if (stride == 1 && here == kVec) {
            __builtin_memcpy(cells + i, &pairs, sizeof pairs);
            continue;
        }
        for (Index k = 0; k < here; ++k) cells[(i + k) * stride] = pairs[k];
    }
}

double absolute_sum(const double* values, Index n) {
    EightLanes sums{};
    Index i = 0;
    for (; i + 8 <= n; i += 8) {
        const EightLanes own = load_lanes<EightLanes>(values + i);
        for (int k = 0; k < 8 / kVec; ++k) sums.part[k] += own.part[k] < 0 ? -own.part[k] : own.part[k];
    }
    double rest = 0;
    for (; i < n; ++i) rest += values[i] < 0 ? -values[i] : values[i];
    return sum(sums) + rest;
}

void choose_bits(const double* sizes, Index n, double same, double by_size, std::uint32_t key, std::uint8_t* taken) {
    typedef std::uint32_t N8 __attribute__((vector_size(32)));
    typedef double D8 __attribute__((vector_size(64)));
    N8 number = {0, 1, 2, 3, 4, 5, 6, 7};
    for (Index i = 0; i < n; i += 8, number += 8) {
        N8 word = number * 0x9E3779B9U + key;  // mixed well enough to choose by
        word = (word ^ word >> 16) * 0x85EBCA6BU;
        word = (word ^ word >> 13) * 0xC2B2AE35U;
        word ^= word >> 16;
        D8 size;
        __builtin_memcpy(&size, sizes + i, sizeof size);
        const auto is_taken = __builtin_convertvector(word, D8) < same + size * by_size;
        unsigned bits = 0;
        for (int k = 0; k < 8; ++k) bits |= static_cast<unsigned>(is_taken[k] & 1) << k;
        taken[i / 8] = static_cast<std::uint8_t>(bits);
    }
}

// The bytes of a word that the mask has, one after another.
inline std::uint64_t packed_bytes(std::uint64_t word, std::uint64_t mask) {
#if defined(__AVX512F__)
    return _pext_u64(word, mask);
#else
    std::uint64_t packed = 0;
    for (int at = 0; mask != 0; at += 8) {  // the mask has whole bytes
        const int shift = __builtin_ctzll(mask);
        packed |= (word >> shift & 255) << at;
        mask &= ~(std::uint64_t{255} << shift);
    }
    return packed;
#endif
}

template <int kFeatures, bool kAll>
inline void add_cells_of(const std::uint64_t* words, std::uint64_t mask, const std::int32_t* rows, Index n,
                         const std::int64_t* cells, Index stride, std::int64_t* sums) {
    for (Index i = 0; i < n; ++i) {
        const Index row = kAll ? i : rows[i];
        const std::uint64_t codes = kFeatures == kSideBySide ? words[row] : packed_bytes(words[row], mask);
        const std::int64_t cell = cells[row * stride];
        unrolled<0, kFeatures>([&]<int k>() { sums[(codes >> 8 * k & 255) * kSideBySide + k] += cell; });
    }
}

void add_cells(const std::uint64_t* words, std::uint64_t mask, const std::int32_t* rows, Index n,
               const std::int64_t* cells, Index stride, std::int64_t* sums) {
    const auto call = [&]<int kFeatures>() {
        if (rows == nullptr) return add_cells_of<kFeatures, true>(words, mask, rows, n, cells, stride, sums);
        add_cells_of<kFeatures, false>(words, mask, rows, n, cells, stride, sums);
    };
    switch (__builtin_popcountll(mask) / 8) {
        case 1: return call.template operator()<1>();
        case 2: return call.template operator()<2>();
        case 3: return call.template operator()<3>();
        case 4: return call.template operator()<4>();
        case 5: return call.template operator()<5>();
        case 6: return call.template operator()<6>();
        case 7: return call.template operator()<7>();
        default: return call.template operator()<kSideBySide>();
    }
}

// Calls body(border, first sum, second sum) for all borders, of eight features at a time, or two borders of them: of
// what lies left of it; border is the place of the first feature.
template <class Body>
[[gnu::always_inline]] inline void for_borders(const BinSums& bins, Body body) {
    I8 sums = bins.before == nullptr ? I8{} : load_cells(bins.before);
    int b = 0;
#if defined(__AVX512F__)
    typedef float F16 __attribute__((vector_size(64)));
    typedef std::int32_t W16 __attribute__((vector_size(64)));
    for (; b + 1 < bins.width; b += 2) {
        const I8 near = sums + load_cells(bins.cells + Index{b} * kSideBySide);
        sums = near + load_cells(bins.cells + Index{b + 1} * kSideBySide);
        const W16 one = reinterpret_cast<W16>(near), two = reinterpret_cast<W16>(sums);
        const W16 low = __builtin_shufflevector(one, two, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const W16 high = __builtin_shufflevector(one, two, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        body(b * kSideBySide, __builtin_convertvector(high - (low < 0), F16), __builtin_convertvector(low, F16));
    }
#endif
    for (; b < bins.width; ++b) {
        sums += load_cells(bins.cells + Index{b} * kSideBySide);
        const W8 low = __builtin_convertvector(sums, W8);
        const W8 high = __builtin_convertvector(reinterpret_cast<U8>(sums) >> 32, W8);
        // A second sum below 0 has taken one from the first.
        body(b * kSideBySide, __builtin_convertvector(high - (low < 0), F8), __builtin_convertvector(low, F8));
    }
}

template <class F>
inline F square(F v) {
    return rounded(v * v);
}

// One division instead of two; products are rounded, so that all instruction sets have the same gains.
template <class F>
inline F both_sides(F left, F right, F h_left, F h_right, float lambda) {
    const F hl = h_left + lambda, hr = h_right + lambda;
    return (rounded(left * hr) + rounded(right * hl)) / (hl * hr);
}

void add_gains(const BinSums& bins, float g, float h, float lambda, bool is_first, float* gains) {
    for_borders(bins, [&]<class F>(int at, F gl, F hl) {
        const F gain = both_sides(square(gl), square(g - gl), hl, h - hl, lambda);
        store_floats(gains + at, is_first ? gain : load_floats<F>(gains + at) + gain);
    });
}

void add_squares(const BinSums& bins, float first, float second, bool both, bool is_first, float* left, float* right,
                 float* left_h) {
    for_borders(bins, [&]<class F>(int at, F one, F other) {
        F own_left = square(one), own_right = square(first - one);
        if (both) {
            own_left += square(other);
            own_right += square(second - other);
        } else {
            store_floats(left_h + at, other);
        }
        store_floats(left + at, is_first ? own_left : load_floats<F>(left + at) + own_left);
        store_floats(right + at, is_first ? own_right : load_floats<F>(right + at) + own_right);
    });
}

void add_shared_gains(int n, const float* left, const float* right, const float* left_h, float h, float lambda,
                      bool is_first, float* gains) {
    for (int i = 0; i < n; i += kSideBySide) {
        const F8 hl = load_floats<F8>(left_h + i);
        const F8 gain = both_sides(load_floats<F8>(left + i), load_floats<F8>(right + i), hl, h - hl, lambda);
        store_floats(gains + i, is_first ? gain : load_floats<F8>(gains + i) + gain);
    }
}

void best_borders(const float* gains, int width, const std::int32_t* n_borders, float* most, std::int32_t* best) {
    F8 largest = F8{} - __builtin_inff();
    W8 at{}, end;
    __builtin_memcpy(&end, n_borders, sizeof end);
    for (int b = 0; b < width; ++b) {
        const F8 gain = load_floats<F8>(gains + b * kSideBySide);
        const W8 is_more = (gain > largest) & (end > b);
        at = is_more ? W8{} + b : at;
        largest = is_more ? gain : largest;
    }
    __builtin_memcpy(most, &largest, sizeof largest);
    __builtin_memcpy(best, &at, sizeof at);
}

void take_away(std::int64_t* from, const std::int64_t* what, Index n) {
    for (Index i = 0; i < n; ++i) from[i] -= what[i];
}

void code_bits(const std::int32_t* rows, Index n, const std::uint64_t* words, int byte, int bin, int missing,
               std::uint8_t* left) {
#if defined(__AVX512F__)
    const __m512i last = _mm512_set1_epi32(bin), none = _mm512_set1_epi32(missing), low = _mm512_set1_epi32(255);
    const char* base = reinterpret_cast<const char*>(words) + byte;
    for (Index i = 0; i < n; i += 16) {
        const auto here = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
        const __m512i row = _mm512_maskz_loadu_epi32(here, rows + i);
        const __m512i code =
            _mm512_and_si512(_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), here, row, base, 8), low);
        const auto is_left =
            static_cast<std::uint16_t>(_mm512_cmple_epi32_mask(code, last) | _mm512_cmpeq_epi32_mask(code, none));
        __builtin_memcpy(left + i / 8, &is_left, sizeof is_left);
    }
#else
    for (Index i = 0; i < n; i += 8) {
        const Index here = n - i < 8 ? n - i : 8;
        unsigned bits = 0;
        for (Index k = 0; k < here; ++k) {
            const int code = static_cast<int>(words[rows[i + k]] >> 8 * byte & 255);
            bits |= static_cast<unsigned>((code <= bin) | (code == missing)) << k;
        }
        left[i / 8] = static_cast<std::uint8_t>(bits);
    }
#endif
}

void append_side(std::uint16_t* places, const std::uint8_t* codes, Index n, int bin) {
    const auto last = static_cast<std::uint8_t>(bin);
    for (Index i = 0; i < n; ++i)
        places[i] = static_cast<std::uint16_t>(2 * places[i] + static_cast<std::uint16_t>(codes[i] > last));
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
