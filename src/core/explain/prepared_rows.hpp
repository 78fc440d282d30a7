// Rows as explanations need them: missing values for the splits, filled for the node models.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/random.hpp"
#include "../table/raw_rows.hpp"

namespace boostforest {

class PreparedRows {
   public:
    // The rows begin … end - 1.
    PreparedRows(const RawRows& rows, std::int64_t begin, std::int64_t end);

    std::int64_t n() const { return n_; }
    int width() const { return width_; }              // doubles per row of all features
    int input_width() const { return input_width_; }  // doubles per row of what node models see

    const double* routed(std::int64_t i) const { return routed_.data() + i * width_; }  // scaled, NaN where missing
    const double* inputs(std::int64_t i) const { return inputs_.data() + i * input_width_; }  // what node models see

    // The same for the same values, wherever the row stands.
    Key key(std::int64_t i) const;

   private:
    std::int64_t n_;
    int width_, input_width_;
    std::vector<double> routed_, inputs_;
};

}  // namespace boostforest
