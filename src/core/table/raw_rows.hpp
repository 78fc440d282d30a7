// Rows as the user has them, and how they become what trees see: scaled, missing values filled.
#pragma once

#include <cstdint>

#include "expected.hpp"
#include "roles.hpp"

namespace boostforest {

struct RawRows {
    const double* x;                  // n_rows × n_features, row-major; NaN is missing
    std::int64_t n_rows;              // rows
    int n_features;                   // features
    const double* mean;               // subtracted from each feature,
    const double* scale;              //   which is then divided by this
    const Normal* normal = nullptr;   // what scaled rows are expected to be; null: a missing value counts as the mean
    FeatureList model_features = {};  // the features that node models see
};

// Scaled rows of padded_width(n_features) doubles each, as training and prediction see them; a missing value stays NaN.
// True if there is one.
bool scale_rows(const RawRows& rows, std::int64_t begin, std::int64_t end, double* out);

// Puts what is expected in the place of NaN in some of these rows, scaled: what node models see.
void fill_missing(const RawRows& rows, std::int64_t n_rows, double* x);

// Some features of rows of `width` doubles, in rows of padded_width(features.n) doubles.
void gather_features(const double* x, std::int64_t n_rows, int width, const FeatureList& features, double* out);

}  // namespace boostforest
