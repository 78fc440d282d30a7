// Interventional contributions of the columns to a tree's output: what a row has differently from the rows of a
// background.
//
// For one background row, a mixture of both rows gets to a node if each column on the path comes from a row that meets
// its conditions. Each node with a model is a game of its own (see Game). Background rows that meet the same conditions
// go down together: where scores are linear, one closed form does for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "game.hpp"
#include "node_models.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

// Where the contributions against all background rows go: to the same sums, or `step` sums apart.
struct Target {
    Sums sums;
    bool apart;

    Sums of(std::int64_t other, std::int64_t n_players, int n_outputs) const;
};

class Interventional {
   public:
    Interventional(const PreparedRows& background, const Players& players, const Weights& weights, int n_outputs);

    // Adds what a tree gives for row i. key: of the row and the tree.
    void add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, Key key,
                  const Target& target);

   private:
    void visit(std::int32_t node, std::int32_t* begin, std::int32_t* end);
    void add_model(std::int32_t node, const std::int32_t* rows, std::int64_t n);
    void add_rows(const std::int32_t* rows, std::int64_t n, const Sums& sums);
    std::int64_t compare(int output, const std::int32_t* rows, std::int64_t n, double lower, double upper);
    bool add_clipped(std::int64_t n_open, const Sums& sums);
    int gather(std::int64_t i, std::int64_t n);
    void add_open(int n, std::int32_t other, const Sums& sums);
    void add_coalitions(int n, const Sums& sums);

    const PreparedRows& background_;
    const Players& players_;
    Game game_;
    Conditions at_;
    int n_outputs_, width_;
    bool one_input_each_;      // no column has several inputs
    bool inputs_are_columns_;  // input j is column j

    // Of the tree and row at work:
    const TreeView* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    const Target* target_ = nullptr;
    const double *routed_ = nullptr, *inputs_ = nullptr;
    Key tree_key_ = 0;
    std::int32_t node_ = 0;

    // Scratch, output after output:
    std::vector<std::int32_t> rows_;    // background rows, those at a node next to each other
    std::vector<double> start_, sums_;  // of the linear games together
    Buffer<double> differences_, starts_, values_;
    std::vector<std::int32_t> open_, who_, free_inputs_;
    std::vector<double> moves_, open_start_, open_differences_;
};

}  // namespace boostforest
