// Where to split a node: random thresholds, their gains, the best of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"
#include "../base/random.hpp"
#include "../table/dataset.hpp"
#include "gains.hpp"

namespace boostforest {

// Limits of parameters.
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
constexpr double kFinite = std::numeric_limits<double>::max();
constexpr double kMostInt = std::numeric_limits<std::int32_t>::max();

struct SplitRules {
    Criterion criterion = Criterion::kXgb;
    double min_samples_leaf = 1;  // weight that each side must have
    double reg_lambda = 0;        // λ of the xgb gain
    int max_features = 1;         // features tried at a time; more only while none of them has a valid threshold
    int n_cuts = 1;               // thresholds drawn per feature

    // All fields, each with its name in Python and the least and the largest value; the order is that of find_splits.
    template <class Visit>
    void for_each_field(Visit visit) {
        visit("criterion", criterion, 0, static_cast<double>(Criterion::kC45));
        visit("min_samples_leaf", min_samples_leaf, kAboveZero, kFinite);
        visit("reg_lambda", reg_lambda, 0, kFinite);
        visit("max_features", max_features, 1, kMostInt);
        visit("n_cuts", n_cuts, 1, kMostInt);
    }
};

struct Split {
    int feature = -1;           // -1: no valid threshold was drawn
    double threshold = 0;       // x <= threshold goes left
    bool saw_missing = false;   // some of these rows miss the feature,
    bool missing_left = false;  //   and do better on the left
    double gain = 0;            // the criterion's value on these rows
    double left_weight = 0;     // Σ w of those on the left
    bool possible = false;  // some feature has two distinct values (or a missing one), so another draw could succeed
};

class SplitFinder {
   public:
    explicit SplitFinder(const Dataset& data) : data_(data) {}

    // The best of the thresholds that an attempt draws, judged on the rows of the sample, of which there is one at
    // least. The worker is asked between thresholds whether to go on.
    // features: those that may be split on, at least one.
    Split find(const Sample& sample, const SplitRules& rules, const FeatureList& features, Key attempt, Worker& worker);

   private:
    // Features that are tried together, as columns of x: all of them, or a few copied out.
    struct Candidates {
        const double* x;
        const std::int32_t* rows;   // of the sample
        int width;                  // doubles per row
        int n;                      // columns
        const std::int32_t* names;  // feature of a column; null: its own number

        int name(int j) const { return names == nullptr ? j : names[j]; }
    };

    void try_all();
    void try_columns(const Candidates& columns);
    void try_indicators();
    const double* sum_members(int step);
    Candidates copy_columns(const std::int32_t* features, int n);
    void find_missing(const Candidates& columns);
    template <class Visit>
    void for_each_missing(const Candidates& columns, Visit visit) const;
    void take_out_missing(const Candidates& columns);
    void put_missing_left(const Candidates& columns);
    void take_best(const Candidates& columns, int n_cuts, bool missing_left);

    const Dataset& data_;
    const Sample* sample_ = nullptr;  // the rows
    const SplitRules* rules_ = nullptr;
    FeatureList features_;
    Worker* worker_ = nullptr;
    Key thresholds_key_ = 0;
    Gains gains_;          // of the rows
    Split best_;           // so far,
    int best_column_ = 0;  //   and its column among the candidates

    Buffer<double> lo_, hi_, thresholds_, sums_;  // one value per column (and threshold, and statistic)
    std::vector<int> with_missing_;               // columns that some of the rows miss,
    Buffer<double> missing_sums_;                 //   and the sums of their statistics over these rows
    Buffer<double> counted_sums_;                 //   and over those that are counted on the left
    std::vector<std::uint8_t> seen_missing_;
    Buffer<double> row_stats_, member_sums_;  // statistics of a row or an indicator next to each other
    RowLists lists_;
    std::vector<int> active_;         // indicators that have both values in these rows
    std::vector<std::int32_t> some_;  // features that may be split on and are not indicators
    Buffer<double> copied_;
    Buffer<std::int32_t> order_, identity_;
};

}  // namespace boostforest
