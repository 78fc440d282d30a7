#include "training_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../kernels/kernels.hpp"

namespace boostforest {

TrainingTable::TrainingTable(const RawRows& rows, const double* y, std::unique_ptr<const Loss> loss, int n_classes,
                             const std::int8_t* monotone, int n_threads, Control& control)
    : n_rows_(rows.n_rows),
      n_features_(rows.n_features),
      n_model_features_(rows.model_features.n),
      n_classes_(n_classes),
      y_(y),
      loss_(std::move(loss)) {
    double* x = x_.get(static_cast<std::size_t>(n_rows_) * padded_width(n_features_));
    any_missing_ = scale_rows(rows, 0, n_rows_, x);
    if (any_missing_) take_missing(rows, n_threads, control);
    indicators_ = find_indicators(x, n_rows_, n_features_, any_missing_ ? &missing_ : nullptr);
    if (rows.model_features.numbers != nullptr) take_model_features(rows.model_features);
    if (monotone == nullptr) return;
    monotone_.assign(monotone, monotone + n_features_);
    for (int j = 0; j < n_model_features_; ++j) model_monotone_.push_back(monotone[rows.model_features[j]]);
}

// Notes which values are NaN and fills them.
void TrainingTable::take_missing(const RawRows& rows, int n_threads, Control& control) {
    const std::int64_t width = padded_width(n_features_);
    double* x = x_.data();
    missing_ = MissingCells(n_rows_, n_features_);
    for (std::int64_t i = 0; i < n_rows_; ++i)
        for (int j = 0; j < n_features_; ++j)
            if (std::isnan(x[i * width + j])) missing_.set(i, j);
    constexpr std::int64_t kRows = 256;  // of a block
    parallel_for((n_rows_ + kRows - 1) / kRows, n_threads, control, [&](std::int64_t block, Worker& worker) {
        worker.check(kRows * width * width);
        fill_missing(rows, std::min(kRows, n_rows_ - block * kRows), x + block * kRows * width);
    });
}

void TrainingTable::take_model_features(const FeatureList& features) {
    double* model_x = model_x_.get(static_cast<std::size_t>(n_rows_) * padded_width(features.n));
    gather_features(x_.data(), n_rows_, padded_width(n_features_), features, model_x);
    model_indicators_ = find_indicators(model_x, n_rows_, features.n, nullptr);
}

Dataset TrainingTable::dataset(const FeatureList& split_features, const double* start) const {
    const bool sees_all = model_x_.data() == nullptr;
    Dataset data{
        .x = x_.data(),
        .n_rows = n_rows_,
        .n_features = n_features_,
        .split_features = split_features,
        .model_x = sees_all ? x_.data() : model_x_.data(),
        .n_model_features = n_model_features_,
        .y = y_,
        .loss = *loss_,
        .n_classes = n_classes_,
        .missing = any_missing_ ? &missing_ : nullptr,
        .indicators = indicators_.get(),
        .model_indicators = sees_all ? indicators_.get() : model_indicators_.get(),
        .start = start,
    };
    if (is_monotone()) {
        data.monotone = monotone_.data();
        data.model_monotone = model_monotone_.data();
        data.model_indicators = nullptr;  // the regression with bounds reads no lists
    }
    return data;
}

const Bins& TrainingTable::bins(const double* weight, int most_bins, int n_threads, Control& control) {
    if (!bins_)
        bins_ = std::make_unique<const Bins>(dataset({nullptr, n_features_}), weight, most_bins, n_threads, control);
    return *bins_;
}

}  // namespace boostforest
