// Explanations: differences between rows under a linear model, and sums over coalitions of columns. Part of all.cpp:
// compiled once per instruction set, so no standard library here.
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
                                                 : widen_all<Half>;
    all(from, start, n, out);
}

template <class V>
inline V above_zero(V v) {
    return v > 0 ? v : V{};
}

Index clipped_rows(const double* slopes, const double* lost, const double* x, const double* z, const std::int32_t* rows,
                   Index n, int width, double at_x, double lower, double upper, double* differences, double* start,
                   std::int32_t* open, double* sums, double& total) {
    return with_vector(width, [&]<class V>() {
        constexpr int kSize = Traits<V>::kSize;
        Index n_open = 0;
        for (Index i = 0; i < n; ++i) {
            const double* other = z + rows[i] * Index{width};
            double* own = differences + n_open * width;
            V rises{}, all{}, gone{};
            for (int j = 0; j < width; j += kSize) {
                const V step = load<V>(x + j) - load<V>(other + j);
                const V difference = load<V>(slopes + j) * step;
                store<V>(own + j, difference);
                rises += above_zero<V>(difference);
                all += difference;
                gone += load<V>(lost + j) * step;
            }
            const double rise = sum(rises), whole = sum(all), here = at_x - whole - sum(gone);
            const double most = here + rise, least = at_x - sum(gone) - rise;
            if (least >= lower && most <= upper) {
                total += here;
                for (int j = 0; j < width; j += kSize) store<V>(sums + j, load<V>(sums + j) + load<V>(own + j));
            } else if (most <= lower || least >= upper) {
                total += most <= lower ? lower : upper;
            } else {
                start[n_open] = here;
                open[n_open++] = rows[i];
            }
        }
        return n_open;
    });
}

void coalition_scores(double start, const double* differences, int n, double lower, double upper, double* out) {
    out[0] = start;
    int j = 0;
    for (; j < n && (Index{1} << j) < kVec; ++j)
        for (Index s = 0; s < Index{1} << j; ++s) out[(Index{1} << j) + s] = out[s] + differences[j];
    for (; j < n; ++j) {
        const Index half = Index{1} << j;
        for (Index s = 0; s < half; s += kVec) store<Vec>(out + half + s, load<Vec>(out + s) + differences[j]);
    }
    const Vec low = splat<Vec>(lower), high = splat<Vec>(upper);
    for (Index s = 0; s < Index{1} << n; s += kVec) {  // whole vectors: what lies behind is rubbish
        const Vec value = load<Vec>(out + s), above = value < low ? low : value;
        store<Vec>(out + s, above > high ? high : above);
    }
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
