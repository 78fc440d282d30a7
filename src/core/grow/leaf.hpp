// The leaves of a growing tree that may still be split, and which of them is next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../base/random.hpp"
#include "comparable.hpp"

namespace boostforest {

struct Leaf {
    std::int32_t node = 0;            // its number in the tree
    std::int64_t depth = 0;           // splits above it
    Key key = 0;                      // its random numbers follow from it
    std::int64_t begin = 0, end = 0;  // its rows in the order of Partition
    double weight = 0;                // Σ weight of its rows
    std::int64_t count = 0;           // rows, drawn ones as often as they were drawn; below a leaf that needs no batch
                                      //   that leaf's
    bool uses_batch = false;          // it is worked on in batches; else the state of its rows is in place once its
                                      //   model is fitted
    bool may_split = false;           // it has weight enough, and is not too deep
    double loss = 0;                  // Σ weight · loss of its rows after its model
    std::int32_t gram = -1;           // its Gram matrix in GramHandDown; -1: none is kept

    std::int64_t n_rows() const { return end - begin; }
};

// Random numbers follow from a node's path, so without a limit on the leaves the order does not matter: depth first
// keeps the rows in the cache. With one, the leaf of the highest loss is next (ties: the older one).
class OpenLeaves {
   public:
    void start(const Leaf& root, bool best_first) {
        best_first_ = best_first;
        leaves_.assign(1, root);
    }
    bool empty() const { return leaves_.empty(); }
    void add(const Leaf& leaf) {
        leaves_.push_back(leaf);
        if (best_first_) std::ranges::push_heap(leaves_, is_later);
    }
    Leaf take_next() {
        if (best_first_) std::ranges::pop_heap(leaves_, is_later);
        const Leaf leaf = leaves_.back();
        leaves_.pop_back();
        return leaf;
    }

   private:
    static bool is_later(const Leaf& a, const Leaf& b) {
        const double own = comparable(a.loss), other = comparable(b.loss);
        return own != other ? own < other : a.node > b.node;
    }

    bool best_first_ = false;
    std::vector<Leaf> leaves_;
};

}  // namespace boostforest
