// One piecewise linear tree, the leaf with the largest gain split first.
#pragma once

#include <cstdint>
#include <vector>

#include "split_search.hpp"

namespace boostforest::gbdt_pl {

class Grower {
   public:
    Grower(const Table& table, const Rules& rules, int n_threads)
        : table_(table), rules_(rules), search_(table, rules, n_threads) {}

    // Adds the tree for these derivatives to the columns, and its predictions times the learning rate to the scores.
    void grow(const Derivatives& derivatives, double* scores, Columns& columns, Control& control, Worker& worker);

   private:
    struct Node {
        std::int64_t begin, end;             // its rows
        int depth;                           // splits above it
        double weight;                       // Σ w
        double value;                        // loss that its model has left, see Piece
        std::vector<std::int32_t> features;  // of its model
        Split split{};                       // the best one
        double gain = 0;                     // what that would take off the loss; 0: none
        std::int32_t left = -1;              // left child, if it has been split
    };

    void find_split(Node& node, Control& control, Worker& worker);
    NodeRows rows_of(const Node& node);
    void split(std::int32_t number);
    void add_child(const Node& parent, std::int64_t begin, std::int64_t end, const Piece& piece);
    void choose_terms(Node& root, Control& control, Worker& worker);
    void write(double* scores, Columns& columns);

    const Table& table_;
    const Rules& rules_;
    SplitSearch search_;
    LeafFitter fitter_;
    Derivatives derivatives_{};
    std::vector<Node> nodes_;
    std::vector<double> slopes_;
    Buffer<std::int32_t> rows_, scratch_;
    Buffer<double> p_, statistics_;  // p: linear part of the model of a row's node
};

}  // namespace boostforest::gbdt_pl
