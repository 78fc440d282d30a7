// Effects of one number on trees with a hidden layer: over the values of a grid, the units of a row follow curves, and
// so do the scores of the nodes that it gets to.
//
// Along one number a unit is a sigmoid, which polynomials follow closely: a curve is known to rounding by its values at
// a few Chebyshev points, and scores are sums of such curves. Only where a score meets a bound are the values on the
// grid looked at, row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"
#include "effect_walk.hpp"
#include "effects.hpp"
#include "node_models.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

class EffectCurves {
   public:
    // As EffectLines.
    EffectCurves(const Grid& grid, const PreparedRows& rows, const double* row_weights);

    // Adds weight times the output of a tree with a hidden layer for all rows.
    void add_tree(const TreeView& tree, Link link, double weight, Worker& worker);

    // Adds what was added up to rows × grid values, or to the grid values of all rows together.
    void give(double* out) const;

   private:
    void find_points(const TreeView& tree, NodeModels& models);
    void take_points(int n);
    void read_layer(const TreeView& tree);
    void add_rows(const TreeView& tree, std::int64_t first, std::int64_t n);
    void add_model(std::int32_t node, const std::int32_t* rows, std::int64_t n, GridRange range);
    void add_curve(const double* at_points, GridRange range, double lower, double upper, double weight, double* out);
    double* sums_of(std::int32_t row) { return sums_.data() + (each_ ? row * stride_ : 0); }

    const Grid& grid_;
    const PreparedRows& rows_;
    bool each_;  // each row has its own curves
    std::int64_t stride_;
    double middle_, half_;  // of the grid
    EffectWalk walk_;
    std::vector<double> sums_;  // per row, or of all of them: stride_ values

    // Points that curves are known at: Chebyshev points, or, where these are no fewer, the grid.
    int n_points_ = 0;            // a multiple of 8
    bool are_values_ = false;     // they are the grid
    std::vector<double> points_;  // -1 … 1
    Buffer<double> basis_;        // per point: what it counts at the values of the grid, stride_ apart

    // Of the tree at work:
    NodeModels* models_ = nullptr;
    double weight_ = 0;
    int n_units_ = 0;
    bool as_factors_ = false;        // moves_ are factors of powers
    Buffer<double> layer_;           // of rows in the middle of the grid
    std::vector<double> weights_;    // per unit: of the number
    std::vector<double> reach_;      // per unit: how far its sum goes from the middle
    Buffer<double> moves_;           // per unit and point, see unit_curves
    std::vector<double> of_nodes_;   // per node and point: what rows add up to; or per row, since the range began
    std::vector<GridRange> ranges_;  // of nodes
    std::int64_t first_row_ = 0;     // of those whose units are known
    Buffer<double> units_;           // per row, unit and point
    Buffer<double> scores_, powers_;
    Buffer<std::int32_t> bent_;
};

}  // namespace boostforest
