// Exponentials, probabilities, and one boosting step of each loss. Part of kernels.cpp: compiled once per instruction
// set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Σ c[k] x^k, neighbours first (Estrin): nodes are small, so the time is that of the longest chain, not of all steps.
template <int kTerms>
[[gnu::always_inline]] inline V8 polynomial(const double (&c)[kTerms], V8 x) {
    V8 part[(kTerms + 1) / 2];
    for (int k = 0; k < kTerms; k += 2) part[k / 2] = k + 1 < kTerms ? c[k] + c[k + 1] * x : splat<V8>(c[k]);
    V8 power = x;
    for (int n = (kTerms + 1) / 2; n > 1; n = (n + 1) / 2) {
        power = power * power;
        for (int k = 0; k < n; k += 2) part[k / 2] = k + 1 < n ? part[k] + part[k + 1] * power : part[k];
    }
    return part[0];
}

// e^x to about one unit in the last place: x = k ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r, times 2^k.
[[gnu::always_inline]] inline V8 exp8(V8 x) {
    x = x < -708.0 ? splat<V8>(-708.0) : x;
    x = x > 709.0 ? splat<V8>(709.0) : x;
    const double kShift = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits
    const V8 shifted = x * 1.4426950408889634 + kShift;
    const V8 k = shifted - kShift;
    const V8 r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    const double kInverseFactorial[] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    const V8 p = polynomial(kInverseFactorial, r);
    I8 bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the shift's own bits fall out at the top
    V8 power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

// 2 artanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.1716, by its Taylor series.
[[gnu::always_inline]] inline V8 log_ratio(V8 s) {
    const V8 q = s * s;
    const double kOdd[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                           1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    return 2 * s * polynomial(kOdd, q);
}

// log(1 + e) for e in [0, 1], halved first where 1 + e > √2.
[[gnu::always_inline]] inline V8 log1p8(V8 e) {
    const auto large = e > 0.41421356237309503;
    const V8 s = large ? (e - 1) / (e + 3) : e / (e + 2);
    return log_ratio(s) + (large ? splat<V8>(0.6931471805599453) : V8{});
}

// log x for normal x > 0: x = 2^k m with m in [√½, √2], log m = 2 artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline V8 log8(V8 x) {
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
        lo = (here & (value < lo)) ? value : lo;
        hi = (here & (value > hi)) ? value : hi;
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

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
