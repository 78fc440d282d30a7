// Explanations: the games of a node's model against kLanes background rows, side by side.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

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

inline Vec magnitude(Vec v) {
    return v < 0 ? -v : v;
}

// kVec of the lanes, from `first` on. The line: through the outputs at the start and at the end, where all free columns
// come from the row; so the rest is 0 at both, and adds nothing to the sum of all contributions.
template <bool kOneEach>  // column j has input j
void mixed_part(const MixedNode& node, const MixedGame* games, int n, int first, double* sums, OpenGames& out) {
    std::uint64_t row_bits[kVec], other_bits[kVec];
    const double* steps[kVec];
    Vec shares[8];
    for (int l = 0; l < kVec; ++l) {
        row_bits[l] = games[first + l].of_row;
        other_bits[l] = games[first + l].of_other;
        steps[l] = node.steps + games[first + l].other * node.stride;
    }
    for (int k = 0; k < 8; k += kVec) {
        Vec part[kVec];
        unrolled<0, kVec>([&]<int l>() { part[l] = load<Vec>(node.shares + 8 * Index{games[first + l].shape} + k); });
        transpose(part);
        unrolled<0, kVec>([&]<int l>() { shares[k + l] = part[l]; });
    }
    const VecMask of_row = bits_of(row_bits), of_other = bits_of(other_bits), fixed = of_row | of_other;
    double *of_inputs = out.of_inputs + first, *differences = out.differences + first;
    for (int j = 0; j < node.stride; j += kVec) {
        Vec part[kVec];
        const Vec slopes = load<Vec>(node.slopes + j);
        unrolled<0, kVec>([&]<int l>() { part[l] = load<Vec>(steps[l] + j) * slopes; });
        transpose(part);
        unrolled<0, kVec>([&]<int l>() { store<Vec>(of_inputs + (j + l) * kLanes, part[l]); });
    }
    Vec rises{}, falls{}, gone{};
    VecMask bit = VecMask{} + 1;
    for (int player = 0; player < node.n_players; ++player, bit += bit) {
        Vec difference{};
        if constexpr (kOneEach) {
            difference = load<Vec>(of_inputs + player * kLanes);
        } else {
            for (std::int32_t j = node.input_start[player]; j < node.input_start[player + 1]; ++j)
                difference += load<Vec>(of_inputs + j * kLanes);
        }
        const Vec free = (fixed & bit) == 0 ? difference : Vec{};
        const Vec rise = free > 0 ? free : Vec{};
        rises += rise;
        falls += free - rise;
        gone += (of_other & bit) != 0 ? difference : Vec{};
        store<Vec>(differences + player * kLanes, free);
    }
    const Vec low = splat<Vec>(node.lower), high = splat<Vec>(node.upper);
    const Vec start = node.at_row - gone - (rises + falls), end = start + (rises + falls), whole = end - start;
    const Vec at_start = within(start, low, high), change = within(end, low, high) - at_start;
    const Vec inside = start == at_start ? splat<Vec>(1) : Vec{};
    const Vec slope = whole != 0 ? change / whole : inside;
    const Vec weight = kPlaces + first < n ? splat<Vec>(node.weight) : Vec{};
    const Vec share = weight * shares[1];
    const Vec to_row = weight * (at_start * shares[0] + change * shares[1]);
    const Vec from_other = weight * (at_start * shares[2] + change * shares[3]);
    const Vec per_difference = share * slope;
    bit = VecMask{} + 1;
    for (int player = 0; player < node.n_players; ++player, bit += bit) {
        double* own = sums + player * kLanes + first;
        Vec value = per_difference * load<Vec>(differences + player * kLanes);
        value = (of_row & bit) != 0 ? to_row : value;
        value = (of_other & bit) != 0 ? -from_other : value;
        store<Vec>(own, load<Vec>(own) + value);
    }
    // The rest is linear between the ends of the range of scores and the bounds that lie within it.
    const Vec least = start + falls, most = start + rises;
    const auto rest = [&](Vec score) {
        return magnitude(within(score, low, high) - at_start - slope * (score - start));
    };
    const auto larger = [](Vec a, Vec b) { return a > b ? a : b; };
    const Vec largest = larger(larger(rest(least), rest(most)),
                               larger(rest(within(low, least, most)), rest(within(high, least, most))));
    store<Vec>(out.start + first, start);
    store<Vec>(out.at_start + first, at_start);
    store<Vec>(out.slope + first, slope);
    store<Vec>(out.largest + first, magnitude(weight) * shares[4] * ((least < low) | (most > high) ? largest : Vec{}));
}

void mixed_games(const MixedNode& node, const MixedGame* games, int n, double* sums, OpenGames& out) {
    const auto part = node.one_each ? mixed_part<true> : mixed_part<false>;
    for (int first = 0; first < kLanes; first += kVec) part(node, games, n, first, sums, out);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
