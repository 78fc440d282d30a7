// Linear support vector regression: minimise ½|a|² + ½κb² + C Σ v max(0, |e| - ε) over slopes a and intercept b, with
// the error e = a·x + b - z and the weight v of a row. A small κ leaves the intercept as good as free, but unique.
//
// By a primal-dual interior point method: coordinate descent on the dual does not converge in a thousand passes where C
// is large. Each row has two sides of the tube, above and below, and on each a multiplier α in (0, C), per unit of its
// weight, a slack s and an excess ξ, all positive, with s - ξ = ε - e above and ε + e below. At the minimum
// s α = ξ (C - α) = 0; a step is Newton's towards s α = ξ (C - α) = μ, for μ below what these products are on average.
// With θ = s/α + ξ/(C - α) and ρ = μ/α - μ/(C - α) - ε it changes the multiplier by (±e + ρ)/θ, e the error after the
// step, so all that is left to solve is a ridge regression of penalty 1 with the row weights v (1/θ_above + 1/θ_below):
// fit_ridge does it. A row of weight 2 takes the same steps as two rows.
//
// It starts at a = b = 0 with the same α on both sides and stays feasible: the weighted sum of all products is then the
// duality gap, more than which the objective cannot be above its minimum. If it is above an earlier objective by more,
// then the ridge regression has lost its precision: that takes row weights ten orders of magnitude apart, or more.

#include <algorithm>

#include "../kernels/kernels.hpp"
#include "node_model.hpp"

namespace boostforest {

namespace {

constexpr double kToBoundary = 0.995;  // part of the way to the nearest bound that a step may go
constexpr double kFastest = 0.03;      // μ over the present average, after a full step
constexpr double kRounding = 1e-9;
constexpr double kNothing = 1e-8;  // an objective below this part of the labels' own price is as good as 0

// One output of one node.
class Descent {
   public:
    Descent(const NodeProblem& problem, int output, const double* x, NodeWorkspace& work)
        : rules_(problem.rules),
          x_(x),
          n_(problem.sample.n),
          stride_(padded_rows(n_ + 1)),
          width_(problem.width),
          d_(problem.n_inputs),
          z_(problem.labels.z + output * problem.labels.stride),
          v_(problem.labels.v + output * problem.labels.v_stride),
          work_(work.ridge) {
        state_ = work.svr.get(19 * static_cast<std::size_t>(stride_) + 3 * static_cast<std::size_t>(width_));
        score_ = state_ + 8 * stride_;
        direction_ = state_ + 9 * stride_;
        weight_ = direction_ + 6 * stride_;
        target_ = weight_ + stride_;
        fitted_ = target_ + stride_;
        last_score_ = fitted_ + stride_;
        slopes_ = last_score_ + stride_;
        next_slopes_ = slopes_ + width_;
        last_slopes_ = next_slopes_ + width_;
    }

    // True if the objective is within the tolerance of the best.
    bool run() {
        double low = 0, high = 0, total = 0, unused = 0;
        kernels().value_range(z_, n_, low, high);
        kernels().weighted_sums(v_, v_, n_, total, unused);
        const double reach = std::max(-low, high), nothing = kNothing * rules_.cost * total * reach;
        std::fill_n(slopes_, 2 * width_, 0.0);
        kernels().svr_start(z_, rules_.cost, rules_.epsilon, reach, n_, stride_, state_);
        if (reach <= rules_.epsilon) return true;   // all labels are in the tube around 0
        std::fill_n(direction_, 9 * stride_, 0.0);  // and what comes behind: a step of no length reads it
        move(0);
        double best = objective_;
        for (int i = 0; gap_ > rules_.tolerance * std::max(objective_, nothing); ++i) {
            if (i == rules_.max_iterations) return false;
            check(work_.worker, n_ * (d_ * d_ / 2 + 100));
            const double mu = speed_ * gap_ / (4 * total);
            solve(mu);
            const double decrease =
                kernels().svr_direction(z_, rules_.epsilon, mu, n_, stride_, state_, fitted_, direction_);
            const double step = std::min(1.0, kToBoundary / decrease);
            const double last_intercept = intercept_;
            std::copy_n(score_, n_, last_score_);
            std::copy_n(slopes_, d_, last_slopes_);
            move(step);
            if (!(objective_ <= best * (1 + kRounding) + gap_)) {
                intercept_ = last_intercept;
                std::copy_n(last_score_, n_, score_);
                std::copy_n(last_slopes_, d_, slopes_);
                return false;
            }
            best = std::min(best, objective_);
            speed_ = std::max(kFastest, 1 - step);
        }
        return true;
    }

    const double* slopes() const { return slopes_; }
    double intercept() const { return intercept_; }  // at the origin of the features
    const double* fitted() const { return score_; }

   private:
    // The ridge regression of a step. The last row, all features 0 and the label 0, is the penalty on the intercept.
    void solve(double mu) {
        kernels().svr_system(z_, v_, rules_.epsilon, mu, n_, stride_, state_, weight_, target_);
        weight_[n_] = rules_.intercept_penalty;
        target_[n_] = 0;
        double shifted = 0;
        fit_ridge({.x = x_,
                   .n = n_ + 1,
                   .width = width_,
                   .d = d_,
                   .z = target_,
                   .v = weight_,
                   .stride = stride_,
                   .n_outputs = 1,
                   .lambda = 1.0,
                   .slopes = next_slopes_,
                   .intercepts = &shifted,
                   .fitted = fitted_,
                   .fitted_stride = stride_},
                  work_);
    }

    void move(double step) {
        double loss = 0, squares = 0;
        kernels().svr_move(z_, v_, rules_.cost, rules_.epsilon, step, n_, stride_, direction_, fitted_, state_, gap_,
                           loss);
        intercept_ += step * (fitted_[n_] - intercept_);
        for (int j = 0; j < d_; ++j) {
            slopes_[j] += step * (next_slopes_[j] - slopes_[j]);
            squares += slopes_[j] * slopes_[j];
        }
        objective_ = 0.5 * (squares + rules_.intercept_penalty * intercept_ * intercept_) + loss;
    }

    const NodeRules& rules_;
    const double* x_;  // the rows, shifted, and the origin of the features
    std::int64_t n_, stride_;
    int width_, d_;
    const double *z_, *v_;
    RidgeWorkspace& work_;
    double *state_, *direction_;            // see kernels.hpp
    double *score_, *slopes_;               // predictions, at the end of the state, and what they come from
    double *weight_, *target_, *fitted_;    // of the ridge regression
    double* next_slopes_;                   // its solution
    double *last_score_, *last_slopes_;     // before the last step
    double intercept_ = 0, objective_ = 0;  // at present
    double gap_ = 0, speed_ = 0.1;          // duality gap, and how much of it the next step aims at
};

class LinearSvrModel final : public NodeModel {
   public:
    void fit(const NodeProblem& problem, NodeWorkspace& work, double* params) const override {
        const std::int64_t n = problem.sample.n;
        const int width = problem.width, d = problem.n_inputs;
        double* mean = work.vectors.get(width);
        double* x = work.rows.get(static_cast<std::size_t>(n + 1) * width);
        kernels().gather_centred(problem.x, problem.sample.rows, n, width, problem.sample.w, problem.sample.weight,
                                 mean, x);
        for (int j = 0; j < width; ++j) x[n * width + j] = -mean[j];
        for (int c = 0; c < problem.n_outputs; ++c, params += 1 + d) {
            Descent descent(problem, c, x, work);
            if (!descent.run()) ++work.n_unconverged;
            params[0] = descent.intercept();
            std::copy_n(descent.slopes(), d, params + 1);
            std::copy_n(descent.fitted(), n, problem.fitted + c * problem.fitted_stride);
        }
    }
};

}  // namespace

std::unique_ptr<NodeModel> make_linear_svr_model() {
    return std::make_unique<LinearSvrModel>();
}

}  // namespace boostforest
