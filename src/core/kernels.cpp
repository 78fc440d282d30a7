// Compiled once for each instruction set (see CMakeLists.txt), each time into a namespace of its own.
// Vectors are written with the GCC/Clang vector extension: eight doubles are one AVX-512 register, two AVX ones or
// four SSE2/NEON ones. No standard library here (kernels.hpp says why).

#include "kernels.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

using Index = std::int64_t;
typedef double V8 __attribute__((vector_size(64)));
typedef double V4 __attribute__((vector_size(32)));
typedef std::int64_t I8 __attribute__((vector_size(64)));
typedef double V8Memory __attribute__((vector_size(64), aligned(8), may_alias));
typedef double V4Memory __attribute__((vector_size(32), aligned(8), may_alias));

template <class V>
struct Traits;
template <>
struct Traits<V8> {
    using Memory = V8Memory;
    static constexpr int kSize = 8;
};
template <>
struct Traits<V4> {
    using Memory = V4Memory;
    static constexpr int kSize = 4;
};

// Rows of the register tiles: what fits without spilling (32 registers of 8, 16 of 4, 16 or 32 of 2 doubles).
#if defined(__AVX512F__)
constexpr int kGramRows = 8, kProductRows = 4;
#elif defined(__AVX__)
constexpr int kGramRows = 4, kProductRows = 2;
#else
constexpr int kGramRows = 2, kProductRows = 2;
#endif

template <class V>
inline V load(const double* p) {
    return *reinterpret_cast<const typename Traits<V>::Memory*>(p);
}
template <class V>
inline void store(double* p, V v) {
    *reinterpret_cast<typename Traits<V>::Memory*>(p) = v;
}
template <class V>
inline V splat(double s) {
    return s - V{};
}
inline double sum(V4 v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
inline double sum(V8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// All ones in the first m of 8 places: what lies behind the end of an array may be anything.
inline I8 first(Index m) {
    return I8{0, 1, 2, 3, 4, 5, 6, 7} < m;
}

inline void store_first(double* p, V8 v, Index m) {
    if (m >= 8) return store(p, v);
    for (Index i = 0; i < m; ++i) p[i] = v[i];
}

// Calls body(column) with V8 for every block of eight columns; rows of four columns are one V4.
#define BF_FOR_COLUMNS(width, V, j, ...)           \
    do {                                           \
        if ((width) == 4) {                        \
            using V = V4;                          \
            const int j = 0;                       \
            __VA_ARGS__                            \
        } else {                                   \
            using V = V8;                          \
            for (int j = 0; j < (width); j += 8) { \
                __VA_ARGS__                        \
            }                                      \
        }                                          \
    } while (0)

// ---------------------------------------------------------------------------------------------------- split search

template <class V>
inline void range_block(const double* x, const std::int32_t* rows, Index n, Index width, double* lo, double* hi) {
    V lo0 = load<V>(x + rows[0] * width), hi0 = lo0, lo1 = lo0, hi1 = lo0;
    Index i = 1;
    for (; i + 1 < n; i += 2) {  // two chains: the latency of min and max is longer than their cost
        const V a = load<V>(x + rows[i] * width), b = load<V>(x + rows[i + 1] * width);
        lo0 = a < lo0 ? a : lo0;
        hi0 = a > hi0 ? a : hi0;
        lo1 = b < lo1 ? b : lo1;
        hi1 = b > hi1 ? b : hi1;
    }
    if (i < n) {
        const V a = load<V>(x + rows[i] * width);
        lo0 = a < lo0 ? a : lo0;
        hi0 = a > hi0 ? a : hi0;
    }
    store<V>(lo, lo0 < lo1 ? lo0 : lo1);
    store<V>(hi, hi0 > hi1 ? hi0 : hi1);
}

void column_range(const double* x, const std::int32_t* rows, Index n, int width, double* lo, double* hi) {
    BF_FOR_COLUMNS(width, V, j, range_block<V>(x + j, rows, n, width, lo + j, hi + j););
}

template <class V, int kStats>
inline void left_sums_block(const double* x, const std::int32_t* rows, Index n, Index width, const double* cuts,
                            const double* const* stats, double* sums) {
    const V cut = load<V>(cuts);
    V total[kStats] = {};
    for (Index i = 0; i < n; ++i) {
        const V value = load<V>(x + rows[i] * width);
        for (int k = 0; k < kStats; ++k) total[k] += value <= cut ? splat<V>(stats[k][i]) : V{};
    }
    for (int k = 0; k < kStats; ++k) store<V>(sums + k * width, total[k]);
}

void left_sums(const double* x, const std::int32_t* rows, Index n, int width, const double* cuts,
               const double* const* stats, int n_stats, double* sums) {
    for (int k = 0; k < n_stats; k += 4) {
        const double* const* s = stats + k;
        double* out = sums + static_cast<Index>(k) * width;
        BF_FOR_COLUMNS(
            width, V, j, switch (n_stats - k) {
                case 1: left_sums_block<V, 1>(x + j, rows, n, width, cuts + j, s, out + j); break;
                case 2: left_sums_block<V, 2>(x + j, rows, n, width, cuts + j, s, out + j); break;
                case 3: left_sums_block<V, 3>(x + j, rows, n, width, cuts + j, s, out + j); break;
                default: left_sums_block<V, 4>(x + j, rows, n, width, cuts + j, s, out + j);
            });
    }
}

void add_gain(int width, double g, double h, const double* g_left, const double* h_left, double lambda, double* gain) {
    BF_FOR_COLUMNS(width, V, j, {
        const V gl = load<V>(g_left + j), hl = load<V>(h_left + j) + lambda;
        const V gr = g - gl, hr = h + (2 * lambda) - hl;
        const V left = hl > 0 ? gl * gl / hl : V{}, right = hr > 0 ? gr * gr / hr : V{};
        store<V>(gain + j, load<V>(gain + j) + (left + right));
    });
}

// ------------------------------------------------------------------------------------------------- linear algebra

void column_means(const double* x, const std::int32_t* rows, Index n, int width, const double* w, double* mean) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += w[i];
    BF_FOR_COLUMNS(width, V, j, {
        V s0{}, s1{};
        Index i = 0;
        for (; i + 1 < n; i += 2) {
            s0 += w[i] * load<V>(x + rows[i] * Index{width} + j);
            s1 += w[i + 1] * load<V>(x + rows[i + 1] * Index{width} + j);
        }
        if (i < n) s0 += w[i] * load<V>(x + rows[i] * Index{width} + j);
        store<V>(mean + j, (s0 + s1) / total);
    });
}

void gather_shifted(const double* x, const std::int32_t* rows, Index n, int width, const double* centre, double* out) {
    for (Index i = 0; i < n; ++i) {
        const double* row = x + rows[i] * Index{width};
        BF_FOR_COLUMNS(width, V, j, store<V>(out + i * width + j, load<V>(row + j) - load<V>(centre + j)););
    }
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

// LDLᵀ, without square roots: rows of the upper triangle updated a vector at a time. The vectors start at a multiple of
// their length, so some of what lies below the diagonal is overwritten too; nothing reads it.
template <class V>
inline void factor_of(double* a, Index ld, int d, double* inverse_pivots) {
    constexpr Index kSize = Traits<V>::kSize;
    double largest = 0;
    for (Index k = 0; k < d; ++k) largest = a[k * ld + k] > largest ? a[k * ld + k] : largest;
    const double tiny = largest * d * (8 * 2.220446049250313e-16);
    for (Index k = 0; k < d; ++k) {
        const double* pivot_row = a + k * ld;
        const double inverse = pivot_row[k] > tiny ? 1 / pivot_row[k] : 0;
        inverse_pivots[k] = inverse;
        for (Index i = k + 1; i < d; ++i) {
            const double share = pivot_row[i] * inverse;
            double* row = a + i * ld;
            for (Index j = i / kSize * kSize; j < d; j += kSize)
                store<V>(row + j, load<V>(row + j) - share * load<V>(pivot_row + j));
        }
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
    for (Index k = d - 1; k >= 0; --k) {
        double known = 0;
        for (Index j = k + 1; j < d; ++j) known += a[k * ld + j] * s[j];
        s[k] -= known * inverse_pivots[k];
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
inline double dot(const double* a, const double* b, int width) {
    V total = load<V>(a) * load<V>(b);
    for (int j = Traits<V>::kSize; j < width; j += Traits<V>::kSize) total += load<V>(a + j) * load<V>(b + j);
    return sum(total);
}
inline double dot(const double* a, const double* b, int width) {
    return width == 4 ? dot<V4>(a, b, width) : dot<V8>(a, b, width);
}

void linear(const double* x, Index n, int width, const double* slopes, double intercept, double* out) {
    for (Index i = 0; i < n; ++i) out[i] = intercept + dot(x + i * width, slopes, width);
}

void add_weighted_rows(const double* x, Index n, int width, const double* a, double* out) {
    BF_FOR_COLUMNS(width, V, j, {
        V total = load<V>(out + j);
        for (Index i = 0; i < n; ++i) total += a[i] * load<V>(x + i * width + j);
        store<V>(out + j, total);
    });
}

// ------------------------------------------------------------------------------------------- exponentials and losses

// e^x to about one unit in the last place: x = k ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r, times 2^k.
inline V8 exp8(V8 x) {
    x = x < -708.0 ? splat<V8>(-708.0) : x;
    x = x > 709.0 ? splat<V8>(709.0) : x;
    const double kShift = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits
    const V8 shifted = x * 1.4426950408889634 + kShift;
    const V8 k = shifted - kShift;
    const V8 r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    V8 p = splat<V8>(1.0 / 6227020800.0);
    const double kInverseFactorial[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
    for (double c : kInverseFactorial) p = p * r + c;
    I8 bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the shift's own bits fall out at the top
    V8 power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

// 2 artanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.1716, by its Taylor series.
inline V8 log_ratio(V8 s) {
    const V8 q = s * s;
    V8 p = splat<V8>(1.0 / 21);
    const double kOdd[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
    for (double c : kOdd) p = p * q + c;
    return 2 * s * p;
}

// log(1 + e) for e in [0, 1], halved first where 1 + e > √2.
inline V8 log1p8(V8 e) {
    const auto large = e > 0.41421356237309503;
    const V8 s = large ? (e - 1) / (e + 3) : e / (e + 2);
    return log_ratio(s) + (large ? splat<V8>(0.6931471805599453) : V8{});
}

// log x for normal x > 0: x = 2^k m with m in [√½, √2], log m = 2 artanh((m - 1) / (m + 1)).
inline V8 log8(V8 x) {
    I8 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const I8 k = (bits - 0x3FE6A09E667F3BCDLL) >> 52;  // the constant is √½: k is 0 for m in that range
    bits -= k << 52;
    V8 m;
    __builtin_memcpy(&m, &bits, sizeof m);
    return log_ratio((m - 1) / (m + 1)) + 0.6931471805599453 * __builtin_convertvector(k, V8);
}

inline V8 sigmoid8(V8 f) {
    const V8 e = exp8(f < 0 ? f : -f);  // e^{-|f|} cannot overflow
    return (f < 0 ? e : splat<V8>(1)) / (1 + e);
}

void weighted_sums(const double* v, const double* z, Index n, double& sum_v, double& sum_vz) {
    V8 a{}, b{};
    for (Index i = 0; i < n; i += 8) {
        const I8 here = first(n - i);
        const V8 weight = here ? load<V8>(v + i) : V8{};
        a += weight;
        b += here ? weight * load<V8>(z + i) : V8{};
    }
    sum_v = sum(a);
    sum_vz = sum(b);
}

double sum_of(const double* v, Index n) {
    V8 total{};
    for (Index i = 0; i < n; i += 8) total += first(n - i) ? load<V8>(v + i) : V8{};
    return sum(total);
}

void value_range(const double* z, Index n, double& lower, double& upper) {
    V8 lo = splat<V8>(z[0]), hi = lo;
    for (Index i = 0; i < n; i += 8) {
        const I8 here = first(n - i);
        const V8 value = load<V8>(z + i);
        lo = here & (value < lo) ? value : lo;
        hi = here & (value > hi) ? value : hi;
    }
    lower = lo[0];
    upper = hi[0];
    for (int k = 1; k < 8; ++k) {
        lower = lo[k] < lower ? lo[k] : lower;
        upper = hi[k] > upper ? hi[k] : upper;
    }
}

void sigmoid(const double* f, Index n, double* p) {
    for (Index i = 0; i < n; i += 8) store(p + i, sigmoid8(load<V8>(f + i)));
}

// Largest score of eight rows.
inline V8 largest_score(const double* f, Index stride, int n_classes) {
    V8 top = load<V8>(f);
    for (int c = 1; c < n_classes; ++c) {
        const V8 value = load<V8>(f + c * stride);
        top = value > top ? value : top;
    }
    return top;
}

void softmax(const double* f, Index stride, Index n, int n_classes, double* p, Index p_stride) {
    for (Index i = 0; i < n; i += 8) {
        const V8 top = largest_score(f + i, stride, n_classes);
        V8 total{};
        for (int c = 0; c < n_classes; ++c) {
            const V8 e = exp8(load<V8>(f + c * stride + i) - top);
            total += e;
            store(p + c * p_stride + i, e);
        }
        const V8 inverse = 1 / total;
        for (int c = 0; c < n_classes; ++c) store(p + c * p_stride + i, load<V8>(p + c * p_stride + i) * inverse);
    }
}

void class_statistics(const double* p, const double* y, double label, const double* w, Index n, double* wg,
                      double* wh) {
    for (Index i = 0; i < n; i += 8) {
        const V8 q = load<V8>(p + i), weight = load<V8>(w + i);
        const V8 truth = load<V8>(y + i) == label ? splat<V8>(1) : V8{};
        store(wg + i, weight * (q - truth));
        store(wh + i, weight * (q * (1 - q)));
    }
}

void class_pseudo_labels(const double* p, const double* y, double label, const double* w, Index n, double* z,
                         double* v) {
    const double kLargest = 4, kSmallestWeight = 2 * 2.220446049250313e-16;
    for (Index i = 0; i < n; i += 8) {
        const V8 q = load<V8>(p + i), h = q * (1 - q);
        const V8 error = (load<V8>(y + i) == label ? splat<V8>(1) : V8{}) - q;
        // h = 0 only where p has rounded to 0 or 1: the ratio would be ±inf, or 0/0 where the label agrees.
        V8 ratio = h > 0 ? error / h : error * kLargest;
        ratio = ratio > kLargest ? splat<V8>(kLargest) : ratio;
        store(z + i, ratio < -kLargest ? splat<V8>(-kLargest) : ratio);
        store(v + i, load<V8>(w + i) * (h > kSmallestWeight ? h : splat<V8>(kSmallestWeight)));
    }
}

double step_residual(const double* fitted, Index n, double lower, double upper, const double* w, double* r) {
    V8 loss{};
    for (Index i = 0; i < n; i += 8) {
        V8 step = load<V8>(fitted + i);
        step = step < lower ? splat<V8>(lower) : step;
        step = step > upper ? splat<V8>(upper) : step;
        const V8 rest = load<V8>(r + i) - step;
        store_first(r + i, rest, n - i);
        loss += first(n - i) ? load<V8>(w + i) * rest * rest : V8{};
    }
    return sum(loss);
}

double step_logistic(const double* fitted, Index n, const double* y, const double* w, double* f, double* p) {
    V8 loss{};
    for (Index i = 0; i < n; i += 8) {
        const V8 value = load<V8>(f + i) + load<V8>(fitted + i);
        const V8 e = exp8(value < 0 ? value : -value);
        store_first(f + i, value, n - i);
        store_first(p + i, (value < 0 ? e : splat<V8>(1)) / (1 + e), n - i);
        // log(1 + e^f) = log(1 + e^{-|f|}) + max(f, 0)
        const V8 each = log1p8(e) + (value > 0 ? value : V8{}) - load<V8>(y + i) * value;
        loss += first(n - i) ? load<V8>(w + i) * each : V8{};
    }
    return sum(loss);
}

double step_softmax(const double* fitted, Index fitted_stride, Index n, int n_classes, const double* y, const double* w,
                    double* f, double* p, Index stride) {
    V8 loss{};
    for (Index i = 0; i < n; i += 8) {
        const Index left = n - i;
        V8 top = splat<V8>(-__builtin_inf());
        for (int c = 0; c < n_classes; ++c) {
            const V8 value = load<V8>(f + c * stride + i) + load<V8>(fitted + c * fitted_stride + i);
            store_first(f + c * stride + i, value, left);
            top = value > top ? value : top;
        }
        const V8 label = load<V8>(y + i);
        V8 total{}, own{};
        for (int c = 0; c < n_classes; ++c) {
            const V8 value = load<V8>(f + c * stride + i) - top;
            const V8 e = exp8(value);
            total += e;
            own += label == static_cast<double>(c) ? value : V8{};
            store_first(p + c * stride + i, e, left);
        }
        const V8 inverse = 1 / total;
        for (int c = 0; c < n_classes; ++c)
            store_first(p + c * stride + i, load<V8>(p + c * stride + i) * inverse, left);
        loss += first(left) ? load<V8>(w + i) * (log8(total) - own) : V8{};
    }
    return sum(loss);
}

// ------------------------------------------------------------------------------------------------------- prediction

// Slopes are not padded in params: where a padded read would run past the end, they are copied first.
inline double linear_model(const TreeView& tree, Index start, const double* row, int width) {
    const double* p = tree.params + start;
    if (tree.kind == ModelKind::kConstant) return p[0];
    if (start + 1 + width > tree.n_params) {
        double total = p[0];
        for (int j = 0; j < tree.n_features; ++j) total += p[1 + j] * row[j];
        return total;
    }
    return p[0] + dot(row, p + 1, width);
}

// Rows go down a tree together, one level at a time: the steps of different rows do not wait for each other, and
// rows that have arrived drop out without a branch that could be mispredicted.
constexpr Index kRowsAtOnce = 128;

// Calls visit(row, node) for every node on the paths of n <= kRowsAtOnce rows.
template <class Visit>
inline void walk(const TreeView& tree, const double* x, Index n, Index width, Visit visit) {
    std::int32_t row[kRowsAtOnce], node[kRowsAtOnce];
    for (std::int32_t i = 0; i < n; ++i) {
        row[i] = i;
        node[i] = 0;
    }
    while (n > 0) {
        Index n_next = 0;
        for (Index k = 0; k < n; ++k) {
            const std::int32_t i = row[k], here = node[k];
            visit(i, here);
            const std::int32_t feature = tree.feature[here];
            const double value = x[i * width + (feature < 0 ? 0 : feature)];
            row[n_next] = i;
            node[n_next] = tree.left[here] + (value <= tree.threshold[here] ? 0 : 1);
            n_next += feature >= 0;
        }
        n = n_next;
    }
}

void block_scores(const TreeView& tree, const double* x, Index n, int width, double* out, Index stride) {
    if (tree.sum_path) {
        for (Index i = 0; i < n; ++i) out[i] = 0;
        walk(tree, x, n, width, [&](std::int32_t i, std::int32_t node) {
            if (tree.param_start[node] < 0) return;  // the root
            const double value = linear_model(tree, tree.param_start[node], x + Index{i} * width, width);
            const double low = tree.lower[node], high = tree.upper[node];
            const double above = value < low ? low : value;
            out[i] += above > high ? high : above;
        });
        return;
    }
    std::int32_t leaf[kRowsAtOnce];
    walk(tree, x, n, width, [&](std::int32_t i, std::int32_t node) { leaf[i] = node; });
    const Index step = tree.kind == ModelKind::kConstant ? 1 : tree.n_features + 1;
    for (Index i = 0; i < n; ++i)
        for (int c = 0; c < tree.n_outputs; ++c)
            out[c * stride + i] = linear_model(tree, tree.param_start[leaf[i]] + c * step, x + i * width, width);
}

void tree_scores(const TreeView& tree, const double* x, Index n, int width, double* out, Index stride) {
    for (Index i = 0; i < n; i += kRowsAtOnce)
        block_scores(tree, x + i * width, n - i < kRowsAtOnce ? n - i : kRowsAtOnce, width, out + i, stride);
}

}  // namespace

extern const Kernels kTable;
const Kernels kTable = {
    .name = BF_ISA_NAME,
    .column_range = column_range,
    .left_sums = left_sums,
    .add_gain = add_gain,
    .column_means = column_means,
    .gather_shifted = gather_shifted,
    .normal_equations = normal_equations,
    .row_products = row_products,
    .factor = factor,
    .substitute = substitute,
    .weigh_products = weigh_products,
    .linear = linear,
    .add_weighted_rows = add_weighted_rows,
    .weighted_sums = weighted_sums,
    .sum = sum_of,
    .value_range = value_range,
    .sigmoid = sigmoid,
    .softmax = softmax,
    .class_statistics = class_statistics,
    .class_pseudo_labels = class_pseudo_labels,
    .step_residual = step_residual,
    .step_logistic = step_logistic,
    .step_softmax = step_softmax,
    .tree_scores = tree_scores,
};

}  // namespace BF_ISA
}  // namespace boostforest
