// Effects of one number: see explain/effect_lines.hpp and effect_curves.hpp. Part of all.cpp: compiled once per
// instruction set, so no standard library here.
#pragma once

#include "loss.hpp"
#include "mixed.hpp"
#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Adds the numbers of the lanes from `first` on that `bits` names.
inline Index list_numbers(Index first, std::uint32_t bits, std::int32_t* list) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
    const __m256i numbers =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i packed = _mm256_maskz_compress_epi32(static_cast<__mmask8>(bits), numbers);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(list), packed);
    return __builtin_popcount(bits);
#else
    Index n = 0;
    for (std::uint32_t l = 0; l < kVec; ++l) {
        list[n] = static_cast<std::int32_t>(first + l);
        n += bits >> l & 1;
    }
    return n;
#endif
}

Index line_sums(const RangeLine& line, const double* starts, const double* weights, Index n, LineSums& sums,
                std::int32_t* bent) {
    const Vec low = splat<Vec>(line.lower), high = splat<Vec>(line.upper), zero{};
    EightLanes weight{}, start{}, below{}, above{};
    Index n_bent = 0;
    for_lanes(n, [&]<int k>(Index i) {
        const VecMask here = first(n - i);
        const Vec own = here ? load<Vec>(starts + i) : zero, w = here ? load<Vec>(weights + i) : zero;
        const Vec least = own + line.least, most = own + line.most;
        const VecMask inside = (least >= low) & (most <= high);
        const VecMask is_below = ~inside & (most <= low), is_above = ~inside & ~is_below & (least >= high);
        const Vec taken = inside ? w : zero;
        weight.part[k] += taken;
        start.part[k] += taken * own;
        below.part[k] += is_below ? w : zero;
        above.part[k] += is_above ? w : zero;
        n_bent += list_numbers(i, lane_bits(here & ~inside & ~is_below & ~is_above), bent + n_bent);
    });
    sums = {.weight = sum(weight), .start = sum(start), .below = sum(below), .above = sum(above)};
    return n_bent;
}

// Sums of the units of a row, before the sigmoid.
inline Vec unit_sums(const double* x, int d, const double* layer, Index units_width, Index k) {
    Vec f = load<Vec>(layer + k);
    for (Index j = 0; j < d; ++j) f += x[j] * load<Vec>(layer + (1 + j) * units_width + k);
    return f;
}

// The inverses of four vectors by one division.
[[gnu::always_inline]] inline void invert(Vec (&d)[4]) {
    const Vec first = d[0] * d[1], second = d[2] * d[3], inverse = 1 / (first * second);
    const Vec of_first = inverse * second, of_second = inverse * first, a = d[0], b = d[2];
    d[0] = of_first * d[1];
    d[1] = of_first * a;
    d[2] = of_second * d[3];
    d[3] = of_second * b;
}

// Four units at a point.
inline void four_units(const double* powers, const double* moves, Index stride, double* out) {
    Vec d[4];
    unrolled<0, 4>([&]<int k>() { d[k] = 1 + powers[k] * load<Vec>(moves + k * stride); });
    invert(d);
    unrolled<0, 4>([&]<int k>() { store<Vec>(out + k * stride, d[k]); });
}

void add_sigmoids(double* starts, Index n, const double* moves, Index n_moves, double most, const double* weights,
                  double weight, const std::int32_t* rows, Index stride, double* out) {
    const Vec high = splat<Vec>(most);
    for (Index i = 0; i < n && most > 0; i += kVec)
        store<Vec>(starts + i, exp_of(-within(load<Vec>(starts + i), -high, high)));
    for (Index i = 0; i < n; ++i) {
        const double own = weights == nullptr ? weight : weight * weights[i];
        double* to = out + (rows == nullptr ? 0 : rows[i] * stride);
        for (Index v = 0; v < n_moves; v += 4 * kVec) {
            Vec d[4];
            unrolled<0, 4>([&]<int k>() {
                const Vec move = load<Vec>(moves + v + k * kVec);
                d[k] = most > 0 ? 1 + starts[i] * move : sigmoid_of(starts[i] + move);
            });
            if (most > 0) invert(d);
            unrolled<0, 4>([&]<int k>() {
                const Index at = v + k * kVec;
                if (at < n_moves) store_first(to + at, load<Vec>(to + at) + own * d[k], n_moves - at);
            });
        }
    }
}

void unit_curves(const double* x, Index n, int width, int d, const double* layer, int n_units, const double* moves,
                 int n_points, double most, double* powers, double* out) {
    const Index units_width = (n_units + 7) / 8 * 8;
    const Vec high = splat<Vec>(most);
    for (Index i = 0; i < n; ++i, x += width, out += units_width * n_points) {
        for (Index k = 0; k < units_width; k += kVec) {
            const Vec f = unit_sums(x, d, layer, units_width, k);
            store<Vec>(powers + k, most > 0 ? exp_of(-within(f, -high, high)) : f);
        }
        for (Index k = 0; k < n_units && most > 0; k += 4)
            for (Index p = 0; p < n_points; p += kVec)
                four_units(powers + k, moves + k * n_points + p, n_points, out + k * n_points + p);
        for (Index k = 0; k < n_units && most == 0; ++k)
            for (Index p = 0; p < n_points; p += kVec) {
                const Index at = k * n_points + p;
                store<Vec>(out + at, sigmoid_of(powers[k] + load<Vec>(moves + at)));
            }
    }
}

// Whether all lanes are all ones.
inline bool all_of(VecMask mask) {
    return lane_bits(mask) == (1U << kVec) - 1;
}

// Where the scores of a row are.
struct CurveSides {
    VecMask inside, below, above;
};

// kPoints scores from `first` on.
template <int kPoints>
[[gnu::always_inline]] inline void curve_scores(const CurveModel& m, const double* units, Index first, double* out,
                                                CurveSides& sides) {
    constexpr int kVectors = kPoints / kVec;
    const Vec low = splat<Vec>(m.lower), high = splat<Vec>(m.upper);
    Vec total[kVectors], more[kVectors] = {};  // the terms of one sum would wait for each other
    unrolled<0, kVectors>([&]<int v>() { total[v] = splat<Vec>(m.intercept); });
    const double* own = units + first;
    for (Index k = 0; k < m.n_units; k += 2, own += 2 * m.n_points) {  // units are rounded up
        const double one = m.slopes[k], two = k + 1 < m.n_units ? m.slopes[k + 1] : 0.0;
        unrolled<0, kVectors>([&]<int v>() {
            total[v] += one * load<Vec>(own + v * kVec);
            more[v] += two * load<Vec>(own + m.n_points + v * kVec);
        });
    }
    unrolled<0, kVectors>([&]<int v>() {
        const Vec score = total[v] + more[v], least = score - m.between, most = score + m.between;
        sides.inside &= (least >= low) & (most <= high);
        sides.below &= most <= low;
        sides.above &= least >= high;
        store<Vec>(out + first + v * kVec, score);
    });
}

Index curve_sums(const CurveModel& m, const double* units, Index per_row, Index first_row, const std::int32_t* rows,
                 Index n, const double* weights, double* sums, Index stride, double* scores, std::int32_t* bent) {
    const Vec low = splat<Vec>(m.lower), high = splat<Vec>(m.upper);
    Index n_bent = 0;
    for (Index i = 0; i < n; ++i) {
        const double* own = units + (rows[i] - first_row) * per_row;
        double *at = scores + n_bent * m.n_points, *to = sums + rows[i] * stride;
        CurveSides sides{~VecMask{}, ~VecMask{}, ~VecMask{}};
        Index p = 0;
        for (; p + 24 <= m.n_points; p += 24) curve_scores<24>(m, own, p, at, sides);
        for (; p + 16 <= m.n_points; p += 16) curve_scores<16>(m, own, p, at, sides);
        for (; p < m.n_points; p += 8) curve_scores<8>(m, own, p, at, sides);
        const bool inside = all_of(sides.inside);
        if (!inside && !all_of(sides.below) && !all_of(sides.above)) {
            bent[n_bent++] = static_cast<std::int32_t>(i);
            continue;
        }
        const double weight = weights == nullptr ? 1 : weights[i];
        for (p = 0; p < m.n_points; p += kVec) {
            const Vec score = load<Vec>(at + p), kept = inside ? score : within(score, low, high);
            store<Vec>(to + p, load<Vec>(to + p) + weight * kept);
        }
    }
    return n_bent;
}

void add_curve(const double* at_points, int n_points, const double* basis, Index stride, Index begin, Index end,
               double lower, double upper, double weight, double* out) {
    constexpr int kVectors = 4;  // side by side: the terms of one sum would wait for each other
    const Vec low = splat<Vec>(lower), high = splat<Vec>(upper);
    for (Index i = begin; i < end; i += kVectors * kVec) {
        Vec value[kVectors] = {};
        for (Index p = 0; p < n_points; ++p)
            unrolled<0, kVectors>(
                [&]<int v>() { value[v] += at_points[p] * load<Vec>(basis + p * stride + i + v * kVec); });
        unrolled<0, kVectors>([&]<int v>() {
            const Index at = i + v * kVec;
            if (at >= end) return;
            store_first(out + at, load<Vec>(out + at) + weight * within(value[v], low, high), end - at);
        });
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
