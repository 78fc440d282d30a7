#include "leaf_model.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels.hpp"

namespace boostforest::gbdt_pl {

namespace {

constexpr int kLeafSweeps = 1000;
constexpr double kTolerance = 1e-10;  // of coordinate descent, relative to the largest step

double sign(double v) {
    return v > 0 ? 1 : v < 0 ? -1 : 0;
}

}  // namespace

void Quadratic::reset(int m) {
    m_ = m;
    ld_ = padded_width(m);
    const auto size = static_cast<std::size_t>(ld_);
    a_.assign(size * size, 0);
    for (std::vector<double>* v : {&b_, &k_, &inverse_pivots_, &right_, &trial_, &shifted_}) v->assign(size + 8, 0);
    factors_.resize(size * size);
}

// A k = -b.
void Quadratic::solve(const double* b, double* k) {
    for (int i = 0; i < m_; ++i) right_[i] = -b[i];
    kernels().substitute(factors_.data(), ld_, m_, inverse_pivots_.data(), right_.data(), k);
}

double Quadratic::minimise(double alpha, int max_sweeps) {
    std::copy(a_.begin(), a_.end(), factors_.begin());
    kernels().factor(factors_.data(), ld_, m_, inverse_pivots_.data());
    solve(b_.data(), k_.data());
    if (alpha == 0) return value(alpha);
    // With the signs of this solution the penalty is linear; most often they are right.
    for (int i = 0; i < m_; ++i) shifted_[i] = b_[i] + alpha * sign(k_[i]);
    solve(shifted_.data(), trial_.data());
    bool kept = true;
    for (int i = 0; i < m_; ++i) {
        const bool same = sign(trial_[i]) == sign(k_[i]);
        kept = kept && same;
        k_[i] = same ? trial_[i] : 0;
    }
    if (!kept) descend(alpha, max_sweeps);
    return value(alpha);
}

void Quadratic::descend(double alpha, int max_sweeps) {
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
        double largest = 0, largest_step = 0;
        for (int i = 0; i < m_; ++i) {
            const double diagonal = a_[i * ld_ + i];
            if (diagonal <= 0) continue;
            double gradient = b_[i];  // without the unknown's own part
            for (int j = 0; j < m_; ++j)
                if (j != i) gradient += a_[std::min(i, j) * ld_ + std::max(i, j)] * k_[j];
            const double size = std::max(std::abs(gradient) - alpha, 0.0) / diagonal;
            const double next = gradient > 0 ? -size : size, root = std::sqrt(diagonal);
            largest_step = std::max(largest_step, std::abs(next - k_[i]) * root);
            largest = std::max(largest, std::abs(next) * root);
            k_[i] = next;
        }
        if (largest_step <= kTolerance * largest) return;
    }
}

double Quadratic::value(double alpha) const {
    double total = 0;
    for (int i = 0; i < m_; ++i) {
        double product = 0.5 * a_[i * ld_ + i] * k_[i];
        for (int j = i + 1; j < m_; ++j) product += a_[i * ld_ + j] * k_[j];
        total += k_[i] * (b_[i] + product) + alpha * std::abs(k_[i]);
    }
    return total;
}

double LeafFitter::fit(const Table& table, const Derivatives& derivatives, const std::int32_t* rows, std::int64_t n,
                       const std::vector<std::int32_t>& features, double lambda, double alpha,
                       std::vector<double>& slopes) {
    const int d = static_cast<int>(features.size()), width = padded_width(std::max(d, 1));
    double *x = x_.get(static_cast<std::size_t>(n) * width), *g = g_.get(n), *h = h_.get(n), *zeros = zeros_.get(n);
    double *gram = gram_.get(static_cast<std::size_t>(width) * width), *sum_hx = vectors_.get(4 * width),
           *sum_gx = sum_hx + width, *unused = sum_gx + width, *padded = unused + width;
    std::fill_n(x, n * width, 0.0);
    std::fill_n(zeros, n, 0.0);
    std::fill_n(sum_gx, width, 0.0);
    std::fill_n(padded, width, 0.0);
    double sum_g = 0, sum_h = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        sum_g += g[i] = derivatives.g[rows[i]];
        sum_h += h[i] = derivatives.h[rows[i]];
    }
    for (int j = 0; j < d; ++j) {
        const double* column = table.x + features[j] * table.n_rows;
        for (std::int64_t i = 0; i < n; ++i) x[i * width + j] = column[rows[i]];
    }
    kernels().normal_equations(x, n, width, d, h, zeros, gram, sum_hx, unused);
    kernels().add_weighted_rows(x, n, width, g, sum_gx);

    quadratic_.reset(d + 1);  // the intercept comes first: a feature that is constant here is what drops out
    quadratic_.a(0, 0) = sum_h + lambda;
    quadratic_.b(0) = sum_g;
    for (int j = 0; j < d; ++j) {
        quadratic_.a(0, 1 + j) = sum_hx[j];
        for (int k = j; k < d; ++k) quadratic_.a(1 + j, 1 + k) = gram[j * width + k];
        quadratic_.a(1 + j, 1 + j) += lambda;
        quadratic_.b(1 + j) = sum_gx[j];
    }
    quadratic_.minimise(alpha, kLeafSweeps);
    const double* k = quadratic_.solution();
    slopes.assign(k + 1, k + 1 + d);
    std::copy(slopes.begin(), slopes.end(), padded);
    kernels().linear(x, n, width, padded, k[0], fitted_.get(n));
    return k[0];
}

}  // namespace boostforest::gbdt_pl
