// Effects: what a forest gives for rows of which some columns take each value of a grid, the rest as it is.
//
// A row goes down a tree once, with all values of the grid that lead the same way. With one number on the grid, in
// ascending order, what goes the same way is a range; see EffectLines for models that are lines over it, and
// EffectCurves for those on a hidden layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "../base/buffer.hpp"
#include "explain.hpp"
#include "node_models.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

// Values that replace those of the rows.
class Grid {
   public:
    // rows: of all features, of which those in `replaced` count; ascending: there is one of these, and values ascend.
    Grid(const RawRows& rows, const bool* replaced);

    std::int64_t n() const { return rows_.n(); }
    bool replaces(std::int32_t feature) const { return replaced_[feature]; }
    const std::vector<std::int32_t>& inputs() const { return inputs_; }  // that are replaced
    double routed(std::int64_t i, std::int32_t feature) const { return rows_.routed(i)[feature]; }
    double input(std::int64_t i, std::int32_t j) const { return rows_.inputs(i)[j]; }
    bool ascends() const { return ascends_; }                // one feature is replaced, and its values ascend
    const double* values() const { return values_.data(); }  // of that feature

    // The place of the first of them above a bound, of values that ascend.
    std::int32_t first_above(double bound) const {
        const double cell = (bound - values_.front()) * cells_per_unit_;
        if (!(cell >= 0)) return bound < values_.front() ? 0 : static_cast<std::int32_t>(values_.size());
        const auto number = static_cast<std::int32_t>(std::min<double>(cell, kCells));
        std::int32_t place = cells_[number];
        while (place > 0 && values_[place - 1] > bound) --place;  // both are rare: there are many cells
        while (place < static_cast<std::int32_t>(values_.size()) && values_[place] <= bound) ++place;
        return place;
    }

   private:
    static constexpr std::int32_t kCells = 4096;

    void find_cells();

    PreparedRows rows_;
    std::vector<bool> replaced_;
    std::vector<std::int32_t> inputs_;
    std::vector<double> values_;
    bool ascends_ = false;

    // Between the least value and the largest are kCells of the same width: the place of the first value in each.
    std::vector<std::int32_t> cells_;
    double cells_per_unit_ = 0;
};

class Effects {
   public:
    Effects(const Grid& grid, int n_outputs, int input_width);

    // Adds weight times the output of a tree for row i to grid values × outputs. Of a tree it is always the same
    // output.
    void add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, double weight,
                  double* out);

   private:
    void visit(std::int32_t node, std::int32_t begin, std::int32_t end);
    void add_outputs(std::int32_t begin, std::int32_t end);
    std::int32_t part(std::int32_t node, std::int32_t begin, std::int32_t end);

    const Grid& grid_;
    int n_outputs_, input_width_;

    // Of the tree and row at work:
    const TreeView* tree_ = nullptr;
    std::optional<NodeModels> models_;
    const double *routed_ = nullptr, *inputs_ = nullptr;
    double weight_ = 0;
    double* out_ = nullptr;

    std::vector<std::int32_t> order_;  // values of the grid, those at a node next to each other
    Buffer<double> scores_;            // output after output
};

// Whether a tree can take all values of a grid at once; one_number: these are of one feature, in ascending order.
bool takes_all_values(const TreeView& tree, Link link, bool one_number);

// rows × grid values × outputs; out is zero before. Trees must take all values at once, and rows have no missing values
// other than those that are replaced or filled by a mean.
void add_effects(const WeightedTrees& forest, const RawRows& rows, const Grid& grid, int n_threads, Control& control,
                 double* out);

// Their weighted sum over rows: grid values × outputs. The same for any number of threads.
void add_summed_effects(const WeightedTrees& forest, const RawRows& rows, const Grid& grid, const double* row_weights,
                        int n_threads, Control& control, double* out);

}  // namespace boostforest
