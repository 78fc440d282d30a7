// The shape of trees as one bit per node: whether it is split, in the order in which trees are grown (depth first, left
// before right).
#pragma once

#include <cstdint>
#include <span>

namespace boostforest {

// The nodes of all trees, each tree depth first and counted from its root. Throws std::invalid_argument unless every
// node but the roots is the child of one node before it.
void depth_first(std::span<const std::int64_t> tree_start, const std::int32_t* left, std::int64_t* order);

// `left` of trees that were grown depth first: 0 for a leaf. is_split has a value per node, in that order. Throws if
// they do not make trees.
void grown_depth_first(std::span<const std::int64_t> tree_start, const std::uint8_t* is_split, std::int32_t* left);

// The depth of every node, 0 for roots. Throws unless children come after their parents, within their tree.
void node_depths(std::span<const std::int64_t> tree_start, const std::int32_t* left, std::int32_t* depth);

// Fills in the weights of right children: what the left ones leave of their parents. left as node_depths accepts it.
void complete_weights(std::span<const std::int64_t> tree_start, const std::int32_t* left, float* weight);

}  // namespace boostforest
