// Effects of one number on trees whose models are lines, clipped or not: over the values of a grid, in ascending order,
// what a tree gives for a row is a few lines one after another.
//
// Rows go down a tree together, so that a node's model is read once, and its threshold is looked up on the grid once.
// Only the ends of lines are written down; what they add up to is found in the end, for all trees at once.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "effects.hpp"
#include "node_models.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

class EffectLines {
   public:
    // The values of the grid ascend; trees have one output. row_weights null: each row has its own lines; else they are
    // added up with these weights.
    EffectLines(const Grid& grid, const PreparedRows& rows, const double* row_weights);

    // Adds weight times the output of a tree for all rows.
    void add_tree(const TreeView& tree, Link link, double weight);

    // Adds what was added up to rows × grid values, or to the grid values of all rows together.
    void give(double* out) const;

   private:
    // The values of the grid that lead a row to a node, begin … end - 1: one word, as it is written is how it is read.
    struct Range {
        Range(std::int32_t begin, std::int32_t end)
            : word(static_cast<std::uint32_t>(begin) | static_cast<std::uint64_t>(end) << 32) {}
        std::int32_t begin() const { return static_cast<std::int32_t>(word & 0xffffffffU); }
        std::int32_t end() const { return static_cast<std::int32_t>(word >> 32); }
        std::uint64_t word;
    };
    // What begins at a value: how much more constant and slope are from there on.
    struct Change {
        double constant, slope;
    };

    void make_room(std::int64_t n);
    void visit(std::int32_t node, std::int64_t first, std::int64_t n);
    void add_models(std::int64_t first, std::int64_t n);
    void add_clipped(std::int32_t row, Range range, double start, double slope);
    void change(std::int32_t row, std::int32_t value, double constant, double slope);
    void part(std::int32_t node, std::int64_t first, std::int64_t n, std::int64_t left, std::int64_t right,
              std::int64_t& n_left, std::int64_t& n_right);
    std::int32_t first_above(Range among, double bound) const;

    const Grid& grid_;
    const PreparedRows& rows_;
    const double* row_weights_;
    std::int32_t n_values_;
    std::vector<Change> changes_;  // per row, or of all of them: n_values_ + 1

    // Of the tree at work:
    const TreeView* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    double weight_ = 0;

    // Rows at the nodes from the root to the one at work, one after another:
    std::vector<std::int32_t> row_;
    std::vector<Range> range_;
    std::vector<double> constant_, slope_;  // of what the nodes above add and have not yet added
    Buffer<double> starts_;
    Buffer<std::int32_t> bent_;  // of the rows at a node, those whose model meets a bound on the grid
};

}  // namespace boostforest
