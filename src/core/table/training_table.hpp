// The training table, built once per fit: features scaled, missing values noted and filled, one-hot columns found, the
// features that node models see gathered. Whoever grows trees or single nodes gets a Dataset of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"
#include "../boost/bins.hpp"
#include "dataset.hpp"
#include "raw_rows.hpp"

namespace boostforest {

class TrainingTable {
   public:
    // rows: read only here. y: scaled target, or the number of the class; stays the caller's, and must outlive the
    // table. n_classes: 0 in regression. monotone: as in Dataset, copied.
    TrainingTable(const RawRows& rows, const double* y, std::unique_ptr<const Loss> loss, int n_classes,
                  const std::int8_t* monotone, int n_threads, Control& control);

    // The table as trees see it; split_features and start as there. Good as long as the table and these two are.
    Dataset dataset(const FeatureList& split_features, const double* start = nullptr) const;

    // The features as numbers of bins, made when they are first asked for: weights and number of bins are those of the
    // first call.
    const Bins& bins(const double* weight, int most_bins, int n_threads, Control& control);

    std::int64_t n_rows() const { return n_rows_; }
    int n_features() const { return n_features_; }
    int n_classes() const { return n_classes_; }
    const Loss& loss() const { return *loss_; }
    const double* values() const { return x_.data(); }  // scaled and filled, rows of padded_width(n_features) doubles
    bool is_missing(std::int64_t row, int feature) const { return any_missing_ && missing_.test(row, feature); }
    bool is_monotone() const { return !monotone_.empty(); }

   private:
    void take_missing(const RawRows& rows, int n_threads, Control& control);
    void take_model_features(const FeatureList& features);

    std::int64_t n_rows_;
    int n_features_, n_model_features_, n_classes_;
    const double* y_;
    std::unique_ptr<const Loss> loss_;
    Buffer<double> x_;
    Buffer<double> model_x_;  // what node models see of x; empty: all
    bool any_missing_ = false;
    MissingCells missing_;
    std::unique_ptr<const Indicators> indicators_, model_indicators_;  // of x and model_x; null: none
    std::unique_ptr<const Bins> bins_;                                 // null: nobody has asked for them
    std::vector<std::int8_t> monotone_, model_monotone_;               // empty: all features are free
};

}  // namespace boostforest
