// Sums of the derivatives of a node's rows by bin.
//
// Derivatives are whole numbers in a unit that is chosen for each tree, so that sums are exact: what is left of a
// parent when one child is taken away is the other child. Two of them stand in one number, a pair, which are added at
// once.
//
// Eight features stand side by side in a block, so that borders of eight features are judged by the same instructions.
// A block has a plane for each pair, and a plane the pairs of its features bin after bin. A feature has as many bins as
// the one with most in its block; the code after its last bin stands for missing values.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../kernels/kernels.hpp"
#include "bag.hpp"
#include "bins.hpp"

namespace boostforest {

// Where the derivatives of a row are, or the sums of them: pairs of g and h for each output or, where all outputs have
// the same h, pairs of g, the last of which ends in h.
struct Cell {
    Cell(int n_outputs, bool shares_h) : n_outputs(n_outputs), one_h(shares_h && n_outputs > 1) {}

    int n_outputs;
    bool one_h;

    int n_pairs() const { return one_h ? n_outputs / 2 + 1 : n_outputs; }

    // What stands first and second in a pair: an output's g, or its h if that is true; -1: nothing, 0.
    struct Value {
        int output;
        bool is_h;
    };
    Value first(int pair) const {
        return {.output = !one_h ? pair : 2 * pair < n_outputs ? 2 * pair : -1, .is_h = false};
    }
    Value second(int pair) const {
        if (!one_h) return {.output = pair, .is_h = true};
        const bool is_last = pair + 1 == n_pairs();
        return {.output = is_last ? 0 : 2 * pair + 1, .is_h = is_last};
    }
};

// Sums of a pair: 2³² first + second, both below 2³¹.
struct Pair {
    explicit Pair(std::int64_t sums)
        : second(static_cast<std::int32_t>(sums)), first((sums - second) / (std::int64_t{1} << 32)) {}
    std::int64_t second, first;
};

// Sums over the rows of a node, pair after pair.
using Totals = std::vector<std::int64_t>;

// Up to eight features of a tree that stand side by side.
struct Block {
    int group;                  // of the words that have their codes
    std::uint64_t mask;         // their bytes there
    int width;                  // bins of the feature that has most, and one of missing values
    std::int64_t start;         // in a slot
    std::vector<int> features;  // in the order of their bytes

    // The byte of a feature in the words.
    int byte(int place) const {
        std::uint64_t rest = mask;
        for (; place > 0; --place) rest &= ~(std::uint64_t{255} << std::countr_zero(rest));
        return std::countr_zero(rest) / 8;
    }
};

class Histograms {
   public:
    // n_slots: nodes whose histograms are kept at the same time.
    Histograms(const Bins& bins, Cell cell, int n_slots);

    // Begins a tree that may be split on some features.
    void start(const std::vector<int>& features);
    const std::vector<Block>& blocks() const { return blocks_; }

    // Fills a slot with the sums over some rows (null: the first n); a single block of it if that is not null.
    void fill(int slot, const CodeWords& words, const std::int64_t* cells, const std::int32_t* rows, std::int64_t n,
              const Block* only = nullptr);

    // Takes the sums of one slot away from another.
    void subtract(int from, int what);

    // The sums of a block, plane after plane.
    const std::int64_t* sums(int slot, const Block& block, int pair) const {
        return slots_[slot].data() + block.start + std::int64_t{pair} * block.width * kSideBySide;
    }
    // Those of a bin, of the feature at a place in the block.
    std::int64_t sum(int slot, const Block& block, int pair, int place, int bin) const {
        return sums(slot, block, pair)[bin * kSideBySide + place];
    }

    // Whether there is not enough memory for all slots: then there is one, which is filled anew for every node.
    bool keeps_one() const { return slots_.size() == 1; }

   private:
    const Bins& bins_;
    const Cell cell_;
    std::vector<char> is_taken_;  // by feature
    std::vector<Block> blocks_;
    std::int64_t size_ = 0;  // numbers of a slot that the tree needs
    std::vector<Buffer<std::int64_t>> slots_;
};

}  // namespace boostforest
