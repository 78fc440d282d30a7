/* boostforest.h: trees and forests of boostforest in C99, with nothing but the standard library.
 *
 * In ONE source file:
 *     #define BOOSTFOREST_IMPLEMENTATION
 *     #include "boostforest.h"
 * and in all others the include alone. A model comes from a file or from bytes in memory, which are checked,
 *     int status;
 *     bf_forest* forest = bf_open("model.bf", &status);
 *     double* work = malloc(bf_work(forest, 1) * sizeof(double));
 *     if (forest == NULL || (status = bf_predict(forest, row, result, work)) != BF_OK) puts(bf_error(status));
 *     bf_close(forest);
 * or from tables that are compiled in (`boostforest export model.bf --to c` writes them, with a copy of this file).
 *
 * Memory is taken while a model is loaded, and never afterwards. A model may be used from several threads, each with
 * work memory of its own. Compile without options that change arithmetic, such as -ffast-math: missing values are NaN.
 * BOOSTFOREST_STATIC makes all functions static, BOOSTFOREST_NO_FILES leaves out what loads files (and malloc). */
#ifndef BOOSTFOREST_H
#define BOOSTFOREST_H

#include <stddef.h>
#include <stdint.h>

#ifdef BOOSTFOREST_STATIC
#define BF_API static inline
#else
#define BF_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of rows; of files; and what files may have that this header does not know. bf_error has a text for each. */
enum { BF_OK = 0, BF_INFINITE = 1, BF_CATEGORY = 2, BF_NO_INTERVALS = 3, BF_COVERAGE = 4 };
enum { BF_NO_FILE = 10, BF_NO_MEMORY = 11, BF_NOT_A_MODEL = 12, BF_NEWER = 13, BF_CHECKSUM = 14, BF_HEADER = 15 };
enum { BF_DAMAGED = 16, BF_NETWORKS = 30, BF_CONSTRAINTS = 31, BF_LOSS = 32, BF_TOO_LARGE = 33, BF_ZERO_IN_TEXT = 34 };
enum { BF_COLUMNS = 35, BF_TARGETS = 36 };
enum bf_column_kind { BF_NUMBER = 0, BF_NUMBER_AND_MARK = 1, BF_ONE_HOT = 2, BF_MEANS = 3 };
/* BF_EXP_OF_MEAN: scores are averaged, and the prediction is e to the power of their mean. */
enum bf_link { BF_IDENTITY = 0, BF_LOG = 1, BF_SIGMOID = 2, BF_SOFTMAX = 3, BF_EXP_OF_MEAN = 4 };
enum bf_kind { BF_CONSTANT = 0, BF_LINEAR = 1, BF_HIDDEN = 2 };

/* A model. Arrays have the names of the tensors in docs/dev/format.md; those that need not be there may be NULL. */
typedef struct {
    /* the table */
    int32_t n_columns, n_features;
    const char* const* column_names;
    const uint8_t* column_kind;                   /* enum bf_column_kind; NULL: every column is a feature as it is */
    const int64_t* level_start;                   /* per column: its first level; then their number */
    const uint8_t *level_missing, *level_is_text; /* per column: 1 if missing ones are a level, behind the others */
    const char* const* level_names;               /* UTF-8 */
    const double* level_numbers; /* per level: the number that it is, NaN if no double is equal to it */
    const double* level_means;   /* n_means for each level of a column of kind BF_MEANS */
    int32_t n_means;
    const double *feature_mean, *feature_scale;
    const double* fill; /* centre and precision of a normal distribution; NULL: the mean replaces missing values */
    const int32_t* model_features; /* features that node models see; NULL: all */
    int32_t n_seen;                /* their number */
    /* the trees, nodes of all of them one after another */
    int32_t n_trees, n_outputs, most_inputs;
    const int64_t* tree_start;   /* per tree: its first node; then their number */
    const uint8_t* kind;         /* per tree: enum bf_kind */
    const int32_t* n_inputs;     /* per tree: slopes of a model */
    const int64_t* hidden_start; /* per tree: of its hidden layer, biases and then weights by feature */
    const double* hidden;        /* NULL: no tree has one */
    const int32_t *feature,
        *left;               /* per node: split feature, -1 for a leaf; left child from the root, then the right one */
    const double* threshold; /* per node: x <= threshold goes left */
    const uint8_t* missing_left; /* per node: 1 where a missing value goes left */
    const int64_t* param_start;  /* per node: first coefficient of its model, -1 for none */
    const double *lower, *upper; /* per node: what the model is kept within; NULL: nothing */
    const double* params;        /* of each model: intercept and slopes, for each output */
    const float* params_f32;     /* the same in fewer digits, if params is NULL */
    /* from scores to predictions */
    int32_t link, n_stages;     /* enum bf_link */
    const int64_t* stage_end;   /* per stage: trees up to its end */
    const double* stage_step;   /* per stage: what it counts */
    const int64_t* stage_units; /* per stage: what the sum over its trees is divided by */
    double factor;              /* of scores, by calibration */
    const int64_t* knot_start;  /* per output: first corner of the line that calibrates it; then their number */
    const double *knot_x, *knot_y;
    int32_t n_classes; /* 0 in regression */
    const char* const* class_names;
    double target_mean, target_scale;
    /* intervals: errors of training rows, and which trees have not drawn these rows */
    int32_t n_residuals; /* 0: there are none */
    const double *residuals, *residual_weight;
    const int64_t* absent_row; /* per tree: its row of bits, -1 in a bag whose first tree has it */
    const uint8_t* absent;     /* rows of (n_residuals + 7) / 8 bytes, the highest bit first */
    void* memory;              /* that bf_close gives back; NULL for tables */
} bf_forest;

#ifndef BOOSTFOREST_NO_FILES
/* A model from a file, or from its bytes in memory, which are not needed afterwards; NULL: see *status. */
BF_API bf_forest* bf_open(const char* path, int* status);
BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status);
BF_API void bf_close(bf_forest* forest); /* NULL is nothing */
#endif
BF_API const char* bf_error(int status); /* one sentence */
BF_API int32_t bf_n_columns(const bf_forest* forest);
BF_API int32_t bf_n_results(const bf_forest* forest); /* 1 in regression, otherwise the number of classes */
BF_API const char* bf_column_name(const bf_forest* forest, int32_t column);
BF_API const char* bf_class_name(const bf_forest* forest, int32_t number);
BF_API const char* bf_level_name(const bf_forest* forest, int32_t column, int32_t level); /* NULL: none */
/* Number of the level of a category, given its text; NULL is a missing one. NaN: it is unknown. */
BF_API double bf_text_level(const bf_forest* forest, int32_t column, const char* text);
/* The same for a category that is a number, if a double is equal to it (else by its digits as text); NaN: missing. */
BF_API double bf_number_level(const bf_forest* forest, int32_t column, double number);
/* Doubles of work memory that predictions of so many rows at once need. */
BF_API size_t bf_work(const bf_forest* forest, size_t n_rows);
/* Predicts one row, a value per column, NaN for a missing number: the target, or the probability of each class. */
BF_API int bf_predict(const bf_forest* forest, const double* row, double* result, double* work);
/* Predicts rows, one behind the other; after an error *n_done (unless NULL) is the row that it is about. */
BF_API int bf_predict_rows(const bf_forest* forest, const double* rows, size_t n_rows, double* results, double* work,
                           size_t* n_done);
/* The leaf of a row in each tree. */
BF_API int bf_apply(const bf_forest* forest, const double* row, int32_t* leaves, double* work);
/* Lower and upper end of an interval that holds the target so often; work: bf_work_interval doubles. */
BF_API size_t bf_work_interval(const bf_forest* forest);
BF_API int bf_interval(const bf_forest* forest, const double* row, double coverage, double* ends, double* work);

#ifdef __cplusplus
}
#endif
#endif

#if defined(BOOSTFOREST_IMPLEMENTATION) && !defined(BOOSTFOREST_IMPLEMENTED)
#define BOOSTFOREST_IMPLEMENTED

#include <float.h>
#include <math.h>
#include <string.h>

#define BF_ROWS 256               /* that go through a tree together */
#define BF_LEAST_PROBABILITY 1e-3 /* of a mean that log-odds are taken of */
#define BF_LEAST_OUTPUT 1e-9      /* of a mean that a logarithm is taken of */
#define BF_LARGEST_LOG 230.0      /* beyond it a tree's score on a log scale counts as that */

BF_API const char* bf_error(int status) {
    switch (status) {
        case BF_OK: return "no error";
        case BF_INFINITE: return "a value of the row is infinite";
        case BF_CATEGORY: return "a category is not the number of a level: see bf_text_level and bf_number_level";
        case BF_NO_INTERVALS: return "the model has no intervals: fit a regressor with oob_score=True, and save it";
        case BF_COVERAGE: return "coverage must be above 0 and below 1";
        case BF_NO_FILE: return "the file cannot be read";
        case BF_NO_MEMORY: return "there is not enough memory for the model";
        case BF_NOT_A_MODEL: return "it is not a model file of boostforest, or cut short";
        case BF_NEWER: return "the file has a newer format than this header reads: take the header of a newer version";
        case BF_CHECKSUM: return "the checksum of the file is wrong: it was damaged or changed";
        case BF_HEADER: return "the header of the file is damaged";
        case BF_DAMAGED: return "a tensor of the file is missing, or has a wrong type, size or value";
        case BF_NETWORKS: return "this header cannot predict with networks at the nodes";
        case BF_CONSTRAINTS: return "this header cannot predict with monotonic_cst";
        case BF_LOSS: return "this header does not know the loss of the model";
        case BF_TOO_LARGE: return "the model has more nodes, values or levels than this header can count";
        case BF_ZERO_IN_TEXT: return "a category has a character of code 0, which ends text in C";
        case BF_COLUMNS: return "the model has columns of dates, free text or a wide sparse matrix";
        case BF_TARGETS: return "the model has several targets; get_target has the model of one";
        default: return "unknown status";
    }
}

BF_API int32_t bf_n_columns(const bf_forest* forest) {
    return forest->n_columns;
}

BF_API int32_t bf_n_results(const bf_forest* forest) {
    return forest->n_classes > 0 ? forest->n_classes : 1;
}

BF_API const char* bf_column_name(const bf_forest* forest, int32_t column) {
    return column < 0 || column >= forest->n_columns ? NULL : forest->column_names[column];
}

BF_API const char* bf_class_name(const bf_forest* forest, int32_t number) {
    return number < 0 || number >= forest->n_classes ? NULL : forest->class_names[number];
}

/* Levels of a category, with or without that of missing ones; 0 for numbers. */
static inline int32_t bf_levels(const bf_forest* forest, int32_t column, int with_missing) {
    const int is_there = forest->column_kind != NULL && column >= 0 && column < forest->n_columns;
    if (!is_there || forest->column_kind[column] < BF_ONE_HOT) return 0;
    const int64_t n = forest->level_start[column + 1] - forest->level_start[column];
    return (int32_t)n + (with_missing ? forest->level_missing[column] : 0);
}

BF_API const char* bf_level_name(const bf_forest* forest, int32_t column, int32_t level) {
    const int is_there = level >= 0 && level < bf_levels(forest, column, 0);
    return is_there ? forest->level_names[forest->level_start[column] + level] : NULL;
}

BF_API double bf_text_level(const bf_forest* forest, int32_t column, const char* text) {
    const int32_t n = bf_levels(forest, column, 0);
    for (int32_t k = 0; text != NULL && k < n; ++k)
        if (strcmp(text, bf_level_name(forest, column, k)) == 0) return k;
    return text == NULL && bf_levels(forest, column, 1) > n ? n : NAN;
}

BF_API double bf_number_level(const bf_forest* forest, int32_t column, double number) {
    for (int32_t k = 0; k < bf_levels(forest, column, 0); ++k)
        if (number == forest->level_numbers[forest->level_start[column] + k]) return k;
    return isnan(number) ? bf_text_level(forest, column, NULL) : NAN;
}

/* --------------------------------------------------------------------------------------------- from row to features */

static inline int bf_features(const bf_forest* forest, const double* row, double* x) {
    const double* means = forest->level_means;
    int32_t k = 0;
    for (int32_t j = 0; j < forest->n_columns; ++j) {
        const int kind = forest->column_kind != NULL ? forest->column_kind[j] : (int)BF_NUMBER;
        const int32_t n_levels = bf_levels(forest, j, 1);
        const int32_t n = kind == BF_MEANS ? forest->n_means : n_levels == 2 ? 1 : n_levels;
        const double value = row[j];
        if (kind < BF_ONE_HOT) {
            if (isinf(value)) return BF_INFINITE;
            x[k++] = value;
            if (kind == BF_NUMBER_AND_MARK) x[k++] = isnan(value) ? 1 : 0;
            continue;
        }
        if (!isnan(value) && !(value >= 0 && value < n_levels && floor(value) == value)) return BF_CATEGORY;
        for (int32_t i = 0; i < n; ++i, ++k) { /* of two levels the second */
            x[k] = kind == BF_MEANS || isnan(value) ? NAN : value == i + (n_levels == 2);
            if (kind == BF_MEANS && !isnan(value)) x[k] = means[(int64_t)value * n + i];
        }
        if (kind == BF_MEANS) means += (int64_t)n_levels * n;
    }
    for (k = 0; k < forest->n_features; ++k) x[k] = (x[k] - forest->feature_mean[k]) / forest->feature_scale[k];
    return BF_OK;
}

/* Expected values of what is missing, given the rest, under a normal distribution with centre c and precision P:
 * P_mm (x_m - c_m) = -P_mk (x_k - c_k), by elimination. equations: d (d + 1) values, number: d = n_features. */
static inline void bf_expected(const bf_forest* forest, double* x, double* equations, double* number) {
    const int32_t d = forest->n_features;
    const double *centre = forest->fill, *precision = forest->fill + d;
    int32_t n = 0, is_positive = 1;
    for (int32_t j = 0; j < d; ++j)
        if (isnan(x[j])) number[n++] = j;
    for (int32_t a = 0; a < n; ++a) {
        const double* row = precision + (int64_t)number[a] * d;
        double* own = equations + a * (n + 1);
        own[n] = 0;
        for (int32_t j = 0; j < d; ++j) own[n] -= isnan(x[j]) ? 0 : row[j] * (x[j] - centre[j]);
        for (int32_t b = 0; b < n; ++b) own[b] = row[(int32_t)number[b]];
    }
    for (int32_t a = 0; a < n; ++a) {
        const double* own = equations + a * (n + 1);
        is_positive &= own[a] > 0;
        for (int32_t b = 0; b < n; ++b) {
            double *other = equations + b * (n + 1), factor = other[a] / own[a];
            for (int32_t c = a; c <= n && b != a; ++c) other[c] -= factor * own[c];
        }
    }
    for (int32_t a = 0; a < n; ++a) { /* not a distribution: the centre */
        const double* own = equations + a * (n + 1);
        x[(int32_t)number[a]] = centre[(int32_t)number[a]] + (is_positive ? own[n] / own[a] : 0);
    }
}

/* ------------------------------------------------------------------------------------------------------------ trees */

static inline double bf_clip(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

static inline double bf_sigmoid(double f) {
    const double e = exp(f < 0 ? f : -f); /* cannot overflow */
    return (f < 0 ? e : 1.0) / (1.0 + e);
}

/* The intercept p[0] and the products of n slopes behind it, in four sums that a compiler can make one vector of. */
#define BF_SUM(p)                                                     \
    do {                                                              \
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;                        \
        for (; j + 4 <= n; j += 4) {                                  \
            s0 += (p)[1 + j] * x[j], s1 += (p)[2 + j] * x[j + 1];     \
            s2 += (p)[3 + j] * x[j + 2], s3 += (p)[4 + j] * x[j + 3]; \
        }                                                             \
        for (; j < n; ++j) s0 += (p)[1 + j] * x[j];                   \
        return (p)[0] + ((s0 + s1) + (s2 + s3));                      \
    } while (0)

/* The model whose coefficients begin at `start`. */
static inline double bf_model(const bf_forest* forest, int64_t start, int32_t n, const double* x) {
    int32_t j = 0;
    if (forest->params != NULL) BF_SUM(forest->params + start);
    BF_SUM(forest->params_f32 + start);
}

/* What node models of a tree see: some features, or the units of its hidden layer. */
static inline const double* bf_inputs(const bf_forest* forest, int64_t tree, const double* seen, double* units) {
    const int32_t n = forest->n_inputs[tree];
    if (forest->kind[tree] != BF_HIDDEN) return seen;
    const double* layer = forest->hidden + forest->hidden_start[tree];
    for (int32_t k = 0; k < n; ++k) units[k] = layer[k];
    for (int32_t j = 0; j < forest->n_seen; ++j)
        for (int32_t k = 0; k < n; ++k) units[k] += seen[j] * layer[(int64_t)(1 + j) * n + k];
    for (int32_t k = 0; k < n; ++k) units[k] = bf_sigmoid(units[k]);
    return units;
}

/* Scores of a row by one tree, sums of the models on its path; x with NaN for missing values. Returns the leaf. */
static inline int32_t bf_tree(const bf_forest* forest, int64_t tree, const double* x, const double* inputs,
                              double* scores) {
    const int64_t root = forest->tree_start[tree];
    const int32_t n = forest->n_inputs[tree], n_outputs = forest->n_outputs;
    int64_t node = root;
    for (int32_t c = 0; c < n_outputs; ++c) scores[c] = 0;
    for (;;) {
        const int64_t start = forest->param_start[node];
        for (int32_t c = 0; c < n_outputs && start >= 0; ++c) {
            const double value = bf_model(forest, start + c * (int64_t)(1 + n), n, inputs);
            scores[c] += forest->lower == NULL ? value : bf_clip(value, forest->lower[node], forest->upper[node]);
        }
        if (forest->feature[node] < 0) return (int32_t)(node - root);
        const double value = x[forest->feature[node]];
        const int goes_left = (value <= forest->threshold[node]) | ((value != value) & forest->missing_left[node]);
        node = root + forest->left[node] + !goes_left;
    }
}

/* ------------------------------------------------------------------------------------------- from scores to results */

/* What trees add up to what a forest averages; of_tree: scores of one tree, which are kept within what is finite. */
static inline void bf_outputs(const bf_forest* forest, int of_tree, double* f) {
    const int32_t n = forest->n_outputs;
    double top = f[0], total = 0;
    if (forest->link == BF_LOG) f[0] = exp(of_tree ? bf_clip(f[0], -BF_LARGEST_LOG, BF_LARGEST_LOG) : f[0]);
    if (forest->link == BF_SIGMOID) f[0] = bf_sigmoid(f[0]);
    if (forest->link != BF_SOFTMAX) return;
    for (int32_t c = 1; c < n; ++c) top = f[c] > top ? f[c] : top;
    for (int32_t c = 0; c < n; ++c) total += f[c] = exp(f[c] - top);
    for (int32_t c = 0; c < n; ++c) f[c] /= total;
}

/* The scores that mean outputs stand for. */
static inline void bf_scores(const bf_forest* forest, double* p) {
    const int32_t n = forest->n_outputs;
    const double least = BF_LEAST_PROBABILITY, value = bf_clip(p[0], least, 1 - least);
    double mean = 0;
    if (forest->link == BF_LOG) p[0] = log(p[0] < BF_LEAST_OUTPUT ? BF_LEAST_OUTPUT : p[0]);
    if (forest->link == BF_SIGMOID) p[0] = log(value / (1 - value));
    if (forest->link != BF_SOFTMAX) return;
    for (int32_t c = 0; c < n; ++c) mean += p[c] = log(p[c] < least ? least : p[c]);
    for (int32_t c = 0; c < n; ++c) p[c] -= mean / n;
}

static inline void bf_calibrate(const bf_forest* forest, double* p) {
    double total = 0;
    for (int32_t c = 0; c < forest->n_outputs; ++c) {
        const double *x = forest->knot_x + forest->knot_start[c], *y = forest->knot_y + forest->knot_start[c];
        const int64_t n = forest->knot_start[c + 1] - forest->knot_start[c];
        int64_t k = 0;
        while (k < n && x[k] <= p[c]) ++k;
        if (k == 0 || k == n)
            p[c] = y[k == 0 ? 0 : n - 1];
        else
            p[c] = (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (p[c] - x[k - 1]) + y[k - 1];
        total += p[c];
    }
    for (int32_t c = 0; c < forest->n_outputs && forest->n_outputs > 1; ++c) p[c] /= total;
}

static inline double bf_in_units(const bf_forest* forest, double output) {
    if (forest->link == BF_EXP_OF_MEAN) output = exp(bf_clip(output, -BF_LARGEST_LOG, BF_LARGEST_LOG));
    if (forest->link == BF_LOG || forest->link == BF_EXP_OF_MEAN)
        return (output > 0 ? output : 0) * exp(forest->target_mean);
    return output * forest->target_scale + forest->target_mean;
}

/* Work memory: where its parts begin. */
typedef struct {
    double* work;
    size_t x, seen;                   /* rows: features with NaN, and what node models see */
    size_t filled, number, equations; /* one row */
    size_t units, one;                /* one tree */
    size_t sums, scores;              /* rows: of a stage, of all stages */
    size_t end;
} bf_scratch;

static inline bf_scratch bf_parts(const bf_forest* forest, size_t n_rows, double* work) {
    const size_t d = (size_t)forest->n_features, n_outputs = (size_t)forest->n_outputs;
    const size_t n = n_rows < BF_ROWS ? n_rows : BF_ROWS;
    bf_scratch s;
    s.work = work, s.x = 0, s.seen = n * d;
    s.filled = s.seen + n * (size_t)forest->n_seen;
    s.number = s.filled + d, s.equations = s.number + d;
    s.units = s.equations + (forest->fill == NULL ? 0 : d * (d + 1));
    s.one = s.units + (size_t)forest->most_inputs;
    s.sums = s.one + n_outputs, s.scores = s.sums + n * n_outputs, s.end = s.scores + n * n_outputs;
    return s;
}

BF_API size_t bf_work(const bf_forest* forest, size_t n_rows) {
    return bf_parts(forest, n_rows, NULL).end;
}

/* Makes row i of the scratch of a row. */
static inline int bf_read_row(const bf_forest* forest, const double* row, const bf_scratch* s, size_t i) {
    const size_t d = (size_t)forest->n_features, n_seen = (size_t)forest->n_seen;
    double *x = s->work + s->x + i * d, *seen = s->work + s->seen + i * n_seen, *filled = s->work + s->filled;
    const int status = bf_features(forest, row, x);
    if (status != BF_OK) return status;
    for (size_t j = 0; j < d; ++j) filled[j] = isnan(x[j]) && forest->fill == NULL ? 0 : x[j];
    if (forest->fill != NULL) bf_expected(forest, filled, s->work + s->equations, s->work + s->number);
    for (size_t j = 0; j < n_seen; ++j)
        seen[j] = filled[forest->model_features == NULL ? j : (size_t)forest->model_features[j]];
    return BF_OK;
}

/* Puts what row i of the scratch gets from a tree into its `one`: outputs in the first stage, scores in later ones. */
static inline int32_t bf_one_tree(const bf_forest* forest, int64_t tree, int stage, const bf_scratch* s, size_t i) {
    const double* seen = s->work + s->seen + i * (size_t)forest->n_seen;
    const double* inputs = bf_inputs(forest, tree, seen, s->work + s->units);
    const double* x = s->work + s->x + i * (size_t)forest->n_features;
    const int32_t leaf = bf_tree(forest, tree, x, inputs, s->work + s->one);
    if (stage == 0) bf_outputs(forest, 1, s->work + s->one);
    return leaf;
}

static inline int bf_is_plain(const bf_forest* forest) { /* the mean of its trees is what it predicts */
    return forest->n_stages == 1 && forest->stage_step[0] == 1 && forest->factor == 1 && forest->knot_x == NULL;
}

static inline void bf_finish(const bf_forest* forest, double* f, double* result) {
    const int32_t n_outputs = forest->n_outputs;
    if (!bf_is_plain(forest)) {
        for (int32_t c = 0; c < n_outputs; ++c) f[c] *= forest->factor;
        bf_outputs(forest, 0, f);
        if (forest->knot_x != NULL) bf_calibrate(forest, f);
    }
    if (forest->n_classes == 0) {
        result[0] = bf_in_units(forest, f[0]);
    } else if (n_outputs > 1) {
        memcpy(result, f, (size_t)n_outputs * sizeof *f);
    } else {
        result[0] = forest->n_classes == 1 ? 1.0 : 1 - f[0];
        if (forest->n_classes == 2) result[1] = f[0];
    }
}

/* Predicts as many rows as go through a tree together. */
static inline void bf_predict_block(const bf_forest* forest, const bf_scratch* s, size_t n, double* results) {
    const size_t n_outputs = (size_t)forest->n_outputs, n_all = n * n_outputs;
    double *sums = s->work + s->sums, *scores = s->work + s->scores, *one = s->work + s->one;
    int64_t t = 0;
    for (size_t i = 0; i < n_all; ++i) scores[i] = 0;
    for (int32_t stage = 0; stage < forest->n_stages; ++stage) {
        for (size_t i = 0; i < n_all; ++i) sums[i] = 0;
        for (; t < forest->stage_end[stage]; ++t)
            for (size_t i = 0; i < n; ++i) {
                bf_one_tree(forest, t, stage, s, i);
                for (size_t c = 0; c < n_outputs; ++c) sums[i * n_outputs + c] += one[c];
            }
        for (size_t i = 0; i < n_all; ++i) sums[i] /= (double)forest->stage_units[stage];
        for (size_t i = 0; i < n && stage == 0 && !bf_is_plain(forest); ++i) bf_scores(forest, sums + i * n_outputs);
        for (size_t i = 0; i < n_all; ++i) scores[i] += forest->stage_step[stage] * sums[i];
    }
    for (size_t i = 0; i < n; ++i)
        bf_finish(forest, scores + i * n_outputs, results + i * (size_t)bf_n_results(forest));
}

BF_API int bf_predict_rows(const bf_forest* forest, const double* rows, size_t n_rows, double* results, double* work,
                           size_t* n_done) {
    const bf_scratch s = bf_parts(forest, n_rows, work);
    for (size_t begin = 0; begin < n_rows; begin += BF_ROWS) {
        const size_t n = n_rows - begin < BF_ROWS ? n_rows - begin : BF_ROWS;
        for (size_t i = 0; i < n; ++i) {
            const int status = bf_read_row(forest, rows + (begin + i) * (size_t)forest->n_columns, &s, i);
            if (n_done != NULL) *n_done = begin + i;
            if (status != BF_OK) return status;
        }
        bf_predict_block(forest, &s, n, results + begin * (size_t)bf_n_results(forest));
    }
    if (n_done != NULL) *n_done = n_rows;
    return BF_OK;
}

BF_API int bf_predict(const bf_forest* forest, const double* row, double* result, double* work) {
    return bf_predict_rows(forest, row, 1, result, work, NULL);
}

BF_API int bf_apply(const bf_forest* forest, const double* row, int32_t* leaves, double* work) {
    const bf_scratch s = bf_parts(forest, 1, work);
    const int status = bf_read_row(forest, row, &s, 0);
    for (int32_t t = 0; t < forest->n_trees && status == BF_OK; ++t) leaves[t] = bf_one_tree(forest, t, 1, &s, 0);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- intervals */

/* Turns the bits of a number into a whole number, in the same order, or back. */
static inline uint64_t bf_in_order(uint64_t bits, int is_back) {
    return bits >> 63 == (uint64_t)is_back ? bits ^ (uint64_t)1 << 63 : ~bits;
}

/* The smallest error that so much of the weight does not exceed, a new row among it; infinite: too few to tell. */
static inline double bf_limit(const bf_forest* forest, double coverage, const double* errors) {
    const int32_t n = forest->n_residuals;
    const double* weight = forest->residual_weight;
    double top = 0, total = 0, squares = 0, needed = ceil(coverage * (n + 1.0)), value;
    uint64_t low = 0, high = 0, bits;
    for (int32_t i = 0; i < n && weight != NULL; ++i) top = weight[i] > top ? weight[i] : top;
    for (int32_t i = 0; i < n && weight != NULL; ++i) total += weight[i] / top, squares += pow(weight[i] / top, 2);
    if (weight != NULL) needed = (coverage * (1 + squares / (total * total)) - 1e-12) * total;
    if (needed > (weight != NULL ? total : n)) return INFINITY;
    for (int32_t i = 0; i < n; ++i) {
        memcpy(&bits, errors + i, sizeof bits);
        if (bf_in_order(bits, 0) > high) high = bf_in_order(bits, 0);
    }
    while (low < high) { /* needs neither memory nor an order of the errors */
        const uint64_t middle = low + (high - low) / 2;
        double held = 0;
        bits = bf_in_order(middle, 1);
        memcpy(&value, &bits, sizeof value);
        for (int32_t i = 0; i < n; ++i) held += errors[i] > value ? 0 : weight != NULL ? weight[i] / top : 1;
        if (held >= needed)
            high = middle;
        else
            low = middle + 1;
    }
    bits = bf_in_order(low, 1);
    memcpy(&value, &bits, sizeof value);
    return value;
}

BF_API size_t bf_work_interval(const bf_forest* forest) {
    return bf_work(forest, 1) + 3 * (size_t)forest->n_residuals;
}

/* Jackknife+ after bootstrap: the trees that have not drawn a training row are a forest that does not know it. */
BF_API int bf_interval(const bf_forest* forest, const double* row, double coverage, double* ends, double* work) {
    const bf_scratch s = bf_parts(forest, 1, work);
    const int32_t n = forest->n_residuals;
    const size_t n_bytes = ((size_t)n + 7) / 8;
    double *centre = work + s.end, *total = centre + n, *count = total + n;
    int64_t t = 0;
    if (n == 0) return BF_NO_INTERVALS;
    if (!(coverage > 0 && coverage < 1)) return BF_COVERAGE;
    const int status = bf_read_row(forest, row, &s, 0);
    if (status != BF_OK) return status;
    for (int32_t i = 0; i < n; ++i) centre[i] = 0;
    for (int32_t stage = 0; stage < forest->n_stages; ++stage) {
        for (int32_t i = 0; i < n; ++i) total[i] = count[i] = 0;
        while (t < forest->stage_end[stage]) {
            const uint8_t* absent = forest->absent + (size_t)forest->absent_row[t] * n_bytes;
            double sum = 0;
            do {
                bf_one_tree(forest, t, stage, &s, 0);
                sum += work[s.one];
            } while (++t < forest->stage_end[stage] && forest->absent_row[t] < 0);
            for (int32_t i = 0; i < n; ++i)
                if (absent[i / 8] >> (7 - i % 8) & 1) total[i] += sum, count[i] += 1;
        }
        for (int32_t i = 0; i < n; ++i) {
            double mean = forest->stage_step[stage] * total[i] / (count[i] > 1 ? count[i] : 1);
            if (stage == 0) bf_scores(forest, &mean);
            centre[i] += mean;
        }
    }
    for (int32_t i = 0; i < n; ++i) bf_outputs(forest, 0, &centre[i]);
    for (int side = 0; side < 2; ++side) {
        for (int32_t i = 0; i < n; ++i) total[i] = forest->residuals[i] + (side == 0 ? -centre[i] : centre[i]);
        const double limit = bf_limit(forest, coverage, total);
        ends[side] = bf_in_units(forest, side == 0 ? -limit : limit);
    }
    return BF_OK;
}

/* ------------------------------------------------------------------------------------------------ files: the header */

/* What is wrong with a file ends the reading at once (bf_require jumps back to bf_load), so that what comes after a
 * check may rely on it. The format is that of docs/dev/format.md. */
#ifndef BOOSTFOREST_NO_FILES
#include <locale.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BF_BOOL, BF_U8, BF_I8, BF_U16, BF_I16, BF_F16, BF_U32, BF_I32, BF_F32, BF_U64, BF_I64, BF_F64, BF_N_TYPES };
static const char* const bf_types[] = {"BOOL", "U8",  "I8",  "U16", "I16", "F16",
                                       "U32",  "I32", "F32", "U64", "I64", "F64"};
enum {
    BF_FORMAT,
    BF_VERSION,
    BF_ESTIMATOR,
    BF_WIDTH,
    BF_NAMES,
    BF_LABELS,
    BF_LOSS_NAME,
    BF_CODED,
    BF_SEAL,
    BF_N_FIELDS
};
static const char* const bf_fields[] = {"format",  "format_version", "estimator", "n_features", "feature_names",
                                        "classes", "loss",           "coded",     "sha256"};
/* Sizes that several tensors have. BF_BITS and what follows are checked apart. */
enum { BF_ONE, BF_TREES, BF_NODES, BF_OUTPUTS, BF_INPUTS, BF_SEEN, BF_TABLE, BF_LEVELS, BF_TEXT, BF_STAGES, BF_KNOTS };
enum { BF_RESIDUALS = BF_KNOTS + 1, BF_HIDDEN_VALUES, BF_BITS, BF_MODELS, BF_LEVEL_VALUES, BF_PRECISION, BF_N_SIZES };

typedef struct {
    const uint8_t* at;
    size_t n;
} bf_span;

typedef struct {
    bf_span name, data;
    uint64_t n, rows; /* values, and the first dimension */
    int type, is_coded;
} bf_tensor;

typedef struct bf_block {
    struct bf_block* next;
    double align; /* values follow */
} bf_block;

#define BF_CONTEXTS 32

typedef struct {
    bf_forest f;
    jmp_buf failed; /* where bf_require goes */
    int status;     /* and why */
    bf_span data, fields[BF_N_FIELDS];
    bf_block *kept, *scratch; /* memory of the model, and of loading alone */
    bf_tensor* tensors;
    uint64_t n_tensors, sizes[BF_N_SIZES]; /* UINT64_MAX: not known yet */
    const uint8_t *sum_path, *level_text;
    const double *factor, *target_mean, *target_scale;
    const int64_t* level_end;
    const int8_t* exponent;
    int32_t *order, *open;  /* per node: those of each tree depth first; scratch */
    const uint8_t* lengths; /* of the next streams of a coded column, which are in `streams` */
    bf_span streams, in;    /* in: what is left of the stream that is decoded */
    uint32_t states[2], turn;
    uint8_t is_known[BF_CONTEXTS];
    uint32_t (*slots)[4096]; /* per context: frequency - 1, place among the symbol's slots, symbol */
} bf_loader;

static void bf_require(bf_loader* l, int condition, int status) {
    if (condition) return;
    l->status = status;
    longjmp(l->failed, 1);
}

static void bf_check(bf_loader* l, int condition) {
    bf_require(l, condition, BF_DAMAGED);
}

/* Memory for n values, zeros. Whoever asks has compared n with the size of the file. */
static void* bf_take(bf_loader* l, bf_block** list, uint64_t n, size_t size) {
    const int fits = n <= (SIZE_MAX / 2 - sizeof(bf_block)) / size;
    bf_block* block = fits ? (bf_block*)calloc(1, sizeof(bf_block) + (size_t)n * size) : NULL;
    bf_require(l, block != NULL, BF_NO_MEMORY);
    block->next = *list;
    *list = block;
    return block + 1;
}
#define BF_NEW(list, type, n) ((type*)bf_take(l, &l->list, n, sizeof(type)))

static void bf_free(bf_block* block) {
    for (bf_block* next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
}

static uint64_t bf_bits(const uint8_t* p, size_t size) { /* the lowest byte first */
    uint64_t bits = 0;
    while (size-- > 0) bits = bits << 8 | p[size];
    return bits;
}

static int bf_bit(const uint8_t* bits, uint64_t i) { /* the highest first */
    return bits[i / 8] >> (7 - i % 8) & 1;
}

/* JSON: a cursor moves over the text, which has what model files have in their order and nothing else. */

static void bf_skip(bf_span* c) { /* spaces */
    while (c->n > 0 && *c->at != 0 && strchr(" \n\r\t", *c->at) != NULL) ++c->at, --c->n;
}

static int bf_next(bf_span* c, const char* wanted) { /* with spaces wherever there are some */
    bf_span rest = *c;
    for (; *wanted != 0; ++wanted, ++rest.at, --rest.n) {
        bf_skip(&rest);
        if (rest.n == 0 || *rest.at != (uint8_t)*wanted) return 0;
    }
    *c = rest;
    return 1;
}

static bf_span bf_string(bf_loader* l, bf_span* c) { /* what is between its quotes */
    bf_require(l, bf_next(c, "\""), BF_HEADER);
    bf_span value = *c;
    for (; c->n > 0 && *c->at != '"'; ++c->at, --c->n)
        if (*c->at == '\\' && c->n > 1) ++c->at, --c->n;
    value.n = (size_t)(c->at - value.at);
    bf_require(l, bf_next(c, "\""), BF_HEADER);
    return value;
}

static uint64_t bf_count(bf_loader* l, bf_span* c) {
    uint64_t count = 0;
    int n = 0;
    bf_skip(c);
    for (; c->n > 0 && *c->at >= '0' && *c->at <= '9'; ++c->at, --c->n, ++n)
        if (n < 18) count = 10 * count + (*c->at - '0');
    bf_require(l, n > 0 && n <= 18, BF_HEADER);
    return count;
}

static int bf_is(bf_span text, const char* wanted) {
    return text.at != NULL && text.n == strlen(wanted) && memcmp(text.at, wanted, text.n) == 0;
}

static size_t bf_put(uint32_t c, char* out) { /* as UTF-8; a lone half of a pair as three bytes */
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int k = n - 1; k > 0; --k, c >>= 6) out[k] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
    return (size_t)n;
}

static uint32_t bf_escaped(bf_span s, size_t i) { /* the code of \uXXXX; 0: it is not that */
    char digits[5] = "", *end = digits;
    if (s.n < i + 6 || s.at[i] != '\\' || s.at[i + 1] != 'u') return 0;
    memcpy(digits, s.at + i + 2, 4);
    const uint32_t code = (uint32_t)strtoul(digits, &end, 16);
    return end == digits + 4 ? code : 0;
}

/* A string of JSON without its escapes, and a 0 behind it. */
static bf_span bf_text(bf_loader* l, bf_span s) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char *text = BF_NEW(kept, char, s.n + 1), *out = text;
    for (size_t i = 0; i < s.n; ++i) {
        const uint32_t one = bf_escaped(s, i), two = one >> 10 == 0x36 ? bf_escaped(s, i + 6) : 0; /* a pair */
        const char* known;
        if (one > 0) {
            out += bf_put(two >> 10 == 0x37 ? 0x10000 + ((one & 0x3ff) << 10 | (two & 0x3ff)) : one, out);
            i += two >> 10 == 0x37 ? 11 : 5;
            continue;
        }
        i += s.at[i] == '\\' && i + 1 < s.n;
        known = i > 0 && s.at[i - 1] == '\\' ? (const char*)memchr(from, s.at[i], 5) : NULL;
        *out++ = known != NULL ? to[known - from] : (char)s.at[i];
    }
    const bf_span unescaped = {(const uint8_t*)text, (size_t)(out - text)};
    return unescaped;
}

static int bf_type_of(bf_span text) {
    int type = 0;
    while (type < BF_N_TYPES && !bf_is(text, bf_types[type])) ++type;
    return type;
}

static size_t bf_size(int type) {
    return type <= BF_I8 ? 1 : type <= BF_F16 ? 2 : type <= BF_F32 ? 4 : 8;
}

/* The entry of a tensor: its name without "coded.", its type, number of values and place. */
static void bf_read_entry(bf_loader* l, bf_span* c, bf_tensor* t) {
    t->name = bf_string(l, c), t->n = t->rows = 1;
    t->is_coded = bf_next(&t->name, "coded.");
    bf_require(l, bf_next(c, ":{\"dtype\":"), BF_HEADER);
    t->type = bf_type_of(bf_string(l, c));
    bf_require(l, t->type < BF_N_TYPES && bf_next(c, ",\"shape\":["), BF_HEADER);
    for (int n_dims = 0; !bf_next(c, "]"); ++n_dims) {
        bf_require(l, n_dims == 0 || bf_next(c, ","), BF_HEADER);
        const uint64_t n = bf_count(l, c);
        bf_require(l, n == 0 || t->n <= l->data.n / n, BF_HEADER);
        t->n *= n;
        if (n_dims == 0) t->rows = n;
    }
    bf_require(l, bf_next(c, ",\"data_offsets\":["), BF_HEADER);
    const uint64_t begin = bf_count(l, c), end = bf_next(c, ",") ? bf_count(l, c) : 0;
    bf_require(l, bf_next(c, "]}") && begin <= end && end <= l->data.n, BF_HEADER);
    bf_require(l, t->n * bf_size(t->type) == end - begin && (!t->is_coded || t->type == BF_U8), BF_HEADER);
    t->data.at = l->data.at + begin, t->data.n = (size_t)(end - begin);
    for (int k = 0; k < BF_N_FIELDS; ++k) { /* fields that the metadata have no room for */
        bf_span name = t->name;
        if (bf_next(&name, "metadata.") && bf_is(name, bf_fields[k])) l->fields[k] = t->data;
    }
}

/* The tensor of a name; NULL: there is none. */
static bf_tensor* bf_find(bf_loader* l, const char* name) {
    for (uint64_t k = 0; k < l->n_tensors; ++k)
        if (bf_is(l->tensors[k].name, name)) return &l->tensors[k];
    return NULL;
}

/* {"name": ["type", number of values], ...}; a byte may stand for at most 256. */
static void bf_read_coded(bf_loader* l, bf_span c) {
    for (uint64_t k = 0; k < l->n_tensors; ++k)
        if (l->tensors[k].is_coded) l->tensors[k].type = BF_N_TYPES, l->tensors[k].n = 0;
    for (int more = bf_next(&c, "{"); more; more = bf_next(&c, ",")) {
        const bf_span name = bf_string(l, &c);
        bf_require(l, bf_next(&c, ":["), BF_HEADER);
        const int type = bf_type_of(bf_string(l, &c));
        bf_require(l, type < BF_N_TYPES && bf_next(&c, ","), BF_HEADER);
        const uint64_t n = bf_count(l, &c);
        bf_require(l, bf_next(&c, "]"), BF_HEADER);
        for (uint64_t k = 0; k < l->n_tensors; ++k) {
            bf_tensor* t = &l->tensors[k];
            if (!t->is_coded || t->name.n != name.n || memcmp(t->name.at, name.at, name.n) != 0) continue;
            t->type = type, t->n = n;
            bf_check(l, t->data.n > 0 && n <= 256 * (uint64_t)t->data.n / bf_size(type));
        }
    }
}

/* SHA-256 of the file, in which the digits of the checksum count as zeros. */

#define BF_TURN(x, n) ((x) >> (n) | (x) << (32 - (n)))

static void bf_sha_block(uint32_t* h, const uint8_t* block) {
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64] = {0}, v[8];
    for (int i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | block[i];
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (BF_TURN(w[i - 15], 7) ^ BF_TURN(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (BF_TURN(w[i - 2], 17) ^ BF_TURN(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; ++i) {
        const uint32_t a = v[7] + (BF_TURN(v[4], 6) ^ BF_TURN(v[4], 11) ^ BF_TURN(v[4], 25)) +
                           ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        const uint32_t b = (BF_TURN(v[0], 2) ^ BF_TURN(v[0], 13) ^ BF_TURN(v[0], 22)) +
                           ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
}

static void bf_digest(const uint8_t* bytes, size_t n_bytes, size_t seal, char* digits) { /* seal: where they are */
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t block[64];
    for (size_t at = 0; at <= n_bytes + 8; at += 64) { /* the last one has the number of bits in its last eight bytes */
        for (size_t k = 0, i = at; k < 64; ++k, ++i)
            block[k] = i < n_bytes ? (i >= seal && i < seal + 64 ? '0' : bytes[i]) : i == n_bytes ? 0x80 : 0;
        for (size_t k = 0; k < 8 && n_bytes + 8 < at + 64; ++k)
            block[56 + k] = (uint8_t)((uint64_t)n_bytes * 8 >> (56 - 8 * k));
        bf_sha_block(h, block);
    }
    for (int k = 0; k < 64; ++k) digits[k] = "0123456789abcdef"[h[k / 8] >> (28 - 4 * (k % 8)) & 15];
}

/* --------------------------------------------------------------------------------------- files: columns in fewer bytes
 */

/* Bytes by how often they occur in a context (rANS). */

static int bf_byte(bf_loader* l) {
    bf_check(l, l->in.n > 0);
    --l->in.n;
    return *l->in.at++;
}

static void bf_next_stream(bf_loader* l) {
    const uint64_t n = bf_bits(l->lengths, 8);
    bf_check(l, n <= l->streams.n);
    l->lengths += 8;
    l->in.at = l->streams.at, l->in.n = (size_t)n;
    l->streams.at += n, l->streams.n -= (size_t)n;
}

/* Reads how often bytes occur in each context, and where the decoder starts. */
static void bf_start(bf_loader* l, int n_contexts) {
    for (int c = 0; c < n_contexts; ++c) {
        int filled = 0;
        for (int symbol = 0; symbol < 256; ++symbol) {
            int n = bf_byte(l);
            if (n == 0) symbol += bf_byte(l);
            if (n >= 128) bf_check(l, (n = (n & 127) << 7 | bf_byte(l)) > 0);
            bf_check(l, n <= 4096 - filled);
            for (int k = 0; k < n; ++k)
                l->slots[c][filled++] = (uint32_t)(n - 1) << 20 | (uint32_t)k << 8 | (uint32_t)symbol;
        }
        bf_check(l, filled == 0 || filled == 4096);
        l->is_known[c] = filled != 0;
    }
    l->turn = 0;
    for (int k = 0; k < 8; ++k) l->states[k / 4] = l->states[k / 4] >> 8 | (uint32_t)bf_byte(l) << 24;
    bf_check(l, l->states[0] >= 1U << 16 && l->states[1] >= 1U << 16);
}

static uint8_t bf_symbol(bf_loader* l, unsigned context) {
    uint32_t *state = &l->states[l->turn], slot = l->slots[context][*state & 4095];
    bf_check(l, l->is_known[context]);
    *state = ((slot >> 20) + 1) * (*state >> 12) + (slot >> 8 & 4095);
    if (*state < 1U << 16) {
        bf_check(l, l->in.n >= 2);
        *state = *state << 16 | (uint32_t)bf_bits(l->in.at, 2);
        l->in.at += 2, l->in.n -= 2;
    }
    l->turn ^= 1;
    return slot & 255;
}

static void bf_finish_stream(bf_loader* l) {
    bf_check(l, l->states[0] == 1U << 16 && l->states[1] == 1U << 16 && l->in.n == 0);
}

/* A context for each of the 31 numbers that occur most often, 0 for others. */
static void bf_contexts(const uint64_t* counts, uint64_t n, uint8_t* context) {
    memset(context, 0, (size_t)n);
    for (int c = 1; c < BF_CONTEXTS; ++c) {
        uint64_t most = n;
        for (uint64_t k = 0; k < n; ++k)
            if (context[k] == 0 && (most == n || counts[k] > counts[most])) most = k;
        if (most < n) context[most] = (uint8_t)c;
    }
}

/* n values of so many bytes, a stream for each of these, the highest first. known: contexts of the values, or NULL. */
static void bf_planes(bf_loader* l, uint64_t n, size_t size, const uint8_t* known, uint8_t* out) {
    for (size_t place = size; place-- > 0;) {
        uint64_t counts[256] = {0};
        uint8_t context[256];
        bf_next_stream(l);
        const int way = bf_byte(l), by_byte_above = way == 2 && place < size - 1;
        bf_check(l, way == 0 ? l->in.n == n : way == 1 || by_byte_above || (way == 3 && known != NULL));
        if (way > 0) bf_start(l, way == 1 ? 1 : BF_CONTEXTS);
        for (uint64_t i = 0; i < n && by_byte_above; ++i) ++counts[out[i * size + place + 1]];
        bf_contexts(counts, 256, context);
        for (uint64_t i = 0; i < n; ++i) {
            uint8_t* to = out + i * size + place;
            *to = way == 0 ? l->in.at[i] : bf_symbol(l, by_byte_above ? context[to[1]] : way == 3 ? known[i] : 0);
        }
        if (way > 0) bf_finish_stream(l);
    }
}
/* Thresholds as numbers in a table of those that their feature often has; features[i] is that of value i. */
static void bf_decode_table(bf_loader* l, uint64_t n, const int32_t* features, uint8_t* out) {
    const uint64_t d = (uint64_t)l->f.n_features;
    uint8_t *sizes = BF_NEW(scratch, uint8_t, 4 * d), *context = BF_NEW(scratch, uint8_t, d);
    uint8_t *numbers = BF_NEW(scratch, uint8_t, 2 * n), *known = BF_NEW(scratch, uint8_t, n);
    uint64_t *first = BF_NEW(scratch, uint64_t, d + 1), *counts = BF_NEW(scratch, uint64_t, d), n_others = 0;
    bf_planes(l, d, 4, NULL, sizes);
    for (uint64_t i = 0; i < d; ++i) first[i + 1] = first[i] + bf_bits(sizes + 4 * i, 4);
    bf_check(l, first[d] <= n);
    uint8_t* table = BF_NEW(scratch, uint8_t, 8 * first[d]);
    bf_planes(l, first[d], 8, NULL, table);
    for (uint64_t i = 0; i < n; ++i) ++counts[features[i]];
    bf_contexts(counts, d, context);
    for (uint64_t i = 0; i < n; ++i) known[i] = context[features[i]];
    bf_planes(l, n, 2, known, numbers);
    for (uint64_t i = 0; i < n; ++i) n_others += bf_bits(numbers + 2 * i, 2) == 0;
    uint8_t* others = BF_NEW(scratch, uint8_t, 8 * n_others);
    bf_planes(l, n_others, 8, NULL, others);
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t number = bf_bits(numbers + 2 * i, 2), j = first[features[i]];
        bf_check(l, number <= first[features[i] + 1] - j);
        memcpy(out + 8 * i, number == 0 ? others : table + 8 * (j + number - 1), 8);
        others += number == 0 ? 8 : 0;
    }
}

/* Rows of some values. Ways 5 to 7: bits say whether a row differs from the one before, and the rows that do follow.
 * place: where each row belongs; NULL: they are in order. */
static void bf_decode_rows(bf_loader* l, int way, uint64_t n_rows, size_t n_bytes, size_t size, const int64_t* place,
                           uint8_t* out) {
    uint8_t* bits = BF_NEW(scratch, uint8_t, n_rows / 8 + 1);
    int32_t* features = BF_NEW(scratch, int32_t, way == 7 ? n_rows : 0);
    uint64_t n = 0;
    memset(bits, 0xff, (size_t)(n_rows / 8 + 1));
    if (way >= 5 && way <= 7) bf_planes(l, (n_rows + 7) / 8, 1, NULL, bits);
    bf_check(l, n_rows == 0 || bf_bit(bits, 0));
    for (uint64_t i = 0; i < n_rows; ++i) {
        if (way == 7 && bf_bit(bits, i)) bf_check(l, (features[n] = l->f.feature[place[i]]) >= 0);
        n += bf_bit(bits, i);
    }
    uint8_t* values = (uint8_t*)bf_take(l, &l->scratch, n, n_bytes);
    if (way == 7)
        bf_decode_table(l, n, features, values);
    else
        bf_planes(l, n * (n_bytes / size), size, NULL, values);
    for (uint64_t i = 0; i < n_rows; ++i) {
        values += i > 0 && bf_bit(bits, i) ? n_bytes : 0;
        memcpy(out + (place == NULL ? i : (uint64_t)place[i]) * n_bytes, values, n_bytes);
    }
}

/* Inner nodes: in their order or, by_level, tree by tree those of the least depth first. Returns their number. */
static uint64_t bf_inner_nodes(bf_loader* l, int by_level, int64_t* place) {
    int32_t *depth = l->open, *first = BF_NEW(scratch, int32_t, l->sizes[BF_NODES] + 1);
    uint64_t n = 0;
    for (int32_t t = 0; t < l->f.n_trees; ++t) { /* first: per depth the inner nodes before it */
        const int64_t start = l->f.tree_start[t], n_nodes = l->f.tree_start[t + 1] - start;
        const int32_t* left = l->f.left + start;
        memset(first, 0, (size_t)n_nodes * sizeof *first);
        depth[0] = 0;
        for (int64_t i = 0; i < n_nodes; ++i) {
            if (left[i] == 0) continue;
            depth[left[i]] = depth[left[i] + 1] = by_level ? depth[i] + 1 : 0;
            ++first[depth[i] + 1];
        }
        for (int64_t k = 1; k < n_nodes; ++k) first[k] += first[k - 1];
        for (int64_t i = 0; i < n_nodes; ++i)
            if (left[i] != 0) place[n + (uint64_t)first[depth[i]]++] = start + i;
        n += (uint64_t)(n_nodes - 1) / 2;
    }
    return n;
}

/* Trees depth first, left before right, into `order`; with bits (is a node split?) `all` left children follow. */
static void bf_walk(bf_loader* l, int32_t* all, const uint8_t* bits) {
    uint8_t* is_seen = BF_NEW(scratch, uint8_t, l->sizes[BF_NODES]);
    for (int32_t t = 0; t < l->f.n_trees; ++t) {
        const int64_t start = l->f.tree_start[t], n = l->f.tree_start[t + 1] - start;
        int32_t *open = l->open, *left = all + start, next = 1;
        int64_t n_open = 1;
        open[0] = 0;
        for (int64_t i = start; i < start + n; ++i) {
            const int32_t node = n_open > 0 ? open[--n_open] : 0;
            bf_check(l, !is_seen[start + node]++);
            if (bits != NULL && bf_bit(bits, (uint64_t)i)) left[node] = next, next += 2;
            l->order[i] = node;
            if (left[node] == 0) continue;
            bf_check(l, left[node] > node && left[node] < n - 1);
            open[n_open++] = left[node] + 1;
            open[n_open++] = left[node];
        }
        bf_check(l, n_open == 0);
    }
}

/* A coefficient in units that are 2^shift times as small, rounded, within what eight bits hold. */
static int bf_shifted(int value, int shift) {
    if (shift >= 0) return (int)bf_clip(value * (shift >= 8 ? 256 : 1 << shift), -127, 127);
    return shift < -8 ? 0 : (value + (1 << (-shift - 1))) >> -shift;
}

static unsigned bf_context_of(uint32_t size) { /* half octaves */
    unsigned octave = 0;
    while (size >> octave > 1) ++octave;
    const unsigned context = size < 2 ? size : 2 * octave + (size >> (octave - 1) & 1);
    return context < 25 ? context : 25;
}

/* Coefficients of eight bits: models in an order in which neighbours are alike, in contexts of how large they are. */
static void bf_decode_params(bf_loader* l, int has_differences, int8_t* out) {
    const bf_forest* f = &l->f;
    const int8_t* exponents = l->exponent; /* of a tree */
    uint32_t* sizes = NULL;
    int64_t n_sizes = -1, n_params = 0;
    bf_next_stream(l);
    bf_start(l, 26);
    for (int64_t tree = 0; tree < f->n_trees; ++tree) {
        const int64_t start = f->tree_start[tree], n = f->tree_start[tree + 1] - start, first = n_params;
        const int64_t group = 1 + f->n_inputs[tree], per_model = group * f->n_outputs;
        const int8_t *before = NULL, *exponent_before = NULL;
        if (n_sizes != per_model) {
            sizes = BF_NEW(scratch, uint32_t, (uint64_t)(n_sizes = per_model));
            for (int64_t j = 0; j < per_model; ++j) sizes[j] = 64;
        }
        for (int64_t i = start; i < start + n; ++i) {
            const int64_t own = f->param_start[l->sum_path[tree] ? i : start + l->order[i]];
            const int8_t* exponent = exponents + (own - first) / group;
            uint32_t here = 64;
            if (own < 0) continue;
            for (int64_t j = 0; j < per_model; ++j) {
                const int8_t value = (int8_t)bf_symbol(l, bf_context_of((3 * sizes[j] + 2 * here) / 8));
                const int expected = has_differences && before != NULL
                                         ? bf_shifted(before[j], exponent_before[j / group] - exponent[j / group])
                                         : 0;
                out[own + j] = (int8_t)(uint8_t)(value + expected);
                sizes[j] = (3 * sizes[j] + 16 * (uint32_t)abs(value) + 2) / 4;
                here = (7 * here + 16 * (uint32_t)abs(value) + 4) / 8;
            }
            before = out + own, exponent_before = exponent, n_params += per_model;
        }
        exponents += (n_params - first) / group;
    }
    bf_finish_stream(l);
}

/* The values of a coded column, the lowest byte of each first. */
static const uint8_t* bf_decode(bf_loader* l, const bf_tensor* t) {
    const size_t size = bf_size(t->type);
    const int way = t->data.n > 0 ? t->data.at[0] : 255, is_threshold = bf_is(t->name, "threshold");
    const int is_split = is_threshold || bf_is(t->name, "feature") || bf_is(t->name, "missing_left");
    const size_t n_streams = way == 7 ? 23 : way >= 2 && way <= 4 ? 1 : size + (way == 5 || way == 6);
    uint8_t* out = (uint8_t*)bf_take(l, &l->scratch, t->n, size);
    bf_check(l, t->data.n >= 1 + 8 * n_streams);
    l->lengths = t->data.at + 1;
    l->streams.at = l->lengths + 8 * n_streams, l->streams.n = t->data.n - 1 - 8 * n_streams;
    if (way == 0) {
        bf_decode_rows(l, way, t->n, size, size, NULL, out);
    } else if ((way == 1 || way == 6 || (way == 7 && is_threshold)) && is_split && t->n == l->sizes[BF_NODES]) {
        int64_t* place = BF_NEW(scratch, int64_t, t->n / 2 + 1);
        memset(out, bf_is(t->name, "feature") ? 0xff : 0, (size_t)t->n * size); /* leaves have -1 or 0 */
        bf_decode_rows(l, way, bf_inner_nodes(l, way > 1, place), size, size, place, out);
    } else if (way == 2 && bf_is(t->name, "left") && t->n == l->sizes[BF_NODES]) {
        int32_t* left = BF_NEW(scratch, int32_t, t->n);
        bf_next_stream(l);
        bf_check(l, l->in.n == (t->n + 7) / 8 && size == 4);
        bf_walk(l, left, l->in.at);
        for (uint64_t i = 0; i < 4 * t->n; ++i) out[i] = (uint8_t)(left[i / 4] >> 8 * (i % 4));
    } else if (way == 5) {
        const uint64_t n_rows = bf_is(t->name, "absent") ? (uint64_t)l->f.n_trees : t->n;
        bf_check(l, t->n > 0 && t->n % n_rows == 0);
        bf_decode_rows(l, way, n_rows, (size_t)(t->n / n_rows) * size, size, NULL, out);
    } else if (way == 8 && t->type == BF_I64 && t->n > 0) {
        bf_decode_rows(l, way, t->n - 1, size, size, NULL, out + size);
        for (uint64_t i = 1, total = 0; i < t->n; ++i) {
            total += bf_bits(out + 8 * i, 8);
            for (int k = 0; k < 8; ++k) out[8 * i + (uint64_t)k] = (uint8_t)(total >> 8 * k);
        }
    } else {
        bf_check(l, (way == 3 || way == 4) && bf_is(t->name, "params") && t->type == BF_I8);
        bf_decode_params(l, way == 4, (int8_t*)out);
    }
    return out;
}

/* ------------------------------------------------------------------------------------------------ files: the tensors
 */

static double bf_half(unsigned bits) {
    const int power = bits >> 10 & 31, digits = bits & 1023;
    const double size =
        power == 31 ? (digits ? NAN : INFINITY) : ldexp(digits + (power ? 1024 : 0), (power ? power : 1) - 25);
    return bits >> 15 ? -size : size;
}

static int bf_is_unsigned(int type) {
    return type <= BF_U8 || type == BF_U16 || type == BF_U32 || type == BF_U64;
}

static double bf_number(const uint8_t* at, int type) {
    const size_t size = bf_size(type);
    const uint64_t bits = bf_bits(at, size);
    const uint32_t word = (uint32_t)bits;
    const int unused = 64 - 8 * (int)size;
    double value;
    float single;
    memcpy(&value, &bits, sizeof value);
    memcpy(&single, &word, sizeof single);
    if (type == BF_F64 || type == BF_F32) return type == BF_F64 ? value : single;
    if (type == BF_F16) return bf_half((unsigned)bits);
    return bf_is_unsigned(type) ? (double)bits : (double)((int64_t)(bits << unused) >> unused);
}

/* The values of a tensor as an array of a type, all of them within limits. */
static void* bf_values(bf_loader* l, const bf_tensor* t, int type, double low, double high) {
    const uint8_t* from = t->is_coded ? bf_decode(l, t) : t->data.at;
    void* out = bf_take(l, &l->kept, t->n, bf_size(type));
    for (uint64_t i = 0; i < t->n; ++i) {
        const double value = bf_number(from + i * bf_size(t->type), t->type);
        bf_check(l, value >= low && value <= high);
        if (type == BF_F64) ((double*)out)[i] = value;
        if (type == BF_F32) ((float*)out)[i] = (float)value;
        if (type == BF_I64) ((int64_t*)out)[i] = (int64_t)value;
        if (type == BF_I32) ((int32_t*)out)[i] = (int32_t)value;
        if (type == BF_I8) ((int8_t*)out)[i] = (int8_t)value;
        if (type <= BF_U8) ((uint8_t*)out)[i] = (uint8_t)value;
    }
    return out;
}

/* What each tensor must be. Those of a group are there together or not at all; group 0 is always there. */
typedef struct {
    const char* name;
    int type, is_real;         /* is_real: it may also be in fewer digits */
    int group, size, is_start; /* is_start: it has one value more */
    int of, below; /* of: parts of that size, each has at least `low`; below: values are less than that size */
    double low, high;
    size_t place;
} bf_rule;

#define BF_PLACE(field) offsetof(bf_loader, field)
#define BF_WHOLE 9007199254740992.0 /* numbers up to it are exact as doubles */

static const bf_rule bf_rules[] = {
    {"feature_mean", BF_F64, 0, 0, BF_INPUTS, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.feature_mean)},
    {"feature_scale", BF_F64, 0, 0, BF_INPUTS, 0, 0, 0, DBL_MIN * DBL_EPSILON, DBL_MAX, BF_PLACE(f.feature_scale)},
    {"fill", BF_F64, 0, 1, BF_PRECISION, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.fill)},
    {"model_features", BF_I32, 0, 2, BF_SEEN, 0, 0, BF_INPUTS, 0, INT32_MAX, BF_PLACE(f.model_features)},
    {"target_mean", BF_F64, 0, 3, BF_ONE, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(target_mean)},
    {"target_scale", BF_F64, 0, 3, BF_ONE, 0, 0, 0, DBL_MIN * DBL_EPSILON, DBL_MAX, BF_PLACE(target_scale)},
    {"kind", BF_U8, 0, 0, BF_TREES, 0, 0, 0, 0, 255, BF_PLACE(f.kind)},
    {"sum_path", BF_BOOL, 0, 0, BF_TREES, 0, 0, 0, 0, 1, BF_PLACE(sum_path)},
    {"tree_start", BF_I64, 0, 0, BF_TREES, 1, BF_NODES, 0, 1, BF_WHOLE, BF_PLACE(f.tree_start)},
    {"left", BF_I32, 0, 0, BF_NODES, 0, 0, BF_NODES, 0, INT32_MAX, BF_PLACE(f.left)},
    {"feature", BF_I32, 0, 0, BF_NODES, 0, 0, BF_INPUTS, -1, INT32_MAX, BF_PLACE(f.feature)},
    {"missing_left", BF_U8, 0, 0, BF_NODES, 0, 0, 0, 0, 1, BF_PLACE(f.missing_left)},
    {"threshold", BF_F64, 0, 0, BF_NODES, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.threshold)},
    {"lower", BF_F64, 1, 0, BF_NODES, 0, 0, 0, -INFINITY, INFINITY, BF_PLACE(f.lower)},
    {"upper", BF_F64, 1, 0, BF_NODES, 0, 0, 0, -INFINITY, INFINITY, BF_PLACE(f.upper)},
    {"hidden_start", BF_I64, 0, 4, BF_TREES, 1, BF_HIDDEN_VALUES, 0, 0, BF_WHOLE, BF_PLACE(f.hidden_start)},
    {"hidden", BF_F64, 0, 4, BF_HIDDEN_VALUES, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.hidden)},
    {"exponent", BF_I8, 0, 5, BF_MODELS, 0, 0, 0, -128, 127, BF_PLACE(exponent)},
    {"stage_end", BF_I64, 0, 6, BF_STAGES, 0, BF_TREES, 0, 1, BF_WHOLE, BF_PLACE(f.stage_end)},
    {"stage_step", BF_F64, 0, 6, BF_STAGES, 0, 0, 0, 0, DBL_MAX, BF_PLACE(f.stage_step)},
    {"stage_units", BF_I64, 0, 7, BF_STAGES, 0, 0, 0, 1, BF_WHOLE, BF_PLACE(f.stage_units)},
    {"calibration_factor", BF_F64, 0, 8, BF_ONE, 0, 0, 0, DBL_MIN * DBL_EPSILON, DBL_MAX, BF_PLACE(factor)},
    {"knot_start", BF_I64, 0, 9, BF_OUTPUTS, 1, BF_KNOTS, 0, 1, BF_WHOLE, BF_PLACE(f.knot_start)},
    {"knot_x", BF_F64, 0, 9, BF_KNOTS, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.knot_x)},
    {"knot_y", BF_F64, 0, 9, BF_KNOTS, 0, 0, 0, DBL_MIN * DBL_EPSILON, 1 - DBL_EPSILON / 2, BF_PLACE(f.knot_y)},
    {"residuals", BF_F64, 0, 10, BF_RESIDUALS, 0, 0, 0, 0, DBL_MAX, BF_PLACE(f.residuals)},
    {"absent", BF_U8, 0, 10, BF_BITS, 0, 0, 0, 0, 255, BF_PLACE(f.absent)},
    {"residual_weight", BF_F64, 0, 11, BF_RESIDUALS, 0, 0, 0, DBL_MIN * DBL_EPSILON, DBL_MAX,
     BF_PLACE(f.residual_weight)},
    {"column_kind", BF_U8, 0, 12, BF_TABLE, 0, 0, 0, 0, 6, BF_PLACE(f.column_kind)},
    {"level_start", BF_I64, 0, 12, BF_TABLE, 1, BF_LEVELS, 0, 0, INT32_MAX, BF_PLACE(f.level_start)},
    {"level_missing", BF_BOOL, 0, 12, BF_TABLE, 0, 0, 0, 0, 1, BF_PLACE(f.level_missing)},
    {"level_is_text", BF_BOOL, 0, 12, BF_TABLE, 0, 0, 0, 0, 1, BF_PLACE(f.level_is_text)},
    {"level_end", BF_I64, 0, 12, BF_LEVELS, 0, BF_TEXT, 0, 0, BF_WHOLE, BF_PLACE(level_end)},
    {"level_text", BF_U8, 0, 12, BF_TEXT, 0, 0, 0, 0, 255, BF_PLACE(level_text)},
    {"level_means", BF_F64, 0, 12, BF_LEVEL_VALUES, 0, 0, 0, -DBL_MAX, DBL_MAX, BF_PLACE(f.level_means)},
};

/* Takes what a size is, or checks that it is that. */
static void bf_set_size(bf_loader* l, int size, uint64_t n) {
    bf_check(l, l->sizes[size] == UINT64_MAX || l->sizes[size] == n);
    l->sizes[size] = n;
}

static void bf_read_tensor(bf_loader* l, const bf_rule* r, const bf_tensor* t) {
    const int is_type = t->type == r->type || (r->is_real && (t->type == BF_F32 || t->type == BF_F16));
    const double high = r->below == 0 ? r->high : (double)l->sizes[r->below] - 1;
    bf_check(l, is_type && t->n >= (uint64_t)r->is_start);
    bf_set_size(l, r->size, t->n - (uint64_t)r->is_start);
    void* values = bf_values(l, t, r->type, r->of == 0 ? r->low : 0, high);
    memcpy((char*)l + r->place, &values, sizeof values);
    if (r->of == 0) return;
    const int64_t *ends = (const int64_t*)values + r->is_start, n = (int64_t)t->n - r->is_start;
    bf_check(l, !r->is_start || ends[-1] == 0);
    for (int64_t i = 0; i < n; ++i) bf_check(l, ends[i] - (i > 0 ? ends[i - 1] : 0) >= (int64_t)r->low);
    bf_set_size(l, r->of, n > 0 ? (uint64_t)ends[n - 1] : 0);
}

static void bf_read_tensors(bf_loader* l) {
    const bf_tensor* left = bf_find(l, "left");
    int groups[16] = {1, 0}; /* 1: there, -1: not there */
    bf_check(l, left != NULL);
    bf_set_size(l, BF_NODES, left->n);
    l->order = BF_NEW(scratch, int32_t, left->n);
    l->open = BF_NEW(scratch, int32_t, left->n + 2);
    for (size_t k = 0; k < sizeof bf_rules / sizeof *bf_rules; ++k) {
        const bf_rule* r = &bf_rules[k];
        const bf_tensor* t = bf_find(l, r->name);
        const int is_there = t != NULL ? 1 : -1;
        if (groups[r->group] == 0) groups[r->group] = is_there;
        bf_check(l, groups[r->group] == is_there);
        if (t == NULL) continue;
        bf_read_tensor(l, r, t);
        bf_require(l, t->n < INT32_MAX || r->size > BF_STAGES || r->size == BF_NODES, BF_TOO_LARGE);
        if (r->size == BF_INPUTS) l->f.n_features = (int32_t)t->n;
        if (r->size == BF_TREES) l->f.n_trees = (int32_t)(t->n - (uint64_t)r->is_start);
        if (t == left) bf_walk(l, (int32_t*)(void*)l->f.left, NULL); /* others are coded by it */
    }
}

/* Where the models of nodes begin, and what each tree has. */
static void bf_place_models(bf_loader* l, const bf_tensor* params) {
    bf_forest* f = &l->f;
    const int64_t n_all = (int64_t)params->n, per_unit = 1 + (int64_t)f->n_seen;
    int64_t *start = BF_NEW(kept, int64_t, l->sizes[BF_NODES]), n_params = 0, n_models = 0;
    int32_t* n_inputs = BF_NEW(kept, int32_t, (uint64_t)f->n_trees);
    double *lower = (double*)(void*)f->lower, *upper = (double*)(void*)f->upper;
    for (int32_t t = 0; t < f->n_trees; ++t) {
        const int64_t first = f->tree_start[t], end = f->tree_start[t + 1];
        const int64_t layer = f->hidden != NULL ? f->hidden_start[t + 1] - f->hidden_start[t] : 0;
        const int64_t units = layer / per_unit;
        bf_require(l, f->kind[t] != 255, BF_NETWORKS);
        bf_check(l, f->kind[t] <= BF_HIDDEN && l->sum_path[t] <= (f->n_outputs == 1));
        bf_check(l, f->kind[t] == BF_HIDDEN ? units > 0 && units * per_unit == layer : layer == 0);
        bf_require(l, end - first < INT32_MAX && units < INT32_MAX, BF_TOO_LARGE);
        n_inputs[t] = f->kind[t] == BF_HIDDEN ? (int32_t)units : f->kind[t] == BF_LINEAR ? f->n_seen : 0;
        f->most_inputs = n_inputs[t] > f->most_inputs ? n_inputs[t] : f->most_inputs;
        for (int64_t i = first; i < end; ++i) {
            const int is_leaf = f->left[i] == 0; /* a root that is split never has a model */
            const int has_model = l->sum_path[t] ? i > first || is_leaf : is_leaf;
            bf_check(l, is_leaf == (f->feature[i] < 0) && (!l->sum_path[t] || lower[i] <= upper[i]));
            if (!l->sum_path[t]) lower[i] = -INFINITY, upper[i] = INFINITY;
            start[i] = has_model ? n_params : -1;
            bf_check(l, !has_model || f->n_outputs <= (n_all - n_params) / (1 + n_inputs[t]));
            n_params += has_model ? f->n_outputs * (int64_t)(1 + n_inputs[t]) : 0;
            n_models += has_model ? f->n_outputs : 0;
        }
    }
    bf_check(l, n_params == n_all);
    if (memchr(l->sum_path, 1, (size_t)f->n_trees) == NULL) f->lower = f->upper = NULL;
    if (params->type == BF_I8) bf_set_size(l, BF_MODELS, (uint64_t)n_models);
    f->n_inputs = n_inputs, f->param_start = start;
}

/* Coefficients; those of eight bits are whole numbers in units of 2 to the power of an exponent. */
static void bf_read_params(bf_loader* l, const bf_tensor* t) {
    bf_forest* f = &l->f;
    const int8_t* exponent = l->exponent;
    float* out;
    bf_check(l, t->type == BF_F64 || t->type == BF_F32 || t->type == BF_F16 || (t->type == BF_I8 && exponent != NULL));
    if (t->type == BF_F64) f->params = (const double*)bf_values(l, t, BF_F64, -DBL_MAX, DBL_MAX);
    if (t->type == BF_F64) return;
    f->params_f32 = out = (float*)bf_values(l, t, BF_F32, -FLT_MAX, FLT_MAX);
    for (int32_t tree = 0; tree < f->n_trees && t->type == BF_I8; ++tree)
        for (int64_t i = f->tree_start[tree]; i < f->tree_start[tree + 1]; ++i)
            for (int64_t c = 0; c < f->n_outputs && f->param_start[i] >= 0; ++c, ++exponent)
                for (int32_t j = 0; j <= f->n_inputs[tree]; ++j, ++out) {
                    *out = ldexpf(*out, *exponent);
                    bf_require(l, isfinite(*out) != 0, BF_TOO_LARGE);
                }
}

/* Text of a number: as few digits as give the same one. */
static void bf_print(const bf_tensor* t, uint64_t i, char* out, size_t n) {
    const uint8_t* at = t->data.at + i * bf_size(t->type);
    const double value = bf_number(at, t->type);
    if (t->type == BF_BOOL) {
        snprintf(out, n, value != 0 ? "True" : "False");
    } else if (t->type == BF_F64 || t->type == BF_F32 || t->type == BF_F16) {
        int digits = 0;
        do snprintf(out, n, "%.*g", ++digits, value);
        while (digits < 17 && (t->type == BF_F64 ? strtod(out, NULL) != value : strtof(out, NULL) != (float)value));
        if (strspn(out, "-0123456789") == strlen(out)) strcat(out, ".0");
        if (strchr(out, *localeconv()->decimal_point) != NULL) *strchr(out, *localeconv()->decimal_point) = '.';
    } else if (bf_is_unsigned(t->type)) {
        snprintf(out, n, "%llu", (unsigned long long)bf_bits(at, bf_size(t->type)));
    } else {
        snprintf(out, n, "%lld", t->type == BF_I64 ? (long long)bf_bits(at, 8) : (long long)value);
    }
}

static const char* const* bf_read_classes(bf_loader* l) {
    const bf_tensor* t = bf_find(l, "classes");
    const int is_number = bf_is(l->fields[BF_LABELS], "\"number\"");
    bf_check(l, t != NULL && !t->is_coded && t->rows > 0 && (is_number ? t->n == t->rows : t->type == BF_U32));
    bf_require(l, t->rows < INT32_MAX, BF_TOO_LARGE);
    const char** names = BF_NEW(kept, const char*, t->rows);
    char* text = BF_NEW(kept, char, is_number ? 32 * t->rows : 4 * t->n + t->rows);
    for (uint64_t i = 0; i < t->rows; ++i) {
        names[i] = text;
        if (is_number) bf_print(t, i, text, 32);
        for (uint64_t k = 0; k < t->n / t->rows && !is_number; ++k) {
            const uint32_t c = (uint32_t)bf_bits(t->data.at + 4 * (i * (t->n / t->rows) + k), 4);
            bf_check(l, c <= 0x10ffff);
            if (c > 0) text += bf_put(c, text);
        }
        text += is_number ? 32 : 1;
    }
    l->f.n_classes = (int32_t)t->rows;
    return names;
}

/* What is predicted: classes, or a number by a loss. */
static void bf_read_target(bf_loader* l) {
    static const char* const losses[] = {"huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "aft"};
    bf_forest* f = &l->f;
    const bf_span estimator = l->fields[BF_ESTIMATOR];
    bf_span loss = l->fields[BF_LOSS_NAME];
    int k = 0;
    f->n_outputs = 1;
    if (bf_is(estimator, "BoostTreeClassifier") || bf_is(estimator, "BoostForestClassifier")) {
        f->class_names = bf_read_classes(l);
        f->n_outputs = f->n_classes > 2 ? f->n_classes : 1;
        f->link = f->n_classes > 2 ? BF_SOFTMAX : BF_SIGMOID;
    } else {
        bf_require(l, bf_is(estimator, "BoostTreeRegressor") || bf_is(estimator, "BoostForestRegressor"), BF_HEADER);
        if (bf_next(&loss, "{")) {
            const bf_span name = bf_string(l, &loss);
            while (k < 7 && !bf_is(name, losses[k])) ++k;
            bf_require(l, k < 7, BF_LOSS);
            f->link = k < 3 ? BF_IDENTITY : k < 6 ? BF_LOG : BF_EXP_OF_MEAN;
        }
    }
    bf_set_size(l, BF_OUTPUTS, (uint64_t)f->n_outputs);
}

/* A level that is a number; NaN if no double is equal to it, text is then not a way to write one either. */
static double bf_parse_number(bf_loader* l, const char* text) {
    const size_t n = strlen(text);
    char digits[512], *end;
    bf_check(l, n > 0 && n <= 400 && strspn(text, "0123456789+-.eE") == n);
    memcpy(digits, text, n + 1);
    if (strchr(digits, '.') != NULL) *strchr(digits, '.') = *localeconv()->decimal_point;
    const double value = strtod(digits, &end);
    bf_check(l, *end == 0);
    if (strspn(text, "-0123456789") < n) return value;
    if (isfinite(value)) snprintf(digits, sizeof digits, "%.0f", value);
    return isfinite(value) && (strcmp(digits, text) == 0 || value == 0) ? value : NAN;
}

/* Columns that are not features as they are, and the names and numbers of their levels. */
static void bf_read_columns(bf_loader* l) {
    bf_forest* f = &l->f;
    const bf_tensor* basis = bf_find(l, "class_basis");
    const uint64_t n_levels = l->sizes[BF_LEVELS], n_outputs = (uint64_t)f->n_outputs;
    const uint64_t n_means = basis != NULL ? basis->n / n_outputs : n_outputs;
    const char** names = BF_NEW(kept, const char*, n_levels);
    char* text = BF_NEW(kept, char, l->sizes[BF_TEXT] + n_levels);
    double* numbers = BF_NEW(kept, double, n_levels);
    int64_t n_features = 0, n_values = 0;
    bf_check(l, n_means > 0 && n_means < INT32_MAX && (basis == NULL || basis->n % n_outputs == 0));
    f->n_columns = (int32_t)l->sizes[BF_TABLE];
    for (int32_t j = 0; j < f->n_columns; ++j) {
        const int kind = f->column_kind[j], is_text = f->level_is_text[j];
        const int64_t first = f->level_start[j], end = f->level_start[j + 1], n = end - first + f->level_missing[j];
        bf_require(l, kind <= BF_MEANS, BF_COLUMNS); /* left out, dates, text */
        bf_check(l, (kind >= BF_ONE_HOT) == (n > 0) && (!is_text || end > first));
        for (int64_t i = first; i < end; ++i) {
            const int64_t begin = i > 0 ? l->level_end[i - 1] : 0;
            const size_t size = (size_t)(l->level_end[i] - begin);
            names[i] = (char*)memcpy(text + begin + i, l->level_text + begin, size);
            bf_require(l, strlen(names[i]) == size, BF_ZERO_IN_TEXT);
            bf_check(l, !is_text || i == first || strcmp(names[i - 1], names[i]) < 0);
            numbers[i] = is_text ? NAN : bf_parse_number(l, names[i]);
        }
        n_features += kind == BF_MEANS ? (int64_t)n_means : kind < BF_ONE_HOT ? 1 + kind : n == 2 ? 1 : n;
        n_values += kind == BF_MEANS ? n * (int64_t)n_means : 0;
        bf_check(l, n_values <= (int64_t)l->sizes[BF_LEVEL_VALUES]);
    }
    f->level_names = names, f->level_numbers = numbers, f->n_means = (int32_t)n_means;
    bf_check(l, n_features == f->n_features && n_values == (int64_t)l->sizes[BF_LEVEL_VALUES]);
}

static void bf_read_table(bf_loader* l) {
    bf_forest* f = &l->f;
    const uint64_t d = (uint64_t)f->n_features;
    bf_span n_columns = l->fields[BF_WIDTH], names = l->fields[BF_NAMES];
    f->n_columns = f->n_features, f->n_seen = f->model_features != NULL ? (int32_t)l->sizes[BF_SEEN] : f->n_features;
    bf_check(l, d > 0 && (f->fill == NULL || (d <= 256 && l->sizes[BF_PRECISION] == d * (d + 1))));
    for (int32_t i = 1; i < f->n_seen && f->model_features != NULL; ++i)
        bf_check(l, f->model_features[i - 1] < f->model_features[i]);
    if (f->column_kind != NULL) bf_read_columns(l);
    bf_check(l, bf_count(l, &n_columns) == (uint64_t)f->n_columns);
    const char** texts = BF_NEW(kept, const char*, (uint64_t)f->n_columns);
    const int has_names = bf_next(&names, "[");
    for (int32_t i = 0; i < f->n_columns; ++i) {
        char* own = BF_NEW(kept, char, 16);
        snprintf(own, 16, "x%d", (int)i);
        bf_check(l, !has_names || i == 0 || bf_next(&names, ","));
        texts[i] = has_names ? (const char*)bf_text(l, bf_string(l, &names)).at : own;
    }
    bf_check(l, !has_names || bf_next(&names, "]"));
    f->column_names = texts;
}

/* How trees add up: stages and calibration. */
static void bf_read_stages(bf_loader* l) {
    bf_forest* f = &l->f;
    const int has_stages = f->stage_end != NULL, has_units = f->stage_units != NULL;
    const uint64_t n = has_stages ? l->sizes[BF_STAGES] : 1;
    int64_t* n_trees = BF_NEW(kept, int64_t, n);
    double* step = BF_NEW(kept, double, 1);
    bf_check(l, f->n_trees > 0 && n > 0 && (has_stages || !has_units));
    n_trees[0] = f->n_trees, step[0] = 1;
    for (uint64_t i = 0; i < n && has_stages; ++i) {
        n_trees[i] = f->stage_end[i] - (i > 0 ? f->stage_end[i - 1] : 0);
        bf_check(l, !has_units || f->stage_units[i] <= n_trees[i]);
    }
    f->n_stages = (int32_t)n;
    if (!has_stages) f->stage_end = n_trees, f->stage_step = step;
    if (!has_units) f->stage_units = n_trees;
    f->factor = l->factor != NULL ? *l->factor : 1;
    if (f->n_classes == 0) f->knot_x = NULL;
    for (int32_t c = 0; c < f->n_outputs && f->knot_x != NULL; ++c)
        for (int64_t k = f->knot_start[c] + 1; k < f->knot_start[c + 1]; ++k)
            bf_check(l, f->knot_x[k - 1] <= f->knot_x[k] && f->knot_y[k - 1] <= f->knot_y[k]);
    if (f->n_classes > 0) return;
    bf_check(l, l->target_mean != NULL);
    f->target_mean = *l->target_mean, f->target_scale = *l->target_scale;
}

/* Errors of training rows; trees of a boosted bag have one seed, and share a row of bits. */
static void bf_read_intervals(bf_loader* l) {
    bf_forest* f = &l->f;
    const uint64_t n = l->sizes[BF_RESIDUALS], n_trees = (uint64_t)f->n_trees;
    const bf_tensor* t = bf_find(l, "tree_seeds");
    int64_t *rows = BF_NEW(kept, int64_t, n_trees), tree = 0;
    bf_check(l, t != NULL && t->type == BF_U64 && t->n == n_trees && l->sizes[BF_BITS] == n_trees * ((n + 7) / 8));
    bf_require(l, n < INT32_MAX, BF_TOO_LARGE);
    const uint8_t* seeds = t->is_coded ? bf_decode(l, t) : t->data.at;
    for (int32_t stage = 0; stage < f->n_stages; ++stage)
        for (const int64_t first = tree; tree < f->stage_end[stage]; ++tree) {
            const int is_bag = f->stage_units[stage] < f->stage_end[stage] - first && tree > first;
            rows[tree] = is_bag && memcmp(seeds + 8 * tree, seeds + 8 * (tree - 1), 8) == 0 ? -1 : tree;
        }
    f->absent_row = rows;
    f->n_residuals = (int32_t)n;
}

/* ---------------------------------------------------------------------------------------------------- files: the whole
 */

/* Reads the header: fields, which the checksum and the version are among, and then the places of tensors. */
static void bf_read_header(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    const uint64_t length = n_bytes > 8 ? bf_bits(bytes, 8) : UINT64_MAX;
    char digits[64];
    bf_require(l, length <= (1 << 24) && length <= n_bytes - 8, BF_NOT_A_MODEL);
    bf_span c = {bytes + 8, (size_t)length};
    bf_require(l, bf_next(&c, "{\"__metadata__\":{"), BF_NOT_A_MODEL);
    for (int more = 1; more; more = bf_next(&c, ",")) {
        const bf_span name = bf_string(l, &c);
        bf_require(l, bf_next(&c, ":"), BF_HEADER);
        const bf_span value = bf_string(l, &c);
        for (int k = 0; k < BF_N_FIELDS; ++k)
            if (bf_is(name, bf_fields[k])) l->fields[k] = k == BF_SEAL ? value : bf_text(l, value);
    }
    bf_require(l, bf_next(&c, "}"), BF_HEADER);
    bf_require(l, bf_is(l->fields[BF_FORMAT], "boostforest"), BF_NOT_A_MODEL);
    const uint64_t version = bf_count(l, &l->fields[BF_VERSION]);
    bf_require(l, version > 0, BF_HEADER);
    bf_require(l, version <= 5, BF_NEWER);
    const bf_span seal = l->fields[BF_SEAL];
    bf_require(l, seal.n == 64 && memcmp(seal.at - 10, "\"sha256\":\"", 10) == 0, BF_CHECKSUM);
    bf_digest(bytes, n_bytes, (size_t)(seal.at - bytes), digits);
    bf_require(l, memcmp(digits, seal.at, 64) == 0, BF_CHECKSUM);
    l->data.at = bytes + 8 + length, l->data.n = n_bytes - 8 - (size_t)length;
    l->tensors = BF_NEW(scratch, bf_tensor, c.n / 48 + 1); /* an entry has more characters */
    while (bf_next(&c, ",")) bf_read_entry(l, &c, &l->tensors[l->n_tensors++]);
    bf_require(l, bf_next(&c, "}"), BF_HEADER);
}

static void bf_read_file(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    bf_read_header(l, bytes, n_bytes);
    bf_require(l, bf_find(l, "network") == NULL, BF_NETWORKS);
    bf_require(l, bf_find(l, "monotonic_cst") == NULL, BF_CONSTRAINTS);
    bf_require(l, bf_find(l, "sparse_chosen") == NULL, BF_COLUMNS);
    bf_require(l, bf_find(l, "target_end") == NULL, BF_TARGETS);
    memset(l->sizes, 0xff, sizeof l->sizes);
    bf_set_size(l, BF_ONE, 1);
    l->slots = (uint32_t (*)[4096])bf_take(l, &l->scratch, BF_CONTEXTS, sizeof *l->slots);
    const bf_tensor* params = bf_find(l, "params");
    bf_check(l, params != NULL);
    bf_read_coded(l, l->fields[BF_CODED]);
    bf_read_target(l);
    bf_read_tensors(l);
    bf_read_table(l);
    bf_place_models(l, params);
    bf_read_params(l, params);
    bf_read_stages(l);
    if (l->f.residuals != NULL && l->f.n_classes == 0) bf_read_intervals(l);
}

static bf_forest* bf_try(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    if (setjmp(l->failed) != 0) return NULL;
    bf_read_file(l, bytes, n_bytes);
    bf_forest* forest = BF_NEW(kept, bf_forest, 1);
    *forest = l->f;
    forest->memory = l->kept;
    return forest;
}

BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status) {
    bf_loader l;
    memset(&l, 0, sizeof l);
    bf_forest* forest = bf_try(&l, (const uint8_t*)bytes, n_bytes);
    if (forest == NULL) bf_free(l.kept);
    bf_free(l.scratch);
    if (status != NULL) *status = l.status;
    return forest;
}

BF_API bf_forest* bf_open(const char* path, int* status) {
    FILE* file = fopen(path, "rb");
    uint8_t *bytes = NULL, *more = NULL;
    size_t n = 0, room = 1 << 16;
    int failed = BF_NO_FILE;
    while (file != NULL && n == (bytes == NULL ? 0 : room)) { /* until less than was asked for is there */
        more = (uint8_t*)realloc(bytes, room *= 2);
        if (more == NULL) break;
        bytes = more;
        n += fread(bytes + n, 1, room - n, file);
    }
    if (file != NULL && more == NULL) failed = BF_NO_MEMORY;
    if (file != NULL && more != NULL && !ferror(file)) failed = BF_OK;
    bf_forest* forest = failed == BF_OK ? bf_load(bytes, n, &failed) : NULL;
    if (file != NULL) fclose(file);
    free(bytes);
    if (status != NULL) *status = failed;
    return forest;
}

BF_API void bf_close(bf_forest* forest) {
    if (forest != NULL) bf_free((bf_block*)forest->memory);
}

#endif
#endif
