// Units of a hidden layer. Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "loss.hpp"
#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Rows that go through the layer together: the steps of one would wait for each other.
constexpr Index kHiddenRows = 4;

void hidden_units(const double* x, const std::int32_t* rows, Index n, int width, int d, const double* layer,
                  int n_units, double* out) {
    const Index units_width = (n_units + 7) / 8 * 8;
    for (Index i = 0; i < n; i += kHiddenRows) {
        Index number[kHiddenRows];  // fewer rows are filled up with the last one: every row takes the same steps
        for (Index r = 0; r < kHiddenRows; ++r) {
            const Index at = i + r < n ? i + r : n - 1;
            number[r] = rows == nullptr ? at : rows[at];
        }
        for (Index k = 0; k < units_width; k += kVec) {
            Vec f[kHiddenRows];
            for (Vec& value : f) value = load<Vec>(layer + k);
            for (Index j = 0; j < d; ++j) {
                const Vec weight = load<Vec>(layer + (1 + j) * units_width + k);
                for (Index r = 0; r < kHiddenRows; ++r) f[r] += x[number[r] * width + j] * weight;
            }
            const VecMask real = first(n_units - k);
            for (Vec& value : f) value = real ? sigmoid_of(value) : Vec{};
            for (Index r = 0; r < kHiddenRows; ++r) store(out + number[r] * units_width + k, f[r]);
        }
    }
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
