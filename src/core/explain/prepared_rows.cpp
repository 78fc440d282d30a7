#include "prepared_rows.hpp"

#include <bit>

#include "../kernels/kernels.hpp"

namespace boostforest {

PreparedRows::PreparedRows(const RawRows& rows, std::int64_t begin, std::int64_t end)
    : n_(end - begin), width_(padded_width(rows.n_features)) {
    const bool is_all = rows.model_features.numbers == nullptr;
    input_width_ = padded_width(is_all ? rows.n_features : rows.model_features.n);
    routed_.resize(n_ * width_);
    const bool missing = scale_rows(rows, begin, end, routed_.data());
    std::vector<double> filled(routed_);
    if (missing) fill_missing(rows, n_, filled.data());
    if (is_all) {
        inputs_ = std::move(filled);
    } else {
        inputs_.resize(n_ * input_width_);
        gather_features(filled.data(), n_, width_, rows.model_features, inputs_.data());
    }
}

Key PreparedRows::key(std::int64_t i) const {
    Key key = 0;
    for (int j = 0; j < width_; ++j) {
        const double value = routed(i)[j];
        key = child(key, value == value ? std::bit_cast<std::uint64_t>(value) : 1);  // NaN has many patterns
    }
    return key;
}

}  // namespace boostforest
