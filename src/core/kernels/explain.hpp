// Explanations: differences between rows under a linear model, and sums over coalitions of columns.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"
#include "stored.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

template <class T>
inline void widen_all(const void* from, Index start, Index n, double* out) {
    const T* p = static_cast<const T*>(from) + start;
    for (Index i = 0; i < n; ++i) out[i] = widen(p[i]);
}

void widen_values(const void* from, Stored stored, Index start, Index n, double* out) {
    const auto all = stored == Stored::kDouble   ? widen_all<double>
                     : stored == Stored::kSingle ? widen_all<float>
                     : stored == Stored::kHalf   ? widen_all<Half>
                                                 : widen_all<Byte>;
    all(from, start, n, out);
}

template <class V>
inline V above_zero(V v) {
    return v > 0 ? v : V{};
}

// kVectors: of a row, held in registers; 0: as many as there are, read again for every row.
template <class V, int kVectors>
Index clipped_rows_of(const MixedModel& m, const double* z, const std::int32_t* rows, Index n, int width,
                      double* differences, double* start, std::int32_t* open, double* sums, double& total) {
    constexpr int kSize = Traits<V>::kSize, kHeld = kVectors > 0 ? kVectors : 1;
    const int n_vectors = kVectors > 0 ? kVectors : width / kSize;
    V x[kHeld], free[kHeld], lost[kHeld], linear[kHeld] = {}, at{};
    for (int v = 0; v < n_vectors; ++v) {
        const int j = v * kSize;
        const V slope = load<V>(m.slopes + j), own = load<V>(m.x + j);
        at += slope * own;
        if constexpr (kVectors > 0) {
            x[v] = own;
            free[v] = slope * load<V>(m.free + j);
            lost[v] = slope * load<V>(m.lost + j);
        } else {
            store<V>(sums + j, V{});
        }
    }
    const double at_x = m.intercept + sum(at);
    double constant = 0;
    Index n_open = 0;
    for (Index i = 0; i < n; ++i) {
        const double* other = z + rows[i] * Index{width};
        double* own = differences + n_open * width;
        V rises{}, falls{}, gone{}, difference[kHeld];
        for (int v = 0; v < n_vectors; ++v) {
            const int j = v * kSize, held = kVectors > 0 ? v : 0;
            if constexpr (kVectors == 0) {
                const V slope = load<V>(m.slopes + j);
                x[0] = load<V>(m.x + j);
                free[0] = slope * load<V>(m.free + j);
                lost[0] = slope * load<V>(m.lost + j);
            }
            const V step = x[held] - load<V>(other + j);
            difference[held] = free[held] * step;
            const V rise = above_zero<V>(difference[held]);
            rises += rise;
            falls += difference[held] - rise;
            gone += lost[held] * step;
            store<V>(own + j, difference[held]);
        }
        const double rise = sum(rises), fall = sum(falls), here = at_x - sum(gone) - (rise + fall);
        const double most = here + rise, least = here + fall;
        if (least >= m.lower && most <= m.upper) {
            constant += here;
            for (int v = 0; v < n_vectors; ++v) {
                if constexpr (kVectors > 0) {
                    linear[v] += difference[v];
                } else {
                    const int j = v * kSize;
                    store<V>(sums + j, load<V>(sums + j) + load<V>(own + j));
                }
            }
        } else if (most <= m.lower || least >= m.upper) {
            constant += most <= m.lower ? m.lower : m.upper;
        } else {
            start[n_open] = here;
            open[n_open++] = rows[i];
        }
    }
    if constexpr (kVectors > 0)
        for (int v = 0; v < n_vectors; ++v) store<V>(sums + v * kSize, linear[v]);
    total = constant;
    return n_open;
}

Index clipped_rows(const MixedModel& model, const double* z, const std::int32_t* rows, Index n, int width,
                   double* differences, double* start, std::int32_t* open, double* sums, double& total) {
    return with_vector(width, [&]<class V>() {
        constexpr int kSize = Traits<V>::kSize;
        const auto run = width == kSize       ? clipped_rows_of<V, 1>
                         : width == 2 * kSize ? clipped_rows_of<V, 2>
                         : width == 3 * kSize ? clipped_rows_of<V, 3>
                         : width == 4 * kSize ? clipped_rows_of<V, 4>
                                              : clipped_rows_of<V, 0>;
        return run(model, z, rows, n, width, differences, start, open, sums, total);
    });
}

void coalition_scores(double start, const double* differences, int n, double* out) {
    out[0] = start;
    int j = 0;
    for (; j < n && (Index{1} << j) < kVec; ++j)
        for (Index s = 0; s < Index{1} << j; ++s) out[(Index{1} << j) + s] = out[s] + differences[j];
    for (; j < n; ++j) {
        const Index half = Index{1} << j;
        for (Index s = 0; s < half; s += kVec) store<Vec>(out + half + s, load<Vec>(out + s) + differences[j]);
    }
}

// Coalitions of a vector differ in the first kLaneBits players, those of the vectors of a block in the next ones: a
// block stays in registers.
constexpr int kLaneBits = kVec == 8 ? 3 : kVec == 4 ? 2 : 1;
constexpr int kMostBlockBits = kVec == 8 ? 4 : 3;

// Sums over a block of values: all of them, and those with each of the kBits players that its vectors differ in.
template <int kBits>
struct BlockSums {
    Vec total;
    Vec with[kBits > 0 ? kBits : 1];
};

template <int kBits, int kLevel>
[[gnu::always_inline]] inline void fold(Vec (&values)[1 << kBits], BlockSums<kBits>& sums) {
    if constexpr (kLevel == 0) {
        sums.total = values[0];
    } else {
        constexpr int kHalf = 1 << (kLevel - 1);
        Vec upper{};
        unrolled<0, kHalf>([&]<int i>() {
            upper += values[kHalf + i];
            values[i] += values[kHalf + i];
        });
        sums.with[kLevel - 1] = upper;
        fold<kBits, kLevel - 1>(values, sums);
    }
}

constexpr int count_bits(int s) {
    return s == 0 ? 0 : (s & 1) + count_bits(s >> 1);
}

// Adds the clipped scores of a block to its sums: depth first, so that few of them are held at a time.
template <int kLevel, int kPlace, int kBits>
[[gnu::always_inline]] inline void add_clipped(Vec score, const double* differences, Vec low, Vec high,
                                               Vec (&sums)[1 << kBits]) {
    if constexpr (kLevel == 0) {
        const Vec above = score < low ? low : score;
        sums[kPlace] += above > high ? high : above;
    } else {
        add_clipped<kLevel - 1, kPlace, kBits>(score, differences, low, high, sums);
        add_clipped<kLevel - 1, kPlace + (1 << (kLevel - 1)), kBits>(score + splat<Vec>(differences[kLevel - 1]),
                                                                     differences, low, high, sums);
    }
}

// Sums over rows of the clipped scores of a block, times the weights of the coalitions.
template <int kBits>
[[gnu::always_inline]] inline BlockSums<kBits> clipped_block(const double* starts, const double* differences,
                                                             Index stride, Index n_rows, int n_top, int top, Vec low,
                                                             Vec high, const double* weights) {
    Vec sums[1 << kBits] = {};
    for (Index row = 0; row < n_rows; ++row) {
        const double* own = differences + row * stride;
        Vec score = splat<Vec>(starts[row]);
        unrolled<0, kLaneBits>([&]<int j>() { score += (kPlaces >> j & 1) != 0 ? splat<Vec>(own[j]) : Vec{}; });
        for (int j = 0; j < n_top; ++j) score += splat<Vec>((top >> j & 1) != 0 ? own[kLaneBits + kBits + j] : 0.0);
        add_clipped<kBits, 0, kBits>(score, own + kLaneBits, low, high, sums);
    }
    unrolled<0, (1 << kBits)>([&]<int i>() { sums[i] *= load<Vec>(weights + 8 * count_bits(i)); });
    BlockSums<kBits> folded_sums;
    fold<kBits, kBits>(sums, folded_sums);
    return folded_sums;
}

template <int kBits>
double clipped_coalitions_of(const double* starts, const double* differences, Index stride, Index n_rows, int n,
                             double lower, double upper, const double* weights, double* with) {
    const Vec low = splat<Vec>(lower), high = splat<Vec>(upper);
    const int n_top = n - kLaneBits - kBits;
    BlockSums<kBits> sums{};
    double total = 0;
    for (int j = 0; j < n_top; ++j) with[kLaneBits + kBits + j] = 0;
    for (int top = 0; top < 1 << n_top; ++top) {
        const auto block = clipped_block<kBits>(starts, differences, stride, n_rows, n_top, top, low, high,
                                                weights + 8 * __builtin_popcount(top));
        sums.total += block.total;
        unrolled<0, kBits>([&]<int j>() { sums.with[j] += block.with[j]; });
        const double own = sum(block.total);
        total += own;
        for (int j = 0; j < n_top; ++j) with[kLaneBits + kBits + j] += (top >> j & 1) != 0 ? own : 0.0;
    }
    unrolled<0, kBits>([&]<int j>() { with[kLaneBits + j] = sum(sums.with[j]); });
    unrolled<0, kLaneBits>([&]<int j>() { with[j] = sum((kPlaces >> j & 1) != 0 ? sums.total : Vec{}); });
    return total;
}

double clipped_coalitions(const double* starts, const double* differences, Index stride, Index n_rows, int n,
                          double lower, double upper, const double* weights, double* with) {
    if (n < kLaneBits) {
        double total = 0;
        for (int j = 0; j < n; ++j) with[j] = 0;
        for (Index row = 0; row < n_rows; ++row)
            for (int s = 0; s < 1 << n; ++s) {
                double value = starts[row];
                for (int j = 0; j < n; ++j) value += (s >> j & 1) != 0 ? differences[row * stride + j] : 0.0;
                value = value < lower ? lower : value > upper ? upper : value;
                value *= weights[8 * __builtin_popcount(s)];
                total += value;
                for (int j = 0; j < n; ++j) with[j] += (s >> j & 1) != 0 ? value : 0.0;
            }
        return total;
    }
    const int bits = n - kLaneBits;
    const auto run = bits == 0   ? clipped_coalitions_of<0>
                     : bits == 1 ? clipped_coalitions_of<1>
                     : bits == 2 ? clipped_coalitions_of<2>
                     : bits == 3 ? clipped_coalitions_of<3>
                                 : clipped_coalitions_of<kMostBlockBits>;
    return run(starts, differences, stride, n_rows, n, lower, upper, weights, with);
}

double coalition_sums(double* values, const double* weights, int n, double* with) {
    const Index size = Index{1} << n;
    if (size < kVec) {
        for (Index s = 0; s < size; ++s) values[s] *= weights[s];
    } else {
        for (Index s = 0; s < size; s += kVec) store<Vec>(values + s, load<Vec>(values + s) * load<Vec>(weights + s));
    }
    int j = n - 1;
    for (; j >= 0 && (Index{1} << j) >= kVec; --j) {  // the half with column j is added to the one without it
        const Index half = Index{1} << j;
        Vec total{};
        for (Index s = 0; s < half; s += kVec) {
            const Vec upper = load<Vec>(values + half + s);
            total += upper;
            store<Vec>(values + s, load<Vec>(values + s) + upper);
        }
        with[j] = sum(total);
    }
    for (; j >= 0; --j) {
        const Index half = Index{1} << j;
        with[j] = 0;
        for (Index s = 0; s < half; ++s) {
            with[j] += values[half + s];
            values[s] += values[half + s];
        }
    }
    return values[0];
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
