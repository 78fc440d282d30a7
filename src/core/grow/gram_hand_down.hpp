// Gram matrices that the nodes of a tree hand down: the larger child's is the parent's less the smaller child's. That
// takes row weights that are the same all the way down; with classes they change at every node.
#pragma once

#include <cstdint>
#include <vector>

#include "../models/node_model.hpp"
#include "leaf.hpp"

namespace boostforest {

// Those of the open leaves, used again and again: one for every right turn on a path, and only of nodes with more rows
// than inputs, so together about as large as the rows of the path.
class GramHandDown {
   public:
    // Begins a tree whose models have n_inputs inputs, in rows of `width` doubles. is_on: matrices are handed down.
    void start(bool is_on, int n_inputs, int width, double reg_lambda);

    // To be called before the model of the smaller child is fitted, then before that of the larger one, then for each
    // child; fitting a child's model fills in or reads matrix(child). The parent's is gone after the second call.
    void open_smaller(const Leaf& parent, Leaf& small, const Leaf& large);
    void open_larger(const Leaf& parent, const Leaf& small, Leaf& large);
    void close(Leaf& child);

    NodeGram* matrix(const Leaf& leaf) { return leaf.gram < 0 ? nullptr : &grams_[leaf.gram]; }

    // The leaf will not be split.
    void release(const Leaf& leaf) {
        if (leaf.gram >= 0) free_.push_back(leaf.gram);
    }

   private:
    // Whether the matrix of a leaf may be of use to its children.
    bool is_useful(const Leaf& leaf) const {
        return is_on_ && leaf.may_split && !leaf.uses_batch && leaf.n_rows() > n_inputs_;
    }
    bool is_worth_it(const NodeGram& parent, std::int64_t n_small, std::int64_t n_large) const;
    void take(Leaf& leaf, bool is_wanted);
    void subtract(const Leaf& parent, const Leaf& child, const Leaf& other);

    bool is_on_ = false;
    bool is_handed_ = false;        // the larger of the present children gets its parent's
    int n_inputs_ = 0, width_ = 0;  // of the models
    double reg_lambda_ = 0;         // their penalty
    std::vector<NodeGram> grams_;
    std::vector<std::int32_t> free_;  // those that no leaf has
};

}  // namespace boostforest
