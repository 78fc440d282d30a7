// How a forest keeps its coefficients (parameters and clip ranges) once its trees are grown: as computed, or rounded to
// fewer digits. Growth and prediction compute in double precision.
#pragma once

#include <cstddef>
#include <cstdint>

namespace boostforest {

enum class Stored : std::uint8_t { kDouble, kSingle, kHalf, kByte };

// A number of half precision (IEEE 754 binary16), as it lies in memory.
struct Half {
    std::uint16_t bits;
};

// A parameter of eight bits: a whole number from -127 to 127, in units that its model has for each output
// (quantise.hpp).
using Byte = std::int8_t;

// What clip ranges are kept in where parameters are of type C: they have no units.
template <class C>
struct ClipRange {
    using Type = C;
};
template <>
struct ClipRange<Byte> {
    using Type = Half;
};

constexpr std::size_t stored_bytes(Stored stored) {
    return stored == Stored::kDouble   ? sizeof(double)
           : stored == Stored::kSingle ? sizeof(float)
           : stored == Stored::kHalf   ? sizeof(Half)
                                       : sizeof(Byte);
}

constexpr std::size_t clip_range_bytes(Stored stored) {
    return stored == Stored::kByte ? sizeof(Half) : stored_bytes(stored);
}

}  // namespace boostforest
