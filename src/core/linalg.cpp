#include "linalg.hpp"

#include <algorithm>
#include <cmath>

#include "kernels.hpp"

namespace boostforest {

namespace {

Blas g_blas;

// out = √v (x - mean), row by row; target = √v (z - z_mean).
void weight_rows(const double* x, std::int64_t n, int width, const double* mean, const double* v, const double* z,
                 double z_mean, double* out, double* target) {
    for (std::int64_t i = 0; i < n; ++i) {
        const double root = std::sqrt(v[i]);
        for (int j = 0; j < width; ++j) out[i * width + j] = root * (x[i * width + j] - mean[j]);
        target[i] = root * (z[i] - z_mean);
    }
}

// matrix = X Xᵀ (across = true, n × n) or Xᵀ X (d × d), upper triangle by rows: BLAS sees it as the lower one by
// columns.
void blas_products(const double* x, std::int64_t n, int width, int d, bool across, double* matrix, std::int64_t ld) {
    char uplo = 'L', trans = across ? 'T' : 'N';
    int size = across ? static_cast<int>(n) : d, depth = across ? d : static_cast<int>(n);
    int lda = width, ldc = static_cast<int>(ld);
    double one = 1, zero = 0;
    g_blas.dsyrk(&uplo, &trans, &size, &depth, &one, const_cast<double*>(x), &lda, &zero, matrix, &ldc);
}

// False if the matrix is not positive definite to working precision.
bool blas_solve(double* matrix, std::int64_t ld, int size, double* rhs) {
    char uplo = 'L';
    int lda = static_cast<int>(ld), info = 0, one = 1;
    g_blas.dpotrf(&uplo, &size, matrix, &lda, &info);
    if (info != 0) return false;
    g_blas.dpotrs(&uplo, &size, &one, matrix, &lda, rhs, &size, &info);
    return info == 0;
}

// Solves (matrix + λ I) solution = rhs where fill(matrix) writes the matrix; a failed factorisation needs it twice.
template <class Fill>
void solve(Fill fill, double* matrix, std::int64_t ld, int size, double lambda, double* rhs, double* solution) {
    const auto fill_and_penalise = [&] {
        fill(matrix);
        for (int j = 0; j < size; ++j) matrix[j * ld + j] += lambda;
    };
    fill_and_penalise();
    if (size >= kBlasSize && g_blas.dpotrf != nullptr) {
        std::copy_n(rhs, size, solution);
        if (blas_solve(matrix, ld, size, solution)) return;
        fill_and_penalise();
    }
    kernels().solve_symmetric(matrix, ld, size, rhs, solution);
}

// Few features: normal equations of the rows as they are, then the rank-one correction for the weighted mean.
void fit_small(const double* x, std::int64_t n, int width, int d, const double* v, const double* z, double total,
               double z_mean, double lambda, RidgeWorkspace& work, double* slopes, double* mean) {
    double* gram = work.matrix.get(static_cast<std::size_t>(width) * width);
    double* sum_zx = mean + width;
    kernels().normal_equations(x, n, width, d, v, z, gram, mean, sum_zx);
    for (int i = 0; i < d; ++i) {
        const double share = mean[i] / total;
        for (int j = i; j < d; ++j) gram[i * width + j] -= share * mean[j];
        gram[i * width + i] += lambda;
        sum_zx[i] -= z_mean * mean[i];
    }
    for (int j = 0; j < width; ++j) mean[j] /= total;
    kernels().solve_symmetric(gram, width, d, sum_zx, slopes);
}

// Many features: products of the centred rows, across features or, if those are more, across rows.
void fit_large(const double* x, std::int64_t n, int width, int d, const double* v, const double* z, double total,
               double z_mean, double lambda, RidgeWorkspace& work, double* slopes, double* mean) {
    std::fill_n(mean, width, 0.0);
    kernels().add_weighted_rows(x, n, width, v, mean);
    for (int j = 0; j < width; ++j) mean[j] /= total;
    double* rows = work.weighted.get(static_cast<std::size_t>(n) * width + 2 * n);
    double* target = rows + n * width;
    double* dual = target + n;
    weight_rows(x, n, width, mean, v, z, z_mean, rows, target);
    const bool across = n < d;
    const int size = across ? static_cast<int>(n) : d;
    const std::int64_t ld = padded_width(size);
    double* matrix = work.matrix.get(static_cast<std::size_t>(ld) * ld);
    if (!across) {  // only with BLAS: fit_ridge keeps the rest for fit_small
        double* rhs = mean + width;
        std::fill_n(rhs, width, 0.0);
        kernels().add_weighted_rows(rows, n, width, target, rhs);
        const auto fill = [&](double* out) { blas_products(rows, n, width, d, false, out, ld); };
        solve(fill, matrix, ld, size, lambda, rhs, slopes);
        return;
    }
    const bool blas = size >= kBlasSize && g_blas.dsyrk != nullptr;
    const auto fill = [&](double* out) {
        if (blas) return blas_products(rows, n, width, d, true, out, ld);
        kernels().row_products(rows, n, width, out, ld);
    };
    solve(fill, matrix, ld, size, lambda, target, dual);
    kernels().add_weighted_rows(rows, n, width, dual, slopes);
}

}  // namespace

void set_blas(const Blas& blas) {
    g_blas = blas;
}

void fit_ridge(const double* x, std::int64_t n, int width, int d, const double* v, const double* z, double lambda,
               RidgeWorkspace& work, double* slopes, double& intercept) {
    double total = 0, z_mean = 0;
    kernels().weighted_sums(v, z, n, total, z_mean);
    z_mean /= total;
    double* mean = work.vectors.get(2 * static_cast<std::size_t>(width));
    std::fill_n(slopes, width, 0.0);
    const bool small = n >= d && (d < kBlasSize || g_blas.dsyrk == nullptr);
    (small ? fit_small : fit_large)(x, n, width, d, v, z, total, z_mean, lambda, work, slopes, mean);
    intercept = z_mean;
    for (int j = 0; j < d; ++j) intercept -= slopes[j] * mean[j];
}

}  // namespace boostforest
