// Sums of the derivatives of a node's rows by bin.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "bag.hpp"
#include "bins.hpp"

namespace boostforest {

// Derivatives of the drawn rows in single precision: per row and output w g and w h.
using Pairs = std::vector<float>;

class Histograms {
   public:
    // n_slots: nodes whose histograms are kept at the same time.
    Histograms(const Bag& bag, const Bins& bins, int n_outputs, int n_slots);

    // Fills a slot with the sums over some rows (null: all), of some features; others are left as they are.
    void fill(int slot, const std::vector<int>& features, const std::int32_t* rows, std::int64_t n, const Pairs& pairs);

    // Takes the sums of one slot away from another.
    void subtract(int from, int what, const std::vector<int>& features);

    // Sums of a feature: per bin, that of missing values last, and output w g and w h.
    double* of(int slot, int feature) { return slots_[slot].data() + start_[feature]; }

    // Whether there is not enough memory for all slots: then there is one, which is filled anew for every node.
    bool keeps_one() const { return slots_.size() == 1; }

   private:
    const Bag& bag_;
    const int n_outputs_;
    std::vector<std::int64_t> start_;  // first value of each feature in a slot, then the values of a slot
    std::vector<Buffer<double>> slots_;
};

}  // namespace boostforest
