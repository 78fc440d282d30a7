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

// Of few columns the rows are the lanes, so that nothing is computed for columns that are not there: kColumns columns
// of the panel, kVectors vectors of rows (columns of x). kept: their sums, column after column for each vector.
template <int kColumns, int kVectors>
inline void narrow_tile(const double* x, const double* panel, Index panel_width, Index n, Index width, bool go_on,
                        double* kept) {
    Vec tile[kVectors][kColumns] = {};
    if (go_on)
        for (int k = 0; k < kVectors; ++k)
            for (int q = 0; q < kColumns; ++q) tile[k][q] = load<Vec>(kept + (k * kColumns + q) * kVec);
    for (Index r = 0; r < n; ++r) {
        Vec own[kVectors];
        for (int k = 0; k < kVectors; ++k) own[k] = load<Vec>(x + r * width + k * kVec);
        for (int q = 0; q < kColumns; ++q)
            for (int k = 0; k < kVectors; ++k) tile[k][q] += panel[r * panel_width + q] * own[k];
    }
    for (int k = 0; k < kVectors; ++k)
        for (int q = 0; q < kColumns; ++q) store<Vec>(kept + (k * kColumns + q) * kVec, tile[k][q]);
}

// As many vectors of rows at a time as make up for the latency of an addition.
template <int kColumns>
inline void narrow_tiles(const double* x, const double* panel, Index panel_width, Index n, Index width, int d,
                         bool go_on, double* kept) {
    constexpr int kMost = kColumns == 1 ? 6 : kColumns == 2 ? 4 : 3;
    const Index n_vectors = (d + kVec - 1) / kVec;
    for (Index first = 0; first < n_vectors; first += kMost) {
        const Index here = n_vectors - first < kMost ? n_vectors - first : kMost;
        unrolled<1, kMost + 1>([&]<int k>() {
            if (here == k)
                narrow_tile<kColumns, k>(x + first * kVec, panel, panel_width, n, width, go_on,
                                         kept + first * kColumns * kVec);
        });
    }
}

constexpr int kNarrow = 5, kNarrowOfPair = 3;  // columns at the most that are worth it; if they make a pair of eights
constexpr Index kNarrowest = 256;              // width up to which

// The last few columns, from j on.
struct NarrowColumns {
    Index j;
    int n;  // 0: there are none
    double kept[kNarrow * kNarrowest];

    NarrowColumns(Index width, int d) : j((d - 1) / 8 * 8), n(static_cast<int>(d - j)) {
        const bool breaks_pair = width >= 32 && width % 16 == 0;
        if (n > (breaks_pair ? kNarrowOfPair : kNarrow) || width > kNarrowest || j == 0) n = 0;
    }

    // The panel is that of all columns, or begins with j.
    void add(const double* x, const double* panel, Index panel_width, Index rows, Index width, int d, bool go_on) {
        unrolled<1, kNarrow + 1>([&]<int k>() {
            if (n == k) narrow_tiles<k>(x, panel, panel_width, rows, width, d, go_on, kept);
        });
    }

    void write(Index width, int d, double* gram) const {
        for (Index m = 0; m < d; ++m)
            for (int q = 0; q < n; ++q) gram[m * width + j + q] = kept[(m / kVec * n + q) * kVec + m % kVec];
    }
};

// Columns j … j + 7 of the Gram matrix down to the diagonal, from their part of a panel.
template <int kColumns>
inline void add_columns(const double* x, const double* panel, Index n, Index width, Index j, bool go_on, double* gram) {
    for (Index i = 0; i < j; i += kGramRows)
        gram_tile<Vec, kGramRows, 8 / kVec, kColumns>(x + i, panel, n, width, go_on, gram + i * width + j);
    diagonal_tile<kColumns>(x + j, panel, n, width, go_on, gram + j * width + j);
}

// All columns in one panel: sums of several columns are added up while one of them would be waited for.
template <int kColumns>
inline void gram_of(const double* x, Index n, int d, const double* v, const double* z, double* gram, double* sum_x,
                    double* sum_zx) {
    constexpr Index kWidth = kColumns;
    alignas(64) double panel[kPanelRows * kColumns];
    NarrowColumns narrow(kWidth, d);
    for (int k = 0; k < kColumns; ++k) sum_x[k] = sum_zx[k] = 0;
    for (Index r = 0; r < n; r += kPanelRows) {
        const Index here = n - r < kPanelRows ? n - r : kPanelRows;
        const bool go_on = r > 0;
        const double* rows = x + r * kWidth;
        pack_panel<Vec, kColumns>(rows, here, kWidth, v + r, z + r, panel, sum_x, sum_zx);
        for (Index j = 0; j < (narrow.n > 0 ? narrow.j : d); j += 8)
            add_columns<kColumns>(rows, panel + j, here, kWidth, j, go_on, gram);
        if (narrow.n > 0) narrow.add(rows, panel + narrow.j, kWidth, here, kWidth, d, go_on);
    }
    narrow.write(kWidth, d, gram);
}

// Columns j … j + kColumns - 1 of a wide Gram matrix down to the diagonal; narrow: these are the last few.
template <class V, int kColumns>
inline void gram_columns(const double* x, Index n, Index width, int d, Index j, const double* v, const double* z,
                         double* gram, double* sum_x, double* sum_zx, NarrowColumns* narrow = nullptr) {
    alignas(64) double panel[kPanelRows * kColumns];
    for (int k = 0; k < kColumns; ++k) sum_x[j + k] = sum_zx[j + k] = 0;
    for (Index r = 0; r < n; r += kPanelRows) {
        const Index here = n - r < kPanelRows ? n - r : kPanelRows;
        const bool go_on = r > 0;
        const double* rows = x + r * width;
        pack_panel<V, kColumns>(rows + j, here, width, v + r, z + r, panel, sum_x + j, sum_zx + j);
        if constexpr (kColumns == 4) {
            gram_tile<V, 4, 4 / Traits<V>::kSize, 4>(rows, panel, here, width, go_on, gram);
        } else if constexpr (kColumns == 8) {
            if (narrow != nullptr)
                narrow->add(rows, panel, kColumns, here, width, d, go_on);
            else
                add_columns<kColumns>(rows, panel, here, width, j, go_on, gram);
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
    if (narrow != nullptr) narrow->write(width, d, gram);
}

void normal_equations(const double* x, Index n, int width, int d, const double* v, const double* z, double* gram,
                      double* sum_x, double* sum_zx) {
    switch (width) {
        case 4:
            with_vector(4, [&]<class V>() { gram_columns<V, 4>(x, n, 4, d, 0, v, z, gram, sum_x, sum_zx); });
            return;
        case 8: return gram_of<8>(x, n, d, v, z, gram, sum_x, sum_zx);
        case 16: return gram_of<16>(x, n, d, v, z, gram, sum_x, sum_zx);
        case 24: return gram_of<24>(x, n, d, v, z, gram, sum_x, sum_zx);
    }
    NarrowColumns narrow(width, d);
    const Index end = narrow.n > 0 ? narrow.j : width;
    Index j = 0;
#if defined(__AVX512F__)
    for (; j + 16 <= end; j += 16) gram_columns<Vec, 16>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
#endif
    for (; j < end; j += 8) gram_columns<Vec, 8>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
    if (narrow.n > 0) gram_columns<Vec, 8>(x, n, width, d, j, v, z, gram, sum_x, sum_zx, &narrow);
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
