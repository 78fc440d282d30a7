#include "l1_logistic.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"
#include "../losses/loss.hpp"

namespace boostforest {

namespace {

constexpr double kRidge = 1e-6;     // of the mean curvature, added to all: where probabilities are 0 or 1 there is none
constexpr double kDecrease = 1e-4;  // part of the promised decrease that a step has to keep
constexpr int kHalvings = 12;       // of a step at the most
constexpr int kSweeps = 100;        // of coordinate descent

// log(1 + e^f)
double softplus(double f) {
    return std::max(f, 0.0) + std::log1p(std::exp(-std::abs(f)));
}

}  // namespace

void L1Logistic::score(const LogisticProblem& problem, int output, const double* coef, double* out) {
    const double* own = coef + static_cast<std::int64_t>(output) * (1 + problem.d);
    double* padded = vectors_.get(4 * width_) + 3 * width_;
    std::fill(std::copy_n(own + 1, problem.d, padded), padded + width_, 0.0);
    kernels().linear(x_.data(), problem.n, width_, padded, own[0], out);
}

double L1Logistic::objective(const LogisticProblem& problem, const double* scores, const double* coef) {
    const int k = problem.n_outputs;
    double total = 0;
    for (std::int64_t i = 0; i < problem.n; ++i) {
        double loss;
        if (k == 1) {
            loss = softplus(scores[i]) - problem.y[i] * scores[i];
        } else {
            double largest = scores[i], sum = 0;
            for (int c = 1; c < k; ++c) largest = std::max(largest, scores[c * stride_ + i]);
            for (int c = 0; c < k; ++c) sum += std::exp(scores[c * stride_ + i] - largest);
            loss = largest + std::log(sum) - scores[static_cast<int>(problem.y[i]) * stride_ + i];
        }
        total += problem.weight[i] * loss;
    }
    double penalty = 0;
    for (int c = 0; c < k; ++c)
        for (int j = 1; j <= problem.d; ++j) penalty += std::abs(coef[c * (1 + problem.d) + j]);
    return total + problem.alpha * penalty;
}

// One step for one output; false if it brings nothing.
bool L1Logistic::step(const LogisticProblem& problem, int output, double* coef, double& value) {
    const int d = problem.d, k = problem.n_outputs;
    const std::int64_t n = problem.n;
    double *p = p_.data(), *g = g_.get(stride_), *h = h_.get(stride_);
    if (k == 1)
        kernels().sigmoid(scores_.data(), n, p);
    else
        kernels().softmax(scores_.data(), stride_, n, k, p, stride_);
    double sum_g = 0, sum_h = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const double own = p[output * stride_ + i], hit = problem.y[i] == (k == 1 ? 1 : output) ? 1 : 0;
        sum_g += g[i] = problem.weight[i] * (own - hit);
        sum_h += h[i] = problem.weight[i] * own * (1 - own);
    }
    double *gram = gram_.data(), *sum_hx = vectors_.get(4 * width_), *sum_gx = sum_hx + width_,
           *unused = sum_gx + width_;
    std::fill_n(sum_gx, width_, 0.0);
    kernels().normal_equations(x_.data(), n, width_, d, h, zeros_.data(), gram, sum_hx, unused);
    kernels().add_weighted_rows(x_.data(), n, width_, g, sum_gx);

    // In the new coefficients β + Δ: g·Δ + ½ Δᵀ H Δ is (g - H β)·(β + Δ) + ½ (β + Δ)ᵀ H (β + Δ), but for a constant.
    double* own = coef + static_cast<std::int64_t>(output) * (1 + d);
    Quadratic& q = quadratic_;
    q.reset(1 + d);
    q.a(0, 0) = sum_h;
    for (int j = 0; j < d; ++j) {
        q.a(0, 1 + j) = sum_hx[j];
        for (int l = j; l < d; ++l) q.a(1 + j, 1 + l) = gram[j * width_ + l];
    }
    double trace = 0;
    for (int j = 0; j <= d; ++j) trace += q.a(j, j);
    for (int j = 0; j <= d; ++j) q.a(j, j) += kRidge * (trace / (1 + d) + 1);
    for (int j = 0; j <= d; ++j) {
        double product = 0;
        for (int l = 0; l <= d; ++l) product += q.a(std::min(j, l), std::max(j, l)) * own[l];
        q.b(j) = (j == 0 ? sum_g : sum_gx[j - 1]) - product;
        q.alpha(j) = j == 0 ? 0 : problem.alpha;
    }
    q.minimise(kSweeps, own);

    double promised = 0;  // slope of the objective along the step
    direction_.resize(1 + d);
    for (int j = 0; j <= d; ++j) {
        direction_[j] = q.solution()[j] - own[j];
        promised += (j == 0 ? sum_g : sum_gx[j - 1]) * direction_[j];
        if (j > 0) promised += problem.alpha * (std::abs(q.solution()[j]) - std::abs(own[j]));
    }
    if (!(promised < 0)) return false;
    double* trial = trial_.data();
    std::copy_n(scores_.data(), k * stride_, trial);
    moved_.assign(coef, coef + static_cast<std::int64_t>(k) * (1 + d));
    double size = 1;
    for (int halving = 0; halving < kHalvings; ++halving, size /= 2) {
        for (int j = 0; j <= d; ++j) moved_[output * (1 + d) + j] = own[j] + size * direction_[j];
        score(problem, output, moved_.data(), trial + output * stride_);
        const double next = objective(problem, trial, moved_.data());
        if (next > value + kDecrease * size * promised) continue;
        value = next;
        std::copy(moved_.begin(), moved_.end(), coef);
        std::copy_n(trial + output * stride_, stride_, scores_.data() + output * stride_);
        return true;
    }
    return false;
}

double L1Logistic::fit(const LogisticProblem& problem, Worker& worker, double* coef) {
    const int d = problem.d, k = problem.n_outputs;
    width_ = padded_width(d);
    stride_ = padded_rows(problem.n) + 8;
    double* x = x_.get(static_cast<std::size_t>(problem.n) * width_);
    for (std::int64_t i = 0; i < problem.n; ++i) {
        const double* row = problem.x + static_cast<std::int64_t>(problem.rows[i]) * d;
        std::fill(std::copy_n(row, d, x + i * width_), x + (i + 1) * width_, 0.0);
    }
    double* scores = scores_.get(k * stride_);
    std::fill_n(scores, k * stride_, 0.0);
    std::fill_n(p_.get(k * stride_), k * stride_, 0.0);
    std::fill_n(zeros_.get(stride_), stride_, 0.0);
    trial_.get(k * stride_);
    gram_.get(static_cast<std::size_t>(width_) * width_);
    for (int c = 0; c < k; ++c) score(problem, c, coef, scores + c * stride_);
    double value = objective(problem, scores, coef);
    for (int iteration = 0; iteration < problem.max_iter; ++iteration) {
        const double before = value;
        bool moved = false;
        for (int c = 0; c < k; ++c) {
            worker.check(problem.n * d * (d + 20) / 2);
            moved = step(problem, c, coef, value) || moved;
        }
        if (!moved || before - value <= problem.tolerance * std::abs(before)) break;
    }
    return value;
}

}  // namespace boostforest
