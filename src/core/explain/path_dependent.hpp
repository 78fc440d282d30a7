// Path-dependent contributions, the quick way: a column that is not known sends a row both ways at a split, in the shares
// of the training rows, and counts in a node's model as the mean of the background rows at the node.
//
// With q = 1 if the row meets the conditions on a column and else 0, r the share of the training rows that do, and
// u = t q + (1 - t) r, the values are integrals over t of products of u: polynomials, so that a Gauss–Legendre rule is
// exact. A model whose output bends (clipped, or a probability) counts as the line between its outputs at the means and
// at the row, so that the values add up.
#pragma once

#include <array>
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
    PathTree(const TreeView& tree, Output output, const PreparedRows& background);

    const TreeView& tree() const { return *tree_; }
    Output output() const { return output_; }
    double share(std::int32_t node) const { return shares_[node]; }  // of the training rows at its parent
    const double* means(std::int32_t node) const { return means_.data() + static_cast<std::int64_t>(node) * width_; }
    int deepest() const { return deepest_; }
    std::size_t n_bytes() const { return means_.size() * sizeof(double); }

    // Adds what the tree gives when nothing is known, times weight, to n_outputs values.
    void add_base(double weight, double* base) const;

   private:
    void find_means(const PreparedRows& background);

    const TreeView* tree_;
    Output output_;
    int width_, deepest_ = 0;
    std::vector<double> shares_, means_;  // per node; inputs of the background rows there, or further up if there are none
    std::vector<double> reach_;           // share of all training rows
};

// kPoints: of the rule; exact for up to 2 kPoints - 1 columns on a path.
template <int kPoints>
class PathDependent {
   public:
    PathDependent(const Players& players, int n_outputs);

    // Adds weight times the contributions to the output for a row: players × outputs.
    void add_tree(const PathTree& tree, const double* routed, const double* inputs, double weight, double* values);

   private:
    using Points = std::array<double, kPoints>;
    struct OnPath {
        std::int32_t player;
        bool met;      // q
        double share;  // r
        Points u;
    };

    void visit(std::int32_t node, const Points& product, std::vector<Points>& below);
    void step(std::int32_t node, std::int32_t child, const Points& product, std::vector<Points>& below);
    void add_model(std::int32_t node, const Points& product, std::vector<Points>& below);
    void find_line(std::int32_t node);
    OnPath* find(std::int32_t player);

    const Players& players_;
    GaussLegendre rule_;
    int n_outputs_;

    // Of the tree and row at work:
    const PathTree* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    const double *routed_ = nullptr, *inputs_ = nullptr;
    double weight_ = 0;
    double* values_ = nullptr;

    std::vector<OnPath> path_;
    std::vector<double> at_means_, at_row_, scores_, line_;  // of the model: outputs, and outputs × inputs
    std::vector<std::vector<Points>> below_;                 // per depth: scratch of step
    int depth_ = 0;
};

extern template class PathDependent<8>;
extern template class PathDependent<32>;

}  // namespace boostforest
