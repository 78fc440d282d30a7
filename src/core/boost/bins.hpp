// The features of a table as numbers of bins, one byte each: made once, read by all bags of boosted trees.
//
// A feature with few distinct values has a bin for each; otherwise bins have about the same weight of rows. Borders lie
// halfway between neighbouring values, so that "code <= b" and "x <= border(b)" are the same question.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/parallel.hpp"
#include "../table/dataset.hpp"

namespace boostforest {

class Bins {
   public:
    static constexpr int kMost = 255;  // bins of a feature; a missing value has one more

    // weight: of each row, null: all the same; rows of weight 0 have codes, but no say in the borders.
    Bins(const Dataset& data, const double* weight, int most_bins, int n_threads, Control& control);

    int n_features() const { return static_cast<int>(borders_.size()); }
    std::int64_t n_rows() const { return n_rows_; }

    // Bins of a feature without that of missing values, whose number this is.
    int n_bins(int feature) const { return static_cast<int>(borders_[feature].size()) + 1; }
    bool has_missing(int feature) const { return has_missing_[feature] != 0; }

    // The border between bins b and b + 1, in scaled units: x <= border means bin b or one before it. Behind the last
    // bin it is the largest value.
    double border(int feature, int b) const {
        return b < n_bins(feature) - 1 ? borders_[feature][b] : largest_[feature];
    }

    // All features, those with many bins first: histograms of neighbours have about the same size.
    const std::vector<int>& by_width() const { return by_width_; }

    // The bin of every row.
    const std::uint8_t* codes(int feature) const { return codes_.data() + feature * n_rows_; }

   private:
    std::int64_t n_rows_;
    std::vector<std::vector<double>> borders_;  // of each feature, ascending
    std::vector<double> largest_;               // value of each feature
    std::vector<char> has_missing_;             // of each feature
    std::vector<std::uint8_t> codes_;           // feature after feature
    std::vector<int> by_width_;
};

}  // namespace boostforest
