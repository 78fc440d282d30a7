#include "bounded_ridge.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

// ½ aᵀ K a - rᵀ a over the slopes a.
struct Quadratic {
    const double* k;  // d × d, upper triangle, rows of ld doubles
    std::int64_t ld;
    int d;
    const double* r;

    double at(int i, int j) const { return i <= j ? k[i * ld + j] : k[j * ld + i]; }
};

// Puts the held slopes on their bounds and solves for the others.
void solve_free(const Quadratic& q, const SlopeBounds& bounds, RidgeWorkspace& ridge_work, BoundsWorkspace& work,
                double* a) {
    work.free.clear();
    for (int j = 0; j < q.d; ++j) {
        if (work.held[j] != 0) {
            a[j] = bounds.bound[j];
        } else {
            work.free.push_back(j);
        }
    }
    const int n = static_cast<int>(work.free.size()), ld = padded_width(n);
    double* matrix = ridge_work.factors.get(static_cast<std::size_t>(ld) * ld);
    double* rhs = ridge_work.lanes.get(3 * static_cast<std::size_t>(ld));
    double *inverse_pivots = rhs + ld, *solution = inverse_pivots + ld;
    for (int p = 0; p < n; ++p) {
        const int i = work.free[p];
        for (int s = p; s < n; ++s) matrix[p * ld + s] = q.at(i, work.free[s]);
        rhs[p] = q.r[i];
        for (int j = 0; j < q.d; ++j)
            if (work.held[j] != 0) rhs[p] -= q.at(i, j) * a[j];
    }
    kernels().factor(matrix, ld, n, inverse_pivots);
    kernels().substitute(matrix, ld, n, inverse_pivots, rhs, solution);
    for (int p = 0; p < n; ++p) a[work.free[p]] = solution[p];
}

// Free slopes beyond their bounds, and held ones that the minimum would rather have inside.
void find_wrong(const Quadratic& q, const SlopeBounds& bounds, const double* a, BoundsWorkspace& work) {
    constexpr double kRounding = 1e-12;  // relative to the largest number
    double largest_slope = 0, largest_r = 0;
    for (int j = 0; j < q.d; ++j) {
        largest_slope = std::max(largest_slope, std::abs(a[j]));
        largest_r = std::max(largest_r, std::abs(q.r[j]));
    }
    work.wrong.clear();
    for (int i = 0; i < q.d; ++i) {
        if (bounds.sign[i] == 0) continue;
        double excess = a[i] - bounds.bound[i];
        if (work.held[i] != 0) {  // the derivative
            excess = -q.r[i];
            for (int j = 0; j < q.d; ++j) excess += q.at(i, j) * a[j];
        }
        const double largest = work.held[i] != 0 ? largest_r : largest_slope;
        if (bounds.sign[i] * excess < -kRounding * largest) work.wrong.push_back(i);
    }
}

// Block principal pivoting (Júdice and Pires): guess which slopes stand on their bounds, solve for the others, let all
// change sides that are on the wrong one. Where that does not lessen their number any more, only the last of them
// changes: that comes to an end.
void minimise(const Quadratic& q, const SlopeBounds& bounds, RidgeWorkspace& ridge_work, BoundsWorkspace& work,
              double* a) {
    constexpr int kPatience = 3;
    constexpr int kMaxSteps = 500;  // but a matrix that is singular to rounding may lead in circles
    work.held.assign(q.d, 0);
    std::size_t fewest = q.d + std::size_t{1};
    int patience = kPatience;
    for (int step = 0; step < kMaxSteps; ++step) {
        check(ridge_work.worker, std::int64_t{q.d} * q.d * q.d / 6);
        solve_free(q, bounds, ridge_work, work, a);
        find_wrong(q, bounds, a, work);
        if (work.wrong.empty()) break;
        if (work.wrong.size() < fewest) {
            fewest = work.wrong.size();
            patience = kPatience;
        } else if (patience > 0) {
            --patience;
        } else {
            work.wrong.erase(work.wrong.begin(), work.wrong.end() - 1);
        }
        for (const int j : work.wrong) work.held[j] ^= 1;
    }
    for (int j = 0; j < q.d; ++j)
        if (bounds.sign[j] * (a[j] - bounds.bound[j]) < 0) a[j] = bounds.bound[j];
}

}  // namespace

void fit_bounded_ridge(const RidgeProblem& p, const SlopeBounds& bounds, RidgeWorkspace& ridge_work,
                       BoundsWorkspace& work) {
    const int width = p.width, d = p.d;
    double* gram = ridge_work.matrix.get(static_cast<std::size_t>(width) * width);
    double* mean = ridge_work.vectors.get(2 * static_cast<std::size_t>(width));
    double* sum_zx = mean + width;
    double total = 0, z_mean = 0;
    kernels().weighted_sums(p.v, p.z, p.n, total, z_mean);
    z_mean /= total;
    kernels().normal_equations(p.x, p.n, width, d, p.v, p.z, gram, mean, sum_zx);
    for (int i = 0; i < d; ++i) {
        const double share = mean[i] / total;
        for (int j = i; j < d; ++j) gram[i * width + j] -= share * mean[j];
        gram[i * width + i] += p.lambda;
        sum_zx[i] -= z_mean * mean[i];
    }
    std::fill_n(p.slopes, width, 0.0);
    minimise({gram, width, d, sum_zx}, bounds, ridge_work, work, p.slopes);
    p.intercepts[0] = z_mean;
    for (int j = 0; j < d; ++j) p.intercepts[0] -= p.slopes[j] * (mean[j] / total);
    kernels().linear(p.x, p.n, width, p.slopes, p.intercepts[0], p.fitted);
}

}  // namespace boostforest
