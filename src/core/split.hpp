// Where to cut a node: random cut-points, their gains, the best of them.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "indicators.hpp"
#include "loss.hpp"
#include "missing.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "roles.hpp"

namespace boostforest {

enum class Criterion : std::uint8_t {
    kXgb = 0,   // ½ [G_L²/(H_L + λ) + G_R²/(H_R + λ)], summed over the outputs
    kMse = 1,   // decrease of the squared error of the labels about their mean
    kGini = 2,  // decrease of the Gini impurity of the labels
    kC45 = 3,   // information gain of the labels over split information, times the weight
};

// The rows that a split is chosen on.
struct SplitProblem {
    const double* x;               // scaled features of the whole table, rows of `width` doubles
    int width;                     // doubles per row
    FeatureList features;          // features that may be cut
    const Sample& sample;          // the rows, at least one
    const Loss& loss;              // its derivatives are what the xgb gain is made of
    int n_classes;                 // classes of the labels, for gini and c45
    const MissingCells* missing;   // null: none
    const Indicators* indicators;  // columns to be read from there; null: none
    Worker& worker;                // asked between cuts whether to go on
};

struct SplitRules {
    Criterion criterion = Criterion::kXgb;
    double min_samples_leaf = 1;  // weight that each side must have
    double reg_lambda = 0;        // λ of the xgb gain
    int max_features = 1;         // features tried at a time; more only while none of them has a valid cut
    int n_cuts = 1;               // cut-points drawn per feature
};

struct Split {
    int feature = -1;           // -1: no valid cut was drawn
    double threshold = 0;       // x <= threshold goes left
    bool saw_missing = false;   // some of these rows miss the feature,
    bool missing_left = false;  //   and do better on the left
    double gain = 0;            // the criterion's value on these rows
    bool possible = false;  // some feature has two distinct values (or a missing one), so another draw could succeed
};

class SplitFinder {
   public:
    Split find(const SplitProblem& problem, const SplitRules& rules, Key attempt);

   private:
    // Features that are tried together, as columns of x: all of them, or a few copied out.
    struct Columns {
        const double* x;
        const std::int32_t* rows;
        int width;
        int n;                      // columns
        const std::int32_t* names;  // feature of a column; null: its own number
    };

    void make_statistics(const SplitProblem& problem, Criterion criterion);
    void try_columns(const SplitProblem& problem, const SplitRules& rules, const Columns& columns, Key cuts,
                     Split& best);
    void compute_gains(const SplitProblem& problem, const SplitRules& rules, int width);
    void find_missing(const SplitProblem& problem, const Columns& columns);
    template <class Visit>
    static void for_each_missing(const SplitProblem& problem, const Columns& columns, Visit visit);
    void take_out_missing(const SplitProblem& problem, const Columns& columns, const double* cuts);
    void put_missing_left(const Columns& columns);
    void take_best(const SplitProblem& problem, const SplitRules& rules, const Columns& columns, const double* cuts,
                   bool missing_left, Split& best);
    void try_indicators(const SplitProblem& problem, const SplitRules& rules, Key cuts, Split& best);
    void try_all(const SplitProblem& problem, const SplitRules& rules, Key cuts, Split& best);
    Columns copy_columns(const SplitProblem& problem, const std::int32_t* features, int n);

    std::vector<const double*> stats_;  // statistics of each row,
    std::vector<double> totals_;        //   and over all rows
    LossWorkspace loss_work_;
    Buffer<double> label_stats_;
    Buffer<double> lo_, hi_, cuts_, sums_, gain_, weight_;  // one value per column (and statistic)
    Buffer<double> right_;                                  // class weights of the right side
    std::vector<int> gappy_;                                // columns that some of the rows miss,
    Buffer<double> missing_sums_;                           //   and the sums of their statistics over these rows
    Buffer<double> counted_sums_;                           //   and over those that are counted on the left
    std::vector<std::uint8_t> seen_missing_;
    int best_column_ = 0;
    Buffer<double> row_stats_, member_sums_;  // statistics of a row or an indicator next to each other
    RowLists lists_;
    std::vector<int> active_;         // indicators that have both values in these rows
    std::vector<std::int32_t> some_;  // features that may be cut and are no indicators
    Buffer<double> copied_;
    Buffer<std::int32_t> order_, identity_;
};

// b of the positions 0 … n-1 without replacement (Floyd's algorithm), as set bits; a word of ones follows them.
const std::uint64_t* draw_batch(Key key, std::int64_t n, std::int64_t b, Buffer<std::uint64_t>& taken);

}  // namespace boostforest
