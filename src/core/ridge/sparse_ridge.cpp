#include "sparse_ridge.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest {

void SparseRows::read(const Indicators& table, const Sample& sample) {
    table_ = &table;
    n_ = sample.n;
    lists_.read(table, sample.rows, n_);
    std::uint16_t* member = lists_.member.data();
    column_.assign(table.n(), 0);
    for (std::int64_t k = 0; k < lists_.n_members; ++k) ++column_[member[k]];
    active_.resize(table.n());
    step_.resize(table.n());
    int n_active = 0, n_everywhere = 0;
    for (int m = 0; m < table.n(); ++m) {  // without branches: they could not be predicted
        const bool everywhere = column_[m] == n_, active = column_[m] > 0 && !everywhere;
        column_[m] = active ? n_active : -1;
        active_[n_active] = m;
        step_[n_active] = table.rare[m] - table.frequent[m];
        n_active += active;
        n_everywhere += everywhere;
    }
    n_active_ = n_active;
    if (n_everywhere > 0) drop_inactive(n_everywhere);
    for (std::int64_t k = 0; k < lists_.n_members; ++k) member[k] = static_cast<std::uint16_t>(column_[member[k]]);
    first_ = (n_active_ + 7) / 8 * 8;
    width_ = first_ + table.width;
    double* mean = mean_.get(table.width);
    kernels().gather_centred(table.x.data(), sample.rows, n_, table.width, sample.w, sample.weight, mean,
                             x_.get(n_ * table.width));
}

// Takes the indicators that all rows have, n_everywhere, out of the lists.
void SparseRows::drop_inactive(int n_everywhere) {
    std::uint16_t* member = lists_.member.data();
    std::int32_t* owner = lists_.owner.data();
    std::int64_t n_kept = 0;
    for (std::int64_t k = 0; k < lists_.n_members; ++k) {
        member[n_kept] = member[k];
        owner[n_kept] = owner[k];
        n_kept += column_[member[k]] >= 0;
    }
    lists_.n_members = n_kept;
    for (std::int64_t i = 1; i <= n_; ++i) lists_.start.data()[i] -= static_cast<std::uint32_t>(i * n_everywhere);
}

// out = intercept + Σ slopes, per row.
void SparseRows::score(const double* slopes, double intercept, double* out) {
    kernels().linear(x_.data(), n_, table_->width, slopes + first_, intercept, out);
    double* change = changes_.get(n_active_);
    for (int a = 0; a < n_active_; ++a) change[a] = slopes[a] * step_[a];
    const std::uint16_t* member = lists_.member.data();
    const std::int32_t* owner = lists_.owner.data();
    for (std::int64_t k = 0; k < lists_.n_members; ++k) out[owner[k]] += change[member[k]];
}

// Normal equations from the lists. Indicators count as 0 and 1 first; their rows and columns are multiplied by the step
// at the end.
void SparseRows::fit_lists(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work) {
    const int d = first_ + table_->n_rest(), dense = table_->width;
    double* gram = work.matrix.get(static_cast<std::size_t>(width_) * width_);
    double* rest = work.factors.get(static_cast<std::size_t>(dense) * width_);
    double* cross = rest + static_cast<std::ptrdiff_t>(dense) * dense;  // small enough for the fastest cache
    double* sum_x = work.vectors.get(3 * static_cast<std::size_t>(width_));
    double* sum_zx = sum_x + width_;
    double* inverse_pivots = sum_zx + width_;
    for (int c = 0; c < n_outputs; ++c) {
        check(work.worker, (lists_.n_members + n_) * dense);
        const double* v = labels.v + c * labels.v_stride;
        const double* z = labels.z + c * labels.stride;
        double total = 0, z_mean = 0;
        kernels().weighted_sums(v, z, n_, total, z_mean);
        z_mean /= total;
        for (int i = 0; i < first_; ++i)
            std::fill_n(gram + static_cast<std::ptrdiff_t>(i) * width_ + i, first_ - i, 0.0);
        std::fill_n(cross, static_cast<std::ptrdiff_t>(first_) * dense, 0.0);
        std::fill_n(sum_x, 2 * width_, 0.0);
        kernels().normal_equations_of_lists(lists_.start.data(), lists_.member.data(), x_.data(), n_, dense, v, z,
                                            width_, gram, cross, sum_x, sum_zx);
        kernels().normal_equations(x_.data(), n_, dense, table_->n_rest(), v, z, rest, sum_x + first_, sum_zx + first_);
        for (int i = 0; i < table_->n_rest(); ++i)
            std::copy_n(rest + static_cast<std::ptrdiff_t>(i) * dense + i, dense - i,
                        gram + static_cast<std::ptrdiff_t>(first_ + i) * width_ + first_ + i);
        for (int i = 0; i < n_active_; ++i) {
            double* row = gram + static_cast<std::ptrdiff_t>(i) * width_;
            for (int j = i; j < n_active_; ++j) row[j] *= step_[i] * step_[j];
            for (int j = 0; j < dense; ++j) row[first_ + j] = cross[i * dense + j] * step_[i];
            sum_x[i] *= step_[i];
            sum_zx[i] *= step_[i];
        }
        for (int i = n_active_; i < first_; ++i)
            std::fill_n(gram + static_cast<std::ptrdiff_t>(i) * width_ + first_, dense, 0.0);
        double* slopes = slopes_.data() + static_cast<std::ptrdiff_t>(c) * width_;
        intercepts_.data()[c] = solve_normal_equations({gram, width_, d, sum_x, sum_zx, total, z_mean, lambda},
                                                       inverse_pivots, work, slopes);
        std::fill(slopes + d, slopes + width_, 0.0);
    }
}

// The rows written out, for the dense solver: less work where the node is small.
void SparseRows::fit_dense(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work,
                           double* fitted, std::int64_t fitted_stride) {
    double* x = dense_.get(static_cast<std::size_t>(n_) * width_);
    for (std::int64_t i = 0; i < n_; ++i) {
        double* row = x + i * width_;
        std::fill_n(row, first_, 0.0);
        std::copy_n(x_.data() + i * table_->width, table_->width, row + first_);
    }
    const std::uint16_t* member = lists_.member.data();
    const std::int32_t* owner = lists_.owner.data();
    for (std::int64_t k = 0; k < lists_.n_members; ++k)
        x[owner[k] * std::int64_t{width_} + member[k]] = step_[member[k]];
    boostforest::fit_ridge({.x = x,
                            .n = n_,
                            .width = width_,
                            .d = first_ + table_->n_rest(),
                            .z = labels.z,
                            .v = labels.v,
                            .stride = labels.stride,
                            .v_stride = labels.v_stride,
                            .n_outputs = n_outputs,
                            .lambda = lambda,
                            .slopes = slopes_.data(),
                            .intercepts = intercepts_.data(),
                            .fitted = fitted,
                            .fitted_stride = fitted_stride},
                           work);
}

void SparseRows::fit_ridge(const PseudoLabels& labels, int n_outputs, double lambda, RidgeWorkspace& work,
                           double* params, int n_features, double* fitted, std::int64_t fitted_stride) {
    slopes_.get(static_cast<std::size_t>(n_outputs) * width_);
    intercepts_.get(n_outputs);
    // Steps per output, a vector of eight counting as one; the solver is the same for lists and dense rows.
    const auto n = static_cast<double>(n_), d = static_cast<double>(width_), rest = static_cast<double>(table_->width);
    const auto n_members = static_cast<double>(lists_.n_members);
    const double lists = n_members * (n_members / n / 2 + rest / 8) + d * d / 8;
    const double dense = std::min(n * d * d / 16, n * n * d / 16 / n_outputs + n * n * n / 24);
    const double solve = d * d * d / 24;
    if (lists + solve < std::min(dense, n * d * d / 16 + solve)) {
        fit_lists(labels, n_outputs, lambda, work);
        for (int c = 0; c < n_outputs; ++c)
            score(slopes_.data() + static_cast<std::ptrdiff_t>(c) * width_, intercepts_.data()[c],
                  fitted + c * fitted_stride);
    } else {
        fit_dense(labels, n_outputs, lambda, work, fitted, fitted_stride);
    }
    for (int c = 0; c < n_outputs; ++c, params += n_features + 1) {
        const double* slopes = slopes_.data() + static_cast<std::ptrdiff_t>(c) * width_;
        std::fill_n(params, n_features + 1, 0.0);
        params[0] = intercepts_.data()[c];
        for (int a = 0; a < n_active_; ++a) {
            params[1 + table_->feature[active_[a]]] = slopes[a];
            params[0] -= slopes[a] * table_->frequent[active_[a]];
        }
        for (int j = 0; j < table_->n_rest(); ++j) {
            params[1 + table_->rest[j]] = slopes[first_ + j];
            params[0] -= slopes[first_ + j] * mean_.data()[j];
        }
    }
}

}  // namespace boostforest
