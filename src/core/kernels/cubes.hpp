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

constexpr Index kCubeVector = kVec * (kCubePlayers + 1);  // differences and starts of a vector of rows

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

// One number per lane; without AVX-512 each is held twice, as not all processors compare 64 bits.
#if defined(__AVX512F__)
using LaneNumbers = VecMask;
#else
typedef std::int32_t LaneNumbers __attribute__((vector_size(sizeof(Vec))));
#endif

inline LaneNumbers lane_numbers(const std::int32_t* numbers) {
    constexpr int kTimes = static_cast<int>(sizeof(LaneNumbers) / sizeof(LaneNumbers{}[0])) / kVec;
    LaneNumbers out;
    for (int i = 0; i < kTimes * kVec; ++i) out[i] = numbers[i / kTimes];
    return out;
}

// `value` in the lanes of which the numbers have one of these bits, `other` in the others.
inline Vec if_any(LaneNumbers numbers, std::int32_t bits, Vec value, Vec other) {
#if defined(__AVX512F__)
    const __mmask8 lanes = _mm512_test_epi64_mask(reinterpret_cast<__m512i>(numbers), _mm512_set1_epi64(bits));
    return _mm512_mask_mov_pd(other, lanes, value);
#else
    const auto lanes = reinterpret_cast<VecMask>((numbers & bits) != 0);
    return reinterpret_cast<Vec>((reinterpret_cast<VecMask>(value) & lanes) |
                                 (reinterpret_cast<VecMask>(other) & ~lanes));
#endif
}

// The sum, and the value too in the lanes of which the numbers have one of these bits.
inline Vec plus_if_any(Vec sum, LaneNumbers numbers, std::int32_t bits, Vec value) {
#if defined(__AVX512F__)
    const __mmask8 lanes = _mm512_test_epi64_mask(reinterpret_cast<__m512i>(numbers), _mm512_set1_epi64(bits));
    return _mm512_mask_add_pd(sum, lanes, sum, value);
#else
    const auto lanes = reinterpret_cast<VecMask>((numbers & bits) != 0);
    return sum + reinterpret_cast<Vec>(reinterpret_cast<VecMask>(value) & lanes);
#endif
}

// Sixteen values, of which those of the lanes' numbers are taken.
inline Vec looked_up(const double* values, LaneNumbers numbers) {
#if defined(__AVX512F__)
    return _mm512_permutex2var_pd(load<Vec>(values), reinterpret_cast<__m512i>(numbers), load<Vec>(values + kVec));
#else
    Vec out;
    for (int l = 0; l < kVec; ++l) out[l] = values[numbers[2 * l]];
    return out;
#endif
}

// Bits of the lanes whose numbers are not below 0.
inline std::uint32_t not_below_zero(LaneNumbers numbers) {
    return lane_bits(reinterpret_cast<VecMask>(numbers >= 0));
}

// Weights of games are B(p, q + 1), B(p + 1, q + 1), B(p + 1, q) and B(p + 2, q), B(a, b) = (a-1)! (b-1)! / (a+b-1)!.
constexpr struct Factorials {
    double of[20] = {}, inverse[22] = {};  // (i - 1)!, 0 for i = 0; 1 / i!
    constexpr Factorials() {
        double all = 1;
        for (int i = 1; i < 20; all *= i++) of[i] = all;
        all = 1;
        for (int i = 0; i < 22; all *= ++i) inverse[i] = 1 / all;
    }
} kFactorials;

// Rows from `row` on, kVec of them: adds the values of games that are linear or constant, the others wait as vector
// number `place`. No branches on what is found: it is known late, and nothing foretells it.
template <bool kOneEach>
[[gnu::always_inline]] inline void compare_rows(const CubeNode& node, const std::int32_t* row_conditions, Index row,
                                                WaitingCubes& waiting, Index place) {
    // Not read again after every store:
    const double* slopes = node.slopes;
    const double* steps = waiting.steps + row;
    const std::int32_t* input_start = waiting.input_start;
    const int n = waiting.n_columns;
    double* differences = waiting.differences + place * kCubeVector;
    const LaneNumbers conditions = lane_numbers(row_conditions + row);
    const std::uint32_t split = node.split;
    const Vec zero = rounded(Vec{});  // not known to be 0: maxima take one instruction then
    Vec rises{}, change{}, gone{};
    unrolled<0, kCubePlayers>([&]<int k>() {
        if (k >= n) return;
        Vec own = column_change<kOneEach>(slopes, steps, input_start, k);
        if ((split >> k & 1) != 0) {
            gone = plus_if_any(gone, conditions, 1 << (kCubeOther + k), own);
            own = if_any(conditions, (1 << k) | (1 << (kCubeOther + k)), Vec{}, own);
        }
        store<Vec>(differences + k * kVec, own);
        rises += own < zero ? zero : own;
        change += own;
    });
    const Vec low = splat<Vec>(node.lower), high = splat<Vec>(node.upper);
    const Vec start = node.at_row - gone - change, most = start + rises, least = start + (change - rises);
    store<Vec>(differences + kCubePlayers * kVec, start);
    const std::uint32_t here = not_below_zero(conditions);
    const std::uint32_t linear = here & bits_up_to(low, least) & bits_up_to(most, high);
    const std::uint32_t closed = linear | (here & (bits_up_to(most, low) | bits_up_to(high, least)));
    for (int l = 0; l < kVec; ++l) waiting.conditions[place * kVec + l] = row_conditions[row + l];
    waiting.open_rows[place] = static_cast<std::uint8_t>(here & ~closed);
    const LaneNumbers p = conditions >> kCubeCount & kCubeCountBits,
                      q = conditions >> (kCubeOther + kCubeCount) & kCubeCountBits;
    const double *factorial = kFactorials.of, *inverse = kFactorials.inverse;
    const Vec at_start = lanes_of(closed, within(start, low, high)), whole = lanes_of(linear, change);
    const Vec fewer = waiting.weight * looked_up(inverse, p + q), more = waiting.weight * looked_up(inverse + 1, p + q);
    const Vec up_to_p = looked_up(factorial + 1, p), up_to_q = looked_up(factorial + 1, q),
              below_q = looked_up(factorial, q);
    const Vec share = lanes_of(linear, up_to_p * up_to_q * more);
    const Vec to_row = at_start * (looked_up(factorial, p) * up_to_q * fewer) + share * change;
    const Vec from_other =
        -(at_start * (up_to_p * below_q * fewer) + whole * (looked_up(factorial + 2, p) * below_q * more));
    double* sums = waiting.sums;
    unrolled<0, kCubePlayers>([&]<int k>() {
        if (k >= n) return;
        Vec own = load<Vec>(sums + k * kLanes) + share * load<Vec>(differences + k * kVec);
        if ((split >> k & 1) != 0) {
            own = plus_if_any(own, conditions, 1 << k, to_row);
            own = plus_if_any(own, conditions, 1 << (kCubeOther + k), from_other);
        }
        store<Vec>(sums + k * kLanes, own);
    });
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

// Adds the clipped scores of a block to its sums: depth first, so that few of them are held at a time. Differences of
// the columns are at differences + columns[...].
template <int kLevel, int kPlace, int kBits>
[[gnu::always_inline]] inline void clipped_scores(Vec score, const double* differences, const Index (&columns)[4],
                                                  Vec most, Vec one, Vec (&sums)[1 << kBits]) {
    if constexpr (kLevel == 0) {
        sums[kPlace] = plus(sums[kPlace], near_zero(score, most), one);
    } else {
        clipped_scores<kLevel - 1, kPlace, kBits>(score, differences, columns, most, one, sums);
        const Vec own = splat<Vec>(differences[columns[kLevel - 1]]);
        const Vec next = kLevel == 1 ? plus(score, own, one) : score + own;
        clipped_scores<kLevel - 1, kPlace + (1 << (kLevel - 1)), kBits>(next, differences, columns, most, one, sums);
    }
}

template <int kLevel, int kPlace, int kBits>
[[gnu::always_inline]] inline void add_block(double* table, const Index (&strides)[4], Vec weight,
                                             const Vec (&sums)[1 << kBits]) {
    if constexpr (kLevel == 0) {
        store<Vec>(table, load<Vec>(table) + weight * sums[kPlace]);
    } else {
        add_block<kLevel - 1, kPlace, kBits>(table, strides, weight, sums);
        add_block<kLevel - 1, kPlace + (1 << (kLevel - 1)), kBits>(table + strides[kLevel - 1], strides, weight, sums);
    }
}

// Adds the outputs of open games of a node, all of the same conditions, to their table; kBits columns and those of the
// lanes in registers. open: bits of their rows, from `differences` on.
template <int kBits>
void add_open(const CubeColumns& columns, const double* lane_weights, double* values, const WaitingCubes::Node& node,
              const double* differences, std::uint64_t open, WaitingCubes& waiting) {
    const std::int32_t* top_strides = columns.stride + kLaneBits + kBits;
    const std::int32_t* tops = columns.differences + kLaneBits + kBits;
    const int n_top = columns.n - kLaneBits - kBits;
    const double middle = 0.5 * (node.lower + node.upper);
    const Vec most = splat<Vec>(node.upper - middle), one = rounded(splat<Vec>(1));
    const Vec weight = load<Vec>(lane_weights);
    Index lanes[kLaneBits], block[4] = {}, strides[4] = {};
    unrolled<0, kLaneBits>([&]<int j>() { lanes[j] = columns.differences[j]; });
    unrolled<0, kBits>([&]<int j>() {
        block[j] = columns.differences[kLaneBits + j];
        strides[j] = columns.stride[kLaneBits + j];
    });
    double* bases = waiting.bases;
    const double** games = waiting.games;
    Index n_open = 0;
    for (; open != 0; open &= open - 1) {
        const Index row = __builtin_ctzll(open);
        const double* own = differences + row / kVec * kCubeVector + row % kVec;
        Vec score = splat<Vec>(own[kCubePlayers * kVec] - middle);
        unrolled<0, kLaneBits>([&]<int j>() { score += (kPlaces >> j & 1) != 0 ? splat<Vec>(own[lanes[j]]) : Vec{}; });
        store<Vec>(bases + n_open * kVec, score);
        games[n_open++] = own;
    }
    if (n_open == 0) __builtin_unreachable();
    const double all_middles = static_cast<double>(n_open) * middle;
    // Of every set of the other columns; its scores are those without the first of them, and what that adds.
    double* table = values;
    Index column = 0;
    for (std::uint32_t top = 0;;) {
        const int n_in = __builtin_popcount(top);
        const double* before = bases + (n_in > 0 ? n_in - 1 : 0) * WaitingCubes::kPart;
        double* after = bases + n_in * WaitingCubes::kPart;
        Vec sums[1 << kBits];
        unrolled<0, 1 << kBits>([&]<int k>() { sums[k] = splat<Vec>(all_middles); });
        for (Index i = 0; i < n_open; ++i) {
            const double* own = games[i];
            Vec score = load<Vec>(before + i * kVec);
            if (top != 0) {
                score += splat<Vec>(own[column]);
                store<Vec>(after + i * kVec, score);
            }
            clipped_scores<kBits, 0, kBits>(score, own, block, most, one, sums);
        }
        add_block<kBits, 0, kBits>(table, strides, weight, sums);
        if (++top == 1U << n_top) break;
        column = tops[__builtin_ctz(top)];
        table = values;
        for_bits(top, [&](int j) { table += top_strides[j]; });
    }
}

// Bits of those of the rows, out of 64, that have the same conditions as the first of them.
inline std::uint64_t first_alike(const std::int32_t* conditions, std::uint64_t rows) {
    const std::int32_t wanted = conditions[__builtin_ctzll(rows)];
    std::uint64_t alike = 0;
#if defined(__AVX512F__)
    unrolled<0, 4>([&]<int k>() {
        const __m512i own = _mm512_loadu_si512(conditions + 16 * k);
        alike |= std::uint64_t{_mm512_cmpeq_epi32_mask(own, _mm512_set1_epi32(wanted))} << (16 * k);
    });
#else
    for (std::uint64_t left = rows; left != 0; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        alike |= std::uint64_t{conditions[i] == wanted} << i;
    }
#endif
    return alike & rows;
}

// The open games of a node that wait from `begin` on, those that `rows` names: those of the same conditions together.
void add_node(const WaitingCubes::Node& node, Index begin, std::uint64_t rows, WaitingCubes& waiting) {
    const CubeTables& tables = waiting.tables;
    const std::int32_t* conditions = waiting.conditions + begin;
    while (rows != 0) {
        const std::int32_t own = conditions[__builtin_ctzll(rows)];
        const std::uint64_t alike = first_alike(conditions, rows);
        rows &= ~alike;
        const std::int32_t of_row = own & kCubeColumnBits, fixed = of_row | (own >> kCubeOther & kCubeColumnBits);
        const CubeColumns& columns = tables.columns[fixed];
        const std::int32_t* places = tables.places + columns.layout * tables.size;
        const std::int32_t lanes_of_row = places[of_row] % kVec, lanes_fixed = places[fixed] % kVec;
        const double* lane_weights = tables.lane_weights + (lanes_fixed * kLanes + lanes_of_row) * kLanes;
        double* values = tables.values + columns.layout * tables.size + (places[of_row] - lanes_of_row);
        const int bits = columns.n - kLaneBits;
        const auto run = bits == 0   ? add_open<0>
                         : bits == 1 ? add_open<1>
                         : bits == 2 ? add_open<2>
                         : bits == 3 ? add_open<3>
                                     : add_open<kMostBlockBits>;
        run(columns, lane_weights, values, node, waiting.differences + begin / kVec * kCubeVector, alike, waiting);
    }
}

void add_cubes(WaitingCubes& waiting) {
    constexpr int kVectors = 64 / kVec;
    Index vector = 0;
    for (int i = 0; i < waiting.n_nodes; ++i) {
        while (vector < waiting.nodes[i].end) {
            const Index first = vector,
                        end = waiting.nodes[i].end < first + kVectors ? waiting.nodes[i].end : first + kVectors;
            std::uint64_t rows = 0;
            for (; vector < end; ++vector)
                rows |= std::uint64_t{waiting.open_rows[vector]} << ((vector - first) * kVec);
            add_node(waiting.nodes[i], first * kVec, rows, waiting);
        }
    }
    waiting.n_nodes = waiting.n_vectors = 0;
}

template <bool kOneEach>
void compare_all(const CubeNode& node, const std::int32_t* conditions, int n, WaitingCubes& waiting) {
    for (Index row = 0; row < n; row += kVec) {
        bool any = false;
        for (int l = 0; l < kVec; ++l) any |= conditions[row + l] >= 0;
        if (any) compare_rows<kOneEach>(node, conditions, row, waiting, waiting.n_vectors++);
    }
    waiting.nodes[waiting.n_nodes++] = {node.lower, node.upper, waiting.n_vectors};
    if (waiting.n_vectors >= kCubeVectors || waiting.n_nodes == kCubeVectors) add_cubes(waiting);
}

void compare_cubes(const CubeNode& node, const std::int32_t* conditions, int n, WaitingCubes& waiting) {
    (waiting.one_each ? compare_all<true> : compare_all<false>)(node, conditions, n, waiting);
}

int meet_split(const std::int32_t* before, const std::int32_t* left, int n, int column, bool row_left,
               std::int32_t* near, std::int32_t* far) {
    const std::int32_t row_goes = row_left ? 1 : 0;
    const std::int32_t of_row = 1 << column, of_other = of_row << kCubeOther, one_more = 1 << kCubeCount;
    std::int32_t all_near = kUnreached, all_far = kUnreached;
    for (int i = 0; i < n; ++i) {
        const std::int32_t own = before[i];
        const bool apart = left[i] != row_goes, has_row = (own & of_row) != 0, has_other = (own & of_other) != 0;
        const std::int32_t from_row = has_other ? kUnreached : has_row ? own : own + of_row + one_more;
        const std::int32_t from_other = has_row     ? kUnreached
                                        : has_other ? own
                                                    : own + of_other + (one_more << kCubeOther);
        near[i] = apart && own >= 0 ? from_row : own;
        far[i] = apart && own >= 0 ? from_other : kUnreached;
        all_near &= near[i];
        all_far &= far[i];
    }
    return (all_near >= 0 ? 1 : 0) | (all_far >= 0 ? 2 : 0);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
