// Linear algebra of the node models. Part of all.cpp: compiled once per instruction set, so no standard library
// here.
#pragma once

#include "simd.hpp"
#include "stored.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

void gather_shifted(const double* x, const std::int32_t* rows, Index n, int width, const double* centre, double* out) {
    with_vector(width, [=]<class V>() {
        constexpr int kSize = Traits<V>::kSize;
        if (width == kSize) {
            const V shift = load<V>(centre);
            for (Index i = 0; i < n; ++i) store<V>(out + i * kSize, load<V>(x + rows[i] * Index{kSize}) - shift);
            return;
        }
        for (Index i = 0; i < n; ++i) {
            const double* row = x + rows[i] * Index{width};
            for (int j = 0; j < width; j += kSize)
                store<V>(out + i * width + j, load<V>(row + j) - load<V>(centre + j));
        }
    });
}

// Weighted sums of kVectors vectors of columns, divided by `total`.
template <class V, int kVectors>
inline void mean_tile(const double* x, const std::int32_t* rows, Index n, Index width, const double* w, double total,
                      double* mean) {
    constexpr int kSize = Traits<V>::kSize;
    V s0[kVectors] = {}, s1[kVectors] = {};
    const auto add = [&](Index i, double weight, V(&s)[kVectors]) {
        const double* row = x + rows[i] * width;
        for (int k = 0; k < kVectors; ++k) s[k] += weight * load<V>(row + k * kSize);
    };
    for (Index i = 0; i + 1 < n; i += 2) {
        add(i, w[i], s0);
        add(i + 1, w[i + 1], s1);
    }
    // Whether there is an odd one cannot be predicted: nothing is added quicker than a few values are left out.
    if (kVectors == 1 || n % 2 != 0) add(n - 1, n % 2 != 0 ? w[n - 1] : 0.0, s0);
    for (int k = 0; k < kVectors; ++k) store<V>(mean + k * kSize, (s0[k] + s1[k]) / total);
}

void gather_centred(const double* x, const std::int32_t* rows, Index n, int width, const double* w, double total,
                    double* mean, double* out) {
    for_tiles(width,
              [&]<class V, int kVectors>(int j) { mean_tile<V, kVectors>(x + j, rows, n, width, w, total, mean + j); });
    gather_shifted(x, rows, n, width, mean, out);
}

// Scalar products of kRows rows from i on with kRows rows from j on.
template <class L, int kRows>
inline void product_tile(const double* x, Index width, Index i, Index j, double* k, Index ld) {
    L tile[kRows][kRows] = {};
    for (Index c = 0; c < width; c += L::kSize) {
        L b[kRows];
        for (int q = 0; q < kRows; ++q) b[q] = load_lanes<L>(x + (j + q) * width + c);
        for (int p = 0; p < kRows; ++p) {
            const L a = load_lanes<L>(x + (i + p) * width + c);
            for (int q = 0; q < kRows; ++q) tile[p][q] += a * b[q];
        }
    }
    if constexpr (kRows == 4) {
        for (int p = 0; p < 4; ++p) store_sums(k + (i + p) * ld + j, 0.0, tile[p]);
    } else if constexpr (kRows == 2) {
        double sums[4];
        store_sums(sums, 0.0, {tile[0][0], tile[0][1], tile[1][0], tile[1][1]});
        for (int p = 0; p < 2; ++p)
            for (int q = 0; q < 2; ++q) k[(i + p) * ld + j + q] = sums[2 * p + q];
    } else {
        k[i * ld + j] = sum(tile[0][0]);
    }
}

void row_products(const double* x, Index n, int width, double* k, Index ld) {
    with_lanes(width, [=]<class L>() {
        const Index whole = n / kProductRows * kProductRows;
        for (Index i = 0; i < whole; i += kProductRows)
            for (Index j = i; j < whole; j += kProductRows) product_tile<L, kProductRows>(x, width, i, j, k, ld);
        for (Index j = whole; j < n; ++j)
            for (Index i = 0; i <= j; ++i) product_tile<L, 1>(x, width, i, j, k, ld);
    });
    for (Index i = 0; i < n; ++i) {
        double* row = k + i * ld;
        for (Index j = 0; j < i; ++j) row[j] = k[j * ld + i];
        for (Index j = n; j < ld; j += kVec) store_first(row + j, Vec{}, ld - j);
    }
}

// Products are rounded before they are taken away, as where this is not compiled for vectors.
void centre_equations(double* gram, int width, int d, double* sum_x, double* sum_zx, double total, double z_mean,
                      double lambda) {
    with_vector(width, [=]<class V>() {
        constexpr int kSize = Traits<V>::kSize;
        for (int i = 0; i < d; ++i) {
            const double share = sum_x[i] / total;
            double* row = gram + i * Index{width};
            for (int j = i / kSize * kSize; j < width; j += kSize)
                store<V>(row + j, load<V>(row + j) - rounded(share * load<V>(sum_x + j)));
            row[i] += lambda;
        }
        for (int j = 0; j < width; j += kSize) {
            const V own = load<V>(sum_x + j);
            store<V>(sum_zx + j, load<V>(sum_zx + j) - rounded(z_mean * own));
            store<V>(sum_x + j, own / total);
        }
    });
}

// row -= share · pivot row, from column i on (or a few before it).
template <class V>
inline void subtract_row(double* row, const double* pivot_row, double share, Index i, Index d) {
    constexpr Index kSize = Traits<V>::kSize;
    for (Index j = i / kSize * kSize; j < d; j += kSize)
        store<V>(row + j, load<V>(row + j) - share * load<V>(pivot_row + j));
}

constexpr int kPivots = 4, kFactorRows = 4;

// Rows i … i + kRows - 1 less their shares of kPivots pivot rows, from column i on (or a few before it).
template <class V, int kRows>
inline void subtract_panel(double* a, Index ld, Index d, const double* panel, const double* inverse_pivots, Index i) {
    constexpr Index kSize = Traits<V>::kSize;
    double share[kRows][kPivots];
    for (int r = 0; r < kRows; ++r)
        for (int p = 0; p < kPivots; ++p) share[r][p] = panel[p * ld + i + r] * inverse_pivots[p];
    for (Index j = i / kSize * kSize; j < d; j += kSize) {
        V rest[kRows];
        for (int r = 0; r < kRows; ++r) rest[r] = load<V>(a + (i + r) * ld + j);
        for (int p = 0; p < kPivots; ++p) {
            const V pivot_row = load<V>(panel + p * ld + j);
            for (int r = 0; r < kRows; ++r) rest[r] -= share[r][p] * pivot_row;
        }
        for (int r = 0; r < kRows; ++r) store<V>(a + (i + r) * ld + j, rest[r]);
    }
}

// LDLᵀ, without square roots: rows of the upper triangle updated a vector at a time. The vectors start at a multiple of
// their length, so some of what lies below the diagonal is overwritten too; nothing reads it.
template <class V>
inline void factor_of(double* a, Index ld, int d, double* inverse_pivots) {
    double largest = 0;
    for (Index k = 0; k < d; ++k) largest = a[k * ld + k] > largest ? a[k * ld + k] : largest;
    const double tiny = largest * d * (8 * 2.220446049250313e-16);
    Index k = 0;
    // Some pivots at a time: rows below them are loaded and stored once for all of them. The arithmetic is the same.
    for (; d - k > 2 * kPivots; k += kPivots) {
        double* panel = a + k * ld;
        for (int p = 0; p < kPivots; ++p) {
            const double* pivot_row = panel + p * ld;
            inverse_pivots[k + p] = pivot_row[k + p] > tiny ? 1 / pivot_row[k + p] : 0;
            for (int q = p + 1; q < kPivots; ++q)
                subtract_row<V>(panel + q * ld, pivot_row, pivot_row[k + q] * inverse_pivots[k + p], k + q, d);
        }
        Index i = k + kPivots;
        for (; i + kFactorRows <= d; i += kFactorRows)
            subtract_panel<V, kFactorRows>(a, ld, d, panel, inverse_pivots + k, i);
        for (; i < d; ++i) subtract_panel<V, 1>(a, ld, d, panel, inverse_pivots + k, i);
    }
    for (; k < d; ++k) {
        const double* pivot_row = a + k * ld;
        inverse_pivots[k] = pivot_row[k] > tiny ? 1 / pivot_row[k] : 0;
        for (Index i = k + 1; i < d; ++i)
            subtract_row<V>(a + i * ld, pivot_row, pivot_row[i] * inverse_pivots[k], i, d);
    }
}

void factor(double* a, Index ld, int d, double* inverse_pivots) {
    with_vector(ld, [=]<class V>() { factor_of<V>(a, ld, d, inverse_pivots); });
}

template <class V>
inline void substitute_of(const double* a, Index ld, int d, const double* inverse_pivots, double* b, double* s) {
    constexpr Index kSize = Traits<V>::kSize;
    // Forward: what is in front of the diagonal gets rubbish, after it was used. Four unknowns at a time: the next one
    // waits for a few numbers only, and the rest of b is loaded and stored once for all four.
    Index k = 0;
    for (; k + 4 <= d; k += 4) {
        double own[4], known[4];
        for (int p = 0; p < 4; ++p) {
            own[p] = b[k + p];
            for (int q = 0; q < p; ++q) own[p] -= known[q] * a[(k + q) * ld + k + p];
            known[p] = own[p] * inverse_pivots[k + p];
        }
        for (int p = 0; p < 4; ++p) s[k + p] = known[p];
        for (Index j = (k + 4) / kSize * kSize; j < d; j += kSize) {
            V rest = load<V>(b + j);
            for (int p = 0; p < 4; ++p) rest -= known[p] * load<V>(a + (k + p) * ld + j);
            store<V>(b + j, rest);
        }
    }
    for (; k < d; ++k) {
        s[k] = b[k] * inverse_pivots[k];
        for (Index j = (k + 1) / kSize * kSize; j < d; j += kSize)
            store<V>(b + j, load<V>(b + j) - s[k] * load<V>(a + k * ld + j));
    }
    if (d <= 8) {
        for (k = d - 1; k >= 0; --k) {
            double known = 0;
            for (Index j = k + 1; j < d; ++j) known += a[k * ld + j] * s[j];
            s[k] -= known * inverse_pivots[k];
        }
        return;
    }
    const Index tail = (d - 1) / 8 * 8;  // the last lanes; what lies behind d may be anything
    const auto product = [&](Index row, Index j) { return load<Vec>(a + row * ld + j) * load<Vec>(s + j); };
    EightLanes found{};  // the unknowns of eight lanes, stored together: a vector cannot be loaded from single stores
    for (k = d - 1; k >= 0; --k) {
        Index j = k / 8 * 8;
        EightLanes known;
        unrolled<0, 8 / kVec>([&]<int p>() {
            const Index at = j + p * kVec;
            known.part[p] = (first(d - at) & ~first(k + 1 - at)) ? load<Vec>(a + k * ld + at) * found.part[p] : Vec{};
        });
        for (j += 8; j < tail; j += 8)
            unrolled<0, 8 / kVec>([&]<int p>() { known.part[p] += product(k, j + p * kVec); });
        if (j == tail)
            unrolled<0, 8 / kVec>([&]<int p>() {
                const Index at = j + p * kVec;
                known.part[p] += first(d - at) ? product(k, at) : Vec{};
            });
        const double unknown = s[k] - sum(known) * inverse_pivots[k];
        unrolled<0, 8 / kVec>([&]<int p>() {
            const Index at = k / 8 * 8 + p * kVec;
            found.part[p] = kPlaces == k - at ? splat<Vec>(unknown) : found.part[p];
            if (k % 8 == 0) store(s + at, found.part[p]);
        });
    }
}

void substitute(const double* a, Index ld, int d, const double* inverse_pivots, double* b, double* s) {
    with_vector(ld, [=]<class V>() { substitute_of<V>(a, ld, d, inverse_pivots, b, s); });
}

void weigh_products(const double* products, Index ld, Index n, const double* root, const double* m, double s,
                    double lambda, double* k) {
    with_vector(ld, [=]<class V>() {
        constexpr Index kSize = Traits<V>::kSize;
        for (Index i = 0; i < n; ++i) {
            const double shift = s - m[i];
            for (Index j = i / kSize * kSize; j < n; j += kSize)
                store<V>(k + i * ld + j,
                         root[i] * load<V>(root + j) * (load<V>(products + i * ld + j) - load<V>(m + j) + shift));
            k[i * ld + i] += lambda;
        }
    });
}

template <class L, class T>
inline double dot(const double* a, const T* b, int width) {
    L total = load_lanes<L>(a) * load_lanes<L>(b);
    for (int j = L::kSize; j < width; j += L::kSize) total += load_lanes<L>(a + j) * load_lanes<L>(b + j);
    return sum(total);
}
template <class T>
inline double dot(const double* a, const T* b, int width) {
    return with_lanes(width, [=]<class L>() { return dot<L>(a, b, width); });
}

// Four rows side by side: the sum of a vector takes longer than its product. row(i): where row i is.
template <class Row>
inline void linear_of(Row row, Index n, Index width, const double* slopes, double intercept, double* out) {
    with_lanes(width, [=]<class L>() {
        Index i = 0;
        for (; i + 4 <= n; i += 4) {
            const double* x[4] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
            L total[4];
            for (int r = 0; r < 4; ++r) total[r] = load_lanes<L>(slopes) * load_lanes<L>(x[r]);
            for (Index j = L::kSize; j < width; j += L::kSize)
                for (int r = 0; r < 4; ++r) total[r] += load_lanes<L>(slopes + j) * load_lanes<L>(x[r] + j);
            store_sums(out + i, intercept, total);
        }
        if (i == n) return;
        if (width > L::kSize) {
            for (; i < n; ++i) out[i] = intercept + dot<L>(row(i), slopes, static_cast<int>(width));
            return;
        }
        // How many are left cannot be predicted, and short rows are multiplied quickly: the last one stands for those
        // that are missing.
        L total[4];
        for (int r = 0; r < 4; ++r) total[r] = load_lanes<L>(slopes) * load_lanes<L>(row(i + r < n ? i + r : n - 1));
        double sums[4];
        store_sums(sums, intercept, total);
        store_first_of_four(out + i, sums, n - i);
    });
}

void linear(const double* x, Index n, int width, const double* slopes, double intercept, double* out) {
    linear_of([=](Index i) { return x + i * width; }, n, width, slopes, intercept, out);
}

void linear_rows(const double* x, const std::int32_t* rows, Index n, int width, const double* slopes, double intercept,
                 double* out) {
    linear_of([=](Index i) { return x + rows[i] * Index{width}; }, n, width, slopes, intercept, out);
}

// Four rows at a time, and all outputs of these: the rows are in the cache for all of them.
void add_clipped_rows(const double* x, const std::int32_t* rows, Index n, int width, const double* slopes,
                      const double* intercepts, int n_outputs, double lower, double upper, double* out, Index stride) {
    using Some = decltype(folded(EightLanes{}));
    with_lanes(width, [=]<class L>() {
        Index i = 0;
        for (; i + 4 <= n; i += 4) {
            const auto row = [=](Index r) { return x + rows[i + r] * Index{width}; };
            const double* four[4] = {row(0), row(1), row(2), row(3)};
            for (int c = 0; c < n_outputs; ++c) {
                const double* own = slopes + c * Index{width};
                L total[4];
                for (int r = 0; r < 4; ++r) total[r] = load_lanes<L>(own) * load_lanes<L>(four[r]);
                for (Index j = L::kSize; j < width; j += L::kSize)
                    for (int r = 0; r < 4; ++r) total[r] += load_lanes<L>(own + j) * load_lanes<L>(four[r] + j);
                double sums[4];
                store_sums(sums, intercepts[c], total);
                for (int r = 0; r < 4; r += Traits<Some>::kSize) {
                    Some value = load<Some>(sums + r);
                    value = value < lower ? splat<Some>(lower) : value;
                    value = value > upper ? splat<Some>(upper) : value;
                    double* place = out + c * stride + i + r;
                    store<Some>(place, load<Some>(place) + value);
                }
            }
        }
        for (; i < n; ++i)
            for (int c = 0; c < n_outputs; ++c) {
                const double* row = x + rows[i] * Index{width};
                double value = intercepts[c] + dot<L>(row, slopes + c * Index{width}, width);
                value = value < lower ? lower : value;
                out[c * stride + i] += value > upper ? upper : value;
            }
    });
}

void add_weighted_rows(const double* x, Index n, int width, const double* a, double* out) {
    constexpr int kColumns = kVec == 2 ? 16 : 32,
                  kVectors = kColumns / kVec;  // cache lines of a row at a time, not one
    int done = 0;
    for (; done + kColumns <= width; done += kColumns) {
        Vec total[kVectors];
        for (int q = 0; q < kVectors; ++q) total[q] = load<Vec>(out + done + kVec * q);
        for (Index i = 0; i < n; ++i)
            for (int q = 0; q < kVectors; ++q) total[q] += a[i] * load<Vec>(x + i * width + done + kVec * q);
        for (int q = 0; q < kVectors; ++q) store<Vec>(out + done + kVec * q, total[q]);
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
