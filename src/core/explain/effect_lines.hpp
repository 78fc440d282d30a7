// Effects of one number on trees whose models are lines, clipped or not: over the values of a grid, in ascending order,
// what a tree gives for a row is a few lines one after another, or the probabilities that belong to them.
//
// The model of a node has the same slope for all rows: their lines differ in where they start. Only the ends of lines
// are written down; what they add up to is found in the end, for all trees at once. Probabilities are added up at the
// values: e^-(start + slope × value) is a product of what depends on the row, and what does not.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "effect_walk.hpp"
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
    // What begins at a value: how much more constant and slope are from there on.
    struct Change {
        double constant, slope;
    };

    void add_model(const std::int32_t* rows, std::int64_t n, GridRange range);
    void add_sums(const std::int32_t* rows, std::int64_t n, GridRange range, const RangeLine& line,
                  const double* starts);
    void add_to_rows(const std::int32_t* rows, std::int64_t n, GridRange range, const RangeLine& line,
                     const double* starts);
    void add_clipped(Change* changes, double weight, GridRange range, const RangeLine& line, double start) const;
    void add_sigmoids(const std::int32_t* rows, std::int64_t n, GridRange range, double slope, double* starts);
    void end_lines(const std::int32_t* rows, std::int64_t n, GridRange range);
    Change* changes_of(std::int32_t row) { return changes_.data() + std::int64_t{row} * (n_values_ + 1); }

    const Grid& grid_;
    const PreparedRows& rows_;
    bool each_;  // each row has its own lines
    std::int32_t n_values_;
    EffectWalk walk_;
    std::vector<Change> changes_;  // per row, or of all of them: n_values_ + 1

    // Of the tree at work:
    NodeModels* models_ = nullptr;
    double weight_ = 0;

    std::vector<Change> lines_;  // per row: what nodes have added since the range began
    Buffer<double> slopes_, starts_, moves_;
    std::int64_t stride_;         // doubles per row of
    std::vector<double> curves_;  //   probabilities, per row or of all of them
    Buffer<std::int32_t> bent_;   // of the rows at a node, those whose model meets a bound on the grid
};

}  // namespace boostforest
