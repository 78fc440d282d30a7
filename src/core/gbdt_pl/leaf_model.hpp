// Penalised least squares with few unknowns: the models of the leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "../buffer.hpp"
#include "gbdt_pl.hpp"

namespace boostforest::gbdt_pl {

// minimise b·k + ½ kᵀ A k + α |k|₁.
class Quadratic {
   public:
    // Makes room for m unknowns; A and b become 0.
    void reset(int m);
    double& a(int i, int j) { return a_[i * ld_ + j]; }  // i <= j: the upper triangle
    double& b(int i) { return b_[i]; }

    // Returns the least value; max_sweeps: how often coordinate descent may go through the unknowns where the penalty
    // decides which of them are 0.
    double minimise(double alpha, int max_sweeps);
    const double* solution() const { return k_.data(); }

   private:
    void solve(const double* b, double* k);
    void descend(double alpha, int max_sweeps);
    double value(double alpha) const;

    int m_ = 0, ld_ = 0;
    std::vector<double> a_, b_, k_, factors_, inverse_pivots_, right_, trial_, shifted_;
};

// Derivatives of the loss, one value per row of the table.
struct Derivatives {
    const double *g, *h;
};

// The model of one leaf: intercept and slopes of the given features, fitted to its rows.
class LeafFitter {
   public:
    // Writes the slopes, and the model's value at every row to fitted(); returns the intercept.
    double fit(const Table& table, const Derivatives& derivatives, const std::int32_t* rows, std::int64_t n,
               const std::vector<std::int32_t>& features, double lambda, double alpha, std::vector<double>& slopes);
    const double* fitted() const { return fitted_.data(); }

   private:
    Quadratic quadratic_;
    Buffer<double> x_, g_, h_, zeros_, gram_, vectors_, fitted_;
};

}  // namespace boostforest::gbdt_pl
