#include "ridge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

Blas g_blas;

bool use_blas(std::int64_t size) {
    return size >= kBlasSize && g_blas.dsyrk != nullptr;
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

// A symmetric matrix in factors, solved for one right-hand side after another.
class Factors {
   public:
    // The matrix (upper triangle, rows of ld doubles) is overwritten; `refill` writes it again if BLAS gives up.
    template <class Refill>
    Factors(double* matrix, std::int64_t ld, int size, double* inverse_pivots, Refill refill)
        : matrix_(matrix), ld_(ld), size_(size), inverse_pivots_(inverse_pivots), blas_(use_blas(size)) {
        if (blas_) {
            char uplo = 'L';
            int n = size, lda = static_cast<int>(ld), info = 0;
            g_blas.dpotrf(&uplo, &n, matrix, &lda, &info);
            if (info == 0) return;
            blas_ = false;  // not positive definite to working precision: the kernel knows what to do
            refill();
        }
        kernels().factor(matrix, ld, size, inverse_pivots);
    }

    // rhs is destroyed; solution has room for ld doubles.
    void solve(double* rhs, double* solution) const {
        if (!blas_) return kernels().substitute(matrix_, ld_, size_, inverse_pivots_, rhs, solution);
        char uplo = 'L';
        int n = size_, lda = static_cast<int>(ld_), info = 0, one = 1;
        std::copy_n(rhs, size_, solution);
        g_blas.dpotrs(&uplo, &n, &one, matrix_, &lda, solution, &n, &info);
    }

   private:
    double* matrix_;
    std::int64_t ld_;
    int size_;
    double* inverse_pivots_;
    bool blas_;
};

// True if output c has the weights of the output before it: the factors are then still good.
bool same_weights(const RidgeProblem& p, int c) {
    if (c == 0) return false;
    return p.v_stride == 0 || std::memcmp(p.v + c * p.v_stride, p.v + (c - 1) * p.v_stride, p.n * sizeof(double)) == 0;
}

double dot(const double* a, const double* b, std::int64_t n) {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += a[i] * b[i];
    return total;
}

// The equations of the rows less their weighted mean, and the penalty.
void centre(const NormalEquations& e) {
    kernels().centre_equations(e.gram, e.width, e.d, e.sum_x, e.sum_zx, e.total, e.z_mean, e.lambda);
}

// In the features. Small: normal equations of the rows as they are, less the weighted mean's part. Large: BLAS products
// of the rows, centred and multiplied by √v.
void fit_features(const RidgeProblem& p, RidgeWorkspace& work) {
    const auto& [x, n, width, d, z, v, stride, v_stride, n_outputs, lambda, slopes, intercepts, fitted, fitted_stride,
                 known_gram, gram_out, one_by_one] = p;
    const bool blas = use_blas(d);
    double* gram = work.matrix.get(static_cast<std::size_t>(width) * width);
    double* mean = work.vectors.get(3 * static_cast<std::size_t>(width) + n);
    double* sum_zx = mean + width;
    double* inverse_pivots = sum_zx + width;
    double* vz = inverse_pivots + width;
    double* rows = blas ? work.weighted.get(static_cast<std::size_t>(n) * width) : nullptr;
    std::optional<Factors> factors;
    double total = 0;
    for (int c = 0; c < n_outputs; ++c) {
        check(work.worker, n * d * d / 2);
        const double* vc = v + c * v_stride;
        const double* zc = z + c * stride;
        double z_mean = 0;
        kernels().weighted_sums(vc, zc, n, total, z_mean);
        z_mean /= total;
        const bool same = same_weights(p, c);
        const bool known = known_gram != nullptr;
        if (same || blas || known) {
            for (std::int64_t i = 0; i < n; ++i) vz[i] = vc[i] * (zc[i] - z_mean);
            std::fill_n(sum_zx, width, 0.0);
            kernels().add_weighted_rows(x, n, width, vz, sum_zx);
        }
        if (known && !same) {
            std::fill_n(mean, width, 0.0);
            const auto fill = [&, width = width, d = d, lambda = lambda, known_gram = known_gram] {
                std::copy_n(known_gram, static_cast<std::size_t>(width) * d, gram);
                for (int j = 0; j < d; ++j) gram[j * width + j] += lambda;
            };
            fill();
            factors.emplace(gram, width, d, inverse_pivots, fill);
        } else if (!same && blas) {
            std::fill_n(mean, width, 0.0);
            kernels().add_weighted_rows(x, n, width, vc, mean);
            for (int j = 0; j < width; ++j) mean[j] /= total;
            for (std::int64_t i = 0; i < n; ++i) {
                const double root = std::sqrt(vc[i]);
                for (int j = 0; j < width; ++j) rows[i * width + j] = root * (x[i * width + j] - mean[j]);
            }
            const auto fill = [&, width = width, d = d, n = n, lambda = lambda, gram_out = gram_out] {
                blas_products(rows, n, width, d, false, gram, width);
                if (gram_out != nullptr) std::copy_n(gram, static_cast<std::size_t>(width) * d, gram_out);
                for (int j = 0; j < d; ++j) gram[j * width + j] += lambda;
            };
            fill();
            factors.emplace(gram, width, d, inverse_pivots, fill);
        } else if (!same) {
            kernels().normal_equations(x, n, width, d, vc, zc, gram, mean, sum_zx);
            centre({gram, width, d, mean, sum_zx, total, z_mean, 0.0});
            if (gram_out != nullptr) std::copy_n(gram, static_cast<std::size_t>(width) * d, gram_out);
            for (int j = 0; j < d; ++j) gram[j * width + j] += lambda;
            factors.emplace(gram, width, d, inverse_pivots, [] {});
        }
        double* a = slopes + static_cast<std::int64_t>(c) * width;
        factors->solve(sum_zx, a);
        std::fill(a + d, a + width, 0.0);
        intercepts[c] = z_mean - dot(a, mean, d);
        kernels().linear(x, n, width, a, intercepts[c], fitted + c * fitted_stride);
    }
}

// products = X Xᵀ, whole, rows of ld doubles with zeros at the end.
void multiply_rows(const RidgeProblem& p, double* products, std::int64_t ld) {
    if (!use_blas(std::min<std::int64_t>(p.n, p.d))) return kernels().row_products(p.x, p.n, p.width, products, ld);
    blas_products(p.x, p.n, p.width, p.d, true, products, ld);
    for (std::int64_t i = 0; i < p.n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) products[i * ld + j] = products[j * ld + i];
        std::fill(products + i * ld + p.n, products + (i + 1) * ld, 0.0);
    }
}

// In the rows: K = X Xᵀ once; every output centres and weighs it for itself. With row weights v, m = K v / Σv and
// s = v·m / Σv: K' = √v √vᵀ (K - m - mᵀ + s); (K' + λ I) u = √v (z - mean); a = Xᵀ √v u, which needs no mean
// because Σ √v u = 0.
void fit_rows(const RidgeProblem& p, RidgeWorkspace& work) {
    const auto& [x, n, width, d, z, v, stride, v_stride, n_outputs, lambda, slopes, intercepts, fitted, fitted_stride,
                 known_gram, gram_out, one_by_one] = p;
    const int size = static_cast<int>(n), ld = padded_width(size);
    double* products = work.matrix.get(static_cast<std::size_t>(ld) * ld);
    double* matrix = work.factors.get(static_cast<std::size_t>(ld) * ld);
    double* weight = work.vectors.get(6 * static_cast<std::size_t>(ld));
    double *root = weight + ld, *m = root + ld, *inverse_pivots = m + ld, *rhs = inverse_pivots + ld, *dual = rhs + ld;
    std::fill_n(weight, 6 * ld, 0.0);
    multiply_rows(p, products, ld);
    std::optional<Factors> factors;
    double total = 0;
    for (int c = 0; c < n_outputs; ++c) {
        check(work.worker, n * n * n / 6);
        double z_mean = 0;
        kernels().weighted_sums(v + c * v_stride, z + c * stride, n, total, z_mean);
        z_mean /= total;
        if (!same_weights(p, c)) {
            std::copy_n(v + c * v_stride, n, weight);
            kernels().linear(products, n, ld, weight, 0.0, m);
            for (std::int64_t i = 0; i < n; ++i) m[i] /= total;
            const double s = dot(weight, m, n) / total;
            for (std::int64_t i = 0; i < n; ++i) root[i] = std::sqrt(weight[i]);
            const auto fill = [&, n = n, lambda = lambda] {
                kernels().weigh_products(products, ld, n, root, m, s, lambda, matrix);
            };
            fill();
            factors.emplace(matrix, ld, size, inverse_pivots, fill);
        }
        for (std::int64_t i = 0; i < n; ++i) rhs[i] = root[i] * (z[c * stride + i] - z_mean);
        factors->solve(rhs, dual);
        double rest = 0;  // Σ √v u, 0 but for rounding: matters where λ is tiny
        for (std::int64_t i = 0; i < n; ++i) rest += dual[i] *= root[i];
        for (std::int64_t i = 0; i < n; ++i) dual[i] -= weight[i] * (rest / total);
        std::fill(dual + n, dual + ld, 0.0);
        double* a = slopes + static_cast<std::int64_t>(c) * width;
        std::fill_n(a, width, 0.0);
        kernels().add_weighted_rows(x, n, width, dual, a);
        intercepts[c] = z_mean - dot(m, dual, n);
        kernels().linear(products, n, ld, dual, intercepts[c], fitted + c * fitted_stride);
    }
}

// Side by side for SIMD: lane l gets output first + l (the last one again where there are no more).
void to_lanes(const RidgeProblem& p, const double* values, int first, int lanes, double* out) {
    for (int l = 0; l < lanes; ++l) {
        const double* from = values + std::min(first + l, p.n_outputs - 1) * p.stride;
        for (std::int64_t i = 0; i < p.n; ++i) out[i * lanes + l] = from[i];
    }
}

// Systems up to this size are solved for 4 or 8 outputs side by side: one alone would wait for its own divisions.
constexpr int kLaneSize = 48;

int lanes_of(const RidgeProblem& p) {
    return p.n_outputs <= 4 ? 4 : 8;
}

// As fit_rows, outputs side by side.
void fit_rows_in_lanes(const RidgeProblem& p, RidgeWorkspace& work) {
    const int n = static_cast<int>(p.n), ld = padded_width(n), lanes = lanes_of(p);
    double* products = work.matrix.get(static_cast<std::size_t>(ld) * ld);
    double* a = work.factors.get(static_cast<std::size_t>(n) * n * lanes);
    double* v = work.lanes.get((6 * static_cast<std::size_t>(n) + 2) * lanes);
    double *z = v + n * lanes, *rhs = z + n * lanes, *root = rhs + n * lanes, *m = root + n * lanes,
           *inverse_pivots = m + n * lanes, *z_mean = inverse_pivots + n * lanes, *total = z_mean + lanes;
    double* dual = work.vectors.get(ld);
    multiply_rows(p, products, ld);
    for (int first = 0; first < p.n_outputs; first += lanes) {
        to_lanes(p, p.v, first, lanes, v);
        to_lanes(p, p.z, first, lanes, z);
        kernels().dual_lanes(products, ld, n, v, z, p.lambda, a, rhs, root, m, z_mean, total, lanes);
        kernels().solve_lanes(a, n, rhs, inverse_pivots, lanes);
        for (int l = 0; l < lanes && first + l < p.n_outputs; ++l) {
            const int c = first + l;
            double rest = 0;
            for (int i = 0; i < n; ++i) rest += dual[i] = rhs[i * lanes + l] * root[i * lanes + l];
            std::fill(dual + n, dual + ld, 0.0);
            double intercept = z_mean[l];
            for (int i = 0; i < n; ++i) {
                dual[i] -= v[i * lanes + l] * (rest / total[l]);
                intercept -= m[i * lanes + l] * dual[i];
            }
            double* slopes = p.slopes + static_cast<std::int64_t>(c) * p.width;
            std::fill_n(slopes, p.width, 0.0);
            kernels().add_weighted_rows(p.x, n, p.width, dual, slopes);
            p.intercepts[c] = intercept;
            kernels().linear(products, n, ld, dual, intercept, p.fitted + c * p.fitted_stride);
        }
    }
}

// As fit_features for few features, outputs side by side.
void fit_features_in_lanes(const RidgeProblem& p, RidgeWorkspace& work) {
    const int d = p.d, width = p.width, lanes = lanes_of(p);
    double* gram = work.matrix.get(static_cast<std::size_t>(width) * width);
    double* a = work.factors.get(static_cast<std::size_t>(d) * d * lanes);
    double* rhs = work.lanes.get(2 * static_cast<std::size_t>(d) * lanes);
    double* inverse_pivots = rhs + d * lanes;
    double* means = work.vectors.get(static_cast<std::size_t>(lanes + 1) * width);  // of x, output after output
    double* sum_zx = means + static_cast<std::ptrdiff_t>(lanes) * width;
    double z_means[8];
    for (int first = 0; first < p.n_outputs; first += lanes) {
        for (int l = 0; l < lanes; ++l) {
            const int c = std::min(first + l, p.n_outputs - 1);
            double* mean = means + static_cast<std::ptrdiff_t>(l) * width;
            if (c == first + l) {  // a repeated last output is still in gram
                check(work.worker, p.n * d * d / 2);
                kernels().normal_equations(p.x, p.n, width, d, p.v + c * p.v_stride, p.z + c * p.stride, gram, mean,
                                           sum_zx);
                double total = 0, z_mean = 0;
                kernels().weighted_sums(p.v + c * p.v_stride, p.z + c * p.stride, p.n, total, z_mean);
                z_means[l] = z_mean / total;
                centre({gram, width, d, mean, sum_zx, total, z_means[l], p.lambda});
            }
            for (int i = 0; i < d; ++i) {
                rhs[i * lanes + l] = sum_zx[i];
                for (int j = i; j < d; ++j) a[(i * d + j) * lanes + l] = gram[i * width + j];
            }
        }
        kernels().solve_lanes(a, d, rhs, inverse_pivots, lanes);
        for (int l = 0; l < lanes && first + l < p.n_outputs; ++l) {
            const int c = first + l;
            double* slopes = p.slopes + static_cast<std::int64_t>(c) * width;
            double intercept = z_means[l];
            std::fill_n(slopes, width, 0.0);
            for (int j = 0; j < d; ++j) {
                slopes[j] = rhs[j * lanes + l];
                intercept -= slopes[j] * means[static_cast<std::ptrdiff_t>(l) * width + j];
            }
            p.intercepts[c] = intercept;
            kernels().linear(p.x, p.n, width, slopes, intercept, p.fitted + c * p.fitted_stride);
        }
    }
}

// Outputs of the same weights: one set of factors for all of them, and kLanes right-hand sides side by side.
class SharedRidge {
   public:
    SharedRidge(const RidgeProblem& p, RidgeWorkspace& work) : p_(p), work_(work) {}

    void fit_features() {
        const int d = p_.d, width = p_.width;
        double* mean = work_.vectors.get((2 + static_cast<std::size_t>(kFewLanes)) * width);
        double* inverse_pivots = mean + width;
        double* sum_zx = inverse_pivots + width;
        take_lanes(d);
        double total = 0, unused = 0;
        kernels().weighted_sums(p_.v, p_.z, p_.n, total, unused);
        const double* gram = factor_gram(total, mean, sum_zx, inverse_pivots);
        if (p_.one_by_one) return solve_few(gram, total, mean, inverse_pivots, sum_zx);
        for (int first = 0; first < p_.n_outputs; first += kLanes) {
            check(work_.worker, p_.n * d * kLanes);
            centred_labels(first, p_.v, total);
            kernels().columns_times_lanes(p_.x, p_.n, width, d, label_, solution_);
            kernels().substitute_lanes(gram, width, d, inverse_pivots, solution_);
            for (int l = 0; l < kLanes; ++l) {
                double product = 0;
                for (int j = 0; j < d; ++j) product += solution_[j * kLanes + l] * mean[j];
                intercept_[l] = z_mean_[l] - product;
            }
            kernels().rows_times_lanes(p_.x, p_.n, width, d, solution_, intercept_, fitted_);
            write(first, solution_, d);
        }
    }

    // As fit_rows above.
    void fit_rows() {
        const int n = static_cast<int>(p_.n), ld = padded_width(n);
        double* products = work_.matrix.get(static_cast<std::size_t>(ld) * ld);
        double* matrix = work_.factors.get(static_cast<std::size_t>(ld) * ld);
        double* weight = work_.vectors.get(4 * static_cast<std::size_t>(ld));
        double *root = weight + ld, *m = root + ld, *inverse_pivots = m + ld;
        std::fill_n(weight, 4 * ld, 0.0);
        take_lanes(std::max(n, p_.d));
        multiply_rows(p_, products, ld);
        std::copy_n(p_.v, n, weight);
        const double total = kernels().sum(weight, n);
        kernels().linear(products, n, ld, weight, 0.0, m);
        for (int i = 0; i < n; ++i) m[i] /= total;
        const double s = dot(weight, m, n) / total;
        for (int i = 0; i < n; ++i) root[i] = std::sqrt(weight[i]);
        kernels().weigh_products(products, ld, n, root, m, s, p_.lambda, matrix);
        kernels().factor(matrix, ld, n, inverse_pivots);
        if (p_.one_by_one) return solve_few_rows(products, matrix, ld, weight, root, m, inverse_pivots, total);
        for (int first = 0; first < p_.n_outputs; first += kLanes) {
            check(work_.worker, p_.n * (n + p_.d) * kLanes);
            centred_labels(first, root, total);
            kernels().substitute_lanes(matrix, ld, n, inverse_pivots, label_);
            double rest[kLanes] = {};
            for (int i = 0; i < n; ++i)
                for (int l = 0; l < kLanes; ++l) rest[l] += label_[i * kLanes + l] *= root[i];
            for (int l = 0; l < kLanes; ++l) intercept_[l] = z_mean_[l];
            for (int i = 0; i < n; ++i)
                for (int l = 0; l < kLanes; ++l) {
                    label_[i * kLanes + l] -= weight[i] * (rest[l] / total);
                    intercept_[l] -= m[i] * label_[i * kLanes + l];
                }
            kernels().columns_times_lanes(p_.x, n, p_.width, p_.d, label_, solution_);
            kernels().rows_times_lanes(products, n, ld, n, label_, intercept_, fitted_);
            write(first, solution_, p_.d);
        }
    }

   private:
    void take_lanes(int size) {
        label_ = work_.lanes.get((2 * static_cast<std::size_t>(p_.n) + size) * kLanes);
        fitted_ = label_ + p_.n * kLanes;
        solution_ = fitted_ + p_.n * kLanes;
    }

    // label = factor[i] · (z less its weighted mean), for the outputs from `first` on; 0 where there are no more.
    void centred_labels(int first, const double* factor, double total) {
        const int n_here = std::min(kLanes, p_.n_outputs - first);
        if (n_here < kLanes) std::fill_n(label_, p_.n * kLanes, 0.0);
        for (int l = 0; l < n_here; ++l) {
            const double* z = p_.z + (first + l) * p_.stride;
            double sum_v = 0, sum_vz = 0;
            kernels().weighted_sums(p_.v, z, p_.n, sum_v, sum_vz);
            z_mean_[l] = sum_vz / total;
            for (std::int64_t i = 0; i < p_.n; ++i) label_[i * kLanes + l] = factor[i] * (z[i] - z_mean_[l]);
        }
    }

    // The factors of the Gram matrix with the penalty; mean: of x, 0 where the matrix is known.
    const double* factor_gram(double total, double* mean, double* sum_zx, double* inverse_pivots) {
        const int d = p_.d, width = p_.width;
        double* gram = work_.matrix.get(static_cast<std::size_t>(width) * width);
        if (p_.gram != nullptr) {
            std::fill_n(mean, width, 0.0);
            std::copy_n(p_.gram, static_cast<std::size_t>(width) * d, gram);
        } else {
            kernels().normal_equations(p_.x, p_.n, width, d, p_.v, p_.z, gram, mean, sum_zx);
            centre({gram, width, d, mean, sum_zx, total, 0.0, 0.0});
            if (p_.gram_out != nullptr) std::copy_n(gram, static_cast<std::size_t>(width) * d, p_.gram_out);
        }
        for (int j = 0; j < d; ++j) gram[j * width + j] += p_.lambda;
        kernels().factor(gram, width, d, inverse_pivots);
        return gram;
    }

    // Up to kFewLanes outputs. Σ v (z - mean of z) x = Σ v z x - Σ v z · mean of x.
    void solve_few(const double* gram, double total, const double* mean, const double* inverse_pivots, double* sum_zx) {
        const int d = p_.d, width = p_.width, n_outputs = p_.n_outputs;
        check(work_.worker, p_.n * d * n_outputs);
        kernels().label_products(p_.x, p_.n, width, p_.v, p_.z, p_.stride, n_outputs, sum_zx);
        std::fill_n(solution_, static_cast<std::ptrdiff_t>(d) * kFewLanes, 0.0);
        for (int c = 0; c < n_outputs; ++c) {
            double sum_v = 0, sum_vz = 0;
            kernels().weighted_sums(p_.v, p_.z + c * p_.stride, p_.n, sum_v, sum_vz);
            z_mean_[c] = sum_vz / total;
            const double* own = sum_zx + static_cast<std::ptrdiff_t>(c) * width;
            for (int j = 0; j < d; ++j) solution_[j * kFewLanes + c] = own[j] - sum_vz * mean[j];
        }
        kernels().substitute_few(gram, width, d, inverse_pivots, solution_);
        for (int c = 0; c < n_outputs; ++c) {
            double* slopes = p_.slopes + static_cast<std::ptrdiff_t>(c) * width;
            for (int j = 0; j < d; ++j) slopes[j] = solution_[j * kFewLanes + c];
            std::fill(slopes + d, slopes + width, 0.0);
            p_.intercepts[c] = z_mean_[c] - dot(slopes, mean, d);
            kernels().linear(p_.x, p_.n, width, slopes, p_.intercepts[c], p_.fitted + c * p_.fitted_stride);
        }
    }

    // The same of fit_rows.
    void solve_few_rows(const double* products, const double* matrix, int ld, const double* weight, const double* root,
                        const double* m, const double* inverse_pivots, double total) {
        const int n = static_cast<int>(p_.n), width = p_.width, n_outputs = p_.n_outputs;
        check(work_.worker, p_.n * (n + p_.d) * n_outputs);
        std::fill_n(label_, static_cast<std::ptrdiff_t>(n) * kFewLanes, 0.0);
        for (int c = 0; c < n_outputs; ++c) {
            const double* z = p_.z + c * p_.stride;
            double sum_v = 0, sum_vz = 0;
            kernels().weighted_sums(p_.v, z, n, sum_v, sum_vz);
            z_mean_[c] = sum_vz / total;
            for (int i = 0; i < n; ++i) label_[i * kFewLanes + c] = root[i] * (z[i] - z_mean_[c]);
        }
        kernels().substitute_few(matrix, ld, n, inverse_pivots, label_);
        double* dual = fitted_;
        std::fill(dual + n, dual + ld, 0.0);
        for (int c = 0; c < n_outputs; ++c) {
            double rest = 0;
            for (int i = 0; i < n; ++i) rest += dual[i] = label_[i * kFewLanes + c] * root[i];
            for (int i = 0; i < n; ++i) dual[i] -= weight[i] * (rest / total);
            double* slopes = p_.slopes + static_cast<std::ptrdiff_t>(c) * width;
            std::fill_n(slopes, width, 0.0);
            kernels().add_weighted_rows(p_.x, n, width, dual, slopes);
            p_.intercepts[c] = z_mean_[c] - dot(m, dual, n);
            kernels().linear(products, n, ld, dual, p_.intercepts[c], p_.fitted + c * p_.fitted_stride);
        }
    }

    void write(int first, const double* solution, int d) {
        for (int l = 0; l < kLanes && first + l < p_.n_outputs; ++l) {
            const int c = first + l;
            double* slopes = p_.slopes + static_cast<std::ptrdiff_t>(c) * p_.width;
            for (int j = 0; j < d; ++j) slopes[j] = solution[j * kLanes + l];
            std::fill(slopes + d, slopes + p_.width, 0.0);
            p_.intercepts[c] = intercept_[l];
            double* fitted = p_.fitted + c * p_.fitted_stride;
            for (std::int64_t i = 0; i < p_.n; ++i) fitted[i] = fitted_[i * kLanes + l];
        }
    }

    const RidgeProblem& p_;
    RidgeWorkspace& work_;
    double *label_ = nullptr, *fitted_ = nullptr, *solution_ = nullptr;
    double z_mean_[kLanes] = {}, intercept_[kLanes] = {};
};

// Few features, all in registers; false where other ways are better.
bool fit_small(const RidgeProblem& p) {
    const int together = p.v_stride == 0 ? p.n_outputs : 1;
    for (int c = 0; c < p.n_outputs; c += together)
        if (!kernels().small_ridge(p.x, p.n, p.width, p.d, p.v + c * p.v_stride, p.z + c * p.stride, p.stride, together,
                                   p.lambda, p.slopes + static_cast<std::ptrdiff_t>(c) * p.width, p.intercepts + c))
            return false;
    for (int c = 0; c < p.n_outputs; ++c)
        kernels().linear(p.x, p.n, p.width, p.slopes + static_cast<std::ptrdiff_t>(c) * p.width, p.intercepts[c],
                         p.fitted + c * p.fitted_stride);
    return true;
}

// Returns whether gram_out was written.
bool fit_shared(const RidgeProblem& p, RidgeWorkspace& work) {
    const RidgeWork adds(p.n, p.d, 1);
    const double in_features = p.gram == nullptr ? adds.in_features() : adds.solution;
    const bool in_rows = adds.in_rows < in_features && (p.n <= p.d || p.lambda > 0);
    if (p.one_by_one && p.width <= kSmallWidth && fit_small(p)) return false;
    if (use_blas(in_rows ? p.n : p.d)) {
        (in_rows ? fit_rows : fit_features)(p, work);
    } else {
        SharedRidge ridge(p, work);
        in_rows ? ridge.fit_rows() : ridge.fit_features();
    }
    return !in_rows && p.gram == nullptr && p.gram_out != nullptr;
}

}  // namespace

void set_blas(const Blas& blas) {
    g_blas = blas;
}

double solve_normal_equations(const NormalEquations& e, double* inverse_pivots, RidgeWorkspace& work, double* slopes) {
    centre(e);
    const std::size_t size = static_cast<std::size_t>(e.width) * e.d;
    double* kept = use_blas(e.d) ? work.weighted.get(size) : nullptr;
    if (kept != nullptr) std::copy_n(e.gram, size, kept);
    const Factors factors(e.gram, e.width, e.d, inverse_pivots, [&] { std::copy_n(kept, size, e.gram); });
    factors.solve(e.sum_zx, slopes);
    return e.z_mean - dot(slopes, e.sum_x, e.d);
}

bool fit_ridge(const RidgeProblem& problem, RidgeWorkspace& work) {
    if (problem.n_outputs > 1 && problem.v_stride == 0) return fit_shared(problem, work);
    if (problem.width <= (problem.n_outputs == 1 ? kSmallWidth : kSmallWidth / 2) && fit_small(problem)) return false;
    const RidgeWork adds(problem.n, problem.d, problem.n_outputs);
    const double in_features = problem.gram == nullptr ? adds.in_features() : adds.solution;
    const bool solvable = problem.n <= problem.d || problem.lambda > 0;  // in the rows: else no residuals are left over
    if (adds.in_rows < in_features && solvable) {
        (problem.n_outputs > 1 && problem.n <= kLaneSize ? fit_rows_in_lanes : fit_rows)(problem, work);
        return false;
    }
    (problem.n_outputs > 1 && problem.d <= kLaneSize ? fit_features_in_lanes : fit_features)(problem, work);
    return problem.gram == nullptr && problem.gram_out != nullptr;
}

}  // namespace boostforest
