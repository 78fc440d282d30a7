#include "expected.hpp"

#include <algorithm>
#include <cmath>

namespace boostforest {

// Lower triangle of the Cholesky factor of the precision of the missing features; false if it has none.
bool RowFiller::factorise() {
    const auto k = missing_.size();
    factor_.resize(k * k);
    for (std::size_t a = 0; a < k; ++a) {
        const double* precision = normal_.precision + static_cast<std::int64_t>(missing_[a]) * normal_.n_features;
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
void RowFiller::fill(double* row) {
    const int d = normal_.n_features;
    missing_.clear();
    known_.resize(d);
    for (int j = 0; j < d; ++j) {
        const bool gap = std::isnan(row[j]);
        if (gap) missing_.push_back(j);
        known_[j] = gap ? 0 : row[j] - normal_.center[j];
    }
    const auto k = missing_.size();
    column_.assign(k, 0.0);
    const bool is_usable = factorise();
    for (std::size_t a = 0; is_usable && a < k; ++a) {
        const double* precision = normal_.precision + static_cast<std::int64_t>(missing_[a]) * d;
        for (int j = 0; j < d; ++j) column_[a] -= precision[j] * known_[j];
        for (std::size_t b = 0; b < a; ++b) column_[a] -= factor_[a * k + b] * column_[b];
        column_[a] /= factor_[a * k + a];
    }
    for (std::size_t a = k; is_usable && a-- > 0;) {
        for (std::size_t b = a + 1; b < k; ++b) column_[a] -= factor_[b * k + a] * column_[b];
        column_[a] /= factor_[a * k + a];
    }
    for (std::size_t a = 0; a < k; ++a) row[missing_[a]] = normal_.center[missing_[a]] + column_[a];
}

// The covariance is the inverse of the precision's part: (L Lᵀ)⁻¹, column by column.
void RowFiller::add_covariance(double weight, double* sums) {
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
        double* to = sums + static_cast<std::int64_t>(missing_[c]) * normal_.n_features;
        for (std::size_t a = 0; a < k; ++a) to[missing_[a]] += weight * column_[a];
    }
}

void expected_moments(const Normal& normal, const double* x, const double* weight, std::int64_t n_rows, int n_threads,
                      Control& control, double* sum, double* products) {
    constexpr std::int64_t kRows = 256;  // of a block: blocks are added up in their order, whoever computes them
    const std::int64_t d = normal.n_features, n_blocks = (n_rows + kRows - 1) / kRows;
    std::vector<std::vector<double>> blocks(n_blocks);
    parallel_for(n_blocks, n_threads, control, [&](std::int64_t number, Worker& worker) {
        std::vector<double>& sums = blocks[number];
        sums.assign(d * d + d, 0.0);
        std::vector<double> row(d);
        RowFiller filler(normal);
        for (std::int64_t i = number * kRows; i < std::min(n_rows, (number + 1) * kRows); ++i) {
            worker.check(d * d);
            const double w = weight == nullptr ? 1 : weight[i];
            std::copy_n(x + i * d, d, row.data());
            filler.fill(row.data());
            filler.add_covariance(w, sums.data());
            for (std::int64_t a = 0; a < d; ++a) {
                sums[d * d + a] += w * row[a];
                for (std::int64_t b = 0; b < d; ++b) sums[a * d + b] += w * row[a] * row[b];
            }
        }
    });
    std::fill_n(products, d * d, 0.0);
    std::fill_n(sum, d, 0.0);
    for (const std::vector<double>& sums : blocks) {
        for (std::int64_t a = 0; a < d * d; ++a) products[a] += sums[a];
        for (std::int64_t a = 0; a < d; ++a) sum[a] += sums[d * d + a];
    }
}

}  // namespace boostforest
