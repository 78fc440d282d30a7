// Several small systems side by side: the values of one lie kLanes apart, and V is a part of the lanes or all of them.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Rows i … i + kRows - 1 of a and b less their shares of four pivot rows from k on, from the diagonal on. Two rows load
// the pivots once.
template <class V, Index kLanes, int kRows>
[[gnu::always_inline]] inline void subtract_pivots(double* a, Index d, double* b, const V (&inverse)[4], Index k,
                                                   Index i) {
    const auto at = [=](Index row, Index j) { return a + (row * d + j) * kLanes; };
    V share[kRows][4];
    for (int r = 0; r < kRows; ++r) {
        V rest = load<V>(b + (i + r) * kLanes);
        for (int p = 0; p < 4; ++p) {
            share[r][p] = load<V>(at(k + p, i + r)) * inverse[p];
            rest -= share[r][p] * load<V>(b + (k + p) * kLanes);
        }
        store<V>(b + (i + r) * kLanes, rest);
    }
    const auto subtract = [&]<int kFirst, int kLast>(Index j) {
        V rest[kRows];
        for (int r = kFirst; r < kLast; ++r) rest[r] = load<V>(at(i + r, j));
        for (int p = 0; p < 4; ++p) {
            const V pivot = load<V>(at(k + p, j));
            for (int r = kFirst; r < kLast; ++r) rest[r] -= share[r][p] * pivot;
        }
        for (int r = kFirst; r < kLast; ++r) store<V>(at(i + r, j), rest[r]);
    };
    if constexpr (kRows == 2) subtract.template operator()<0, 1>(i);
    for (Index j = i + kRows - 1; j < d; ++j) subtract.template operator()<0, kRows>(j);
}

template <class V, Index kLanes>
void solve_lanes_of(double* a, Index d, double* b, double* inverse_pivots) {
    const auto at = [=](Index i, Index j) { return a + (i * d + j) * kLanes; };
    V largest{};
    for (Index k = 0; k < d; ++k) {
        const V pivot = load<V>(at(k, k));
        largest = pivot > largest ? pivot : largest;
    }
    const V tiny = largest * (d * 8 * 2.220446049250313e-16);
    const auto take_pivot = [=](Index k, Index end) {  // out of the rows up to `end`
        const V pivot = load<V>(at(k, k)), right = load<V>(b + k * kLanes);
        const V inverse = pivot > tiny ? 1 / pivot : V{};
        store<V>(inverse_pivots + k * kLanes, inverse);
        for (Index i = k + 1; i < end; ++i) {
            const V share = load<V>(at(k, i)) * inverse;
            for (Index j = i; j < d; ++j) store<V>(at(i, j), load<V>(at(i, j)) - share * load<V>(at(k, j)));
            store<V>(b + i * kLanes, load<V>(b + i * kLanes) - share * right);
        }
        return inverse;
    };
    Index k = 0;
    for (; k + 4 < d; k += 4) {  // four pivots at a time, as in factor_of
        V inverse[4];
        for (int p = 0; p < 4; ++p) inverse[p] = take_pivot(k + p, k + 4);
        Index i = k + 4;
        for (; i + 2 <= d; i += 2) subtract_pivots<V, kLanes, 2>(a, d, b, inverse, k, i);
        if (i < d) subtract_pivots<V, kLanes, 1>(a, d, b, inverse, k, i);
    }
    for (; k < d; ++k) take_pivot(k, d);
    for (k = d - 1; k >= 0; --k) {
        V rest = load<V>(b + k * kLanes);
        for (Index j = k + 1; j < d; ++j) rest -= load<V>(at(k, j)) * load<V>(b + j * kLanes);
        store<V>(b + k * kLanes, rest * load<V>(inverse_pivots + k * kLanes));
    }
}

void solve_lanes(double* a, int d, double* b, double* inverse_pivots, int lanes) {
    for_columns(lanes, [=]<class V>(int l) {
        (lanes == 4 ? solve_lanes_of<V, 4> : solve_lanes_of<V, 8>)(a + l, d, b + l, inverse_pivots + l);
    });
}

template <class V, Index kLanes>
void dual_lanes_of(const double* products, Index ld, Index n, const double* v, const double* z, double lambda,
                   double* a, double* rhs, double* root, double* m, double* z_mean, double* total) {
    V sum_v{}, sum_vz{};
    for (Index i = 0; i < n; ++i) {
        const V weight = load<V>(v + i * kLanes);
        sum_v += weight;
        sum_vz += weight * load<V>(z + i * kLanes);
    }
    const V mean = sum_vz / sum_v;
    store<V>(total, sum_v);
    store<V>(z_mean, mean);
    for (Index i = 0; i < n; ++i)
        for (int k = 0; k < Traits<V>::kSize; ++k) root[i * kLanes + k] = __builtin_sqrt(v[i * kLanes + k]);
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
    for_columns(lanes, [=]<class V>(int l) {
        (lanes == 4 ? dual_lanes_of<V, 4> : dual_lanes_of<V, 8>)(products, ld, n, v + l, z + l, lambda, a + l, rhs + l,
                                                                 root + l, m + l, z_mean + l, total + l);
    });
}

// Four columns at a time, so that their sums stay in registers.
template <class V, int kColumns>
inline void columns_times(const double* x, Index n, Index width, const double* a, double* out) {
    V total[kColumns] = {};
    for (Index i = 0; i < n; ++i) {
        const V lane = load<V>(a + i * kLanes);
        for (int q = 0; q < kColumns; ++q) total[q] += x[i * width + q] * lane;
    }
    for (int q = 0; q < kColumns; ++q) store<V>(out + q * kLanes, total[q]);
}

void columns_times_lanes(const double* x, Index n, int width, int d, const double* a, double* out) {
    for_columns(kLanes, [=]<class V>(int l) {
        int j = 0;
        for (; j + 8 <= d; j += 8) columns_times<V, 8>(x + j, n, width, a + l, out + j * kLanes + l);
        for (; j + 2 <= d; j += 2) columns_times<V, 2>(x + j, n, width, a + l, out + j * kLanes + l);
        for (; j < d; ++j) columns_times<V, 1>(x + j, n, width, a + l, out + j * kLanes + l);
    });
}

template <class V, int kRows>
inline void rows_times(const double* x, Index width, int d, const double* s, const double* intercept, double* out) {
    V total[kRows];
    for (int q = 0; q < kRows; ++q) total[q] = load<V>(intercept);
    for (int j = 0; j < d; ++j) {
        const V slope = load<V>(s + j * kLanes);
        for (int q = 0; q < kRows; ++q) total[q] += x[q * width + j] * slope;
    }
    for (int q = 0; q < kRows; ++q) store<V>(out + q * kLanes, total[q]);
}

void rows_times_lanes(const double* x, Index n, Index width, int d, const double* s, const double* intercept,
                      double* out) {
    for_columns(kLanes, [=]<class V>(int l) {
        Index i = 0;
        for (; i + 4 <= n; i += 4)
            rows_times<V, 4>(x + i * width, width, d, s + l, intercept + l, out + i * kLanes + l);
        for (; i < n; ++i) rows_times<V, 1>(x + i * width, width, d, s + l, intercept + l, out + i * kLanes + l);
    });
}

void substitute_lanes(const double* a, Index ld, int d, const double* inverse_pivots, double* b) {
    for_columns(kLanes, [=]<class V>(int l) {
        for (Index k = 0; k < d; ++k) {
            const V known = load<V>(b + k * kLanes + l) * inverse_pivots[k];
            for (Index j = k + 1; j < d; ++j) {
                double* at = b + j * kLanes + l;
                store<V>(at, load<V>(at) - a[k * ld + j] * known);
            }
            store<V>(b + k * kLanes + l, known);
        }
        for (Index k = d - 1; k >= 0; --k) {
            V rest{};
            for (Index j = k + 1; j < d; ++j) rest += a[k * ld + j] * load<V>(b + j * kLanes + l);
            double* at = b + k * kLanes + l;
            store<V>(at, load<V>(at) - rest * inverse_pivots[k]);
        }
    });
}

// Four unknowns at a time: the next one waits for a few numbers only, and the rest of b is loaded and stored once for
// all four.
template <class V>
inline void substitute_few_of(const double* a, Index ld, int d, const double* inverse_pivots, double* b) {
    const auto take = [=](Index at, const V(&known)[4], const double* factor, Index step) {
        V rest = load<V>(b + at * kFewLanes);
        for (int p = 0; p < 4; ++p) rest -= factor[p * step] * known[p];
        store<V>(b + at * kFewLanes, rest);
    };
    const Index whole = d / 4 * 4;
    for (Index k = 0; k < d; k += 4) {
        const int size = k < whole ? 4 : static_cast<int>(d - k);
        V own[4], known[4];
        for (int p = 0; p < size; ++p) {
            own[p] = load<V>(b + (k + p) * kFewLanes);
            for (int q = 0; q < p; ++q) own[p] -= a[(k + q) * ld + k + p] * known[q];
            known[p] = own[p] * inverse_pivots[k + p];
            store<V>(b + (k + p) * kFewLanes, own[p]);
        }
        for (Index j = k + 4; j < d; ++j) take(j, known, a + k * ld + j, ld);
    }
    for (Index k = d; k > whole; --k) {
        const V known = load<V>(b + (k - 1) * kFewLanes) * inverse_pivots[k - 1];
        store<V>(b + (k - 1) * kFewLanes, known);
        for (Index i = 0; i < k - 1; ++i) {
            double* at = b + i * kFewLanes;
            store<V>(at, load<V>(at) - a[i * ld + k - 1] * known);
        }
    }
    for (Index k = whole - 4; k >= 0; k -= 4) {
        V known[4];
        for (int p = 3; p >= 0; --p) {
            V own = load<V>(b + (k + p) * kFewLanes);
            for (int q = 3; q > p; --q) own -= a[(k + p) * ld + k + q] * known[q];
            known[p] = own * inverse_pivots[k + p];
            store<V>(b + (k + p) * kFewLanes, known[p]);
        }
        for (Index i = 0; i < k; ++i) take(i, known, a + i * ld + k, 1);
    }
}

void substitute_few(const double* a, Index ld, int d, const double* inverse_pivots, double* b) {
    for_columns(kFewLanes, [=]<class V>(int l) { substitute_few_of<V>(a, ld, d, inverse_pivots, b + l); });
}

// kVectors vectors of columns.
template <class V, int kVectors, int kOutputs>
inline void label_products_of(const double* x, Index n, Index width, const double* v, const double* z, Index stride,
                              double* out) {
    constexpr int kSize = Traits<V>::kSize;
    V total[kOutputs][kVectors] = {};
    for (Index i = 0; i < n; ++i)
        unrolled<0, kVectors>([&]<int q>() {
            const V weighted = v[i] * load<V>(x + i * width + q * kSize);
            unrolled<0, kOutputs>([&]<int c>() { total[c][q] += z[c * stride + i] * weighted; });
        });
    for (int c = 0; c < kOutputs; ++c)
        for (int q = 0; q < kVectors; ++q) store<V>(out + c * width + q * kSize, total[c][q]);
}

template <int kOutputs>
void label_products_with(const double* x, Index n, int width, const double* v, const double* z, Index stride,
                         double* out) {
    with_vector(width, [=]<class V>() {
        constexpr int kSize = Traits<V>::kSize, kMost = kSize == 8 ? 4 : 2;  // that registers are enough for
        const int n_vectors = width / kSize;
        for (int j = 0; j < n_vectors;) {
            const auto run = [&]<int kVectors>() {
                label_products_of<V, kVectors, kOutputs>(x + j * kSize, n, width, v, z, stride, out + j * kSize);
                j += kVectors;
            };
            if (kMost == 4 && n_vectors - j >= 4)
                run.template operator()<kMost>();
            else if (kMost == 4 && n_vectors - j == 3)
                run.template operator()<kMost == 4 ? 3 : 1>();
            else if (n_vectors - j >= 2)
                run.template operator()<2>();
            else
                run.template operator()<1>();
        }
    });
}

void label_products(const double* x, Index n, int width, const double* v, const double* z, Index stride, int n_outputs,
                    double* out) {
    (n_outputs == 2   ? label_products_with<2>
     : n_outputs == 3 ? label_products_with<3>
     : n_outputs == 4 ? label_products_with<4>
                      : label_products_with<1>)(x, n, width, v, z, stride, out);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
