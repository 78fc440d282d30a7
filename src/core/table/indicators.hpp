// Columns of two values, one of them rare: one-hot columns above all. The table keeps them dense as well; split search
// and ridge models read them here, as lists, so that the frequent value costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../base/buffer.hpp"
#include "missing.hpp"

namespace boostforest {

struct Indicators {
    std::vector<std::int32_t> feature;   // number of the column in the table, ascending
    std::vector<double> frequent, rare;  // its two values
    std::vector<std::uint32_t> start;    // row i has the rare value in the indicators
    std::vector<std::uint16_t> member;   //   member[start[i]] … member[start[i + 1] - 1], ascending; 8 more follow
    std::vector<std::int32_t> rest;      // numbers of the other columns, ascending,
    std::vector<double> x;               //   and their values, rows of `width` doubles, padded with zeros
    std::vector<std::int32_t> number;    // of a feature: its place in `feature`, or -1 - its place in `rest`
    std::vector<std::uint64_t> is_rare;  // row i of indicator m: bit i % 64 of word m * n_words + i / 64
    std::int64_t n_words = 0;
    int width = 0;  // a multiple of 8, at least 8

    int n() const { return static_cast<int>(feature.size()); }
    int n_rest() const { return static_cast<int>(rest.size()); }
    const std::uint16_t* begin(std::int64_t row) const { return member.data() + start[row]; }
    const std::uint16_t* end(std::int64_t row) const { return member.data() + start[row + 1]; }
};

// The lists of some rows of a table, next to each other: loops over all their members need not know where a row ends,
// which cannot be predicted.
struct RowLists {
    Buffer<std::uint32_t> start;  // as in Indicators, by the number of the row among these
    Buffer<std::uint16_t> member;
    Buffer<std::int32_t> owner;  // row of a member
    std::int64_t n_members = 0;

    void read(const Indicators& table, const std::int32_t* rows, std::int64_t n);
};

// The indicators of a table of scaled features (rows of padded_width(n_features) doubles); null where lists would not
// save half of the work. Columns with missing values are none.
std::unique_ptr<Indicators> find_indicators(const double* x, std::int64_t n_rows, int n_features,
                                            const MissingCells* missing);

}  // namespace boostforest
