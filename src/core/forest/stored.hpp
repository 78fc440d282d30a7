// How a forest keeps its coefficients (parameters and clip ranges) once its trees are grown: as computed, or rounded to
// fewer digits. Growth and prediction compute in double precision.
#pragma once

#include <cstddef>
#include <cstdint>

namespace boostforest {

enum class Stored : std::uint8_t { kDouble, kSingle, kHalf };

// A number of half precision (IEEE 754 binary16), as it lies in memory.
struct Half {
    std::uint16_t bits;
};

constexpr std::size_t stored_bytes(Stored stored) {
    return stored == Stored::kDouble ? sizeof(double) : stored == Stored::kSingle ? sizeof(float) : sizeof(Half);
}

}  // namespace boostforest
