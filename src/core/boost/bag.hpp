// The rows of one bag of boosted trees: a bootstrap replica and, behind it, the rows that it has not drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../grow/replica.hpp"
#include "../losses/loss.hpp"
#include "../table/dataset.hpp"
#include "bins.hpp"

namespace boostforest {

// Some rows of a bag: what a loss keeps of them.
struct BagPart {
    std::int64_t n = 0;              // rows
    std::int64_t stride = 0;         // of values per row, output after output
    double weight = 0;               // Σ w
    std::vector<double> w, y;        // weight and label of each
    std::vector<double> state;       // see Loss::n_state
    std::vector<std::int32_t> rows;  // their numbers in the table

    Sample sample() {
        return {.rows = rows.data(),
                .n = n,
                .weight = weight,
                .w = w.data(),
                .y = y.data(),
                .state = state.data(),
                .stride = stride};
    }
};

class Bag {
   public:
    // row_weight: what a row that was not drawn counts; null: all the same.
    Bag(const Dataset& data, const Bins& bins, const Replica& replica, const double* row_weight);

    std::int64_t n_rows() const { return drawn.n + out.n; }

    // Codes of the rows in the order of the bag: those that were drawn, then the others.
    const std::uint8_t* codes(int feature) const { return codes_.data() + feature * n_rows(); }

    BagPart drawn, out;                // rows 0 … drawn.n - 1, and those behind them
    std::vector<std::int64_t> number;  // of each row of the bag in the table

   private:
    std::vector<std::uint8_t> codes_;
};

}  // namespace boostforest
