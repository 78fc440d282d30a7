// Parameters of eight bits (forest/quantise.hpp) as an entropy-coded stream.
//
// Models that are the sums of those on a path differ little from leaf to leaf: they are coded as differences from the
// one before, in its place of the order that is given. What a parameter or difference is likely to be says how large
// those before it were: in the same place of the models before, and in this model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../forest/stored.hpp"

namespace boostforest {

// The trees of a forest, as far as their parameters go.
struct ModelShapes {
    std::span<const std::int64_t> n_models;  // per tree
    std::span<const std::int64_t> group;     // per tree: parameters of an output
    int n_outputs;
    std::span<const std::int64_t> order;    // of all models of the forest: tree by tree, numbers of the tree's models
    std::span<const std::int8_t> exponent;  // per model and output
    bool differences;                       // from the model before
};

std::vector<std::uint8_t> encode_models(const ModelShapes& shapes, const Byte* params);

// Throws std::invalid_argument if the stream does not fit; params has room for all.
void decode_models(const ModelShapes& shapes, std::span<const std::uint8_t> stream, Byte* params);

}  // namespace boostforest
