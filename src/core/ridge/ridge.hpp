// Weighted ridge regressions of one node: small systems in the project's own kernels, large ones through BLAS.
#pragma once

#include <cstdint>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"

namespace boostforest {

// The routines that large systems need, Fortran calling convention, 32-bit integers. Handed in by whoever has a BLAS
// (the Python bindings take SciPy's); without one the kernels do everything.
struct Blas {
    void (*dsyrk)(char* uplo, char* trans, int* n, int* k, double* alpha, double* a, int* lda, double* beta, double* c,
                  int* ldc) = nullptr;
    void (*dpotrf)(char* uplo, int* n, double* a, int* lda, int* info) = nullptr;
    void (*dpotrs)(char* uplo, int* n, int* nrhs, double* a, int* lda, double* b, int* ldb, int* info) = nullptr;
};
void set_blas(const Blas& blas);

// Systems of at least this many unknowns go to BLAS: below, its packing and locking cost more than its kernels save.
constexpr int kBlasSize = 192;

// Rows up to this wide are summed and solved in registers, for one output and where the registers are long enough.
constexpr int kSmallWidth = 16;

// Several regressions on the same rows, one per output c: minimise Σ v (a·x + b - z)² + λ|a|² over slopes a and
// intercept b, the intercept free.
struct RidgeProblem {
    const double* x;            // n rows of `width` doubles (d features, then zeros), best shifted to lie around zero
    std::int64_t n;             // rows
    int width;                  // doubles per row
    int d;                      // features
    const double* z;            // label of row i for output c: z[c * stride + i]
    const double* v;            // its weight, likewise
    std::int64_t stride;        // from one output to the next
    std::int64_t v_stride = 0;  // the same for the weights; 0: all outputs have the same
    int n_outputs;              // outputs
    double lambda;              // penalty
    double* slopes;             // out: width doubles per output, zeros after the first d
    double* intercepts;         // out: one per output
    double* fitted;             // out: a·x + b of row i for output c: fitted[c * fitted_stride + i]
    std::int64_t fitted_stride;
    // Outputs of the same weights, on rows around their mean: Σ v x xᵀ (upper triangle, d rows of `width` doubles)
    // where it is known, and where to write it if it is not but becomes so on the way; null: neither.
    const double* gram = nullptr;
    double* gram_out = nullptr;
    bool one_by_one = false;  // as in PseudoLabels
};

// Scratch of one thread.
struct RidgeWorkspace {
    Buffer<double> matrix, factors;  // Gram matrix or products of the rows; factors of it
    Buffer<double> weighted;         // rows centred and multiplied by √v
    Buffer<double> vectors;          // what has one value per feature or per row
    Buffer<double> lanes;            // several systems side by side
    Worker* worker = nullptr;        // asked between long steps whether to go on; null: nobody is
};

// Sums over the rows of one output, for a solution in the features.
struct NormalEquations {
    double* gram;          // Σ v x xᵀ, upper triangle, rows of `width` doubles; becomes its factors
    int width;             // doubles per row
    int d;                 // features
    double* sum_x;         // Σ v x; becomes the mean
    double* sum_zx;        // Σ v z x; destroyed
    double total, z_mean;  // Σ v, Σ v z / Σ v
    double lambda;         // penalty
};

// Writes the slopes and returns the intercept. Scratch: `width` doubles for inverse_pivots, and work.weighted.
double solve_normal_equations(const NormalEquations& sums, double* inverse_pivots, RidgeWorkspace& work,
                              double* slopes);

// Multiply-adds of a regression either way, with n_weights sets of weights: 1, or one per output.
struct RidgeWork {
    RidgeWork(std::int64_t n_rows, int d, int n_weights) {
        const auto n = static_cast<double>(n_rows);
        in_rows = n * n * d / 2 + n_weights * (n * n * n / 6 + n * n);
        gram = n_weights * (n * d * d / 2);
        solution = n_weights * (static_cast<double>(d) * d * d / 6);
    }
    double in_features() const { return gram + solution; }

    double in_rows, gram, solution;
};

// Solves in the d features, or, where rows are few, in the n rows: a = Xᵀ (X Xᵀ + λ I)⁻¹ z. The products of the rows
// are then shared by all outputs; outputs of the same weights share the factors too. Returns whether gram_out was
// written.
bool fit_ridge(const RidgeProblem& problem, RidgeWorkspace& work);

}  // namespace boostforest
