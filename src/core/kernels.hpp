// The inner loops, compiled once per instruction set and chosen at run time.
//
// Everything that runs over rows × features is one of these functions; whatever calls them is ordinary code that is
// compiled once. `kernels.cpp` must not use the standard library: an inline function of it, compiled for AVX-512
// there, could be the copy that the linker keeps for everyone.
//
// Matrices are row-major. A row of features takes `width` doubles: the number of features rounded up (padded_width),
// the rest zero, so that no loop has a remainder. `rows` lists row numbers: row i is x + rows[i] * width.
// Several values per row (outputs, statistics) lie one after another: value k of row i is p[k * stride + i].
#pragma once

#include <cstdint>

#include "tree_view.hpp"

namespace boostforest {

struct Kernels {
    const char* name;  // instruction set: "generic", "avx2", "avx512"

    // lo[j], hi[j]: smallest and largest x[·, j] over the rows; n >= 1.
    void (*column_range)(const double* x, const std::int32_t* rows, std::int64_t n, int width, double* lo, double* hi);

    // sums[k * width + j] = Σ_i stats[k * stride + i] over the rows with x[·, j] <= cuts[j].
    void (*left_sums)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* cuts,
                      const double* stats, std::int64_t stride, int n_stats, double* sums);

    // gain[j] += G_L²/(H_L + λ) + G_R²/(H_R + λ), where G_R = G - G_L and H_R = H - H_L.
    void (*add_gain)(int width, double g, double h, const double* g_left, const double* h_left, double lambda,
                     double* gain);

    // mean[j] = Σ_i w[i] x[·, j] / Σ_i w[i].
    void (*column_means)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* w,
                         double* mean);

    // out[i] = row i - centre, rows next to each other.
    void (*gather_shifted)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* centre,
                           double* out);

    // Weighted normal equations of z on x (d features): gram[i * width + j] = Σ_r v x_i x_j for i < d and j >= i,
    // sum_x[j] = Σ_r v x_j, sum_zx[j] = Σ_r v z x_j.
    void (*normal_equations)(const double* x, std::int64_t n, int width, int d, const double* v, const double* z,
                             double* gram, double* sum_x, double* sum_zx);

    // k[i * ld + j] = x[i] · x[j] for j >= i.
    void (*row_products)(const double* x, std::int64_t n, int width, double* k, std::int64_t ld);

    // Solves A s = b for symmetric A (d × d, upper triangle, rows of ld doubles, ld a multiple of 4); A and b are
    // destroyed. A pivot that is lost in rounding gets the solution 0: a feature that repeats others is left out.
    void (*solve_symmetric)(double* a, std::int64_t ld, int d, double* b, double* solution);

    // out[i] = intercept + Σ_j slopes[j] x[i, j]; slopes padded to width.
    void (*linear)(const double* x, std::int64_t n, int width, const double* slopes, double intercept, double* out);

    // out[j] += Σ_i a[i] x[i, j].
    void (*add_weighted_rows)(const double* x, std::int64_t n, int width, const double* a, double* out);

    // Probabilities p (n of them, or n_classes × n) of the scores f.
    void (*sigmoid)(const double* f, std::int64_t n, double* p);
    void (*softmax)(const double* f, std::int64_t stride, std::int64_t n, int n_classes, double* p,
                    std::int64_t p_stride);

    // Σ w · loss(y, f): log(1 + e^f) - y f, and log Σ_c e^{f_c} - f_y.
    double (*logistic_loss)(const double* f, const double* y, const double* w, std::int64_t n);
    double (*softmax_loss)(const double* f, std::int64_t stride, const double* y, const double* w, std::int64_t n,
                           int n_classes);

    // Score of a tree for rows of scaled features next to each other: out[c * stride + i], c = 0 … n_outputs - 1.
    void (*tree_scores)(const TreeView& tree, const double* x, std::int64_t n, int width, double* out,
                        std::int64_t stride);
};

// The best table for this processor, or the one that select_kernels named.
const Kernels& kernels();

// For tests and bug reports: use the table of this name from now on; false if this build or processor has none.
bool select_kernels(const char* name);

// Doubles per row of d features.
constexpr int padded_width(int d) {
    return d <= 4 ? 4 : (d + 7) / 8 * 8;
}

}  // namespace boostforest
