// The inner loops, compiled once per instruction set and chosen at run time.
//
// Everything that runs over rows × features is one of these functions; whatever calls them is ordinary code that is
// compiled once. `all.cpp` must not use the standard library: an inline function of it, compiled for AVX-512
// there, could be the copy that the linker keeps for everyone.
//
// Matrices are row-major. A row of features takes `width` doubles: the number of features rounded up (padded_width),
// the rest zero, so that no loop has a remainder. `rows` lists row numbers: row i is x + rows[i] * width.
// Several values per row (outputs) lie one after another: value k of row i is p[k * stride + i]. Vectors of row values
// may be read up to 7 values past their end (Buffer leaves room for that).
#pragma once

#include <cstdint>

#include "../forest/tree_view.hpp"

namespace boostforest {

// Right-hand sides that are solved side by side.
constexpr int kLanes = 8, kFewLanes = 4;

// Sums over rows that linear fits on a constant, a value p and a value x ask for: g and h are the derivatives of the
// loss, w the weight of a row.
enum PieceSum : int {
    kPieceG,
    kPieceH,
    kPieceW,
    kPieceGP,
    kPieceHP,
    kPieceHPP,
    kPieceGX,
    kPieceHX,
    kPieceHXX,
    kPieceHPX,
    kPieceSums
};

// A linear model as mixtures of two rows see it, see clipped_rows. Slopes may be read up to the width of a row: what
// lies behind is finite, and not free or lost.
struct MixedModel {
    double intercept;
    const double* slopes;
    const double* free;  // per slope: 1 if mixtures may have it from either row, else 0
    const double* lost;  // per slope: 1 if mixtures have it from the other row
    const double* x;
    double lower, upper;
};

// kLanes games side by side: the linear model of a node between a row x and a background row z; each may have its own
// of both. Columns have the inputs input_start[i] to input_start[i + 1] - 1.
struct MixedGames {
    std::uint64_t of_row[kLanes], of_other[kLanes];  // bits of the columns that must come from x, and must not
    const double* slopes[kLanes];                    // per input, up to 64, and some finite numbers behind them
    const double* steps[kLanes];   // x - z: as many, 0 behind the last input; room for eight at a time
    const double* shares[kLanes];  // eight, see MixedWeights
    double at_row[kLanes];         // score of x
    double lower[kLanes], upper[kLanes];
    double weight[kLanes];  // 0: nothing is added for the game, which must be valid all the same
};
struct MixedColumns {
    const std::int32_t* input_start;
    int n_players;  // columns: up to 64
    bool one_each;  // input j is column j
};
// What mixed_games leaves of kLanes games, which are clipped somewhere if `largest` is above 0.
struct OpenGames {
    double differences[64 * kLanes];  // per column: what it adds to the score if it is free, else 0
    double of_inputs[64 * kLanes];    // the same of inputs, free or not
    double start[kLanes];             // score without free columns of x,
    double at_start[kLanes];          //   and the output there
    double slope[kLanes];             // of the line that was counted
    double largest[kLanes];           // how far the output may be from it, times the weight of the game
};

// Games of the model of a node between a row x and background rows, on cubes of coalitions: see
// explain/coalition_tables.hpp.
constexpr int kCubeRows = 128, kCubePlayers = 10;  // at most

// Under which conditions a background row gets to a node together with x: bits of the columns that must come from x,
// and how many they are; the same of those that must not. Below 0: it does not get there.
constexpr int kCubeCount = kCubePlayers, kCubeOther = 16;  // first bits of the number, and of the others
constexpr std::int32_t kCubeColumnBits = (1 << kCubePlayers) - 1, kCubeCountBits = 15;
constexpr std::int32_t kUnreached = INT32_MIN;

struct CubeColumns {  // those that are free, after the columns that lanes differ in
    std::int32_t n;
    std::int32_t differences[kCubePlayers];  // where theirs are among those of a vector of rows
    std::int32_t stride[kCubePlayers];       // in a table
    std::int32_t layout;                     // of the table
};
struct CubeTables {
    const CubeColumns* columns;  // per set of columns that are not free
    const std::int32_t* places;  // per layout and set of columns that come from x
    const double* lane_weights;  // kLanes, per columns of the lanes that are not free, and of these come from x
    double* values;              // of coalitions, a table per layout
    std::int64_t size;           // of a table
};
struct CubeNode {
    const double* slopes;         // per input
    double at_row, lower, upper;  // score of x, range of the output
    std::uint32_t split;          // bits of the columns that are split on above: others have no conditions
};

// Games that are clipped somewhere in their cubes wait here: the processor has long known how many they are when they
// are counted, and does not guess.
constexpr int kCubeVectors = 32;  // as many or more vectors of rows: it is time to count
struct WaitingCubes {
    static constexpr int kMostVectors = kCubeVectors + kCubeRows / 2, kMostRows = kMostVectors * kLanes;
    struct Node {
        double lower, upper;
        int end;  // of its vectors
    };
    const std::int32_t* input_start;  // first input of each column
    int n_columns;
    bool one_each;  // input j is column j
    double weight;
    CubeTables tables;
    const double* steps;  // x - z: of input j and row i at j * kCubeRows + i
    double* sums;         // contributions: kLanes per column
    int n_vectors, n_nodes;
    Node nodes[kCubeVectors];
    // Room for:
    alignas(64) double differences[kMostRows * (kCubePlayers + 1)];  // per vector: of each column, and scores without x
    alignas(64) std::int32_t conditions[kMostRows + 64];
    std::uint8_t open_rows[kMostVectors];  // bits of games that are clipped somewhere
    // Of open games: scores with the columns of the lanes and, in the i-th of the parts, i others; differences.
    static constexpr int kPart = (64 + 1) * kLanes;  // no whole page: addresses would be taken for each other
    alignas(64) double bases[kCubePlayers * kPart];
    const double* games[64];
};

// The model of a node over a range of values of one number, see explain/effect_lines.hpp: rows differ in its start, the
// score where the number is 0.
struct RangeLine {
    double slope, lower, upper;
    double least, most;  // of slope times a value
};
// Sums of weights of rows, and of their weighted starts.
struct LineSums {
    double weight, start;  // where no value meets a bound
    double below, above;   // weights where all values do: the lower one, and the upper one
};

// The model of a node on a hidden layer, at points of a curve: see explain/effect_curves.hpp.
struct CurveModel {
    double intercept;
    const double* slopes;  // per unit
    int n_units, n_points;
    double lower, upper;
    double between;  // how far a score may go beyond those at the points
};

// Along the path to a node, kPathRows rows side by side: see explain/path_dependent.hpp for q, r and u.
constexpr int kPathRows = 16;
struct PathRule {
    const double *points, *weights;  // of a quadrature
    int n;                           // points: 4 to 8, or a multiple of 8
    double weight;                   // of what is added to values
    int n_rows;                      // kPathRows, or 8 if there are no more
};
struct PathSplit {
    double threshold;
    bool missing_left, is_left;  // is_left: the step leads there
};
struct PathColumn {
    std::int32_t player, first_input, last_input;  // the last one is not its own
    bool any_met;                                  // by one of the rows
    double share;                                  // r
    double* met;                                   // q, 1 or 0 per row
    double* inverse;  // 1 / u per point and row, 0 for u = 0; behind, of met: 1 / u, 1 / u²
    double* change;   // of a node's output, per row: scratch of path_model
};
struct PathModel {
    const double *slopes, *means;
    double score, output;   // at the means
    double lower, upper;    // range of the output
    const double* product;  // of u, per point and row
    double* below;          // per point and row
};

// Features of a histogram that stand side by side.
constexpr int kSideBySide = 8;

// Two sums in one number for each bin of kSideBySide features, see pack_pairs: cells[8 * b + k] of feature k in bin b.
struct BinSums {
    const std::int64_t* cells;
    const std::int64_t* before;  // sums per feature of what lies left of the first bin; null: nothing
    int width;                   // bins
};

struct Kernels {
    const char* name;  // instruction set: "generic", "avx2", "avx512"

    // lo[j], hi[j]: smallest and largest x[·, j] over the rows; n >= 1.
    void (*column_range)(const double* x, const std::int32_t* rows, std::int64_t n, int width, double* lo, double* hi);

    // sums[(k * n_cuts + c) * width + j] = Σ_i stats[k][i] over the rows with x[·, j] <= cuts[c * width + j].
    void (*left_sums)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* cuts,
                      int n_cuts, const double* const* stats, int n_stats, double* sums);

    // The same for lists: sums[member[i] * step + k] += values[owner[i] * step + k]; step is 4 or a multiple of 8.
    void (*add_members)(const std::uint16_t* member, const std::int32_t* owner, std::int64_t n, const double* values,
                        int step, double* sums);

    // gain[j] += G_L²/(H_L + λ) + G_R²/(H_R + λ), where G_R = G - G_L and H_R = H - H_L.
    void (*add_gain)(int width, double g, double h, const double* g_left, const double* h_left, double lambda,
                     double* gain);

    // The gains ½ Σ_c [G_L²/(H_L + λ) + G_R²/(H_R + λ)], comparable, of `width` splits: statistics are weights, then G
    // and H of each output, or G alone where the weights are H; statistic k of split j is sums[k * width + j].
    void (*boosting_gains)(int width, int n_outputs, bool unit_curvature, const double* totals, const double* sums,
                           double lambda, double* gain);

    // The place c * width + j of the largest gain among those that leave both sides a weight of at least `least`, with
    // the first of n columns, and of its thresholds the first; -1 if there is none. Whole vectors are read.
    int (*best_place)(const double* gain, const double* left_weight, int width, int n, int n_cuts, double total,
                      double least);

    // Bit i of `left`: column[rows[i] * width] <= threshold. Nearest: the largest value that is, and the smallest that
    // is not (-∞ and ∞ if there is none).
    void (*mark_left)(const double* column, std::int64_t width, const std::int32_t* rows, std::int64_t n,
                      double threshold, std::uint8_t* left, double* nearest);

    // Moves the rows whose bit in `left` is set to the front and the others behind them, both in order; returns how
    // many are left. The same with n values of each of some columns besides. The last byte of `left` may be anything;
    // scratch has room for n + 8 values, of each column.
    std::int64_t (*part_rows)(std::int32_t* rows, const std::uint8_t* left, std::int64_t n, std::int32_t* scratch);
    std::int64_t (*part_columns)(std::int32_t* rows, double* const* columns, int n_columns, const std::uint8_t* left,
                                 std::int64_t n, std::int32_t* row_scratch, double* scratch);

    // The numbers of the counts that are not 0, of n; returns how many. Room for eight more.
    std::int64_t (*take_nonzero)(const std::int32_t* counts, std::int64_t n, std::int32_t* rows);

    // Draws b of n < 2^31 numbers without replacement (Floyd's method) and sets their bits in `taken`, n bits and a
    // word of ones.
    void (*draw_batch)(std::uint64_t key, std::int64_t n, std::int64_t b, std::uint64_t* taken);

    // Row rows[i] has counts[rows[i]] draws, which have one bit each in `taken`, one after another; a word of ones
    // follows. Writes the rows of which any draw is taken, and how many are; returns how many rows. few: most rows have
    // none. Room for one row more.
    std::int64_t (*take_draws)(const std::int32_t* rows, std::int64_t n, const std::int32_t* counts,
                               const std::uint64_t* taken, bool few, std::int32_t* taken_rows, std::int32_t* n_taken);

    // mean[j] = Σ_i w[i] x[·, j] / Σ_i w[i]; out[i] = row i - mean, rows next to each other.
    void (*gather_centred)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* w,
                           double total, double* mean, double* out);

    // out[i] = row i - centre, rows next to each other.
    void (*gather_shifted)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* centre,
                           double* out);

    // Weighted normal equations of z on x (d features): gram[i * width + j] = Σ_r v x_i x_j for i < d and j >= i,
    // sum_x[j] = Σ_r v x_j, sum_zx[j] = Σ_r v z x_j.
    void (*normal_equations)(const double* x, std::int64_t n, int width, int d, const double* v, const double* z,
                             double* gram, double* sum_x, double* sum_zx);

    // The part of the normal equations that lists have: row i is 1 in the columns member[start[i]] … member[start[i +
    // 1]
    // - 1] (ascending), and has the other features x[i] (width a multiple of 8). Adds to gram (rows of ld doubles), to
    // cross, the products with the other features (rows of `width` doubles), and to sum_x and sum_zx of the members.
    void (*normal_equations_of_lists)(const std::uint32_t* start, const std::uint16_t* member, const double* x,
                                      std::int64_t n, int width, const double* v, const double* z, std::int64_t ld,
                                      double* gram, double* cross, double* sum_x, double* sum_zx);

    // The whole ridge regression of up to four outputs of the same weights on d <= width features, width 4, 8 or 16;
    // label of row i for output c: z[c * stride + i]. Of each output `width` slopes and an intercept are written.
    // False, and nothing written, where other ways are better: there are too few registers, or few rows and a penalty
    // so small that rounding errors would count beside it.
    bool (*small_ridge)(const double* x, std::int64_t n, int width, int d, const double* v, const double* z,
                        std::int64_t stride, int n_outputs, double lambda, double* slopes, double* intercepts);

    // k[i * ld + j] = x[i] · x[j], and 0 from j = n on.
    void (*row_products)(const double* x, std::int64_t n, int width, double* k, std::int64_t ld);

    // Normal equations of the rows less their weighted mean, of those of the rows as they are, and the penalty. sum_x
    // becomes the mean. Whole vectors are written, of rows of `width` doubles.
    void (*centre_equations)(double* gram, int width, int d, double* sum_x, double* sum_zx, double total, double z_mean,
                             double lambda);

    // Factors the symmetric A (d × d, upper triangle, rows of ld doubles, ld a multiple of 4) in place for
    // substitute(). A pivot that is lost in rounding gets the inverse 0, and its unknown 0: a feature that repeats
    // others is left out.
    void (*factor)(double* a, std::int64_t ld, int d, double* inverse_pivots);

    // Solves A s = b with the factors; b is destroyed. Whole vectors of s are written.
    void (*substitute)(const double* a, std::int64_t ld, int d, const double* inverse_pivots, double* b, double* s);

    // k[i, j] = root[i] root[j] (products[i, j] - m[i] - m[j] + s), plus λ on the diagonal, for j >= i; rows of ld
    // doubles.
    void (*weigh_products)(const double* products, std::int64_t ld, std::int64_t n, const double* root, const double* m,
                           double s, double lambda, double* k);

    // The same for several systems at once, one per lane (4 or 8): value (i, j) of lane l is a[(i * d + j) * lanes +
    // l], value i of b is b[i * lanes + l]. A is destroyed, b becomes the solution, inverse_pivots is scratch like b.
    void (*solve_lanes)(double* a, int d, double* b, double* inverse_pivots, int lanes);

    // All of weigh_products for several outputs at once: row weights v and labels z as lanes; a and rhs for
    // solve_lanes, root = √v, m, and per lane the weighted mean of z and Σ v.
    void (*dual_lanes)(const double* products, std::int64_t ld, int n, const double* v, const double* z, double lambda,
                       double* a, double* rhs, double* root, double* m, double* z_mean, double* total, int lanes);

    // kLanes right-hand sides side by side, value i of lane l at [i * kLanes + l].
    // out[j] = Σ_i a[i] x[i, j] for the first d columns; out[i] = intercept + Σ_j s[j] x[i, j]; substitute() in place.
    void (*columns_times_lanes)(const double* x, std::int64_t n, int width, int d, const double* a, double* out);
    void (*rows_times_lanes)(const double* x, std::int64_t n, std::int64_t width, int d, const double* s,
                             const double* intercept, double* out);
    void (*substitute_lanes)(const double* a, std::int64_t ld, int d, const double* inverse_pivots, double* b);

    // kFewLanes right-hand sides at the most: substitute() in place, value i of lane l at [i * kFewLanes + l];
    // out[c * width + j] = Σ_i v[i] z[c * stride + i] x[i, j].
    void (*substitute_few)(const double* a, std::int64_t ld, int d, const double* inverse_pivots, double* b);
    void (*label_products)(const double* x, std::int64_t n, int width, const double* v, const double* z,
                           std::int64_t stride, int n_outputs, double* out);

    // out[i] = intercept + Σ_j slopes[j] x[i, j]; slopes padded to width.
    void (*linear)(const double* x, std::int64_t n, int width, const double* slopes, double intercept, double* out);

    // The same for rows of a table.
    void (*linear_rows)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* slopes,
                        double intercept, double* out);

    // The same for several outputs, each with its slopes and its intercept: out[c * stride + i] gets it added, kept
    // within [lower, upper].
    void (*add_clipped_rows)(const double* x, const std::int32_t* rows, std::int64_t n, int width, const double* slopes,
                             const double* intercepts, int n_outputs, double lower, double upper, double* out,
                             std::int64_t stride);

    // out[j] += Σ_i a[i] x[i, j].
    void (*add_weighted_rows)(const double* x, std::int64_t n, int width, const double* a, double* out);

    // Σ v and Σ v z.
    void (*weighted_sums)(const double* v, const double* z, std::int64_t n, double& sum_v, double& sum_vz);
    double (*sum)(const double* v, std::int64_t n);
    // The same of each of some arrays.
    void (*sums)(const double* const* values, int count, std::int64_t n, double* out);
    void (*value_range)(const double* z, std::int64_t n, double& lower, double& upper);

    // e^x and log x (of normal numbers above 0); x and out may be the same. Whole vectors are written.
    void (*exponential)(const double* x, std::int64_t n, double* out);
    void (*logarithm)(const double* x, std::int64_t n, double* out);

    // Probabilities of the scores f; f and p may be the same. Whole vectors are written: room for up to 7 more values.
    void (*sigmoid)(const double* f, std::int64_t n, double* p);
    void (*softmax)(const double* f, std::int64_t stride, std::int64_t n, int n_classes, double* p,
                    std::int64_t p_stride);

    // Squared error: w g, where g = -r is the residual's opposite. Whole vectors are written.
    void (*residual_statistics)(const double* w, const double* r, std::int64_t n, double* wg);

    // For the class `label` with probabilities p: w g and w h, where g = p - [y = label], h = p (1 - p); and the
    // pseudo-label z = -g/h within ±4 with its weight v = w max(h, 2 eps). Whole vectors are written.
    void (*class_statistics)(const double* p, const double* y, double label, const double* w, std::int64_t n,
                             double* wg, double* wh);
    void (*class_pseudo_labels)(const double* p, const double* y, double label, const double* w, std::int64_t n,
                                double* z, double* v);

    // v_c <- (1 - share) (v_c - share Σ v_c) for n values of each output, `stride` apart.
    void (*centre_outputs)(double* values, std::int64_t n, std::int64_t stride, int n_outputs, double share);

    // The pseudo-labels of all classes with one weight per row: h is the largest p (1 - p) of its classes.
    void (*shared_pseudo_labels)(const double* p, std::int64_t stride, int n_classes, const double* y, const double* w,
                                 std::int64_t n, double* z, std::int64_t z_stride, double* v);

    // One boosting step on n rows, and the loss after it. Squared error: r -= fitted within [lower, upper], Σ w r².
    // Classes: f += fitted, p = probabilities of f, Σ w (log(1 + e^f) - y f) or Σ w (log Σ_c e^{f_c} - f_y); p null: f
    // stays as it is, the loss alone is wanted.
    double (*step_residual)(const double* fitted, std::int64_t n, double lower, double upper, const double* w,
                            double* r);
    double (*step_logistic)(const double* fitted, std::int64_t n, const double* y, const double* w, double* f,
                            double* p);
    double (*step_softmax)(const double* fitted, std::int64_t fitted_stride, std::int64_t n, int n_classes,
                           const double* y, const double* w, double* f, double* p, std::int64_t stride);

    // Units of a hidden layer: row i of out (n_units rounded up to 8; the rest 0) belongs to row i of x. The layer has
    // 1 + d rows like those of out: biases, then the weights of each feature. rows null: rows 0 … n - 1; n >= 1.
    void (*hidden_units)(const double* x, const std::int32_t* rows, std::int64_t n, int width, int d,
                         const double* layer, int n_units, double* out);

    // The interior point method of the linear SVR for the n rows of a node, see models/linear_svr.cpp. state: 9 arrays
    // of `stride` values, a, C - a, slack and excess of the upper side, then of the lower, and the prediction;
    // direction: 6 arrays, the changes of a, slack and excess of both sides. Whole vectors are written.
    //
    // Starts from the prediction 0; `width` is the size of the labels.
    void (*svr_start)(const double* z, double cost, double epsilon, double width, std::int64_t n, std::int64_t stride,
                      double* state);
    // Weights and labels of the ridge regression that a step towards mu asks for.
    void (*svr_system)(const double* z, const double* v, double epsilon, double mu, std::int64_t n, std::int64_t stride,
                       const double* state, double* weight, double* target);
    // The direction that follows from its fitted values; returns the largest decrease as a part of what decreases.
    double (*svr_direction)(const double* z, double epsilon, double mu, std::int64_t n, std::int64_t stride,
                            const double* state, const double* fitted, double* direction);
    // Takes a step; gap: how far the objective may be from the best, loss: Σ of the costs of the errors.
    void (*svr_move)(const double* z, const double* v, double cost, double epsilon, double step, std::int64_t n,
                     std::int64_t stride, const double* direction, const double* fitted, double* state, double& gap,
                     double& loss);

    // Score of a tree for rows of scaled features next to each other: out[c * stride + i], c = 0 … n_outputs - 1.
    // has_gaps: missing values are NaN there. The models see `inputs`, rows of input_width doubles. room: kUnpackedRoom
    // doubles, where the tree stores bytes.
    void (*tree_scores)(const TreeView& tree, const double* x, bool has_gaps, std::int64_t n, int width,
                        const double* inputs, int input_width, double* out, std::int64_t stride, double* room);

    // The same for one row and up to kTreesAtOnce trees that go together (go_together): out[c * stride + t].
    void (*scores_of_row)(const TreeView* trees, int n_trees, const double* x, bool has_gaps, const double* inputs,
                          int input_width, double* out, std::int64_t stride);

    // The same where they have nothing but constants at their leaves (only_constants): added to out, which has room for
    // whole vectors, tree after tree.
    void (*constants_of_row)(const TreeView* trees, int n_trees, const double* x, bool has_gaps, double* out);

    // n stored coefficients from `start` on, as doubles.
    void (*widen_values)(const void* from, Stored stored, std::int64_t start, std::int64_t n, double* out);

    // A linear model between a row x and others, z[rows[i]] (rows of `width` doubles, n >= 1): differences slopes[j]
    // free[j] (x[j] - z[j]), all of them or some, are added to the score `start`, which is that of x less all of them
    // and those of the lost slopes. Where every score on the way lies within [lower, upper], start is added to total
    // and the differences to sums; where every one lies on the same side of it, that bound is added to total. The
    // others (all, if a bound is NaN) stay open: their number is returned, their rows, starts and differences are
    // written (one row of differences more may be).
    std::int64_t (*clipped_rows)(const MixedModel& model, const double* z, const std::int32_t* rows, std::int64_t n,
                                 int width, double* differences, double* start, std::int32_t* open, double* sums,
                                 double& total);

    // out[S] = start + Σ of differences[j] over the bits j of S, for all S below 2^n.
    void (*coalition_scores)(double start, const double* differences, int n, double* out);

    // Returns Σ weights[S] values[S] over all S below 2^n; with[j]: the same over those that have bit j. Destroys
    // values.
    double (*coalition_sums)(double* values, const double* weights, int n, double* with);

    // The same for the sums over rows of these scores within [lower, upper]: row i starts at starts[i], its differences
    // at differences[i * stride]; n <= 16. A coalition of m players weighs weights[8 m]; weights[8 m + l] is that of
    // one with as many more as l has bits.
    double (*clipped_coalitions)(const double* starts, const double* differences, std::int64_t stride,
                                 std::int64_t n_rows, int n, double lower, double upper, const double* weights,
                                 double* with);

    // Adds the contributions of games, with a line in place of the clipped output, to sums: kLanes per column.
    void (*mixed_games)(const MixedColumns& columns, const MixedGames& games, double* sums, OpenGames& out);

    // Finds the conditions of n rows at the children of a node that splits on a column, by those at the node: at the
    // child where x goes by itself, and at the other. left: 1 for rows that go left. Returns 1 if a row gets to the
    // first, plus 2 if one gets to the other.
    int (*meet_split)(const std::int32_t* before, const std::int32_t* left, int n, int column, bool row_left,
                      std::int32_t* near, std::int32_t* far);

    // Adds the contributions of games to sums where their outputs are linear or constant over all coalitions; the
    // others wait.
    void (*compare_cubes)(const CubeNode& node, const std::int32_t* conditions, int n, WaitingCubes& waiting);
    // Adds the outputs of those that wait to their tables.
    void (*add_cubes)(WaitingCubes& waiting);

    // Adds up rows whose lines are within the bounds, or beyond one of them; lists the others, and returns their
    // number. Room for eight more.
    std::int64_t (*line_sums)(const RangeLine& line, const double* starts, const double* weights, std::int64_t n,
                              LineSums& sums, std::int32_t* bent);

    // Units of a hidden layer (see hidden_units, n_units rounded up) at n_points points, a multiple of 8, of curves of
    // n rows: out has rows × units × points. moves: per unit and point what its sum moves by, or, where `most` is not
    // 0, e to the power of minus that; sums count as at most so far from 0 then. powers: room for the units.
    void (*unit_curves)(const double* x, std::int64_t n, int width, int d, const double* layer, int n_units,
                        const double* moves, int n_points, double most, double* powers, double* out);

    // Adds the weighted curves of rows to sums where they are within the bounds, or beyond one of them, and lists the
    // others with their scores at the points; returns their number. Row i has its units at units + (rows[i] -
    // first_row) * per_row and its sums at sums + rows[i] * stride; weights null: all are 1. Room for one more.
    std::int64_t (*curve_sums)(const CurveModel& model, const double* units, std::int64_t per_row,
                               std::int64_t first_row, const std::int32_t* rows, std::int64_t n, const double* weights,
                               double* sums, std::int64_t stride, double* scores, std::int32_t* bent);

    // Adds weight × weights[i] (null: 1) times the sigmoids of what starts at starts[i], which is changed, and moves as
    // in unit_curves over n_moves values, to those at out + rows[i] * stride (null: at out). Moves have room for 32
    // more, 0.
    void (*add_sigmoids)(double* starts, std::int64_t n, const double* moves, std::int64_t n_moves, double most,
                         const double* weights, double weight, const std::int32_t* rows, std::int64_t stride,
                         double* out);

    // Adds weight times the values begin … end - 1 of a curve, kept within the bounds: Σ over points of at_points ×
    // basis, of which whole vectors are read.
    void (*add_curve)(const double* at_points, int n_points, const double* basis, std::int64_t stride,
                      std::int64_t begin, std::int64_t end, double lower, double upper, double weight, double* out);

    // How many columns the lanes of add_cubes differ in.
    int cube_lanes;

    // Steps along the path to a node, see PathRule. Writes whether rows meet the conditions on the column of a split
    // after it, 1 / u of the column, and out = product · u / u before; returns whether one of the rows does.
    bool (*path_step)(const PathRule& rule, const double* x, const PathSplit& split, const double* product,
                      const PathColumn& before, const PathColumn& after, double* out);
    // On the way back: adds `under` to `below`, and what the column of the step gets for it to values.
    void (*path_return)(const PathRule& rule, int n_outputs, const double* under, const PathColumn& before,
                        const PathColumn& after, double* below, double* values);
    // line: what each of n inputs changes of a node's score between its means and the rows; change: their sum; bend:
    // the slope of the node's output, within its range, between both.
    void (*path_line)(const PathModel& model, const double* x, int n, double* line, double* change, double* bend);
    // A node's output and what columns change of it, bend × line: writes rule × product × output to `below`, and adds
    // to values (`stride` apart) what is not left to path_return. off_path: n inputs of columns that are not on the
    // path. x null: line, change and bend are given; else they are those of path_line.
    void (*path_model)(const PathRule& rule, const PathModel& model, const PathColumn* const* columns, int n_columns,
                       const double* x, int n_inputs, double* line, const double* change, const double* bend,
                       const std::int32_t* off_path, int n, const std::int32_t* of_input, double* values,
                       std::int64_t stride);

    // LogitBoost for the class `label` with probabilities p: v = w |e| max(1 - |e|, 1/3) and vz = w e, where
    // e = [y = label] - p; v is the weight of the response z = vz / v, which lies within ±3. rest: the probability of
    // all classes but the row's own, since 1 - p loses what is left of it near 1. Whole vectors are written.
    void (*logit_responses)(const double* rest, const double* p, const double* y, double label, const double* w,
                            std::int64_t n, double* v, double* vz);

    // Σ v x, Σ v x², Σ vz x of each of d columns (`stride` apart): sums[3 j], sums[3 j + 1], sums[3 j + 2]. Columns, v
    // and vz are zero in the rest of their last vector.
    void (*regression_sums)(const double* x, std::int64_t stride, std::int64_t n, int d, const double* v,
                            const double* vz, double* sums);

    // Boosted trees. Σ |values|.
    double (*absolute_sum)(const double* values, std::int64_t n);

    // Bit i of `taken`: whether row i is chosen, with the chance (same + by_size * sizes[i]) / 2³². Whole vectors are
    // read.
    void (*choose_bits)(const double* sizes, std::int64_t n, double same, double by_size, std::uint32_t key,
                        std::uint8_t* taken);

    // cells[i * stride] = two values of row i times powers of two, as whole numbers: 2³² first + second. first may be
    // null: 0.
    void (*pack_pairs)(const double* first, const double* second, std::int64_t n, double first_unit, double second_unit,
                       std::int64_t* cells, std::int64_t stride);

    // Adds the cells of the rows (null: rows 0 … n - 1), `stride` apart, to the sums of their bins: the mask has the
    // bytes of a row's word that are the codes of the features, eight of which stand side by side:
    // sums[8 * code + k] for the k-th of them.
    void (*add_cells)(const std::uint64_t* words, std::uint64_t mask, const std::int32_t* rows, std::int64_t n,
                      const std::int64_t* cells, std::int64_t stride, std::int64_t* sums);

    // For every border b of the k-th feature, where G_L and H_L are the sums up to bin b, G_R = G - G_L, H_R = H - H_L:
    // gains[8 * b + k] += G_L²/(H_L + λ) + G_R²/(H_R + λ); set instead of added to if it is the first.
    void (*add_gains)(const BinSums& bins, float g, float h, float lambda, bool is_first, float* gains);

    // The same where outputs share H: left += G_L² and right += G_R² of the first sums and of both, or left_h = H_L
    // from the second; then the gains of n borders by these.
    void (*add_squares)(const BinSums& bins, float first, float second, bool both, bool is_first, float* left,
                        float* right, float* left_h);
    void (*add_shared_gains)(int n, const float* left, const float* right, const float* left_h, float h, float lambda,
                             bool is_first, float* gains);

    // The largest gain of each of eight features among its first n_borders, and the first border that has it.
    void (*best_borders)(const float* gains, int width, const std::int32_t* n_borders, float* most, std::int32_t* best);

    // from[i] -= what[i].
    void (*take_away)(std::int64_t* from, const std::int64_t* what, std::int64_t n);

    // Bit i of `left`: whether the code in a byte of the word of row rows[i] is up to the bin, or `missing`. A word
    // behind the last may be read, and a byte behind the last bit written.
    void (*code_bits)(const std::int32_t* rows, std::int64_t n, const std::uint64_t* words, int byte, int bin,
                      int missing, std::uint8_t* left);

    // places[i] = 2 * places[i], and one more if code i is above the bin.
    void (*append_side)(std::uint16_t* places, const std::uint8_t* codes, std::int64_t n, int bin);

    // Adds `step` (4 or 8) statistics of every row to those of its bin: row i is in bin bins[rows[i] * n_features + j]
    // of feature j; the bins of the features first … last - 1 stand one after another in histogram, 256 × step each.
    void (*add_to_bins)(const std::uint8_t* bins, std::int64_t n_features, int first, int last,
                        const std::int32_t* rows, std::int64_t n, const double* statistics, int step,
                        double* histogram);

    // For each of n sets of sums (sum m of set i: sums[m * stride + i]; with a total, the rest of it), the least value
    // of Σ g f + ½ h f² + ½ λ |k|² + α |k|₁ over f = k_0 + k_1 p + k_2 x. Pivots below tiny[0 … 2] count as 0. Whole
    // vectors are read and written.
    void (*least_values)(const double* sums, std::int64_t stride, const double* total, std::int64_t n, double lambda,
                         double alpha, const double* tiny, double* out);
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
