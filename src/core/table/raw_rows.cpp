#include "raw_rows.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"

namespace boostforest {

bool scale_rows(const RawRows& rows, std::int64_t begin, std::int64_t end, double* out) {
    const int d = rows.n_features, width = padded_width(d);
    bool missing = false;
    for (std::int64_t i = begin; i < end; ++i, out += width) {
        const double* row = rows.x + i * d;
        for (int j = 0; j < d; ++j) {
            out[j] = (row[j] - rows.mean[j]) / rows.scale[j];
            missing |= std::isnan(out[j]);
        }
        std::fill(out + d, out + width, 0.0);
    }
    return missing;
}

void fill_missing(const RawRows& rows, std::int64_t n_rows, double* x) {
    const int width = padded_width(rows.n_features);
    if (rows.normal == nullptr) {
        for (std::int64_t i = 0; i < n_rows * width; ++i) x[i] = std::isnan(x[i]) ? 0.0 : x[i];
        return;
    }
    RowFiller filler(*rows.normal);
    for (const std::int64_t i : order_by_gaps(x, n_rows, width, rows.n_features)) {
        double* row = x + i * width;
        if (std::any_of(row, row + rows.n_features, [](double value) { return std::isnan(value); })) filler.fill(row);
    }
}

void gather_features(const double* x, std::int64_t n_rows, int width, const FeatureList& features, double* out) {
    const int out_width = padded_width(features.n);
    for (std::int64_t i = 0; i < n_rows; ++i, x += width, out += out_width) {
        for (int j = 0; j < features.n; ++j) out[j] = x[features[j]];
        std::fill(out + features.n, out + out_width, 0.0);
    }
}

}  // namespace boostforest
