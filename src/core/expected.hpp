// What a row misses, guessed from the rest of it: the expected values under a normal distribution of all features.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace boostforest {

// A normal distribution of the scaled features.
struct Normal {
    const double* center;     // n_features values
    const double* precision;  // inverse of the covariance, n_features × n_features
    int n_features;
};

// Fills rows, one after another; has scratch memory, so one per thread.
class RowFiller {
   public:
    explicit RowFiller(const Normal& normal) : normal_(normal) {}

    // Puts expected values in the place of NaN.
    void fill(double* row);

    // Adds `weight` times the covariance that the values just filled in have, given the rest, to n_features ×
    // n_features sums.
    void add_covariance(double weight, double* sums);

   private:
    bool factorise();

    Normal normal_;
    std::vector<int> missing_;             // features that the last row missed
    std::vector<double> known_;            // its distance from the centre, 0 where it misses a value
    std::vector<double> factor_, column_;  // Cholesky factor of the precision of the missing ones; scratch
};

// Σ w x and Σ w E[x xᵀ] over rows of n_features values with gaps: the expectation step of fitting the distribution to
// them. weight: null for all 1. The same sums for any number of threads.
void expected_moments(const Normal& normal, const double* x, const double* weight, std::int64_t n_rows, int n_threads,
                      Control& control, double* sum, double* products);

}  // namespace boostforest
