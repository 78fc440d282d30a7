// What a split is worth: the criteria, computed from sums over the rows on the left side.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../losses/loss.hpp"

namespace boostforest {

enum class Criterion : std::uint8_t {
    kXgb = 0,   // ½ [G_L²/(H_L + λ) + G_R²/(H_R + λ)], summed over the outputs
    kMse = 1,   // decrease of the squared error of the labels about their mean, summed over the targets
    kGini = 2,  // decrease of the Gini impurity of the labels
    kC45 = 3,   // information gain of the labels over split information, times the weight
};

// The rows of one node.
class Gains {
   public:
    // Computes the statistics of the rows that the gains are sums of. n_classes: of the labels, for gini and c45.
    void start(const Sample& sample, const Loss& loss, Criterion criterion, int n_classes);

    int n_stats() const { return static_cast<int>(stats_.size()); }
    const double* const* stats() const { return stats_.data(); }  // statistic k of row i: stats()[k][i]
    const double* totals() const { return totals_.data(); }       // sums over all rows

    // Gain and weight of the left side of `width` splits, from the sums over their left sides: that of statistic k and
    // split j is sums[k * width + j]; they are to stay. λ is that of the xgb gain. Gains are comparable.
    void compute(const double* sums, int width, double reg_lambda);
    const double* gain() const { return gain_.data(); }
    const double* left_weight() const { return left_weight_; }

   private:
    void compare_impurities(const double* sums, int width);

    Criterion criterion_ = Criterion::kXgb;
    int n_outputs_ = 1;            // of the loss,
    bool unit_curvature_ = false;  //   and whether its h is 1
    int n_classes_ = 0;
    double weight_ = 0;  // Σ w
    std::vector<const double*> stats_;
    std::vector<double> totals_;
    LossWorkspace loss_work_;
    Buffer<double> label_stats_;
    Buffer<double> gain_, added_weight_;
    const double* left_weight_ = nullptr;  // the first of the sums, or added up over the classes
    Buffer<double> right_;                 // class weights of the right side
};

}  // namespace boostforest
