// Penalised least squares with few unknowns: the models of the leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../ridge/l1_quadratic.hpp"
#include "gbdt_pl.hpp"

namespace boostforest::gbdt_pl {

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
