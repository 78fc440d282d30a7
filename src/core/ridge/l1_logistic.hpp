// Logistic regression with an L1 penalty, of some rows of a table: two classes or more.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"
#include "l1_quadratic.hpp"

namespace boostforest {

struct LogisticProblem {
    const double* x;           // rows of d features, one after another
    int d;                     // features
    const std::int32_t* rows;  // numbers of the rows to fit
    std::int64_t n;            // how many
    const double* y;           // class of each: 0 … n_outputs - 1, or 0 and 1 if there is one output
    const double* weight;      // of each, not negative
    int n_outputs;             // 1: the log-odds of class 1; else a score per class
    double alpha;              // penalty of the slopes; intercepts are free
    int max_iter;              // Newton steps per output at the most
    double tolerance;          // end when a round of steps takes less than this part off the objective
};

// Newton steps, one output at a time, each on the quadratic approximation with the penalty in it, shortened until the
// objective Σ w · loss + α |slopes|₁ falls.
class L1Logistic {
   public:
    // coef: per output the intercept and d slopes, the start and the result. Returns the objective.
    double fit(const LogisticProblem& problem, Worker& worker, double* coef);

   private:
    double objective(const LogisticProblem& problem, const double* scores, const double* coef);
    void score(const LogisticProblem& problem, int output, const double* coef, double* out);
    bool step(const LogisticProblem& problem, int output, double* coef, double& value);

    Quadratic quadratic_;
    Buffer<double> x_, scores_, trial_, p_, g_, h_, zeros_, gram_, vectors_;
    std::vector<double> direction_, moved_;
    std::int64_t stride_ = 0;
    int width_ = 0;
};

}  // namespace boostforest
