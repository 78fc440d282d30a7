// Path-dependent contributions, the quick way: a column that is not known sends a row both ways at a split, in the
// shares of the training rows, and counts in a node's model as the mean of the background rows at the node.
//
// With q = 1 if the row meets the conditions on a column and else 0, r the share of the training rows that do, and
// u = t q + (1 - t) r, the values are integrals over t of products of u: polynomials, so that a Gauss–Legendre rule is
// exact. A model whose output bends (clipped, or a probability) counts as the line between its outputs at the means and
// at the row, so that the values add up; units of a hidden layer do the same.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../kernels/kernels.hpp"
#include "../models/hidden_layer.hpp"
#include "node_models.hpp"
#include "players.hpp"
#include "prepared_rows.hpp"
#include "weights.hpp"

namespace boostforest {

// What a tree's nodes are without a row: computed from the background, for all rows.
class PathTree {
   public:
    PathTree(const TreeView& tree, Link link, const PreparedRows& background, const Players& players);

    const TreeView& tree() const { return *tree_; }
    Link link() const { return link_; }
    double share(std::int32_t node) const { return shares_[node]; }  // of the training rows at its parent
    const double* means(std::int32_t node) const { return means_.data() + std::int64_t{mean_[node]} * width_; }
    int deepest() const { return deepest_; }
    int n_columns() const { return n_columns_; }  // the most that a path has conditions on
    std::size_t n_bytes() const { return means_.size() * sizeof(double); }

    // Scores of the model of a node at these means, and its outputs, one per output.
    const double* scores(std::int32_t node) const { return scores_.data() + std::int64_t{node} * tree_->n_outputs; }
    const double* outputs(std::int32_t node) const { return outputs_.data() + std::int64_t{node} * tree_->n_outputs; }

    // Of a tree with a hidden layer: its units at these means, and their sums before the sigmoid.
    const double* units(std::int32_t node) const { return units_.data() + mean_[node] * n_units(); }
    const double* unit_sums(std::int32_t node) const { return unit_sums_.data() + mean_[node] * n_units(); }
    std::int64_t n_units() const { return hidden_width(tree_->n_inputs); }

    // Adds what the tree gives when nothing is known, times weight, to n_outputs values.
    void add_base(double weight, double* base) const;

   private:
    void find_paths(const Players& players);
    void find_means(const PreparedRows& background);
    void find_units();
    void find_outputs();

    const TreeView* tree_;
    Link link_;
    int width_, deepest_ = 0, n_columns_ = 0;
    std::vector<double> shares_, reach_;  // per node: share of the training rows at its parent, and of all of them
    std::vector<std::int32_t> mean_;      // per node: which of the means below
    std::vector<double> means_;           // inputs of the background rows at a node, width_ each
    std::vector<double> units_, unit_sums_;
    std::vector<double> scores_, outputs_;  // per node; 0 without a model
};

// kPathRows rows go through a tree together, side by side in the arrays below.
class PathDependent {
   public:
    PathDependent(const Players& players, int n_outputs, int input_width);

    // The rows that come next: at most kPathRows of them, from `first` on.
    void take(const PreparedRows& rows, std::int64_t first);
    // Adds weight times the contributions to the output of a tree.
    void add_tree(const PathTree& tree, double weight);
    // Adds all of them to the values of the rows, players × outputs each.
    void give(double* values) const;

   private:
    void visit(std::int32_t node, int depth);
    void step(std::int32_t node, std::int32_t next, int depth);
    void add_model(std::int32_t node, int depth);
    void find_row_units(const TreeView& tree);
    void add_unit_lines(std::int32_t node);
    void bend_one(std::int32_t node);
    void bend_many(std::int32_t node);
    void put_on_path(std::int32_t player);
    const GaussLegendre& rule_of(int n_columns);
    void make_room(int n_levels, int n_points);
    double* product(int depth) { return at_depth_.data() + depth * per_depth_; }
    double* below(int depth) { return product(depth) + n_points_ * kPathRows; }

    const Players& players_;
    int n_outputs_, input_width_, n_rows_ = 0;
    std::vector<GaussLegendre> rules_;
    Buffer<double> routed_, inputs_, values_;  // per feature, per input, per player and output

    // Of the tree at work:
    const PathTree* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    PathRule rule_{};
    std::int64_t n_points_ = 0, per_depth_ = 0;  // per_depth_: doubles in at_depth_
    Buffer<double> at_depth_;              // per level: product of u, sums over the nodes below, the column of the step
    std::vector<PathColumn> columns_;      // of the steps to each level; the last one: of columns without conditions
    std::vector<const PathColumn*> path_;  // columns with conditions
    std::vector<std::int32_t> place_;      // per column: its place there, -1: none
    std::vector<std::int32_t> off_path_;   // inputs, those of columns without conditions first, so many:
    int n_off_path_ = 0;
    std::vector<std::int32_t> off_place_;  // per input: its place there
    Buffer<double> line_, change_, bend_;  // per output: what inputs change, all of them, and the slope of the output
    std::vector<double> to_, at_row_;      // of one row: scores and outputs
    Buffer<double> units_, unit_sums_, secants_;  // per unit of a hidden layer, see PathTree; slopes of their lines
};

}  // namespace boostforest
