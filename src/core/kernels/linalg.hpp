// Linear algebra of the node models. Part of kernels.cpp: compiled once per instruction set, so no standard library
// here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

void gather_shifted(const double* x, const std::int32_t* rows, Index n, int width, const double* centre, double* out) {
    for (Index i = 0; i < n; ++i) {
        const double* row = x + rows[i] * Index{width};
        for_columns(width,
                    [&]<class V>(int j) { store<V>(out + i * width + j, load<V>(row + j) - load<V>(centre + j)); });
    }
}

void gather_centred(const double* x, const std::int32_t* rows, Index n, int width, const double* w, double* mean,
                    double* out) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += w[i];
    for_columns(width, [&]<class V>(int j) {
        V s0{}, s1{};
        Index i = 0;
        for (; i + 1 < n; i += 2) {
            s0 += w[i] * load<V>(x + rows[i] * Index{width} + j);
            s1 += w[i + 1] * load<V>(x + rows[i + 1] * Index{width} + j);
        }
        if (i < n) s0 += w[i] * load<V>(x + rows[i] * Index{width} + j);
        store<V>(mean + j, (s0 + s1) / total);
    });
    gather_shifted(x, rows, n, width, mean, out);
}

// One register tile of the Gram matrix: kRows rows from i on, kVectors vectors of columns from j on.
template <class V, int kRows, int kVectors, bool kSums>
inline void gram_tile(const double* x, Index n, Index width, Index i, Index j, const double* v, const double* z,
                      double* gram, double* sum_x, double* sum_zx) {
    constexpr int kSize = Traits<V>::kSize;
    V tile[kRows][kVectors] = {}, sx[kVectors] = {}, szx[kVectors] = {};
    for (Index r = 0; r < n; ++r) {
        const double* row = x + r * width;
        V b[kVectors];
        for (int k = 0; k < kVectors; ++k) b[k] = v[r] * load<V>(row + j + k * kSize);
        if constexpr (kSums)
            for (int k = 0; k < kVectors; ++k) {
                sx[k] += b[k];
                szx[k] += z[r] * b[k];
            }
        for (int m = 0; m < kRows; ++m)
            for (int k = 0; k < kVectors; ++k) tile[m][k] += row[i + m] * b[k];
    }
    for (int k = 0; k < kVectors; ++k) {
        for (int m = 0; m < kRows; ++m) store<V>(gram + (i + m) * width + j + k * kSize, tile[m][k]);
        if constexpr (kSums) {
            store<V>(sum_x + j + k * kSize, sx[k]);
            store<V>(sum_zx + j + k * kSize, szx[k]);
        }
    }
}

template <int kVectors>
inline void gram_columns(const double* x, Index n, Index width, int d, Index j, const double* v, const double* z,
                         double* gram, double* sum_x, double* sum_zx) {
    const Index end = j + 8 * kVectors < d ? j + 8 * kVectors : d;  // rows below the diagonal are not wanted
    gram_tile<V8, kGramRows, kVectors, true>(x, n, width, 0, j, v, z, gram, sum_x, sum_zx);
    for (Index i = kGramRows; i < end; i += kGramRows)
        gram_tile<V8, kGramRows, kVectors, false>(x, n, width, i, j, v, z, gram, sum_x, sum_zx);
}

void normal_equations(const double* x, Index n, int width, int d, const double* v, const double* z, double* gram,
                      double* sum_x, double* sum_zx) {
    if (width == 4) return gram_tile<V4, 4, 1, true>(x, n, width, 0, 0, v, z, gram, sum_x, sum_zx);
    Index j = 0;
#if defined(__AVX512F__)
    for (; width >= 48 && j + 16 <= width; j += 16) gram_columns<2>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
#endif
    for (; j < width; j += 8) gram_columns<1>(x, n, width, d, j, v, z, gram, sum_x, sum_zx);
}

void normal_equations_of_lists(const std::uint32_t* start, const std::uint16_t* member, const double* x, Index n,
                               int width, const double* v, const double* z, int first, Index ld, double* gram,
                               double* sum_x, double* sum_zx) {
    for (Index i = 0; i < n; ++i) {
        const double weight = v[i], label = v[i] * z[i];
        const std::uint16_t* last = member + start[i + 1];
        for (const std::uint16_t* m = member + start[i]; m != last; ++m) {
            double* row = gram + *m * ld;
            for (const std::uint16_t* k = m; k != last; ++k) row[*k] += weight;
            for (int j = 0; j < width; j += 8)
                store<V8>(row + first + j, load<V8>(row + first + j) + weight * load<V8>(x + i * width + j));
            sum_x[*m] += weight;
            sum_zx[*m] += label;
        }
    }
}

// Scalar products of kRows rows from i on with kRows rows from j on.
template <class V, int kRows>
inline void product_tile(const double* x, Index width, Index i, Index j, double* k, Index ld) {
    V tile[kRows][kRows] = {};
    for (Index c = 0; c < width; c += Traits<V>::kSize) {
        V b[kRows];
        for (int q = 0; q < kRows; ++q) b[q] = load<V>(x + (j + q) * width + c);
        for (int p = 0; p < kRows; ++p) {
            const V a = load<V>(x + (i + p) * width + c);
            for (int q = 0; q < kRows; ++q) tile[p][q] += a * b[q];
        }
    }
    for (int p = 0; p < kRows; ++p)
        for (int q = 0; q < kRows; ++q) k[(i + p) * ld + j + q] = sum(tile[p][q]);
}

template <class V>
inline void row_products_of(const double* x, Index n, Index width, double* k, Index ld) {
    const Index whole = n / kProductRows * kProductRows;
    for (Index i = 0; i < whole; i += kProductRows)
        for (Index j = i; j < whole; j += kProductRows) product_tile<V, kProductRows>(x, width, i, j, k, ld);
    for (Index j = whole; j < n; ++j)
        for (Index i = 0; i <= j; ++i) product_tile<V, 1>(x, width, i, j, k, ld);
}

void row_products(const double* x, Index n, int width, double* k, Index ld) {
    if (width == 4) return row_products_of<V4>(x, n, width, k, ld);
    row_products_of<V8>(x, n, width, k, ld);
}

// row -= share · pivot row, from column i on (or a few before it).
template <class V>
inline void subtract_row(double* row, const double* pivot_row, double share, Index i, Index d) {
    constexpr Index kSize = Traits<V>::kSize;
    for (Index j = i / kSize * kSize; j < d; j += kSize)
        store<V>(row + j, load<V>(row + j) - share * load<V>(pivot_row + j));
}

// LDLᵀ, without square roots: rows of the upper triangle updated a vector at a time. The vectors start at a multiple of
// their length, so some of what lies below the diagonal is overwritten too; nothing reads it.
template <class V>
inline void factor_of(double* a, Index ld, int d, double* inverse_pivots) {
    constexpr Index kSize = Traits<V>::kSize;
    double largest = 0;
    for (Index k = 0; k < d; ++k) largest = a[k * ld + k] > largest ? a[k * ld + k] : largest;
    const double tiny = largest * d * (8 * 2.220446049250313e-16);
    Index k = 0;
    // Four pivots at a time: rows below them are loaded and stored once for all four. The arithmetic is the same.
    constexpr int kPivots = 4;
    for (; d - k > 2 * kPivots; k += kPivots) {
        double* panel = a + k * ld;
        for (int p = 0; p < kPivots; ++p) {
            const double* pivot_row = panel + p * ld;
            inverse_pivots[k + p] = pivot_row[k + p] > tiny ? 1 / pivot_row[k + p] : 0;
            for (int q = p + 1; q < kPivots; ++q)
                subtract_row<V>(panel + q * ld, pivot_row, pivot_row[k + q] * inverse_pivots[k + p], k + q, d);
        }
        for (Index i = k + kPivots; i < d; ++i) {
            double share[kPivots];
            for (int p = 0; p < kPivots; ++p) share[p] = panel[p * ld + i] * inverse_pivots[k + p];
            double* row = a + i * ld;
            for (Index j = i / kSize * kSize; j < d; j += kSize) {
                V rest = load<V>(row + j);
                for (int p = 0; p < kPivots; ++p) rest -= share[p] * load<V>(panel + p * ld + j);
                store<V>(row + j, rest);
            }
        }
    }
    for (; k < d; ++k) {
        const double* pivot_row = a + k * ld;
        inverse_pivots[k] = pivot_row[k] > tiny ? 1 / pivot_row[k] : 0;
        for (Index i = k + 1; i < d; ++i)
            subtract_row<V>(a + i * ld, pivot_row, pivot_row[i] * inverse_pivots[k], i, d);
    }
}

void factor(double* a, Index ld, int d, double* inverse_pivots) {
    if (ld % 8 != 0) return factor_of<V4>(a, ld, d, inverse_pivots);
    factor_of<V8>(a, ld, d, inverse_pivots);
}

template <class V>
inline void substitute_of(const double* a, Index ld, int d, const double* inverse_pivots, double* b, double* s) {
    constexpr Index kSize = Traits<V>::kSize;
    for (Index k = 0; k < d; ++k) {  // forward: what is in front of the diagonal gets rubbish, after it was used
        s[k] = b[k] * inverse_pivots[k];
        for (Index j = (k + 1) / kSize * kSize; j < d; j += kSize)
            store<V>(b + j, load<V>(b + j) - s[k] * load<V>(a + k * ld + j));
    }
    if (d <= 8) {
        for (Index k = d - 1; k >= 0; --k) {
            double known = 0;
            for (Index j = k + 1; j < d; ++j) known += a[k * ld + j] * s[j];
            s[k] -= known * inverse_pivots[k];
        }
        return;
    }
    const Index tail = (d - 1) / kSize * kSize;  // the last vector; what lies behind d may be anything
    const auto in_tail = places<V>() < static_cast<double>(d - tail);
    for (Index k = d - 1; k >= 0; --k) {
        Index j = k / kSize * kSize;
        auto wanted = places<V>() > static_cast<double>(k - j);
        if (j == tail) wanted &= in_tail;
        V known = wanted ? load<V>(a + k * ld + j) * load<V>(s + j) : V{};
        for (j += kSize; j < tail; j += kSize) known += load<V>(a + k * ld + j) * load<V>(s + j);
        if (j == tail) known += in_tail ? load<V>(a + k * ld + j) * load<V>(s + j) : V{};
        s[k] -= sum(known) * inverse_pivots[k];
    }
}

void substitute(const double* a, Index ld, int d, const double* inverse_pivots, double* b, double* s) {
    if (ld % 8 != 0) return substitute_of<V4>(a, ld, d, inverse_pivots, b, s);
    substitute_of<V8>(a, ld, d, inverse_pivots, b, s);
}

void weigh_products(const double* products, Index ld, Index n, const double* root, const double* m, double s,
                    double lambda, double* k) {
    for (Index i = 0; i < n; ++i) {
        const double shift = s - m[i];
        for (Index j = i / 4 * 4; j < n; j += 4)
            store<V4>(k + i * ld + j,
                      root[i] * load<V4>(root + j) * (load<V4>(products + i * ld + j) - load<V4>(m + j) + shift));
        k[i * ld + i] += lambda;
    }
}

template <class V>
inline void solve_lanes_of(double* a, Index d, double* b, double* inverse_pivots) {
    constexpr Index kLanes = Traits<V>::kSize;
    const auto at = [=](Index i, Index j) { return a + (i * d + j) * kLanes; };
    V largest{};
    for (Index k = 0; k < d; ++k) {
        const V pivot = load<V>(at(k, k));
        largest = pivot > largest ? pivot : largest;
    }
    const V tiny = largest * (d * 8 * 2.220446049250313e-16);
    for (Index k = 0; k < d; ++k) {
        const V pivot = load<V>(at(k, k)), right = load<V>(b + k * kLanes);
        const V inverse = pivot > tiny ? 1 / pivot : V{};
        store<V>(inverse_pivots + k * kLanes, inverse);
        for (Index i = k + 1; i < d; ++i) {
            const V share = load<V>(at(k, i)) * inverse;
            for (Index j = i; j < d; ++j) store<V>(at(i, j), load<V>(at(i, j)) - share * load<V>(at(k, j)));
            store<V>(b + i * kLanes, load<V>(b + i * kLanes) - share * right);
        }
    }
    for (Index k = d - 1; k >= 0; --k) {
        V rest = load<V>(b + k * kLanes);
        for (Index j = k + 1; j < d; ++j) rest -= load<V>(at(k, j)) * load<V>(b + j * kLanes);
        store<V>(b + k * kLanes, rest * load<V>(inverse_pivots + k * kLanes));
    }
}

void solve_lanes(double* a, int d, double* b, double* inverse_pivots, int lanes) {
    if (lanes == 4) return solve_lanes_of<V4>(a, d, b, inverse_pivots);
    solve_lanes_of<V8>(a, d, b, inverse_pivots);
}

template <class V>
inline void dual_lanes_of(const double* products, Index ld, Index n, const double* v, const double* z, double lambda,
                          double* a, double* rhs, double* root, double* m, double* z_mean, double* total) {
    constexpr Index kLanes = Traits<V>::kSize;
    V sum_v{}, sum_vz{};
    for (Index i = 0; i < n; ++i) {
        const V weight = load<V>(v + i * kLanes);
        sum_v += weight;
        sum_vz += weight * load<V>(z + i * kLanes);
    }
    const V mean = sum_vz / sum_v;
    store<V>(total, sum_v);
    store<V>(z_mean, mean);
    for (Index i = 0; i < n * kLanes; ++i) root[i] = __builtin_sqrt(v[i]);
    V s{};
    for (Index i = 0; i < n; ++i) {
        V product{};
        for (Index j = 0; j < n; ++j) product += products[i * ld + j] * load<V>(v + j * kLanes);
        product = product / sum_v;
        store<V>(m + i * kLanes, product);
        s += load<V>(v + i * kLanes) * product;
    }
    s = s / sum_v;
    for (Index i = 0; i < n; ++i) {
        const V own = load<V>(root + i * kLanes), shift = s - load<V>(m + i * kLanes);
        store<V>(rhs + i * kLanes, own * (load<V>(z + i * kLanes) - mean));
        for (Index j = i; j < n; ++j) {
            const V centred = products[i * ld + j] - load<V>(m + j * kLanes) + shift;
            store<V>(a + (i * n + j) * kLanes, own * load<V>(root + j * kLanes) * centred);
        }
        double* diagonal = a + (i * n + i) * kLanes;
        store<V>(diagonal, load<V>(diagonal) + lambda);
    }
}

void dual_lanes(const double* products, Index ld, int n, const double* v, const double* z, double lambda, double* a,
                double* rhs, double* root, double* m, double* z_mean, double* total, int lanes) {
    if (lanes == 4) return dual_lanes_of<V4>(products, ld, n, v, z, lambda, a, rhs, root, m, z_mean, total);
    dual_lanes_of<V8>(products, ld, n, v, z, lambda, a, rhs, root, m, z_mean, total);
}

template <class V>
inline double dot(const double* a, const double* b, int width) {
    V total = load<V>(a) * load<V>(b);
    for (int j = Traits<V>::kSize; j < width; j += Traits<V>::kSize) total += load<V>(a + j) * load<V>(b + j);
    return sum(total);
}
inline double dot(const double* a, const double* b, int width) {
    return width == 4 ? dot<V4>(a, b, width) : dot<V8>(a, b, width);
}

// Four rows side by side: the sum of a vector takes longer than its product.
template <class V>
inline Index linear_in_fours(const double* x, Index n, Index width, const double* slopes, double intercept,
                             double* out) {
    Index i = 0;
    for (; i + 4 <= n; i += 4, x += 4 * width) {
        V total[4];
        for (int r = 0; r < 4; ++r) total[r] = load<V>(slopes) * load<V>(x + r * width);
        for (Index j = Traits<V>::kSize; j < width; j += Traits<V>::kSize)
            for (int r = 0; r < 4; ++r) total[r] += load<V>(slopes + j) * load<V>(x + r * width + j);
        store<V4>(out + i, intercept + sums(total[0], total[1], total[2], total[3]));
    }
    return i;
}

void linear(const double* x, Index n, int width, const double* slopes, double intercept, double* out) {
    Index i = width == 4 ? linear_in_fours<V4>(x, n, width, slopes, intercept, out)
                         : linear_in_fours<V8>(x, n, width, slopes, intercept, out);
    for (; i < n; ++i) out[i] = intercept + dot(x + i * width, slopes, width);
}

void add_weighted_rows(const double* x, Index n, int width, const double* a, double* out) {
    int done = 0;
    for (; done + 32 <= width; done += 32) {  // four cache lines of every row in turn, not one
        V8 total[4];
        for (int q = 0; q < 4; ++q) total[q] = load<V8>(out + done + 8 * q);
        for (Index i = 0; i < n; ++i)
            for (int q = 0; q < 4; ++q) total[q] += a[i] * load<V8>(x + i * width + done + 8 * q);
        for (int q = 0; q < 4; ++q) store<V8>(out + done + 8 * q, total[q]);
    }
    for_columns(width - done, [&]<class V>(int k) {
        const Index j = done + k;
        V total = load<V>(out + j);
        for (Index i = 0; i < n; ++i) total += a[i] * load<V>(x + i * width + j);
        store<V>(out + j, total);
    });
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
