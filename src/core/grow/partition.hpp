// The rows of the tree that is being grown, those of a node next to each other and ascending, and their partition by a
// split. Weights, labels and the loss's state of the rows lie in the same order, so that a node reads them in one go.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "leaf.hpp"
#include "replica.hpp"
#include "split.hpp"

namespace boostforest {

class Partition {
   public:
    Partition(const Dataset& data, const Replica& replica);

    // Takes the rows of the replica; returns the root, of which rows, weight and count are set. moves_labels: labels
    // move with the rows; else they are in place until the next split.
    Leaf start(bool moves_labels);

    // All rows of the tree, and their number; those of a leaf are rows() + leaf.begin ….
    const std::int32_t* rows() const { return rows_.data(); }
    std::int64_t n_rows() const { return n_rows_; }

    // The rows of a leaf with their weights, labels and state, where these are in place.
    Sample whole(const Leaf& leaf) const {
        return {.rows = rows_.data() + leaf.begin,
                .n = leaf.n_rows(),
                .weight = leaf.weight,
                .w = w_.data() + leaf.begin,
                .y = y_.data() + leaf.begin,
                .state = state_.data() + leaf.begin,
                .stride = n_rows_};
    }

    // Puts weights and labels of a leaf's rows in place.
    void load(const Leaf& leaf);

    // Splits the rows of a leaf, in place and stable; what is in place moves along. Returns the children, of which
    // rows, weight and count are set. Decides where rows without the split's feature go if the split has seen none.
    std::array<Leaf, 2> part(const Leaf& leaf, Split& split);

    // The threshold of the last split, with as few digits as part its rows alike.
    double shorter_threshold(const Split& split) const;

   private:
    double value(std::int32_t row, int feature) const;
    bool left_is_larger(const Leaf& leaf, const Split& split) const;
    const std::uint8_t* mark_left(const Leaf& leaf, const Split& split);
    void mark_with_missing(const std::int32_t* rows, std::int64_t n, const Split& split, std::uint8_t* left);
    std::int64_t move_rows(const Leaf& leaf, const Split& split);
    void weigh(const Leaf& parent, Leaf& child) const;

    const Dataset& data_;
    const Replica& replica_;
    const int width_;  // doubles per row of the table
    bool moves_labels_ = true;
    std::int64_t n_rows_ = 0;       // distinct rows of the tree, and from one value of the state to the next
    Buffer<std::int32_t> rows_;     // their numbers in the table
    Buffer<double> w_, y_, state_;  // weight, label and state of these rows, where they are in place
    std::array<double, 2>
        nearest_;  // values next to the last threshold: the largest on the left, the least on the right
    std::vector<double*> columns_;    // scratch: what moves with the rows of a leaf,
    Buffer<std::uint8_t> goes_left_;  //   one bit per row,
    Buffer<double> right_;            //   and what goes to the right
    Buffer<std::int32_t> right_rows_;
};

}  // namespace boostforest
