// Parameters of eight bits. One output of a node's model (its intercept and slopes) has whole numbers from -127 to 127
// and a power of two that they are multiples of. Features have unit variance, so all parameters of a tree matter alike:
// its models share a power of two, and only those that are too large for it have larger ones. It is what half of the
// models fit into, or nine in ten where scores are sums of models: what is lost in a sum depends on its largest unit.
// Constants share a larger one: all of them, unless the largest is far from the others.
#pragma once

#include <cstdint>
#include <span>

#include "stored.hpp"

namespace boostforest {

constexpr int kLeastExponent = -126;      // what is smaller is nothing
constexpr int kMostExponent = 120;        // that is shared
constexpr std::int8_t kNoExponent = 127;  // of parameters that are not finite, and that no other ones need

// The parameters of a tree: `n_values`, each output of a model a group of `group` of them. Writes a whole number for
// each value and an exponent for each group, none below `at_least`. `left` has the
// left child of every node (0: none; children come after their parent and next to each other) where a score is the sum
// of the models on a path, of all nodes but a root that is split; otherwise it is empty. What is lost at a node its
// children make up for, so that a sum is off by what is lost at its leaf alone.
void quantise(const float* values, std::int64_t n_values, int group, std::span<const std::int32_t> left, int at_least,
              Byte* numbers, std::int8_t* exponents);

// The nearest number of half precision, ties to even; infinite from half a unit above 65504, the largest, on.
Half to_half(double value);

}  // namespace boostforest
