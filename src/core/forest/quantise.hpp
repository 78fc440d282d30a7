// Parameters of eight bits. One output of a node's model (its intercept and slopes) has whole numbers from -127 to 127
// and a power of two that they are multiples of. Features have unit variance, so all parameters of a tree matter alike:
// its models share the power that half of them fit into, and only those that are too large for it have larger ones.
#pragma once

#include <cstdint>

#include "stored.hpp"

namespace boostforest {

constexpr std::int8_t kNoExponent = 127;  // of parameters that are not finite, and that no other ones need

// The parameters of a tree: `n_values`, each output of a model a group of `group` of them. Writes a whole number for
// each value and an exponent for each group.
void quantise(const float* values, std::int64_t n_values, int group, Byte* numbers, std::int8_t* exponents);

}  // namespace boostforest
