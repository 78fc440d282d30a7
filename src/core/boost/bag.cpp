#include "bag.hpp"

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

void take(const Dataset& data, std::int64_t row, double weight, BagPart& part) {
    part.rows.push_back(static_cast<std::int32_t>(row));
    part.w.push_back(weight);
    part.y.push_back(data.y[row]);
    part.weight += weight;
    ++part.n;
}

void finish(const Loss& loss, BagPart& part) {
    part.stride = padded_rows(part.n);
    part.w.resize(part.stride + 8, 0.0);  // loops over rows read whole vectors
    part.y.resize(part.stride + 8, 0.0);
    part.state.assign(loss.n_state() * part.stride + 8, 0.0);
}

}  // namespace

Bag::Bag(const Dataset& data, const Bins& bins, const Replica& replica, const double* row_weight) {
    const std::int32_t* counts = replica.counts();
    number.reserve(data.n_rows);
    for (std::int64_t i = 0; i < data.n_rows; ++i) {
        if (counts[i] == 0) continue;
        take(data, i, replica.weights()[i], drawn);
        number.push_back(i);
    }
    for (std::int64_t i = 0; i < data.n_rows; ++i) {
        if (counts[i] > 0) continue;
        take(data, i, row_weight == nullptr ? 1.0 : row_weight[i], out);
        number.push_back(i);
    }
    finish(data.loss, drawn);
    finish(data.loss, out);
    codes_.resize(static_cast<std::size_t>(bins.n_features()) * data.n_rows);
    for (int j = 0; j < bins.n_features(); ++j) {
        const std::uint8_t* from = bins.codes(j);
        std::uint8_t* to = codes_.data() + j * data.n_rows;
        for (std::int64_t i = 0; i < data.n_rows; ++i) to[i] = from[number[i]];
    }
    const int n_groups = (bins.n_features() + kSideBySide - 1) / kSideBySide;
    words_.n_rows = drawn.n;
    words_.words.assign(static_cast<std::size_t>(n_groups) * drawn.n + 1, 0);
    for (int position = 0; position < bins.n_features(); ++position) {
        const std::uint8_t* from = codes(bins.by_width()[position]);
        std::uint64_t* to = words_.words.data() + position / kSideBySide * drawn.n;
        const int shift = 8 * (position % kSideBySide);
        for (std::int64_t i = 0; i < drawn.n; ++i) to[i] |= static_cast<std::uint64_t>(from[i]) << shift;
    }
}

}  // namespace boostforest
