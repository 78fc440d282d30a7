// Quadratic functions of few unknowns with an L1 penalty.
#pragma once

#include <vector>

namespace boostforest {

// minimise b·k + ½ kᵀ A k + Σ α_i |k_i|.
class Quadratic {
   public:
    // Makes room for m unknowns; A, b and α become 0.
    void reset(int m);
    double& a(int i, int j) { return a_[i * ld_ + j]; }  // i <= j: the upper triangle
    double& b(int i) { return b_[i]; }
    double& alpha(int i) { return alpha_[i]; }

    // Returns the least value; max_sweeps: how often coordinate descent may go through the unknowns where the penalty
    // decides which of them are 0. With a start, the value is never above the start's.
    double minimise(int max_sweeps, const double* start = nullptr);
    const double* solution() const { return k_.data(); }

   private:
    void solve(const double* b, double* k);
    void descend(int max_sweeps);
    void add_to_gradient(int i, double change);
    double value(const double* k) const;

    int m_ = 0, ld_ = 0;
    std::vector<double> a_, b_, alpha_, k_, factors_, inverse_pivots_, right_, trial_, shifted_, gradient_;
};

}  // namespace boostforest
