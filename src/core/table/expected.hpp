// What a row misses, guessed from the rest of it: the expected values under a normal distribution of all features.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"

namespace boostforest {

// A normal distribution of the scaled features. Its matrices are copied for the kernels, and the covariance computed,
// when the first row asks for them, from any thread.
class Normal {
   public:
    // center: n_features values; precision: the inverse of the covariance, n_features × n_features.
    Normal(const double* center, const double* precision, int n_features)
        : center_(center), precision_(precision), n_features_(n_features) {}

    const double* center() const { return center_; }
    const double* precision() const { return precision_; }
    int n_features() const { return n_features_; }

    // Rows of padded_width(n_features) doubles, zeros at the end.
    const double* padded_precision() const;
    const double* padded_covariance() const;

   private:
    const double *center_, *precision_;
    int n_features_;
    mutable std::once_flag has_precision_, has_covariance_;
    mutable Buffer<double> padded_precision_, padded_covariance_;
};

// Part of a symmetric matrix, some rows and the same columns, in factors.
class PartialFactors {
   public:
    // matrix: rows of `width` doubles. The same choice from the same matrix as before takes no time.
    void factorise(const double* matrix, int width, const std::vector<std::int32_t>& chosen);

    // rhs is destroyed; solution: as many values as were chosen, padded.
    void solve(double* rhs, double* solution) const;

    // Upper triangle of the inverse, in rows of ld() doubles; good until the next call.
    const double* inverse();
    int ld() const { return ld_; }

   private:
    const double* matrix_ = nullptr;
    std::vector<std::int32_t> chosen_;
    bool has_inverse_ = false;
    int size_ = 0, ld_ = 0;
    Buffer<double> factors_, inverse_pivots_, triangle_, inverse_, vectors_;
};

// What the values filled in add to Σ w E[x xᵀ] beside their own products: their covariance, given the rest of the row.
// Rows differ in the matrix that is factorised, so they differ in the sum that they add to.
struct CovarianceSums {
    explicit CovarianceSums(std::int64_t d) : n_features(d) {}

    // Adds the upper triangle of n × n values to the chosen places, times weight.
    void add(std::vector<double>& sums, const double* values, int ld, const std::vector<std::int32_t>& chosen,
             double weight) const;

    std::int64_t n_features;
    std::vector<double> inverses;        // Σ w P_mm⁻¹, upper triangle, P the precision, m the missing features
    std::vector<double> known_inverses;  // Σ w S_kk⁻¹, upper triangle, S the covariance, k the known features,
    double known_weight = 0;             //   and Σ w: the covariances are w S - S (Σ w S_kk⁻¹) S in sum
};

// Fills rows, one after another; has scratch memory, so one per thread. The cost is that of a matrix as large as the
// number of features that are missing or known, whichever is less.
class RowFiller {
   public:
    explicit RowFiller(const Normal& normal) : normal_(normal) {}

    // Puts expected values in the place of NaN.
    void fill(double* row);

    // Adds `weight` times the covariance that the values just filled in have, given the rest: to n_features ×
    // n_features `products`, or to `others`.
    void add_covariance(double weight, double* products, CovarianceSums& others);

   private:
    enum class Way : std::uint8_t { kFew, kMissing, kKnown };

    bool factorise_few();
    void solve_few();
    void solve_missing();
    void solve_known();

    const Normal& normal_;
    Way way_ = Way::kFew;
    std::vector<std::int32_t> missing_, known_;  // features of the last row
    Buffer<double> distance_;  // its distance from the centre, 0 where it misses a value, and behind the features
    Buffer<double> filled_;    // the same of what it misses, feature after feature
    Buffer<double> scratch_;
    std::vector<double> factor_, column_;  // few missing ones: Cholesky factor of their precision; scratch
    PartialFactors factors_;               // others
};

// The rows of n_features values, `width` doubles apart, in an order that lets a filler share factors: those with few
// missing values as they come, then those with many by where these are.
std::vector<std::int64_t> order_by_gaps(const double* x, std::int64_t n_rows, int width, int n_features);

// Σ w x and Σ w E[x xᵀ] over rows of n_features values, some of them missing: the expectation step of fitting the
// distribution to them. weight: null for all 1. The same sums for any number of threads.
void expected_moments(const Normal& normal, const double* x, const double* weight, std::int64_t n_rows, int n_threads,
                      Control& control, double* sum, double* products);

}  // namespace boostforest
