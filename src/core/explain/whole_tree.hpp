// Interventional contributions to a tree that is not a sum of models of linear scores: one on a hidden layer, or one
// that keeps constraints. Mixtures of both rows go through the whole tree.
#pragma once

#include <cstdint>
#include <vector>

#include "interventional.hpp"

namespace boostforest {

class WholeTree {
   public:
    WholeTree(const PreparedRows& background, const Players& players, const Weights& weights, int n_outputs);

    // As Interventional::add_tree.
    void add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, Key key, Worker& worker,
                  const Target& target);

   private:
    void find_used(const TreeView& tree);
    void find_different(const PreparedRows& rows, std::int64_t i, std::int64_t other);
    void start_mixtures(std::int64_t n);
    void take(std::int64_t mixture, std::int32_t player, const PreparedRows& rows, std::int64_t i);
    void copy(std::int64_t from, std::int64_t to);
    void evaluate(const TreeView& tree, Link link, std::int64_t n, Worker& worker);
    void add_sampled(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, std::int64_t other,
                     Key key, Worker& worker, const Sums& sums);
    void add_enumerated(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, std::int64_t other,
                        Worker& worker, const Sums& sums);

    const PreparedRows& background_;
    const Players& players_;
    Game game_;
    const Conditions nothing_;  // on the way to a root
    int n_outputs_;
    std::vector<std::int32_t> used_, who_, order_;  // columns that the tree uses, those of them that differ, by arrival
    Buffer<double> routed_, inputs_, values_;       // mixtures, and what the tree gives for them, output after output
};

}  // namespace boostforest
