// Splits on numbers as C4.5 chooses them (Quinlan 1993, and its release 8 of 1996), over presorted columns.
#pragma once

#include <cstdint>
#include <vector>

#include "logit_boost.hpp"

namespace boostforest {

struct GainRatioSplit {
    int feature = -1;      // -1: none
    double threshold = 0;  // midway between two values of the rows; x <= threshold goes left
    double gain = 0;       // information gain in bits per unit of weight, less what the choice of the threshold costs
    double ratio = 0;      // the same over the information of the split itself
};

// Finds the split with the highest gain ratio among the features whose best gain is at least the average one.
class GainRatioFinder {
   public:
    explicit GainRatioFinder(const LogisticTable& table);

    // sorted[j * stride … + n): the node's rows by feature j. A side weighs at least min_leaf, or a tenth of the
    // node's mean class weight if that is more (25 at the most).
    GainRatioSplit find(const std::int32_t* sorted, std::int64_t stride, std::int64_t n, double min_leaf,
                        Worker& worker);

   private:
    GainRatioSplit best_cut(const std::int32_t* sorted, std::int64_t n, int feature, double min_side);
    double x_log_x(double weight) const;  // weight · log2(weight), from a table for whole numbers

    const LogisticTable& table_;
    std::vector<double> whole_;          // x log x of 0, 1, …; empty unless all weights are whole
    std::vector<double> totals_, left_;  // weight of each class: in the node, left of the threshold
    double total_ = 0;                   // Σ totals_
    double totals_log_ = 0;              // Σ of their x log x
};

}  // namespace boostforest
