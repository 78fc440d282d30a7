// Batches: the rows that a large node is worked on.
#pragma once

#include <cstdint>

#include "../base/buffer.hpp"
#include "leaf.hpp"
#include "replica.hpp"

namespace boostforest {

// b of the positions 0 … n-1 without replacement (Floyd's algorithm), as set bits; a word of ones follows them.
const std::uint64_t* draw_batch(Key key, std::int64_t n, std::int64_t b, Buffer<std::uint64_t>& taken);

class Batches {
   public:
    Batches(const Dataset& data, const Replica& replica) : data_(data), replica_(replica) {}

    // Draws `size` of a leaf's rows (rows: their numbers) without replacement, one that was drawn k times counting as k
    // rows. Good until the next batch; the state of the rows is still to be computed.
    Sample draw(const Leaf& leaf, const std::int32_t* rows, std::int64_t size, Key key);

   private:
    const Dataset& data_;
    const Replica& replica_;
    Buffer<std::uint64_t> taken_;          // draws of the leaf that are in the batch
    Buffer<std::int32_t> rows_, n_taken_;  // the rows, and how often each is in the batch
    Buffer<double> w_, y_, state_;         // see Sample
};

}  // namespace boostforest
