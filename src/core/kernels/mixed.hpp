// Explanations: kLanes games of node models against background rows, side by side.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

// Rows to columns.
inline void transpose(V2 (&r)[2]) {
    const V2 a = r[0], b = r[1];
    r[0] = __builtin_shufflevector(a, b, 0, 2);
    r[1] = __builtin_shufflevector(a, b, 1, 3);
}
inline void transpose(V4 (&r)[4]) {
    V4 t[4];
    unrolled<0, 2>([&]<int i>() {
        t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 4, 2, 6);
        t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 1, 5, 3, 7);
    });
    unrolled<0, 2>([&]<int i>() {
        r[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
        r[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
    });
}
inline void transpose(V8 (&r)[8]) {
    V8 t[8];
    unrolled<0, 4>([&]<int i>() {
        t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    });
    unrolled<0, 4>([&]<int i>() {
        constexpr int k = i / 2 * 4 + i % 2;
        r[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[k + 2] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    });
    unrolled<0, 4>([&]<int i>() {
        t[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        t[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    });
    unrolled<0, 8>([&]<int i>() { r[i] = t[i]; });
}

inline VecMask bits_of(const std::uint64_t* bits) {
    VecMask out;
    __builtin_memcpy(&out, bits, sizeof out);
    return out;
}

inline Vec within(Vec v, Vec low, Vec high) {
    const Vec above = v < low ? low : v;
    return above > high ? high : above;
}

// a + b, or a - b, in lanes whose masks have the bit, and a in the others. Of a vector of ones and zeros it would take
// an instruction more.
[[gnu::always_inline]] inline Vec plus_where(VecMask masks, VecMask bit, Vec a, Vec b) {
#if defined(__AVX512F__)
    const __mmask8 has = _mm512_test_epi64_mask(reinterpret_cast<__m512i>(masks), reinterpret_cast<__m512i>(bit));
    return _mm512_mask_add_pd(a, has, a, b);
#else
    return a + ((masks & bit) != 0 ? b : Vec{});
#endif
}
[[gnu::always_inline]] inline Vec minus_where(VecMask masks, VecMask bit, Vec a, Vec b) {
#if defined(__AVX512F__)
    const __mmask8 has = _mm512_test_epi64_mask(reinterpret_cast<__m512i>(masks), reinterpret_cast<__m512i>(bit));
    return _mm512_mask_sub_pd(a, has, a, b);
#else
    return a - ((masks & bit) != 0 ? b : Vec{});
#endif
}

// What the inputs from j on change in each lane, input after input.
template <int kInputs>
[[gnu::always_inline]] inline void input_changes(const MixedGames& games, int first, Index j, double* out) {
    if constexpr (kInputs == kVec) {
        Vec part[kVec];
        unrolled<0, kVec>(
            [&]<int l>() { part[l] = load<Vec>(games.steps[first + l] + j) * load<Vec>(games.slopes[first + l] + j); });
        transpose(part);
        unrolled<0, kVec>([&]<int l>() { store<Vec>(out + l * kLanes, part[l]); });
    } else {  // half of a vector: two lanes are one vector
        V8 part[4];
        unrolled<0, 4>([&]<int l>() {
            const V4 a = load<V4>(games.steps[l] + j) * load<V4>(games.slopes[l] + j);
            const V4 b = load<V4>(games.steps[l + 4] + j) * load<V4>(games.slopes[l + 4] + j);
            part[l] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
        });
        V8 t[4];
        unrolled<0, 2>([&]<int i>() {
            t[2 * i] = __builtin_shufflevector(part[2 * i], part[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            t[2 * i + 1] = __builtin_shufflevector(part[2 * i], part[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        });
        unrolled<0, 2>([&]<int i>() {
            store<V8>(out + i * kLanes, __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13));
            store<V8>(out + (i + 2) * kLanes, __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15));
        });
    }
}

// kVec of the lanes, from `first` on. The line: through the outputs at the start and at the end, where all free columns
// come from the row; so the rest is 0 at both, and adds nothing to the sum of all contributions.
template <bool kOneEach>  // column j has input j
void mixed_part(const MixedColumns& columns, const MixedGames& games, int first, double* sums, OpenGames& out) {
    Vec shares[8];
    for (int k = 0; k < 8; k += kVec) {
        Vec part[kVec];
        unrolled<0, kVec>([&]<int l>() { part[l] = load<Vec>(games.shares[first + l] + k); });
        transpose(part);
        unrolled<0, kVec>([&]<int l>() { shares[k + l] = part[l]; });
    }
    const VecMask of_row = bits_of(games.of_row + first), of_other = bits_of(games.of_other + first);
    const VecMask fixed = of_row | of_other;
    double* differences = out.differences + first;
    double* of_inputs = kOneEach ? differences : out.of_inputs + first;
    const Index n_inputs = columns.input_start[columns.n_players];
    Index done = 0;
    if constexpr (kVec == 8) {
        for (; done + 4 < n_inputs; done += 8) input_changes<8>(games, first, done, of_inputs + done * kLanes);
        if (done < n_inputs) input_changes<4>(games, first, done, of_inputs + done * kLanes);
    } else {
        for (; done < n_inputs; done += kVec) input_changes<kVec>(games, first, done, of_inputs + done * kLanes);
    }
    const Vec zero = rounded(Vec{});  // not known to be 0: maxima take one instruction then
    Vec rises{}, moves{}, gone{};
    VecMask bit = VecMask{} + 1;
    for (int player = 0; player < columns.n_players; ++player, bit += bit) {
        Vec difference{};
        if constexpr (kOneEach) {
            difference = load<Vec>(of_inputs + player * kLanes);
        } else {
            for (std::int32_t j = columns.input_start[player]; j < columns.input_start[player + 1]; ++j)
                difference += load<Vec>(of_inputs + j * kLanes);
        }
        const Vec free = (fixed & bit) == 0 ? difference : Vec{};
        rises += free < zero ? zero : free;
        moves += free;
        gone = plus_where(of_other, bit, gone, difference);
        store<Vec>(differences + player * kLanes, free);
    }
    const Vec low = load<Vec>(games.lower + first), high = load<Vec>(games.upper + first);
    const Vec start = load<Vec>(games.at_row + first) - gone - moves, end = start + moves, whole = end - start;
    const Vec at_start = within(start, low, high), change = within(end, low, high) - at_start;
    const Vec inside = start == at_start ? splat<Vec>(1) : Vec{};
    const Vec slope = whole != 0 ? change / whole : inside;
    const Vec weight = load<Vec>(games.weight + first);
    const Vec share = weight * shares[1];
    const Vec to_row = weight * (at_start * shares[0] + change * shares[1]);
    const Vec from_other = weight * (at_start * shares[2] + change * shares[3]);
    const Vec per_difference = share * slope;
    bit = VecMask{} + 1;
    for (int player = 0; player < columns.n_players; ++player, bit += bit) {  // differences are 0 if not free
        double* own = sums + player * kLanes + first;
        const Vec value = load<Vec>(own) + per_difference * load<Vec>(differences + player * kLanes);
        store<Vec>(own, minus_where(of_other, bit, plus_where(of_row, bit, value, to_row), from_other));
    }
    // The rest is linear between the ends of the range of scores and the bounds that lie within it.
    const Vec least = start + (moves - rises), most = start + rises;
    const auto rest = [&](Vec score) {
        return magnitude(within(score, low, high) - at_start - slope * (score - start));
    };
    const auto larger = [](Vec a, Vec b) { return a > b ? a : b; };
    const Vec largest = larger(larger(rest(least), rest(most)),
                               larger(rest(within(low, least, most)), rest(within(high, least, most))));
    store<Vec>(out.start + first, start);
    store<Vec>(out.at_start + first, at_start);
    store<Vec>(out.slope + first, slope);
    store<Vec>(out.largest + first,
               magnitude(weight) * shares[4] * (((least < low) | (most > high)) ? largest : Vec{}));
}

void mixed_games(const MixedColumns& columns, const MixedGames& games, double* sums, OpenGames& out) {
    const auto part = columns.one_each ? mixed_part<true> : mixed_part<false>;
    for (int first = 0; first < kLanes; first += kVec) part(columns, games, first, sums, out);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
