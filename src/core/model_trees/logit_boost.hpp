// LogitBoost with simple linear regressions: the logistic models of SimpleLogistic and LMT (Landwehr, Hall and Frank,
// "Logistic model trees", 2005; Sumner, Frank and Hall, "Speeding up logistic model tree induction", 2005).
//
// Every iteration fits, for each class, the one feature that explains the working responses best, by weighted least
// squares; the model is the sum of these regressions. Two classes have one output, the log-odds of the second class
// (the two regressions of an iteration are each other's negative). More classes have one output each.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"

namespace boostforest {

// The training table; shared by all models that are fitted to its rows. Tables stand column by column: feature j of row
// i is x[j * n_rows + i].
struct LogisticTable {
    const double* x;       // features as the user has them, no NaN: splits are made on these
    const double* scaled;  // the same less their mean, over their standard deviation: models are fitted to these
    std::int64_t n_rows;   // rows
    int n_features;        // features
    const double* y;       // number of the class
    const double* weight;  // weight of the row, above zero
    int n_classes;         // classes, at least two

    int n_outputs() const { return n_classes == 2 ? 1 : n_classes; }
    int n_params() const { return n_outputs() * (1 + n_features); }
};

// What an iteration adds to one output: intercept + slope * the (scaled and centred) feature.
struct SimpleRegression {
    int feature = 0;
    double slope = 0, intercept = 0;
};
using Iteration = std::vector<SimpleRegression>;  // one per output

// How the number of iterations is chosen.
struct IterationRules {
    std::int64_t fixed = -1;              // this number; -1: choose
    std::int64_t maximum = 500;           // the largest that may be chosen
    std::int64_t patience = 50;           // stop to look after more than that many without a new minimum; 0: never
    bool use_aic = false;                 // by Akaike's criterion on the training rows, not by cross-validation
    bool error_on_probabilities = false;  // cross-validate the error of the probabilities, not of the classes
};

constexpr int kFolds = 5;

// Rows of a node, with their scores and probabilities.
class ScoredRows {
   public:
    // Takes some rows of the table. Features are scaled, less `centre`; scores[c * table.n_rows + row] are where the
    // rows' outputs stand.
    void gather(const LogisticTable& table, const std::int32_t* rows, std::int64_t n, const double* centre,
                const double* scores);
    void scatter_scores(const std::int32_t* rows, double* scores) const;

    void add(const Iteration& iteration);      // moves the scores
    void add_model(const double* params);      // the same by a whole linear model: n_outputs × (intercept, slopes)
    double weight() const { return weight_; }  // Σ w
    double wrong() const;                      // weight of the rows whose most probable class is not theirs
    double absolute_error() const;             // Σ w · mean over the classes of |[y = c] - p_c|
    double log_loss() const;                   // -Σ w log p_y

    std::int64_t n() const { return n_; }
    std::int64_t stride() const { return stride_; }  // from one output, or feature, to the next
    const double* x() const { return x_.data(); }
    const double* y() const { return y_.data(); }
    const double* w() const { return w_.data(); }
    const double* rest() const { return rest_.data(); }  // probability of all classes but the row's own
    const double* p(int output) const {                  // probability of the output's class, in rows of other classes
        return table_->n_classes == 2 ? rest_.data() : p_.data() + output * stride_;
    }

   private:
    void update_probabilities();
    bool is_wrong(std::int64_t i) const;

    const LogisticTable* table_ = nullptr;
    std::int64_t n_ = 0, stride_ = 0;
    double weight_ = 0;
    Buffer<double> x_, y_, w_, f_, p_, rest_;
};

// Fits committees of simple regressions; keeps its scratch memory from one to the next.
class LogitBoost {
   public:
    explicit LogitBoost(const LogisticTable& table);

    // Continues from `scores` on these rows, and moves them; adds the model's parameters, for scaled features, to
    // `params`. Returns the number of iterations: as the rules say, or fewer where nothing is left to fit.
    std::int64_t fit(const std::int32_t* rows, std::int64_t n, const IterationRules& rules, Worker& worker,
                     double* scores, double* params);

    // The number of iterations that the rules choose for these rows.
    std::int64_t choose(const std::int32_t* rows, std::int64_t n, const IterationRules& rules, Worker& worker,
                        const double* scores);

    // The rows of the last fit.
    const ScoredRows& fitted_rows() const { return train_; }

   private:
    void set_centre(const std::int32_t* rows, std::int64_t n);
    bool next_iteration(const ScoredRows& rows, Worker& worker);
    bool best_regression(const ScoredRows& rows, SimpleRegression& best);
    std::int64_t choose_by_cross_validation(const std::int32_t* rows, std::int64_t n, const IterationRules& rules,
                                            Worker& worker, const double* scores);
    std::int64_t choose_by_aic(const std::int32_t* rows, std::int64_t n, const IterationRules& rules, Worker& worker,
                               const double* scores);

    const LogisticTable& table_;
    std::vector<double> centre_;  // mean of the scaled features over the node's rows
    ScoredRows train_, held_out_;
    Iteration iteration_;  // the last one
    Buffer<double> v_, vz_;
    std::vector<double> sums_;
    std::vector<std::int32_t> in_, out_;
};

// The fold of every row: the rows of one class after another, in the order in which they come, are dealt out in turn.
std::vector<std::int32_t> deal_folds(const LogisticTable& table, const std::int32_t* rows, std::int64_t n);

}  // namespace boostforest
