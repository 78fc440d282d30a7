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

// Codes of some rows, eight features in a word.
struct CodeWords {
    std::vector<std::uint64_t> words;  // group after group, and one more that may be read
    std::int64_t n_rows = 0;

    const std::uint64_t* group(int g) const { return words.data() + g * n_rows; }
};

class Bag {
   public:
    // row_weight: what a row that was not drawn counts; null: all the same.
    Bag(const Dataset& data, const Bins& bins, const Replica& replica, const double* row_weight);

    std::int64_t n_rows() const { return drawn.n + out.n; }

    // Codes of the rows in the order of the bag: those that were drawn, then the others.
    const std::uint8_t* codes(int feature) const { return codes_.data() + feature * n_rows(); }

    // The same for histograms, of the rows that were drawn: the codes of eight features in a word, the first one in its
    // lowest byte. Group g has the features from 8 g on in the order of Bins::by_width.
    const CodeWords& words() const { return words_; }

    BagPart drawn, out;                // rows 0 … drawn.n - 1, and those behind them
    std::vector<std::int64_t> number;  // of each row of the bag in the table

   private:
    std::vector<std::uint8_t> codes_;
    CodeWords words_;
};

}  // namespace boostforest
