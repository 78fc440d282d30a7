// LogitBoost with simple regressions: responses, and the sums for regressing them on every column. Part of all.cpp:
// compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

void logit_responses(const double* rest, const double* p, const double* y, double label, const double* w, Index n,
                     double* v, double* vz) {
    const double kSmallest = 1.0 / 3;  // 1 / the largest response
    for (Index i = 0; i < n; i += kVec) {
        const auto own = load<Vec>(y + i) == label;
        const Vec miss = own ? load<Vec>(rest + i) : load<Vec>(p + i), hit = 1 - miss;
        const Vec error = load<Vec>(w + i) * miss;
        store(v + i, error * (hit > kSmallest ? hit : splat<Vec>(kSmallest)));
        store(vz + i, own ? error : -error);
    }
}

template <int kColumns>
inline void regression_block(const double* x, Index stride, Index n, const double* v, const double* vz, double* sums) {
    EightLanes vx[kColumns] = {}, vxx[kColumns] = {}, vzx[kColumns] = {};
    for (Index i = 0; i < n; i += 8) {
        const EightLanes weight = load_lanes<EightLanes>(v + i), product = load_lanes<EightLanes>(vz + i);
        for (int k = 0; k < kColumns; ++k) {
            const EightLanes value = load_lanes<EightLanes>(x + k * stride + i), weighted = weight * value;
            vx[k] += weighted;
            vxx[k] += weighted * value;
            vzx[k] += product * value;
        }
    }
    for (int k = 0; k < kColumns; ++k) {
        sums[3 * k] = sum(vx[k]);
        sums[3 * k + 1] = sum(vxx[k]);
        sums[3 * k + 2] = sum(vzx[k]);
    }
}

void regression_sums(const double* x, Index stride, Index n, int d, const double* v, const double* vz, double* sums) {
    constexpr int kColumns = kProductRows;  // three sums each: as many columns as leave them in registers
    int j = 0;
    for (; j + kColumns <= d; j += kColumns) regression_block<kColumns>(x + j * stride, stride, n, v, vz, sums + 3 * j);
    for (; j < d; ++j) regression_block<1>(x + j * stride, stride, n, v, vz, sums + 3 * j);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
