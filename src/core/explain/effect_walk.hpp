// Rows that go down a tree together, each with all values of a grid of one number that lead the same way.
//
// Which values of an ascending grid lead to a node does not depend on the row: a node has one range of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../base/buffer.hpp"
#include "../kernels/kernels.hpp"
#include "effects.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

// The values begin … end - 1 of a grid.
struct GridRange {
    std::int32_t begin, end;

    // A place that is not in front of them, nor beyond their end.
    std::int32_t place(std::int32_t at) const { return std::min(std::max(at, begin), end); }
};

// e^-(a + b) as a product of powers: b goes no further than this, so that the product of four does not overflow, and a
// counts as no further than kBeyond from there, where sigmoids are 0 or 1 to rounding.
constexpr double kMostReach = 40, kBeyond = 60;

class EffectWalk {
   public:
    // The values of the grid ascend. row_weights null: rows have no weights.
    EffectWalk(const Grid& grid, const PreparedRows& rows, const double* row_weights);

    // Calls at_node(node, rows, n, range) for all nodes that n rows from `first` on get to, those above first, and
    // at_end(rows, n, range) where a range ends: at leaves, and before a split of it.
    template <class AtNode, class AtEnd>
    void walk(const TreeView& tree, std::int64_t first, std::int64_t n, AtNode at_node, AtEnd at_end) {
        std::int32_t* all = list_.get(n);
        std::iota(all, all + n, static_cast<std::int32_t>(first));
        visit(tree, 0, all, n, {0, static_cast<std::int32_t>(grid_.n())}, at_node, at_end);
    }

    // Weights of n rows, one after another; what lies behind them is 0, up to a vector.
    const double* weights(const std::int32_t* rows, std::int64_t n);
    double weight(std::int32_t row) const { return row_weights_[row]; }
    double total_weight(const std::int32_t* rows, std::int64_t n);

   private:
    template <class AtNode, class AtEnd>
    void visit(const TreeView& tree, std::int32_t node, std::int32_t* rows, std::int64_t n, GridRange range,
               AtNode& at_node, AtEnd& at_end) {
        if (n == 0 || range.begin == range.end) return;
        at_node(node, rows, n, range);
        const std::int32_t feature = tree.feature[node], left = tree.left[node];
        if (feature < 0) return at_end(rows, n, range);
        if (!grid_.replaces(feature)) {
            const std::int64_t n_left = part(tree, node, rows, n);
            visit(tree, left, rows, n_left, range, at_node, at_end);
            visit(tree, left + 1, rows + n_left, n - n_left, range, at_node, at_end);
            return;
        }
        const std::int32_t cut = range.place(grid_.first_above(tree.threshold[node]));
        if (range.begin < cut && cut < range.end) at_end(rows, n, range);
        visit(tree, left, rows, n, {range.begin, cut}, at_node, at_end);  // which may put the rows in another order
        visit(tree, left + 1, rows, n, {cut, range.end}, at_node, at_end);
    }

    // Puts the rows that go left first; returns how many there are.
    std::int64_t part(const TreeView& tree, std::int32_t node, std::int32_t* rows, std::int64_t n);

    const Grid& grid_;
    const PreparedRows& rows_;
    const double* row_weights_;
    bool equal_weights_, has_missing_;
    Buffer<std::int32_t> list_, scratch_;
    Buffer<std::uint8_t> left_;
    Buffer<double> weights_;
};

}  // namespace boostforest
