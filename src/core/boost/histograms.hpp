// Sums of the derivatives of a node's rows by bin.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "bag.hpp"
#include "bins.hpp"

namespace boostforest {

// Where the derivatives of a row are, or the sums of them.
struct Cell {
    Cell(int n_outputs, bool shares_h) : n_outputs(n_outputs), one_h(shares_h && n_outputs > 1) {}

    int n_outputs;
    bool one_h;  // all outputs have the same h; the values are g of each, then h, else g and h of each in turn

    int size() const { return one_h ? n_outputs + 1 : 2 * n_outputs; }
    int n_h() const { return one_h ? 1 : n_outputs; }
    int g(int output) const { return one_h ? output : 2 * output; }
    int h(int output) const { return one_h ? n_outputs : 2 * output + 1; }
};

// Derivatives of the drawn rows in single precision, times their weights: a cell for each.
using Derivatives = std::vector<float>;

class Histograms {
   public:
    // n_slots: nodes whose histograms are kept at the same time.
    Histograms(const Bag& bag, const Bins& bins, Cell cell, int n_slots);

    // Fills a slot with the sums over some rows (null: all), of some features; others are left as they are.
    void fill(int slot, const std::vector<int>& features, const std::int32_t* rows, std::int64_t n,
              const Derivatives& derivatives);

    // Takes the sums of one slot away from another.
    void subtract(int from, int what, const std::vector<int>& features);

    // Sums of a feature: a cell per bin, that of missing values last.
    double* of(int slot, int feature) { return slots_[slot].data() + start_[feature]; }

    // Whether there is not enough memory for all slots: then there is one, which is filled anew for every node.
    bool keeps_one() const { return slots_.size() == 1; }

   private:
    const Bag& bag_;
    const Cell cell_;
    std::vector<std::int64_t> start_;  // first value of each feature in a slot, then the values of a slot
    std::vector<Buffer<double>> slots_;
};

}  // namespace boostforest
