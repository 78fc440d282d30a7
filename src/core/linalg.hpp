// Weighted ridge regression for one node: small systems in the project's own kernels, large ones through BLAS.
#pragma once

#include <cstdint>

#include "buffer.hpp"

namespace boostforest {

// The four routines that large systems need, Fortran calling convention, 32-bit integers. Handed in by whoever has a
// BLAS (the Python bindings take SciPy's); without one the kernels do everything.
struct Blas {
    void (*dsyrk)(char* uplo, char* trans, int* n, int* k, double* alpha, double* a, int* lda, double* beta, double* c,
                  int* ldc) = nullptr;
    void (*dpotrf)(char* uplo, int* n, double* a, int* lda, int* info) = nullptr;
    void (*dpotrs)(char* uplo, int* n, int* nrhs, double* a, int* lda, double* b, int* ldb, int* info) = nullptr;
};
void set_blas(const Blas& blas);

// Systems of at least this many unknowns go to BLAS.
constexpr int kBlasSize = 64;

// Scratch of one thread.
struct RidgeWorkspace {
    Buffer<double> matrix;    // Gram matrix (primal) or products of the rows (dual)
    Buffer<double> vectors;   // sums, right-hand side, solution
    Buffer<double> weighted;  // rows centred and multiplied by √v
};

// Minimises Σ v (a·x + b - z)² + λ|a|² over slopes a and intercept b, the intercept free.
// x: n rows of `width` doubles (d features, then zeros), best shifted so that they lie around zero.
// slopes: `width` doubles, zeros after the first d.
// Solved in the d features, or, where there are fewer rows, in the n rows: a = Xᵀ (X Xᵀ + λ I)⁻¹ z.
void fit_ridge(const double* x, std::int64_t n, int width, int d, const double* v, const double* z, double lambda,
               RidgeWorkspace& work, double* slopes, double& intercept);

}  // namespace boostforest
