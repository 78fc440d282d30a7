// Path-dependent contributions, the quick way: a column that is not known sends a row both ways at a split, in the
// shares of the training rows, and counts in a node's model as the mean of the background rows at the node.
//
// With q = 1 if the row meets the conditions on a column and else 0, r the share of the training rows that do, and
// u = t q + (1 - t) r, the values are integrals over t of products of u: polynomials, so that a Gauss–Legendre rule is
// exact. A model whose output bends (clipped, or a probability) counts as the line between its outputs at the means and
// at the row, so that the values add up.
#pragma once

#include <cstdint>
#include <vector>

#include "node_models.hpp"
#include "players.hpp"
#include "prepared_rows.hpp"
#include "weights.hpp"

namespace boostforest {

// What a tree's nodes are without a row: computed from the background, for all rows.
class PathTree {
   public:
    PathTree(const TreeView& tree, Link link, const PreparedRows& background);

    const TreeView& tree() const { return *tree_; }
    Link link() const { return link_; }
    double share(std::int32_t node) const { return shares_[node]; }  // of the training rows at its parent
    const double* means(std::int32_t node) const { return means_.data() + static_cast<std::int64_t>(node) * width_; }
    int deepest() const { return deepest_; }
    std::size_t n_bytes() const { return means_.size() * sizeof(double); }

    // Scores of the model of a node at these means, and its outputs, one per output.
    const double* scores(std::int32_t node) const { return scores_.data() + std::int64_t{node} * tree_->n_outputs; }
    const double* outputs(std::int32_t node) const { return outputs_.data() + std::int64_t{node} * tree_->n_outputs; }

    // Adds what the tree gives when nothing is known, times weight, to n_outputs values.
    void add_base(double weight, double* base) const;

   private:
    void find_means(const PreparedRows& background);
    void find_outputs();

    const TreeView* tree_;
    Link link_;
    int width_, deepest_ = 0;
    std::vector<double> shares_, reach_;    // per node: share of the training rows at its parent, and of all of them
    std::vector<double> means_;             // per node: inputs of the background rows there; without any, further up
    std::vector<double> scores_, outputs_;  // per node; 0 without a model
};

class PathDependent {
   public:
    // n_columns: the most that a path has conditions on.
    PathDependent(const Players& players, int n_columns, int n_outputs, int input_width);

    // Adds weight times the contributions to the output for a row: players × outputs.
    void add_tree(const PathTree& tree, const double* routed, const double* inputs, double weight, double* values);

   private:
    static constexpr int kFew = 8, kMany = 32;  // points: exact for up to 15 and 63 columns

    struct OnPath {
        std::int32_t player;
        bool met;                // q
        double share;            // r
        std::int64_t inverse_u;  // where its 1 / u starts
    };

    void visit(std::int32_t node, int depth);
    void step(std::int32_t node, std::int32_t next, int depth);
    void add_model(std::int32_t node, int depth);
    void find_line(std::int32_t node);
    void bend_line(std::int32_t node, const double* to);
    double* product(int depth) { return at_depth_.data() + depth * per_depth_; }
    double* inverse_u(int depth) { return product(depth) + n_points_; }
    double* below(int depth) { return inverse_u(depth) + n_points_; }

    const Players& players_;
    int n_points_, n_outputs_, input_width_;
    bool inputs_are_columns_;   // input j is column j
    std::vector<double> rule_;  // points, then weights

    // Of the tree and row at work:
    const PathTree* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    const double *routed_ = nullptr, *inputs_ = nullptr;
    double weight_ = 0;
    double* values_ = nullptr;

    std::vector<OnPath> path_;           // columns with conditions
    std::vector<std::int32_t> place_;    // per column: its place there, -1: none
    std::int64_t per_depth_;             // doubles in at_depth_
    std::vector<double> at_depth_;       // product of u, 1 / u of the last column, per output sums over the nodes below
    std::vector<double> line_, scores_;  // what inputs change of outputs; the row's outputs
    std::vector<const double*> inverses_;  // of the columns that change the output of a node, and:
    std::vector<double> path_changes_, met_shares_, changes_, totals_;
    std::vector<std::int32_t> changing_;
};

}  // namespace boostforest
