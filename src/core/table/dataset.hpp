// The training table as the core sees it, shared by all trees and threads.
#pragma once

#include <cstdint>

#include "../losses/loss.hpp"
#include "indicators.hpp"
#include "interactions.hpp"
#include "missing.hpp"
#include "roles.hpp"

namespace boostforest {

struct Dataset {
    const double* x;                               // scaled features, rows of padded_width(n_features) doubles
    std::int64_t n_rows;                           // rows
    int n_features;                                // features
    FeatureList split_features;                    // those that may be split on
    const double* model_x;                         // what node models see of x: rows of padded_width(n_model_features)
    int n_model_features;                          //   doubles; x itself if they see all features
    const double* y;                               // scaled target, or the number of the class
    const Loss& loss;                              // what trees minimise
    int n_classes;                                 // classes (0 in regression)
    const MissingCells* missing = nullptr;         // cells of x that are missing in the table; null: none
    const Indicators* indicators = nullptr;        // columns of x kept as lists too; null: none
    const Indicators* model_indicators = nullptr;  // columns of model_x likewise
    const std::int8_t* monotone = nullptr;         // per feature: 1 or -1 if the score must rise or fall with it, 0:
    const std::int8_t* model_monotone = nullptr;   //   free; null: all free. The same of the features that models see
    const Interactions* interactions = nullptr;    // which columns may act together; null: all. No lists of models then
    const double* start = nullptr;                 // scores that trees start from, rows × outputs; null: zero
};

}  // namespace boostforest
