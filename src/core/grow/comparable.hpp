// Gains and losses of which the largest is taken.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace boostforest {

constexpr double kNoDifference = 1e-12;  // part of the terms of a difference below which it is rounding

// A number to 20 bits, about six digits. Candidates that are worth the same, such as thresholds that part the rows in
// the same halves, differ in their last bits, and those differ between processors: here they are equal, and the first
// one is taken. comparable in kernels/split.hpp, _gpu/splits.py and nodes.cu are the same.
inline double comparable(double value) {
    constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
    const std::uint64_t nearest = std::bit_cast<std::uint64_t>(value) + kHalf;
    return std::bit_cast<double>(nearest & ~(2 * kHalf - 1));
}

// The same of a difference between terms of the given size.
inline double comparable(double difference, double size) {
    return std::abs(difference) <= kNoDifference * size ? 0.0 : comparable(difference);
}

}  // namespace boostforest
