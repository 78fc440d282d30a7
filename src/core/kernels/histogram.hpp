// Histograms of piecewise linear trees: sums of the rows by bin, and the linear fits on both sides of every split. Part
// of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

template <class V>
inline void add_to_bins_of(const std::uint8_t* bins, Index n_features, int first, int last, const std::int32_t* rows,
                           Index n, const double* statistics, double* histogram) {
    constexpr int kSize = Traits<V>::kSize;
    for (Index i = 0; i < n; ++i) {
        const std::uint8_t* row = bins + rows[i] * n_features;
        const V values = load<V>(statistics + i * kSize);
        double* of_feature = histogram;
        for (int j = first; j < last; ++j, of_feature += 256 * kSize) {
            double* sums = of_feature + row[j] * kSize;
            store<V>(sums, load<V>(sums) + values);
        }
    }
}

void add_to_bins(const std::uint8_t* bins, Index n_features, int first, int last, const std::int32_t* rows, Index n,
                 const double* statistics, int step, double* histogram) {
    if (step == 4) return add_to_bins_of<V4>(bins, n_features, first, last, rows, n, statistics, histogram);
    add_to_bins_of<V8>(bins, n_features, first, last, rows, n, statistics, histogram);
}

inline V8 sign_of(V8 v) {
    return v > 0 ? splat<V8>(1) : v < 0 ? splat<V8>(-1) : V8{};
}
inline V8 size_of(V8 v) {
    return v > 0 ? v : -v;
}

// Eight problems of three unknowns: minimise b·k + ½ kᵀ A k + α |k|₁.
struct Problems {
    V8 a[3][3], b[3];  // A: all of it
    static constexpr int kSweeps = 16;

    // A k = -right by LDLᵀ. A pivot that is lost in rounding gets the inverse 0, and its unknown 0.
    struct Factors {
        V8 inverse[3], l01, l02, l12;

        Factors(const V8 (&a)[3][3], const double* tiny) {
            const auto inverse_of = [](V8 pivot, double least) { return pivot > least ? 1 / pivot : V8{}; };
            inverse[0] = inverse_of(a[0][0], tiny[0]);
            l01 = a[0][1] * inverse[0];
            l02 = a[0][2] * inverse[0];
            inverse[1] = inverse_of(a[1][1] - l01 * a[0][1], tiny[1]);
            const V8 rest = a[1][2] - l01 * a[0][2];
            l12 = rest * inverse[1];
            inverse[2] = inverse_of(a[2][2] - l02 * a[0][2] - l12 * rest, tiny[2]);
        }

        void solve(const V8* right, V8* k) const {
            const V8 y0 = -right[0], y1 = -right[1] - l01 * y0, y2 = -right[2] - l02 * y0 - l12 * y1;
            k[2] = y2 * inverse[2];
            k[1] = y1 * inverse[1] - l12 * k[2];
            k[0] = y0 * inverse[0] - l01 * k[1] - l02 * k[2];
        }
    };

    V8 slope(int m, const V8* k) const { return b[m] + a[m][0] * k[0] + a[m][1] * k[1] + a[m][2] * k[2]; }

    V8 least_value(double alpha, const double* tiny) const {
        V8 k[3];
        const Factors factors(a, tiny);
        factors.solve(b, k);
        if (alpha == 0) return 0.5 * (b[0] * k[0] + b[1] * k[1] + b[2] * k[2]);
        // With the signs of this solution the penalty is linear; most often the next one keeps them.
        V8 signs[3], shifted[3], kept[3];
        for (int m = 0; m < 3; ++m) {
            signs[m] = sign_of(k[m]);
            shifted[m] = b[m] + alpha * signs[m];
        }
        factors.solve(shifted, k);
        V8 n_lost{};
        for (int m = 0; m < 3; ++m) {
            kept[m] = sign_of(k[m]) == signs[m] ? splat<V8>(1) : V8{};
            n_lost += 1 - kept[m];
        }
        if (sum(n_lost) > 0 && !settles_without_lost(alpha, tiny, signs, kept, shifted, k)) descend(alpha, k);
        V8 value{};
        for (int m = 0; m < 3; ++m) value += 0.5 * k[m] * (b[m] + slope(m, k)) + alpha * size_of(k[m]);
        return value;
    }

    // Solves for the unknowns that have kept their signs, the others 0; whether that is the solution in all lanes.
    bool settles_without_lost(double alpha, const double* tiny, const V8* signs, const V8* kept, V8* shifted,
                              V8* k) const {
        V8 part[3][3], wrong{};
        for (int m = 0; m < 3; ++m) {
            for (int l = 0; l < 3; ++l) part[m][l] = a[m][l] * kept[m] * kept[l];
            part[m][m] += 1 - kept[m];
            shifted[m] *= kept[m];
        }
        Factors(part, tiny).solve(shifted, k);
        for (int m = 0; m < 3; ++m) {
            const V8 differs = sign_of(k[m]) == signs[m] * kept[m] ? V8{} : splat<V8>(1);
            k[m] = differs > 0 ? V8{} : k[m];
            wrong += differs;
        }
        for (int m = 0; m < 3; ++m)
            wrong += ((size_of(slope(m, k)) > alpha * 1.000001) & (kept[m] == 0)) ? splat<V8>(1) : V8{};
        return sum(wrong) == 0;
    }

    void descend(double alpha, V8* k) const {
        constexpr double kTolerance = 1e-6;  // of the squared steps: values are ten times as exact and only rank splits
        for (int sweep = 0; sweep < kSweeps; ++sweep) {
            V8 moving{};
            for (int m = 0; m < 3; ++m) {
                const V8 diagonal = a[m][m];
                const V8 others = slope(m, k) - diagonal * k[m], size = size_of(others) - alpha;
                const V8 next = ((size > 0) & (diagonal > 0)) ? -sign_of(others) * size / diagonal : V8{};
                const V8 step = next - k[m];
                moving = diagonal * step * step > kTolerance * (diagonal * next * next) ? splat<V8>(1) : moving;
                k[m] = next;
            }
            if (sum(moving) == 0) return;
        }
    }
};

void least_values(const double* sums, Index stride, const double* total, Index n, double lambda, double alpha,
                  const double* tiny, double* out) {
    for (Index i = 0; i < n; i += 8) {
        V8 s[kPieceSums];
        for (int m = 0; m < kPieceSums; ++m) {
            s[m] = load<V8>(sums + m * stride + i);
            if (total != nullptr) s[m] = total[m] - s[m];
        }
        const V8 h = s[kPieceH] + lambda, hpp = s[kPieceHPP] + lambda, hxx = s[kPieceHXX] + lambda;
        const V8 hp = s[kPieceHP], hx = s[kPieceHX], hpx = s[kPieceHPX];
        const Problems problems{{{h, hp, hx}, {hp, hpp, hpx}, {hx, hpx, hxx}}, {s[kPieceG], s[kPieceGP], s[kPieceGX]}};
        store(out + i, problems.least_value(alpha, tiny));
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
