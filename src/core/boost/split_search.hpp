// The best split of a node, or of all nodes of a level together, given the histograms.
#pragma once

#include <cstdint>
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
    double gain = 0;            // by which Σ G²/(H + λ) grows
};

// G and H of a node: a cell of Σ w g and Σ w h.
using Totals = std::vector<double>;

class BinSplitSearch {
   public:
    BinSplitSearch(const Bins& bins, Cell cell, double lambda);

    // Begins a search over some features.
    void start(const std::vector<int>& features);

    // Adds a node that is split: its histograms, its totals, and the least H that a child must have, of all outputs or
    // the one that they share; 0: any.
    void add_node(Histograms& histograms, int slot, const Totals& totals, double least_h);

    // The best split of the nodes that were added; without a feature if none has a gain above 0.
    BinSplit best() const;

    // Σ over the outputs of G²/(H + λ).
    double score(const Totals& totals) const;

   private:
    // Adds to the gains of the borders of up to kAtOnce features, with missing values on one side.
    void add_features(Histograms& histograms, int slot, const int* features, int n, const Totals& totals,
                      double least_h, bool missing_left);

    // The same for one feature whose outputs share H.
    void add_shared(const double* cells, int feature, const Totals& totals, double least_h, bool missing_left);

    static constexpr int kAtOnce = 4;  // sums along bins wait for each other: those of several features do not

    const Bins& bins_;
    const Cell cell_;
    const double lambda_;
    const std::vector<int>* features_ = nullptr;
    std::vector<std::int64_t> start_;  // first of each feature's gains: two for every border
    Buffer<double> gains_;
    Buffer<double> left_g_[kAtOnce], left_h_[kAtOnce], left_total_[kAtOnce];  // of the borders of a feature
    Buffer<double> left_;  // the same where outputs share H: G of each, then H
    double before_ = 0;    // scores of the nodes that were added
};

}  // namespace boostforest
