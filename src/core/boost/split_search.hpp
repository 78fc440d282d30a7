// The best split of all nodes of a level together, given the histograms.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "../base/buffer.hpp"
#include "bins.hpp"
#include "histograms.hpp"

namespace boostforest {

// code <= bin goes left.
struct BinSplit {
    int feature = -1;           // -1: none
    int bin = 0;                // the last one that goes left
    bool missing_left = false;  // rows with missing values go left
    double gain = 0;            // by which Σ G²/(H + λ) grows, in units of the histograms
    int block = 0, place = 0;   // of the feature in the histograms
};

class BinSplitSearch {
   public:
    BinSplitSearch(const Bins& bins, const Histograms& histograms, Cell cell);

    // Begins a search over the features of the histograms; lambda is in the units of H.
    void start(double lambda);

    // Adds a node that is split: the slot of its histograms, and its totals.
    void add_node(int slot, const Totals& totals);

    // The best split of the nodes that were added; without a feature if none has a gain above 0. is_allowed: features
    // that may be split on; null: all.
    BinSplit best(const std::function<bool(int)>& is_allowed) const;

   private:
    // Adds to the gains of the borders of a block, with missing values on one side.
    void add_block(int slot, const Block& block, bool missing_left, const Totals& totals, float* gains);
    double score(const Totals& totals) const;
    bool has_missing(const Block& block) const;

    const Bins& bins_;
    const Histograms& histograms_;
    const Cell cell_;
    double lambda_ = 0;
    Buffer<float> gains_;              // of the borders of each block, then once more with missing values on the left
    std::vector<std::int64_t> start_;  // first gain of each block
    Buffer<float> left_h_, left_, right_;  // of the borders of a block whose outputs share H: H_L, Σ G_L², Σ G_R²
    double before_ = 0;                    // scores of the nodes that were added
    bool is_first_ = true;                 // no node was added yet
};

}  // namespace boostforest
