#include "structure.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace boostforest {

namespace {

void require(bool condition) {
    if (!condition) throw std::invalid_argument("damaged model: the nodes do not make trees");
}

// Calls visit(node, n) for the n-th node of a tree; it returns the left child, 0 for a leaf.
template <class Visit>
void walk(std::int64_t n_nodes, std::vector<std::int64_t>& open, Visit visit) {
    open.assign(1, 0);
    for (std::int64_t n = 0; n < n_nodes; ++n) {
        require(!open.empty());
        const std::int64_t node = open.back();
        open.pop_back();
        const std::int64_t left = visit(node, n);
        if (left == 0) continue;
        require(left > node && left + 1 < n_nodes);
        open.push_back(left + 1);
        open.push_back(left);
    }
    require(open.empty());
}

// Calls visit(node, left child) for all nodes that are split, parents before children.
template <class Visit>
void for_each_split(std::span<const std::int64_t> tree_start, const std::int32_t* left, Visit visit) {
    for (std::size_t t = 0; t + 1 < tree_start.size(); ++t) {
        const std::int64_t begin = tree_start[t], n_nodes = tree_start[t + 1] - begin;
        for (std::int64_t node = 0; node < n_nodes; ++node) {
            const std::int64_t child = left[begin + node];
            if (child == 0) continue;
            require(child > node && child + 1 < n_nodes);
            visit(begin + node, begin + child);
        }
    }
}

}  // namespace

void depth_first(std::span<const std::int64_t> tree_start, const std::int32_t* left, std::int64_t* order) {
    std::vector<std::int64_t> open;
    std::vector<char> is_seen;
    for (std::size_t t = 0; t + 1 < tree_start.size(); ++t) {
        const std::int64_t begin = tree_start[t], n_nodes = tree_start[t + 1] - begin;
        is_seen.assign(n_nodes, 0);
        walk(n_nodes, open, [&](std::int64_t node, std::int64_t n) {
            require(is_seen[node] == 0);
            is_seen[node] = 1;
            order[begin + n] = node;
            return std::int64_t{left[begin + node]};
        });
    }
}

void grown_depth_first(std::span<const std::int64_t> tree_start, const std::uint8_t* is_split, std::int32_t* left) {
    std::vector<std::int64_t> open;
    for (std::size_t t = 0; t + 1 < tree_start.size(); ++t) {
        const std::int64_t begin = tree_start[t];
        std::int64_t next = 1;
        walk(tree_start[t + 1] - begin, open, [&](std::int64_t node, std::int64_t n) {
            const std::int64_t child = is_split[begin + n] != 0 ? next : 0;
            next += child == 0 ? 0 : 2;
            left[begin + node] = static_cast<std::int32_t>(child);
            return child;
        });
    }
}

void node_depths(std::span<const std::int64_t> tree_start, const std::int32_t* left, std::int32_t* depth) {
    std::fill_n(depth, tree_start.back(), 0);
    for_each_split(tree_start, left,
                   [&](std::int64_t node, std::int64_t child) { depth[child] = depth[child + 1] = depth[node] + 1; });
}

void complete_weights(std::span<const std::int64_t> tree_start, const std::int32_t* left, float* weight) {
    for_each_split(tree_start, left,
                   [&](std::int64_t node, std::int64_t child) { weight[child + 1] = weight[node] - weight[child]; });
}

}  // namespace boostforest
