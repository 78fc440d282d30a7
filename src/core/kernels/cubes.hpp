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

// Columns that follow from their bits.
template <class Body>
[[gnu::always_inline]] inline void for_bits(std::uint32_t bits, Body body) {
    for (; bits != 0; bits &= bits - 1) body(__builtin_ctz(bits));
}

template <bool kOneEach>  // column j has input j
[[gnu::always_inline]] inline Vec column_change(const double* slopes, const double* steps,
                                                const std::int32_t* input_start, Index player) {
    if constexpr (kOneEach) return slopes[player] * load<Vec>(steps + player * kCubeRows);
    Vec change{};
    for (Index j = input_start[player]; j < input_start[player + 1]; ++j)
        change += slopes[j] * load<Vec>(steps + j * kCubeRows);
    return change;
}

// The lanes that `bits` names, 0 in the others.
inline Vec lanes_of(std::uint32_t bits, Vec value) {
#if defined(__AVX512F__)
    return _mm512_maskz_mov_pd(static_cast<__mmask8>(bits), value);
#else
    return ((VecMask{} + bits) >> kPlaces & 1) != 0 ? value : Vec{};
#endif
}

// Bits of the lanes in which a is at most b.
inline std::uint32_t bits_up_to(Vec a, Vec b) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
#else
    return lane_bits(a <= b);
#endif
}

// Adds the games of the lanes that `bits` names.
inline void list_lanes(const double* differences, std::uint32_t bits, WaitingCubes& waiting) {
#if defined(__AVX512F__)
    const VecMask all = reinterpret_cast<std::intptr_t>(differences) + static_cast<Index>(sizeof(double)) * kPlaces;
    const __m512i own = _mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), reinterpret_cast<__m512i>(all));
    _mm512_storeu_si512(waiting.open + waiting.n_open, own);
    waiting.n_open += __builtin_popcount(bits);
#else
    for (std::uint32_t l = 0; l < kVec; ++l) {
        waiting.open[waiting.n_open] = differences + l;
        waiting.n_open += bits >> l & 1;
    }
#endif
}

// What games that are linear or constant give the columns of their conditions.
struct ConditionSums {
    Vec to_row, from_other;
};

// kVec background rows from `row` on, those that `bits` names: adds the values of games that are linear or constant.
// No branches: what they depend on is known late, and nothing foretells it.
template <bool kOneEach>
[[gnu::always_inline]] inline void compare_rows(const CubeGames& games, Index row, std::uint32_t bits,
                                                double* differences, WaitingCubes& waiting, ConditionSums& sums) {
    // Not read again after every store:
    const CubeColumns& columns = *games.columns;
    const int n = columns.n;
    const double* slopes = games.slopes;
    const double* steps = games.steps + row;
    const std::int32_t* input_start = games.input_start;
    const Vec zero = rounded(Vec{});  // not known to be 0: maxima take one instruction then
    Vec rises{}, change{}, gone{};
    for (int k = 0; k < n; ++k) {
        const Vec own = kOneEach ? slopes[columns.player[k]] * load<Vec>(steps + columns.steps[k])
                                 : column_change<kOneEach>(slopes, steps, input_start, columns.player[k]);
        rises += own < zero ? zero : own;
        change += own;
        store<Vec>(differences + k * kLanes, own);
    }
    for_bits(games.of_other, [&](int player) { gone += column_change<kOneEach>(slopes, steps, input_start, player); });
    const Vec low = splat<Vec>(games.lower), high = splat<Vec>(games.upper);
    const Vec start = games.at_row - gone - change, most = start + rises, least = start + (change - rises);
    store<Vec>(differences + n * kLanes, start);
    const std::uint32_t linear = bits & bits_up_to(low, least) & bits_up_to(most, high);
    const std::uint32_t closed = linear | (bits & (bits_up_to(most, low) | bits_up_to(high, least)));
    list_lanes(differences, bits & ~closed, waiting);
    const Vec at_start = lanes_of(closed, within(start, low, high)), whole = lanes_of(linear, change);
    const Vec share = lanes_of(linear, splat<Vec>(games.shares[1]));
    sums.to_row += at_start * games.shares[0] + whole * games.shares[1];
    sums.from_other += at_start * games.shares[2] + whole * games.shares[3];
    double* of_columns = games.sums;
    for (int k = 0; k < n; ++k) {
        double* own = of_columns + columns.sums[k];
        store<Vec>(own, load<Vec>(own) + share * load<Vec>(differences + k * kLanes));
    }
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

// The sums of games that wait, kBits columns and those of the lanes in registers.
template <int kBits>
void add_group(const WaitingCubes::Group& group, const double* const* open) {
    const std::int32_t* strides = group.columns->stride + kLaneBits;
    const int n = group.columns->n, n_top = n - kLaneBits - kBits;
    const double middle = 0.5 * (group.lower + group.upper);
    const Vec most = splat<Vec>(group.upper - middle), one = rounded(splat<Vec>(1));
    const Vec weight = load<Vec>(group.lane_weights);
    const double all_middles = static_cast<double>(group.end - group.begin) * middle;
    for (int top = 0; top < 1 << n_top; ++top) {
        double* table = group.table;
        for_bits(top, [&](int j) { table += strides[kBits + j]; });
        Vec sums[1 << kBits];
        unrolled<0, 1 << kBits>([&]<int k>() { sums[k] = splat<Vec>(all_middles); });
        for (Index i = group.begin; i < group.end; ++i) {
            const double* own = open[i];
            Vec score = splat<Vec>(own[n * kLanes] - middle);
            unrolled<0, kLaneBits>(
                [&]<int j>() { score += (kPlaces >> j & 1) != 0 ? splat<Vec>(own[j * kLanes]) : Vec{}; });
            for_bits(top, [&](int j) { score += splat<Vec>(own[(kLaneBits + kBits + j) * kLanes]); });
            clipped_scores<kBits, 0, kBits>(score, own + kLaneBits * kLanes, most, one, sums);
        }
        add_block<kBits, 0, kBits>(table, strides, weight, sums);
    }
}

void add_cubes(WaitingCubes& waiting) {
    for (Index i = 0; i < waiting.n_groups; ++i) {
        const WaitingCubes::Group& group = waiting.groups[i];
        const int bits = group.columns->n - kLaneBits;
        const auto run = bits == 0   ? add_group<0>
                         : bits == 1 ? add_group<1>
                         : bits == 2 ? add_group<2>
                         : bits == 3 ? add_group<3>
                                     : add_group<kMostBlockBits>;
        run(group, waiting.open);
    }
    waiting.n_vectors = waiting.n_groups = waiting.n_open = 0;
}

template <bool kOneEach>
[[gnu::always_inline]] inline void compare_all(const CubeGames& games, WaitingCubes& waiting) {
    ConditionSums sums{};
    const Index begin = waiting.n_open;
    for (int word = 0; word < kCubeRows / 64; ++word)
        for (std::uint64_t bits = games.rows[word]; bits != 0;) {
            const int first = __builtin_ctzll(bits);
            const auto own = static_cast<std::uint32_t>(bits >> first & ((1U << kVec) - 1));
            bits &= ~(std::uint64_t{own} << first);
            double* differences = waiting.differences + waiting.n_vectors++ * kLanes * (kCubePlayers + 1);
            compare_rows<kOneEach>(games, 64 * word + first, own, differences, waiting, sums);
        }
    const auto add = [&](int player, Vec value) {
        double* own = games.sums + player * kLanes;
        store<Vec>(own, load<Vec>(own) + value);
    };
    for_bits(games.of_row, [&](int player) { add(player, sums.to_row); });
    for_bits(games.of_other, [&](int player) { add(player, -sums.from_other); });
    waiting.groups[waiting.n_groups] = {games.columns, games.lower, games.upper,   games.lane_weights,
                                        games.table,   begin,       waiting.n_open};
    waiting.n_groups += waiting.n_open > begin ? 1 : 0;
}

void compare_cubes(const CubeGames& games, WaitingCubes& waiting) {
    (games.one_each ? compare_all<true> : compare_all<false>)(games, waiting);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
