// Interventional contributions to trees of clipped or linear models on few columns: exact.
//
// Contributions are linear in the game, so games are added up before they are shared out: the outputs of clipped models
// go into one table of all coalitions per explained row, for all nodes, trees and background rows. Where the output of
// a node is linear or constant over all of its mixtures, its closed form takes less time.
//
// A background row gets to a node under one set of conditions at the most, so all of them go down a tree side by side,
// with the conditions of each. They are put in the order of the tree's leaves: those that get to a node are neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "../kernels/kernels.hpp"
#include "interventional.hpp"

namespace boostforest {

class CoalitionTables {
   public:
    CoalitionTables(const PreparedRows& background, const Players& players, const Weights& weights);

    // The rows that come next; nothing is known of them yet.
    void take(const PreparedRows& rows);

    // Adds what a tree gives for each of the rows, times weight.
    void add_tree(const TreeView& tree, Link link, double weight, Worker& worker);

    // Adds the contributions to the output of all these trees for row i, players values.
    void give(std::int64_t i, double* values);

   private:
    struct alignas(64) RowConditions : std::array<std::int32_t, kCubeRows> {};
    struct Model {
        double intercept, lower, upper;
        bool is_there;
    };

    void prepare_columns();
    void read_models(const TreeView& tree, Link link);
    void read_background(std::int64_t first, std::int64_t n);
    void order_rows(std::int32_t node, std::int32_t* begin, std::int32_t* end);
    void start_row(std::int64_t i);
    void visit(std::int32_t node, std::size_t depth, int side, std::uint32_t split);
    bool goes_left(std::int32_t node, double value) const;

    const PreparedRows& background_;
    const Players& players_;
    const Weights& weights_;
    int n_players_, n_layouts_;              // n_players_: at least those of the lanes
    bool one_each_;                          // input j is column j
    std::int64_t width_;                     // of slopes: inputs and, if they are fewer, columns
    std::vector<std::int32_t> input_start_;  // of each column
    std::vector<CubeColumns> columns_;       // see CubeTables
    std::vector<std::int32_t> places_;
    Buffer<double> lane_weights_;

    const PreparedRows* rows_ = nullptr;
    Buffer<double> tables_, sums_;  // per row: values of coalitions in each layout; kLanes per column

    // Of the tree at work, and up to kCubeRows background rows:
    const TreeView* tree_ = nullptr;
    std::vector<Model> models_;
    std::vector<double> slopes_;       // per node and input
    std::vector<std::int32_t> order_;  // background rows in the order of the leaves
    std::vector<double> others_;       // their inputs: of input j and row i at j * kCubeRows + i
    std::vector<std::int32_t> left_;   // per node and row: 1 if it goes left there
    int n_others_ = 0;                 // rows: whole vectors

    // Of the row at work:
    const double* routed_ = nullptr;
    Buffer<double> steps_;                                 // row less background rows, as others_
    std::vector<double> at_row_;                           // scores of nodes
    std::deque<std::array<RowConditions, 2>> conditions_;  // of the background rows, per depth: at both children
    std::unique_ptr<WaitingCubes> waiting_;
};

// Whether the tree's models are of this kind.
bool fits_tables(const TreeView& tree, Link link);

}  // namespace boostforest
