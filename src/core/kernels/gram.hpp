// Normal equations: sums over the rows of products of features. Part of all.cpp: compiled once per instruction set,
// so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Rows whose columns j … j + kColumns - 1, times their weights, are packed into a panel that stays in the cache.
constexpr Index kPanelRows = 64;

// Packs the panel, and adds its columns to Σ v x and Σ v z x.
template <class V, int kColumns>
inline void pack_panel(const double* x, Index n, Index width, const double* v, const double* z, double* panel,
                       double* sum_x, double* sum_zx) {
    constexpr int kSize = Traits<V>::kSize, kVectors = kColumns / kSize;
    V sx[kVectors], szx[kVectors];
    for (int k = 0; k < kVectors; ++k) {
        sx[k] = load<V>(sum_x + k * kSize);
        szx[k] = load<V>(sum_zx + k * kSize);
    }
    for (Index r = 0; r < n; ++r)
        for (int k = 0; k < kVectors; ++k) {
            const V weighted = v[r] * load<V>(x + r * width + k * kSize);
            store<V>(panel + r * kColumns + k * kSize, weighted);
            sx[k] += weighted;
            szx[k] += z[r] * weighted;
        }
    for (int k = 0; k < kVectors; ++k) {
        store<V>(sum_x + k * kSize, sx[k]);
        store<V>(sum_zx + k * kSize, szx[k]);
    }
}

// One register tile of the Gram matrix: kRows rows (columns of x), kVectors vectors of the panel. go_on: adds to what
// is there.
template <class V, int kRows, int kVectors, int kColumns>
inline void gram_tile(const double* x, const double* panel, Index n, Index width, bool go_on, double* gram) {
    constexpr int kSize = Traits<V>::kSize;
    V tile[kRows][kVectors] = {};
    if (go_on)
        for (int m = 0; m < kRows; ++m)
            for (int k = 0; k < kVectors; ++k) tile[m][k] = load<V>(gram + m * width + k * kSize);
    for (Index r = 0; r < n; ++r) {
        V b[kVectors];
        for (int k = 0; k < kVectors; ++k) b[k] = load<V>(panel + r * kColumns + k * kSize);
        for (int m = 0; m < kRows; ++m)
            for (int k = 0; k < kVectors; ++k) tile[m][k] += x[r * width + m] * b[k];
    }
    for (int m = 0; m < kRows; ++m)
        for (int k = 0; k < kVectors; ++k) store<V>(gram + m * width + k * kSize, tile[m][k]);
}

// Eight rows and columns on the diagonal, without the lower left quarter, which is not wanted.
template <int kColumns>
inline void diagonal_tile(const double* x, const double* panel, Index n, Index width, bool go_on, double* gram) {
#if defined(__AVX__)
    constexpr int kParts = 8 / kVec;
    Vec upper[4][kParts] = {};
    V4 lower[4] = {};
    if (go_on)
        for (int m = 0; m < 4; ++m) {
            for (int k = 0; k < kParts; ++k) upper[m][k] = load<Vec>(gram + m * width + k * kVec);
            lower[m] = load<V4>(gram + (4 + m) * width + 4);
        }
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * width;
        const V4 right = load<V4>(panel + r * kColumns + 4);
        Vec b[kParts];
        for (int k = 0; k < kParts; ++k) b[k] = load<Vec>(panel + r * kColumns + k * kVec);
        for (int m = 0; m < 4; ++m) {
            for (int k = 0; k < kParts; ++k) upper[m][k] += row[m] * b[k];
            lower[m] += row[4 + m] * right;
        }
    }
    for (int m = 0; m < 4; ++m) {
        for (int k = 0; k < kParts; ++k) store<Vec>(gram + m * width + k * kVec, upper[m][k]);
        store<V4>(gram + (4 + m) * width + 4, lower[m]);
    }
#else
    unrolled<0, 8 / kGramRows>([&]<int t>() {
        constexpr int kFirst = t * kGramRows;
        gram_tile<Vec, kGramRows, (8 - kFirst) / kVec, kColumns>(x + kFirst, panel + kFirst, n, width, go_on,
                                                                 gram + kFirst * width + kFirst);
    });
#endif
}

// Columns j … j + kColumns - 1 of the Gram matrix down to the diagonal.
template <class V, int kColumns>
inline void gram_columns(const double* x, Index n, Index width, int d, Index j, const double* v, const double* z,
                         double* gram, double* sum_x, double* sum_zx) {
    alignas(64) double panel[kPanelRows * kColumns];
    for (int k = 0; k < kColumns; ++k) sum_x[j + k] = sum_zx[j + k] = 0;
    for (Index r = 0; r < n; r += kPanelRows) {
        const Index here = n - r < kPanelRows ? n - r : kPanelRows;
        const bool go_on = r > 0;
        const double* rows = x + r * width;
        pack_panel<V, kColumns>(rows + j, here, width, v + r, z + r, panel, sum_x + j, sum_zx + j);
        if constexpr (kColumns == 4) {
            gram_tile<V, 4, 4 / Traits<V>::kSize, 4>(rows, panel, here, width, go_on, gram);
            continue;
        } else {
            for (Index i = 0; i < j; i += kGramRows)
                gram_tile<V, kGramRows, kColumns / kVec, kColumns>(rows + i, panel, here, width, go_on,
                                                                   gram + i * width + j);
            for (Index i = j; i < j + kColumns && i < d; i += 8) {
                const double* own = panel + (i - j);
                diagonal_tile<kColumns>(rows + i, own, here, width, go_on, gram + i * width + i);
                if (i + 8 < j + kColumns)
                    gram_tile<V, 8, 1, kColumns>(rows + i, own + 8, here, width, go_on, gram + i * width + i + 8);
            }
        }
    }
}

void normal_equations(const double* x, Index n, int width, int d, const double* v, const double* z, double* gram,
                      double* sum_x, double* sum_zx) {
    if (width == 4)
        return with_vector(4, [&]<class V>() { gram_columns<V, 4>(x, n, 4, d, 0, v, z, gram, sum_x, sum_zx); });
    Index j = 0;
#if defined(__AVX512F__)
    for (; width >= 32 && j + 16 <= width; j += 16) gram_columns<Vec, 16>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
#endif
    for (; j < width; j += 8) gram_columns<Vec, 8>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
}

void normal_equations_of_lists(const std::uint32_t* start, const std::uint16_t* member, const double* x, Index n,
                               int width, const double* v, const double* z, Index ld, double* gram, double* cross,
                               double* sum_x, double* sum_zx) {
    for (Index i = 0; i < n; ++i) {
        const double weight = v[i], label = v[i] * z[i];
        const std::uint16_t* last = member + start[i + 1];
        for (const std::uint16_t* m = member + start[i]; m != last; ++m) {
            double* row = gram + *m * ld;
            for (const std::uint16_t* k = m; k != last; ++k) row[*k] += weight;
            double* products = cross + *m * Index{width};
            for (int j = 0; j < width; j += kVec)
                store<Vec>(products + j, load<Vec>(products + j) + weight * load<Vec>(x + i * width + j));
            sum_x[*m] += weight;
            sum_zx[*m] += label;
        }
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
