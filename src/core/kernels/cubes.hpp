// Explanations: games of a clipped model on cubes of coalitions, see explain/coalition_tables.hpp.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "explain.hpp"
#include "mixed.hpp"
#include "simd.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

// Games that are clipped somewhere in their cubes.
struct OpenCubes {
    const double* at[kCubeRows + kVec];  // differences, then the start of the score: kLanes apart
    Index n;
};

// Columns that follow from their bits.
template <class Body>
[[gnu::always_inline]] inline void for_bits(std::uint32_t bits, Body body) {
    for (; bits != 0; bits &= bits - 1) body(__builtin_ctz(bits));
}

template <bool kOneEach>  // column j has input j
[[gnu::always_inline]] inline Vec column_change(const CubeGames& games, int player, Index row) {
    if constexpr (kOneEach) return games.slopes[player] * load<Vec>(games.steps + player * kCubeRows + row);
    Vec change{};
    for (Index j = games.input_start[player]; j < games.input_start[player + 1]; ++j)
        change += games.slopes[j] * load<Vec>(games.steps + j * kCubeRows + row);
    return change;
}

// Adds the games of the lanes that `bits` names.
inline void list_lanes(const double* differences, std::uint32_t bits, OpenCubes& open) {
#if defined(__AVX512F__)
    const VecMask all = reinterpret_cast<std::intptr_t>(differences) + static_cast<Index>(sizeof(double)) * kPlaces;
    const __m512i own = _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), reinterpret_cast<__m512i>(all));
    _mm512_storeu_si512(open.at + open.n, own);
    open.n += __builtin_popcount(bits);
#else
    for (std::uint32_t l = 0; l < kVec; ++l) {
        open.at[open.n] = differences + l;
        open.n += bits >> l & 1;
    }
#endif
}

// kVec background rows from `row` on, those that `bits` names: adds the values of games that are linear or constant.
template <bool kOneEach>
[[gnu::always_inline]] inline void compare_rows(const CubeGames& games, Index row, std::uint32_t bits,
                                                double* differences, OpenCubes& open) {
    const CubeColumns& columns = *games.columns;
    const Vec zero = rounded(Vec{});  // not known to be 0: maxima take one instruction then
    Vec rises{}, change{}, gone{};
    for (int k = 0; k < columns.n; ++k) {
        const Vec own = column_change<kOneEach>(games, columns.player[k], row);
        rises += own < zero ? zero : own;
        change += own;
        store<Vec>(differences + k * kLanes, own);
    }
    for_bits(games.of_other, [&](int player) { gone += column_change<kOneEach>(games, player, row); });
    const Vec low = splat<Vec>(games.lower), high = splat<Vec>(games.upper);
    const Vec start = games.at_row - gone - change, most = start + rises, least = start + (change - rises);
    const VecMask given = ((VecMask{} + bits) >> kPlaces & 1) != 0;
    const VecMask linear = given & (least >= low) & (most <= high);
    const VecMask constant = given & ~linear & ((most <= low) | (least >= high));
    const VecMask is_open = given & ~linear & ~constant;
    store<Vec>(differences + columns.n * kLanes, start);
    const std::uint32_t open_bits = lane_bits(is_open);
    list_lanes(differences, open_bits, open);
    if (open_bits == bits) return;
    const Vec at_start = linear ? start : constant ? within(start, low, high) : Vec{};
    const Vec slope = linear ? splat<Vec>(1) : Vec{};
    const Vec share = games.shares[1] * slope, whole = change * slope;
    const Vec to_row = at_start * games.shares[0] + whole * games.shares[1];
    const Vec from_other = at_start * games.shares[2] + whole * games.shares[3];
    const auto add = [&](int player, Vec value) {
        double* own = games.sums + player * kLanes;
        store<Vec>(own, load<Vec>(own) + value);
    };
    for (int k = 0; k < columns.n; ++k) add(columns.player[k], share * load<Vec>(differences + k * kLanes));
    for_bits(games.of_row, [&](int player) { add(player, to_row); });
    for_bits(games.of_other, [&](int player) { add(player, -from_other); });
}

// Additions, minima and maxima share two units, multiplications that add have two more: most additions go there.
// Written as one * b + a, the product would be taken out of the loop, and an addition be left.
[[gnu::always_inline]] inline Vec plus(Vec a, Vec b, [[maybe_unused]] Vec one) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(one, b, a);
#elif defined(__FMA__)
    return _mm256_fmadd_pd(one, b, a);
#else
    return a + b;
#endif
}

// The nearest value no further than `most` from 0.
inline Vec near_zero(Vec value, Vec most) {
#if defined(__AVX512DQ__)
    return _mm512_range_pd(value, most, 0b0010);  // the smaller size, the sign of the value: one instruction
#else
    return within(value, -most, most);
#endif
}

// Adds the clipped scores of a block to its sums: depth first, so that few of them are held at a time.
template <int kLevel, int kPlace, int kBits>
[[gnu::always_inline]] inline void clipped_scores(Vec score, const double* differences, Vec most, Vec one,
                                                  Vec (&sums)[1 << kBits]) {
    if constexpr (kLevel == 0) {
        sums[kPlace] = plus(sums[kPlace], near_zero(score, most), one);
    } else {
        clipped_scores<kLevel - 1, kPlace, kBits>(score, differences, most, one, sums);
        const Vec own = splat<Vec>(differences[(kLevel - 1) * kLanes]);
        const Vec next = kLevel == 1 ? plus(score, own, one) : score + own;
        clipped_scores<kLevel - 1, kPlace + (1 << (kLevel - 1)), kBits>(next, differences, most, one, sums);
    }
}

template <int kLevel, int kPlace, int kBits>
[[gnu::always_inline]] inline void add_block(double* table, const std::int32_t* strides, Vec weight,
                                             const Vec (&sums)[1 << kBits]) {
    if constexpr (kLevel == 0) {
        store<Vec>(table, load<Vec>(table) + weight * sums[kPlace]);
    } else {
        add_block<kLevel - 1, kPlace, kBits>(table, strides, weight, sums);
        add_block<kLevel - 1, kPlace + (1 << (kLevel - 1)), kBits>(table + strides[kLevel - 1], strides, weight, sums);
    }
}

// The sums of open games, kBits columns and those of the lanes in registers.
template <int kBits>
void add_cubes(const CubeGames& games, const OpenCubes& open) {
    const std::int32_t* strides = games.columns->stride + kLaneBits;
    const int n_top = games.columns->n - kLaneBits - kBits;
    const double middle = 0.5 * (games.lower + games.upper);
    const Vec most = splat<Vec>(games.upper - middle), one = rounded(splat<Vec>(1));
    const Vec weight = load<Vec>(games.lane_weights);
    for (int top = 0; top < 1 << n_top; ++top) {
        double* table = games.table;
        for_bits(top, [&](int j) { table += strides[kBits + j]; });
        Vec sums[1 << kBits];
        unrolled<0, 1 << kBits>([&]<int k>() { sums[k] = splat<Vec>(static_cast<double>(open.n) * middle); });
        for (Index i = 0; i < open.n; ++i) {
            const double* own = open.at[i];
            Vec score = splat<Vec>(own[games.columns->n * kLanes] - middle);
            unrolled<0, kLaneBits>(
                [&]<int j>() { score += (kPlaces >> j & 1) != 0 ? splat<Vec>(own[j * kLanes]) : Vec{}; });
            for_bits(top, [&](int j) { score += splat<Vec>(own[(kLaneBits + kBits + j) * kLanes]); });
            clipped_scores<kBits, 0, kBits>(score, own + kLaneBits * kLanes, most, one, sums);
        }
        add_block<kBits, 0, kBits>(table, strides, weight, sums);
    }
}

template <bool kOneEach>
void compare_all(const CubeGames& games, double* differences, OpenCubes& open) {
    open.n = 0;
    for (int word = 0; word < kCubeRows / 64; ++word)
        for (std::uint64_t bits = games.rows[word]; bits != 0;) {
            const int first = __builtin_ctzll(bits);
            const auto own = static_cast<std::uint32_t>(bits >> first & ((1U << kVec) - 1));
            bits &= ~(std::uint64_t{own} << first);
            compare_rows<kOneEach>(games, 64 * word + first, own, differences, open);
            differences += (games.columns->n + 1) * kLanes;
        }
}

void clipped_cubes(const CubeGames& games, double* differences) {
    OpenCubes open;
    (games.one_each ? compare_all<true> : compare_all<false>)(games, differences, open);
    if (open.n == 0) return;
    const int bits = games.columns->n - kLaneBits;
    const auto run = bits == 0   ? add_cubes<0>
                     : bits == 1 ? add_cubes<1>
                     : bits == 2 ? add_cubes<2>
                     : bits == 3 ? add_cubes<3>
                                 : add_cubes<kMostBlockBits>;
    run(games, open);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
