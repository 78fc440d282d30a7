// Ridge regressions of one node whose table has indicators (indicators.hpp): zeros are not work, and indicators that
// have one value in all rows of the node drop out.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../losses/loss.hpp"
#include "../table/indicators.hpp"
#include "ridge.hpp"

namespace boostforest {

// The rows of one node: columns first … are its own numbering, the active indicators (rare: 1, frequent: 0), zeros up
// to a multiple of 8, then the other features less their mean in the node.
class SparseRows {
   public:
    void read(const Indicators& table, const Sample& sample);

    // Fits all outputs; slopes and intercepts in the units of the table, n_features + 1 parameters per output.
    void fit_ridge(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work, double* params,
                   int n_features, double* fitted, std::int64_t fitted_stride);

   private:
    void drop_inactive(int n_everywhere);
    void fit_lists(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work);
    void fit_dense(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work, double* fitted,
                   std::int64_t fitted_stride);
    void score(const double* slopes, double intercept, double* out);

    const Indicators* table_ = nullptr;
    std::int64_t n_ = 0;                // rows
    int n_active_ = 0;                  // indicators that have both values in these rows: the first columns
    int first_ = 0, width_ = 0;         // column where the other features begin; columns
    std::vector<std::int32_t> column_;  // column of an indicator, -1: it has one value in all rows
    std::vector<std::int32_t> active_;  // indicator of a column, n_active_ of them
    RowLists lists_;                    // in the node's numbering
    std::vector<double> step_;          // rare minus frequent value, by column
    Buffer<double> mean_, x_, dense_, slopes_, intercepts_, changes_;
};

}  // namespace boostforest
