#include "l1_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

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
    for (std::vector<double>* v : {&b_, &alpha_, &k_, &inverse_pivots_, &right_, &trial_, &shifted_})
        v->assign(size + 8, 0);
    factors_.resize(size * size);
}

// A k = -b.
void Quadratic::solve(const double* b, double* k) {
    for (int i = 0; i < m_; ++i) right_[i] = -b[i];
    kernels().substitute(factors_.data(), ld_, m_, inverse_pivots_.data(), right_.data(), k);
}

double Quadratic::minimise(int max_sweeps, const double* start) {
    std::copy(a_.begin(), a_.end(), factors_.begin());
    kernels().factor(factors_.data(), ld_, m_, inverse_pivots_.data());
    solve(b_.data(), k_.data());
    if (std::all_of(alpha_.begin(), alpha_.end(), [](double v) { return v == 0; })) return value(k_.data());
    // With the signs of this solution the penalty is linear; most often they are right.
    for (int i = 0; i < m_; ++i) shifted_[i] = b_[i] + alpha_[i] * sign(k_[i]);
    solve(shifted_.data(), trial_.data());
    bool kept = true;
    for (int i = 0; i < m_; ++i) {
        const bool same = sign(trial_[i]) == sign(k_[i]);
        kept = kept && same;
        k_[i] = same ? trial_[i] : 0;
    }
    if (!kept) {
        if (start != nullptr && value(start) < value(k_.data())) std::copy_n(start, m_, k_.begin());
        descend(max_sweeps);
    }
    return value(k_.data());
}

// The gradient is kept up to date instead of being computed for each unknown: most of them are 0 and stay so.
void Quadratic::descend(int max_sweeps) {
    for (int i = 0; i < m_; ++i)
        for (int j = 0; j < i; ++j) a_[i * ld_ + j] = a_[j * ld_ + i];
    gradient_.assign(b_.begin(), b_.end());
    for (int i = 0; i < m_; ++i)
        if (k_[i] != 0) add_to_gradient(i, k_[i]);
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
        double largest = 0, largest_step = 0;
        for (int i = 0; i < m_; ++i) {
            const double diagonal = a_[i * ld_ + i];
            if (diagonal <= 0) continue;
            const double others = gradient_[i] - diagonal * k_[i];
            const double size = std::max(std::abs(others) - alpha_[i], 0.0) / diagonal;
            const double next = others > 0 ? -size : size, root = std::sqrt(diagonal);
            largest_step = std::max(largest_step, std::abs(next - k_[i]) * root);
            largest = std::max(largest, std::abs(next) * root);
            if (next == k_[i]) continue;
            add_to_gradient(i, next - k_[i]);
            k_[i] = next;
        }
        if (largest_step <= kTolerance * largest) return;
    }
}

void Quadratic::add_to_gradient(int i, double change) {
    const double* row = a_.data() + static_cast<std::size_t>(i) * ld_;
    double* gradient = gradient_.data();
    for (int j = 0; j < m_; ++j) gradient[j] += change * row[j];
}

double Quadratic::value(const double* k) const {
    double total = 0;
    for (int i = 0; i < m_; ++i) {
        double product = 0.5 * a_[i * ld_ + i] * k[i];
        for (int j = i + 1; j < m_; ++j) product += a_[i * ld_ + j] * k[j];
        total += k[i] * (b_[i] + product) + alpha_[i] * std::abs(k[i]);
    }
    return total;
}

}  // namespace boostforest
