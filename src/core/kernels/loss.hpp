// Exponentials, probabilities, and one boosting step of each loss. Part of all.cpp: compiled once per instruction
// set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Σ c[k] x^k, neighbours first (Estrin): nodes are small, so the time is that of the longest chain, not of all steps.
template <int kTerms>
[[gnu::always_inline]] inline Vec polynomial(const double (&c)[kTerms], Vec x) {
    Vec part[(kTerms + 1) / 2];
    for (int k = 0; k < kTerms; k += 2) part[k / 2] = k + 1 < kTerms ? c[k] + c[k + 1] * x : splat<Vec>(c[k]);
    Vec power = x;
    for (int n = (kTerms + 1) / 2; n > 1; n = (n + 1) / 2) {
        power = power * power;
        for (int k = 0; k < n; k += 2) part[k / 2] = k + 1 < n ? part[k] + part[k + 1] * power : part[k];
    }
    return part[0];
}

// e^x to about one unit in the last place: x = k ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r, times 2^k.
[[gnu::always_inline]] inline Vec exp_of(Vec x) {
    const Vec lowest = splat<Vec>(-708.0), highest = splat<Vec>(709.0);  // as vectors: one instruction each
    x = lowest > x ? lowest : x;
    x = highest < x ? highest : x;
    const double kShift = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits
    const Vec shifted = x * 1.4426950408889634 + kShift;
    const Vec k = shifted - kShift;
    const Vec r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    const double kInverseFactorial[] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    const Vec p = polynomial(kInverseFactorial, r);
    VecMask bits;
    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the shift's own bits fall out at the top
    Vec power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

// 2 artanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.1716, by its Taylor series.
[[gnu::always_inline]] inline Vec log_ratio(Vec s) {
    const Vec q = s * s;
    const double kOdd[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                           1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    return 2 * s * polynomial(kOdd, q);
}

// log(1 + e) for e in [0, 1], halved first where 1 + e > √2.
[[gnu::always_inline]] inline Vec log1p_of(Vec e) {
    const auto large = e > 0.41421356237309503;
    const Vec s = (large ? e - 1 : e) / (e + (large ? splat<Vec>(3) : splat<Vec>(2)));
    return log_ratio(s) + (large ? splat<Vec>(0.6931471805599453) : Vec{});
}

// log x for normal x > 0: x = 2^k m with m in [√½, √2], log m = 2 artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline Vec log_of(Vec x) {
    VecMask bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const VecMask k = (bits - 0x3FE6A09E667F3BCDLL) >> 52;  // the constant is √½: k is 0 for m in that range
    bits -= k << 52;
    Vec m;
    __builtin_memcpy(&m, &bits, sizeof m);
    return log_ratio((m - 1) / (m + 1)) + 0.6931471805599453 * __builtin_convertvector(k, Vec);
}

inline Vec sigmoid_of(Vec f) {
    const Vec e = exp_of(-magnitude(f));  // e^{-|f|} cannot overflow
    return (f < 0 ? e : splat<Vec>(1)) / (1 + e);
}

void weighted_sums(const double* v, const double* z, Index n, double& sum_v, double& sum_vz) {
    EightLanes a{}, b{};
    for_lanes(n, [&]<int k>(Index i) {
        const VecMask here = first(n - i);
        const Vec weight = here ? load<Vec>(v + i) : Vec{};
        a.part[k] += weight;
        b.part[k] += here ? weight * load<Vec>(z + i) : Vec{};
    });
    sum_v = sum(a);
    sum_vz = sum(b);
}

double sum_of(const double* v, Index n) {
    EightLanes total{};
    for_lanes(n, [&]<int k>(Index i) { total.part[k] += first(n - i) ? load<Vec>(v + i) : Vec{}; });
    return sum(total);
}

void residual_statistics(const double* w, const double* r, Index n, double* wg) {
    for (Index i = 0; i < n; i += kVec) store(wg + i, -load<Vec>(w + i) * load<Vec>(r + i));
}

void sums_of(const double* const* values, int count, Index n, double* out) {
    int q = 0;
    for (; q + 2 <= count; q += 2) {
        EightLanes a{}, b{};
        for_lanes(n, [&]<int k>(Index i) {
            const VecMask here = first(n - i);
            a.part[k] += here ? load<Vec>(values[q] + i) : Vec{};
            b.part[k] += here ? load<Vec>(values[q + 1] + i) : Vec{};
        });
        out[q] = sum(a);
        out[q + 1] = sum(b);
    }
    if (q < count) out[q] = sum_of(values[q], n);
}

// Products are rounded before they are added up, as where this is not compiled for vectors.
template <class V>
inline void centre_outputs_at(double* values, Index stride, int n_outputs, double share) {
    const auto get = [=](int c) {
        if constexpr (sizeof(V) == sizeof(double))
            return values[c * stride];
        else
            return load<V>(values + c * stride);
    };
    V mean{};
    for (int c = 0; c < n_outputs; ++c) mean += rounded(get(c) * share);
    for (int c = 0; c < n_outputs; ++c) {
        const V centred = (1 - share) * (get(c) - mean);
        if constexpr (sizeof(V) == sizeof(double))
            values[c * stride] = centred;
        else
            store<V>(values + c * stride, centred);
    }
}

void centre_outputs(double* values, Index n, Index stride, int n_outputs, double share) {
    Index i = 0;
    for (; i + kVec <= n; i += kVec) centre_outputs_at<Vec>(values + i, stride, n_outputs, share);
    for (; i < n; ++i) centre_outputs_at<double>(values + i, stride, n_outputs, share);
}

void value_range(const double* z, Index n, double& lower, double& upper) {
    const Vec one = splat<Vec>(z[0]);
    Vec lo = one, hi = one;
    for (Index i = 0; i < n; i += kVec) {
        const Vec value = first(n - i) ? load<Vec>(z + i) : one;
        lo = value < lo ? value : lo;
        hi = value > hi ? value : hi;
    }
    lower = smallest(lo);
    upper = largest(hi);
}

void exponential(const double* x, Index n, double* out) {
    for (Index i = 0; i < n; i += kVec) store(out + i, exp_of(load<Vec>(x + i)));
}

void logarithm(const double* x, Index n, double* out) {
    // What lies behind the end may be anything: the logarithm of a negative number overflows.
    for (Index i = 0; i < n; i += kVec) store(out + i, log_of(first(n - i) ? load<Vec>(x + i) : splat<Vec>(1)));
}

void sigmoid(const double* f, Index n, double* p) {
    for (Index i = 0; i < n; i += kVec) store(p + i, sigmoid_of(load<Vec>(f + i)));
}

// Largest score of some rows.
inline Vec largest_score(const double* f, Index stride, int n_classes) {
    Vec top = load<Vec>(f);
    for (int c = 1; c < n_classes; ++c) {
        const Vec value = load<Vec>(f + c * stride);
        top = value > top ? value : top;
    }
    return top;
}

void softmax(const double* f, Index stride, Index n, int n_classes, double* p, Index p_stride) {
    for (Index i = 0; i < n; i += kVec) {
        const Vec top = largest_score(f + i, stride, n_classes);
        Vec total{};
        for (int c = 0; c < n_classes; ++c) {
            const Vec e = exp_of(load<Vec>(f + c * stride + i) - top);
            total += e;
            store(p + c * p_stride + i, e);
        }
        const Vec inverse = 1 / total;
        for (int c = 0; c < n_classes; ++c) store(p + c * p_stride + i, load<Vec>(p + c * p_stride + i) * inverse);
    }
}

void class_statistics(const double* p, const double* y, double label, const double* w, Index n, double* wg,
                      double* wh) {
    for (Index i = 0; i < n; i += kVec) {
        const Vec q = load<Vec>(p + i), weight = load<Vec>(w + i);
        const Vec truth = load<Vec>(y + i) == label ? splat<Vec>(1) : Vec{};
        store(wg + i, weight * (q - truth));
        store(wh + i, weight * (q * (1 - q)));
    }
}

void class_pseudo_labels(const double* p, const double* y, double label, const double* w, Index n, double* z,
                         double* v) {
    const double kLargest = 4, kSmallestWeight = 2 * 2.220446049250313e-16;
    for (Index i = 0; i < n; i += kVec) {
        const Vec q = load<Vec>(p + i), h = q * (1 - q);
        const Vec error = (load<Vec>(y + i) == label ? splat<Vec>(1) : Vec{}) - q;
        // h = 0 only where p has rounded to 0 or 1: the ratio would be ±inf, or 0/0 where the label agrees.
        Vec ratio = h > 0 ? error / h : error * kLargest;
        ratio = ratio > kLargest ? splat<Vec>(kLargest) : ratio;
        store(z + i, ratio < -kLargest ? splat<Vec>(-kLargest) : ratio);
        store(v + i, load<Vec>(w + i) * (h > kSmallestWeight ? h : splat<Vec>(kSmallestWeight)));
    }
}

void shared_pseudo_labels(const double* p, Index stride, int n_classes, const double* y, const double* w, Index n,
                          double* z, Index z_stride, double* v) {
    const double kLargest = 4, kSmallestWeight = 2 * 2.220446049250313e-16;
    for (Index i = 0; i < n; i += kVec) {
        Vec h{};
        for (int c = 0; c < n_classes; ++c) {
            const Vec q = load<Vec>(p + c * stride + i), own = q * (1 - q);
            h = own > h ? own : h;
        }
        h = h > kSmallestWeight ? h : splat<Vec>(kSmallestWeight);
        store(v + i, load<Vec>(w + i) * h);
        const Vec inverse = 1 / h, label = load<Vec>(y + i);
        for (int c = 0; c < n_classes; ++c) {
            const Vec truth = label == static_cast<double>(c) ? splat<Vec>(1) : Vec{};
            Vec ratio = (truth - load<Vec>(p + c * stride + i)) * inverse;
            ratio = ratio > kLargest ? splat<Vec>(kLargest) : ratio;
            store(z + c * z_stride + i, ratio < -kLargest ? splat<Vec>(-kLargest) : ratio);
        }
    }
}

double step_residual(const double* fitted, Index n, double lower, double upper, const double* w, double* r) {
    EightLanes loss{};
    for_lanes(n, [&]<int k>(Index i) {
        Vec step = load<Vec>(fitted + i);
        step = step < lower ? splat<Vec>(lower) : step;
        step = step > upper ? splat<Vec>(upper) : step;
        const Vec rest = load<Vec>(r + i) - step;
        store_first(r + i, rest, n - i);
        loss.part[k] += first(n - i) ? load<Vec>(w + i) * rest * rest : Vec{};
    });
    return sum(loss);
}

template <bool kKeeps>
double logistic_loss(const double* fitted, Index n, const double* y, const double* w, double* f, double* p) {
    EightLanes loss{};
    for_lanes(n, [&]<int k>(Index i) {
        const Vec value = load<Vec>(f + i) + load<Vec>(fitted + i);
        const Vec e = exp_of(-magnitude(value));
        if constexpr (kKeeps) {
            store_first(f + i, value, n - i);
            store_first(p + i, (value < 0 ? e : splat<Vec>(1)) / (1 + e), n - i);
        }
        // log(1 + e^f) = log(1 + e^{-|f|}) + max(f, 0)
        const Vec each = log1p_of(e) + (value > 0 ? value : Vec{}) - load<Vec>(y + i) * value;
        loss.part[k] += first(n - i) ? load<Vec>(w + i) * each : Vec{};
    });
    return sum(loss);
}

double step_logistic(const double* fitted, Index n, const double* y, const double* w, double* f, double* p) {
    return (p == nullptr ? logistic_loss<false> : logistic_loss<true>)(fitted, n, y, w, f, p);
}

template <bool kKeeps>
double softmax_loss(const double* fitted, Index fitted_stride, Index n, int n_classes, const double* y, const double* w,
                    double* f, double* p, Index stride) {
    EightLanes loss{};
    for_lanes(n, [&]<int k>(Index i) {
        const Index left = n - i;
        const auto step = [=](int c) {
            return load<Vec>(f + c * stride + i) + load<Vec>(fitted + c * fitted_stride + i);
        };
        Vec top = splat<Vec>(-__builtin_inf());
        for (int c = 0; c < n_classes; ++c) {
            const Vec value = step(c);
            if constexpr (kKeeps) store_first(f + c * stride + i, value, left);
            top = value > top ? value : top;
        }
        const Vec label = load<Vec>(y + i);
        Vec total{}, own{};
        for (int c = 0; c < n_classes; ++c) {
            const Vec value = (kKeeps ? load<Vec>(f + c * stride + i) : step(c)) - top;
            const Vec e = exp_of(value);
            total += e;
            own += label == static_cast<double>(c) ? value : Vec{};
            if constexpr (kKeeps) store_first(p + c * stride + i, e, left);
        }
        if constexpr (kKeeps) {
            const Vec inverse = 1 / total;
            for (int c = 0; c < n_classes; ++c)
                store_first(p + c * stride + i, load<Vec>(p + c * stride + i) * inverse, left);
        }
        loss.part[k] += first(left) ? load<Vec>(w + i) * (log_of(total) - own) : Vec{};
    });
    return sum(loss);
}

double step_softmax(const double* fitted, Index fitted_stride, Index n, int n_classes, const double* y, const double* w,
                    double* f, double* p, Index stride) {
    return (p == nullptr ? softmax_loss<false> : softmax_loss<true>)(fitted, fitted_stride, n, n_classes, y, w, f, p,
                                                                     stride);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
