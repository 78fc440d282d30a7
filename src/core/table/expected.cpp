#include "expected.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

// Up to this many missing values plain loops are as fast as kernels, which want padded copies.
constexpr std::size_t kFewMissing = 16;

}  // namespace

const double* Normal::padded_precision() const {
    std::call_once(has_precision_, [this] {
        const int width = padded_width(n_features_);
        double* to = padded_precision_.get(static_cast<std::size_t>(n_features_) * width);
        for (int i = 0; i < n_features_; ++i, to += width)
            std::fill(std::copy_n(precision_ + static_cast<std::ptrdiff_t>(i) * n_features_, n_features_, to),
                      to + width, 0.0);
    });
    return padded_precision_.data();
}

const double* Normal::padded_covariance() const {
    std::call_once(has_covariance_, [this] {
        const int d = n_features_, width = padded_width(d);
        std::vector<std::int32_t> all(d);
        std::iota(all.begin(), all.end(), 0);
        PartialFactors factors;
        factors.factorise(padded_precision(), width, all);
        const double* upper = factors.inverse();
        double* to = padded_covariance_.get(static_cast<std::size_t>(d) * width);
        for (std::int64_t i = 0; i < d; ++i, to += width) {
            for (std::int64_t j = 0; j < d; ++j) to[j] = upper[std::min(i, j) * width + std::max(i, j)];
            std::fill(to + d, to + width, 0.0);
        }
    });
    return padded_covariance_.data();
}

void PartialFactors::factorise(const double* matrix, int width, const std::vector<std::int32_t>& chosen) {
    if (matrix == matrix_ && chosen == chosen_) return;
    matrix_ = matrix;
    chosen_ = chosen;
    has_inverse_ = false;
    size_ = static_cast<int>(chosen.size());
    ld_ = padded_width(size_);
    double* to = factors_.get(static_cast<std::size_t>(size_) * ld_);
    std::fill_n(to, static_cast<std::size_t>(size_) * ld_, 0.0);
    for (int a = 0; a < size_; ++a, to += ld_) {
        const double* from = matrix + static_cast<std::ptrdiff_t>(chosen[a]) * width;
        for (int b = a; b < size_; ++b) to[b] = from[chosen[b]];
    }
    kernels().factor(factors_.data(), ld_, size_, inverse_pivots_.get(ld_));
}

void PartialFactors::solve(double* rhs, double* solution) const {
    kernels().substitute(factors_.data(), ld_, size_, inverse_pivots_.data(), rhs, solution);
}

// With the factors L D Lᵀ: the rows of L⁻¹ one after another, then their products, weighted by 1/D.
const double* PartialFactors::inverse() {
    if (has_inverse_) return inverse_.data();
    has_inverse_ = true;
    const std::int64_t n = size_, ld = ld_;
    double *rows = triangle_.get(n * ld), *shares = vectors_.get(3 * (ld + 8)), *zeros = shares + ld + 8;
    std::fill_n(rows, n * ld, 0.0);
    std::fill_n(zeros, ld + 8, 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < i; ++k) shares[k] = -factors_.data()[k * ld + i] * inverse_pivots_.data()[k];
        rows[i * ld + i] = 1;
        kernels().add_weighted_rows(rows, i, ld_, shares, rows + i * ld);
    }
    double* inverse = inverse_.get(ld * ld);
    double* sums = shares;  // not wanted
    kernels().normal_equations(rows, n, ld_, size_, inverse_pivots_.data(), zeros, inverse, sums, zeros + ld + 8);
    return inverse;
}

void CovarianceSums::add(std::vector<double>& sums, const double* values, int ld,
                         const std::vector<std::int32_t>& chosen, double weight) const {
    if (sums.empty()) sums.assign(n_features * n_features, 0.0);
    const std::size_t n = chosen.size();
    for (std::size_t a = 0; a < n; ++a, values += ld) {
        double* to = sums.data() + chosen[a] * n_features;
        for (std::size_t b = a; b < n; ++b) to[chosen[b]] += weight * values[b];
    }
}

// Lower triangle of the Cholesky factor of the precision of the missing features; false if it has none.
bool RowFiller::factorise_few() {
    const auto k = missing_.size();
    factor_.resize(k * k);
    for (std::size_t a = 0; a < k; ++a) {
        const double* precision = normal_.precision() + static_cast<std::int64_t>(missing_[a]) * normal_.n_features();
        for (std::size_t b = 0; b <= a; ++b) {
            double value = precision[missing_[b]];
            for (std::size_t c = 0; c < b; ++c) value -= factor_[a * k + c] * factor_[b * k + c];
            if (a == b && !(value > 0)) return false;
            factor_[a * k + b] = a == b ? std::sqrt(value) : value / factor_[b * k + b];
        }
    }
    return true;
}

// The precision P has P_mm (x_m - c_m) = -P_mk (x_k - c_k) at the expected values of the missing, given the known.
void RowFiller::solve_few() {
    const int d = normal_.n_features();
    const auto k = missing_.size();
    double* filled = filled_.data();
    std::fill_n(filled, k, 0.0);
    const bool is_usable = factorise_few();
    for (std::size_t a = 0; is_usable && a < k; ++a) {
        const double* precision = normal_.precision() + static_cast<std::int64_t>(missing_[a]) * d;
        for (int j = 0; j < d; ++j) filled[a] -= precision[j] * distance_.data()[j];
        for (std::size_t b = 0; b < a; ++b) filled[a] -= factor_[a * k + b] * filled[b];
        filled[a] /= factor_[a * k + a];
    }
    for (std::size_t a = k; is_usable && a-- > 0;) {
        for (std::size_t b = a + 1; b < k; ++b) filled[a] -= factor_[b * k + a] * filled[b];
        filled[a] /= factor_[a * k + a];
    }
}

// The same by kernels.
void RowFiller::solve_missing() {
    const int width = padded_width(normal_.n_features());
    const auto m = static_cast<std::int64_t>(missing_.size());
    const double* precision = normal_.padded_precision();
    double* rhs = scratch_.get(width + 8);
    kernels().linear_rows(precision, missing_.data(), m, width, distance_.data(), 0.0, rhs);
    for (std::int64_t a = 0; a < m; ++a) rhs[a] = -rhs[a];
    factors_.factorise(precision, width, missing_);
    factors_.solve(rhs, filled_.data());
}

// With the covariance S: x_m - c_m = S_mk S_kk⁻¹ (x_k - c_k).
void RowFiller::solve_known() {
    const int width = padded_width(normal_.n_features());
    const double* covariance = normal_.padded_covariance();
    double *rhs = scratch_.get(3 * (width + 8)), *solution = rhs + width + 8, *spread = solution + width + 8;
    std::fill_n(spread, width, 0.0);
    for (std::size_t a = 0; a < known_.size(); ++a) rhs[a] = distance_.data()[known_[a]];
    factors_.factorise(covariance, width, known_);
    factors_.solve(rhs, solution);
    for (std::size_t a = 0; a < known_.size(); ++a) spread[known_[a]] = solution[a];
    kernels().linear_rows(covariance, missing_.data(), static_cast<std::int64_t>(missing_.size()), width, spread, 0.0,
                          filled_.data());
}

void RowFiller::fill(double* row) {
    const int d = normal_.n_features(), width = padded_width(d);
    const double* center = normal_.center();
    missing_.clear();
    known_.clear();
    double* distance = distance_.get(width);
    filled_.get(width);
    for (int j = 0; j < d; ++j) {
        const bool gap = std::isnan(row[j]);
        (gap ? missing_ : known_).push_back(j);
        distance[j] = gap ? 0 : row[j] - center[j];
    }
    std::fill(distance + d, distance + width, 0.0);
    way_ = missing_.size() <= kFewMissing ? Way::kFew : missing_.size() <= known_.size() ? Way::kMissing : Way::kKnown;
    way_ == Way::kFew ? solve_few() : way_ == Way::kMissing ? solve_missing() : solve_known();
    for (std::size_t a = 0; a < missing_.size(); ++a) row[missing_[a]] = center[missing_[a]] + filled_.data()[a];
}

// The covariance is the inverse of the precision's part. Few missing ones: (L Lᵀ)⁻¹, column by column.
void RowFiller::add_covariance(double weight, double* products, CovarianceSums& others) {
    if (way_ == Way::kMissing) return others.add(others.inverses, factors_.inverse(), factors_.ld(), missing_, weight);
    if (way_ == Way::kKnown) {
        others.known_weight += weight;
        return others.add(others.known_inverses, factors_.inverse(), factors_.ld(), known_, weight);
    }
    const auto k = missing_.size();
    for (std::size_t c = 0; c < k; ++c) {
        column_.assign(k, 0.0);
        column_[c] = 1;
        for (std::size_t a = c; a < k; ++a) {
            for (std::size_t b = c; b < a; ++b) column_[a] -= factor_[a * k + b] * column_[b];
            column_[a] /= factor_[a * k + a];
        }
        for (std::size_t a = k; a-- > 0;) {
            for (std::size_t b = a + 1; b < k; ++b) column_[a] -= factor_[b * k + a] * column_[b];
            column_[a] /= factor_[a * k + a];
        }
        double* to = products + static_cast<std::int64_t>(missing_[c]) * normal_.n_features();
        for (std::size_t a = 0; a < k; ++a) to[missing_[a]] += weight * column_[a];
    }
}

std::vector<std::int64_t> order_by_gaps(const double* x, std::int64_t n_rows, int width, int n_features) {
    std::vector<std::int64_t> few, many;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const double* row = x + i * width;
        const auto n = std::count_if(row, row + n_features, [](double value) { return std::isnan(value); });
        (static_cast<std::size_t>(n) <= kFewMissing ? few : many).push_back(i);
    }
    std::stable_sort(many.begin(), many.end(), [=](std::int64_t a, std::int64_t b) {
        const double *left = x + a * width, *right = x + b * width;
        int j = 0;
        while (j < n_features && std::isnan(left[j]) == std::isnan(right[j])) ++j;
        return j < n_features && std::isnan(left[j]);
    });
    few.insert(few.end(), many.begin(), many.end());
    return few;
}

namespace {

void add_to(const std::vector<double>& from, std::vector<double>& to) {
    if (to.empty()) to.assign(from.size(), 0.0);
    for (std::size_t a = 0; a < from.size(); ++a) to[a] += from[a];
}

// Adds the covariances of the rows whose known features were factorised: w S - S (Σ w S_kk⁻¹) S.
void add_known_covariances(const Normal& normal, const CovarianceSums& sums, double* products) {
    const std::int64_t d = normal.n_features(), width = padded_width(normal.n_features());
    const double* covariance = normal.padded_covariance();
    std::vector<double> row(width), half(d * width, 0.0), whole(width);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) row[j] = sums.known_inverses[std::min(i, j) * d + std::max(i, j)];
        kernels().add_weighted_rows(covariance, d, static_cast<int>(width), row.data(), half.data() + i * width);
    }
    for (std::int64_t i = 0; i < d; ++i) {
        std::fill(whole.begin(), whole.end(), 0.0);
        kernels().add_weighted_rows(half.data(), d, static_cast<int>(width), covariance + i * width, whole.data());
        for (std::int64_t j = 0; j < d; ++j)
            products[i * d + j] += sums.known_weight * covariance[i * width + j] - whole[j];
    }
}

}  // namespace

void expected_moments(const Normal& normal, const double* x, const double* weight, std::int64_t n_rows, int n_threads,
                      Control& control, double* sum, double* products) {
    constexpr std::int64_t kRows = 256;  // of a block: blocks are added up in their order, whoever computes them
    const std::int64_t d = normal.n_features(), n_blocks = (n_rows + kRows - 1) / kRows;
    struct Block {
        std::vector<double> sums;
        CovarianceSums covariances;
    };
    std::vector<Block> blocks(n_blocks, {{}, CovarianceSums(d)});
    parallel_for(n_blocks, n_threads, control, [&](std::int64_t number, Worker& worker) {
        std::vector<double>& sums = blocks[number].sums;
        sums.assign(d * d + d, 0.0);
        std::vector<double> row(d);
        RowFiller filler(normal);
        const std::int64_t first = number * kRows, n = std::min(n_rows - first, kRows);
        for (const std::int64_t i : order_by_gaps(x + first * d, n, normal.n_features(), normal.n_features())) {
            worker.check(d * d * 4);
            const double w = weight == nullptr ? 1 : weight[first + i];
            std::copy_n(x + (first + i) * d, d, row.data());
            filler.fill(row.data());
            filler.add_covariance(w, sums.data(), blocks[number].covariances);
            for (std::int64_t a = 0; a < d; ++a) {
                sums[d * d + a] += w * row[a];
                for (std::int64_t b = 0; b < d; ++b) sums[a * d + b] += w * row[a] * row[b];
            }
        }
    });
    std::fill_n(products, d * d, 0.0);
    std::fill_n(sum, d, 0.0);
    CovarianceSums total(d);
    for (const auto& [sums, covariances] : blocks) {
        for (std::int64_t a = 0; a < d * d; ++a) products[a] += sums[a];
        for (std::int64_t a = 0; a < d; ++a) sum[a] += sums[d * d + a];
        if (!covariances.inverses.empty()) add_to(covariances.inverses, total.inverses);
        if (!covariances.known_inverses.empty()) add_to(covariances.known_inverses, total.known_inverses);
        total.known_weight += covariances.known_weight;
    }
    for (std::int64_t i = 0; i < d && !total.inverses.empty(); ++i)
        for (std::int64_t j = 0; j < d; ++j) products[i * d + j] += total.inverses[std::min(i, j) * d + std::max(i, j)];
    if (!total.known_inverses.empty()) add_known_covariances(normal, total, products);
}

}  // namespace boostforest
