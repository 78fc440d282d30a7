#include "leaf_model.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest::gbdt_pl {

namespace {

constexpr int kLeafSweeps = 1000;

}  // namespace

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
    for (int i = 0; i <= d; ++i) quadratic_.alpha(i) = alpha;
    quadratic_.minimise(kLeafSweeps);
    const double* k = quadratic_.solution();
    slopes.assign(k + 1, k + 1 + d);
    std::ranges::copy(slopes, padded);
    kernels().linear(x, n, width, padded, k[0], fitted_.get(n));
    return k[0];
}

}  // namespace boostforest::gbdt_pl
