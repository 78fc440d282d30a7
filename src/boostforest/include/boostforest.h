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
enum { BF_TENSOR = 16, BF_CODED = 17, BF_TREES = 18, BF_TABLE = 19, BF_STAGES = 20 };
enum { BF_NETWORKS = 30, BF_CONSTRAINTS = 31, BF_LOSS = 32, BF_TOO_LARGE = 33, BF_ZERO_IN_TEXT = 34, BF_COLUMNS = 35 };
enum { BF_TARGETS = 36 };
enum bf_column_kind { BF_NUMBER = 0, BF_NUMBER_AND_MARK = 1, BF_ONE_HOT = 2, BF_MEANS = 3 };
/* BF_EXP_OF_MEAN: scores are averaged, and the prediction is e to the power of their mean. */
enum bf_link { BF_IDENTITY = 0, BF_LOG = 1, BF_SIGMOID = 2, BF_SOFTMAX = 3, BF_EXP_OF_MEAN = 4 };
enum bf_kind { BF_CONSTANT = 0, BF_LINEAR = 1, BF_HIDDEN = 2 };

/* One column of the table. A category is the number of its level: bf_text_level and bf_number_level find it. */
typedef struct {
    int32_t kind;             /* enum bf_column_kind */
    int32_t n_features;       /* that it becomes */
    int32_t n_levels;         /* of a category; the missing ones are the last level if the fit has seen some */
    int32_t missing;          /* 1 if it has */
    const char* const* texts; /* its levels, UTF-8, in ascending order; NULL: none */
    const double* numbers;    /* the same if they are numbers, NaN where no double is equal to it; else NULL */
    const double* means;      /* n_levels x n_features; NULL: one-hot */
} bf_column;

/* Coefficients, in as many digits as the model has: one of the first three is not NULL. */
typedef struct {
    const double* f64;
    const float* f32;
    const int8_t* i8;       /* whole numbers, */
    const int8_t* exponent; /*   per model and output in units of 2 to this power */
} bf_values;

typedef struct {
    /* the table */
    int32_t n_columns, n_features;
    const char* const* column_names;
    const bf_column* columns; /* NULL: every column is a feature as it is */
    const double *mean, *scale;
    const double* fill;  /* centre and precision of a normal distribution; NULL: the mean replaces missing values */
    const int32_t* seen; /* features that node models see; NULL: all */
    int32_t n_seen;
    /* the trees, nodes of all of them one after another */
    int32_t n_trees, n_outputs;
    const int64_t* tree_start;   /* per tree: its first node; then their number */
    const uint8_t* kind;         /* per tree: enum bf_kind */
    const uint8_t* sum_path;     /* per tree: 1 if a score is the sum of the clipped models on the path */
    const int32_t* n_inputs;     /* per tree: slopes of a model */
    const int64_t* first_model;  /* per tree: models (times outputs) before it */
    const int64_t* first_param;  /* per tree: coefficients before it */
    const int64_t* first_hidden; /* per tree: of its hidden layer, biases and then weights by feature */
    const int32_t* feature;      /* per node: split feature, -1 for a leaf */
    const double* threshold;     /* per node: x <= threshold goes left */
    const uint8_t* missing_left; /* per node: 1 where a missing value goes left */
    const int32_t* left;    /* per node: left child, counted from the root, the right one follows; leaves: number */
    bf_values lower, upper; /* per node: clip range; where a tree has sum_path */
    bf_values params;       /* of each model: intercept and slopes, for each output */
    const double* hidden;
    /* from scores to predictions */
    int32_t link; /* enum bf_link */
    int32_t n_stages;
    const int64_t* stage_end;   /* per stage: trees up to its end */
    const double* stage_step;   /* per stage: what it counts */
    const int64_t* stage_units; /* per stage: what the sum over its trees is divided by */
    double factor;              /* of scores, by calibration */
    const double* knots;        /* per output: places, then values; NULL: none */
    const int32_t* n_knots;     /* per output */
    int32_t n_classes;          /* 0 in regression */
    const char* const* class_names;
    double target_mean, target_scale;
    int32_t most_inputs;
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
/* The same for a category that is a number, if a double is equal to it (otherwise by its digits as text); NaN: missing.
 */
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

#include <math.h>
#include <string.h>

#define BF_ROWS 256               /* that go through a tree together */
#define BF_LEAST_PROBABILITY 1e-3 /* of a mean that log-odds are taken of */
#define BF_LEAST_OUTPUT 1e-9      /* of a mean that a logarithm is taken of */
#define BF_LARGEST_LOG 230        /* beyond it a tree's score on a log scale counts as that */

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
        case BF_TENSOR: return "a tensor of the file is missing, or has a wrong type, size or value";
        case BF_CODED: return "a coded column of the file is damaged";
        case BF_TREES: return "the trees of the file are damaged";
        case BF_TABLE: return "the columns or levels of the file are damaged";
        case BF_STAGES: return "the stages, calibration or intervals of the file are damaged";
        case BF_NETWORKS: return "this header cannot predict with networks at the nodes";
        case BF_CONSTRAINTS: return "this header cannot predict with monotonic_cst";
        case BF_LOSS: return "this header does not know the loss of the model";
        case BF_TOO_LARGE: return "the model has more nodes, values or levels than this header can count";
        case BF_COLUMNS: return "the model has columns of dates, free text or a wide sparse matrix";
        case BF_TARGETS: return "the model has several targets; get_target has the model of one";
        case BF_ZERO_IN_TEXT: return "a category has a character of code 0, which ends text in C";
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

static inline const bf_column* bf_category_at(const bf_forest* forest, int32_t column) {
    const int is_there = forest->columns != NULL && column >= 0 && column < forest->n_columns;
    return is_there && forest->columns[column].kind >= BF_ONE_HOT ? &forest->columns[column] : NULL;
}

BF_API const char* bf_level_name(const bf_forest* forest, int32_t column, int32_t level) {
    const bf_column* c = bf_category_at(forest, column);
    return c == NULL || c->texts == NULL || level < 0 || level >= c->n_levels - c->missing ? NULL : c->texts[level];
}

BF_API double bf_text_level(const bf_forest* forest, int32_t column, const char* text) {
    const bf_column* c = bf_category_at(forest, column);
    int32_t low = 0, high = c == NULL ? -1 : c->n_levels - c->missing - 1;
    if (text == NULL) return c != NULL && c->missing ? c->n_levels - 1 : NAN;
    for (; low <= high && c->numbers != NULL; ++low) /* text of numbers has another order */
        if (strcmp(text, c->texts[low]) == 0) return low;
    while (low <= high && c->texts != NULL) {
        const int32_t middle = low + (high - low) / 2;
        const int order = strcmp(text, c->texts[middle]);
        if (order == 0) return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return NAN;
}

BF_API double bf_number_level(const bf_forest* forest, int32_t column, double number) {
    const bf_column* c = bf_category_at(forest, column);
    int32_t k;
    if (c != NULL && c->missing && isnan(number)) return c->n_levels - 1;
    for (k = 0; c != NULL && c->numbers != NULL && k < c->n_levels - c->missing; ++k)
        if (number == c->numbers[k]) return k;
    return NAN;
}

/* --------------------------------------------------------------------------------------------- from row to features */

static inline int bf_category(const bf_column* column, double level, double* out) {
    const int32_t first = column->n_levels == 2 ? 1 : 0;
    int32_t j, number = 0;
    if (!isnan(level)) {
        if (!(level >= 0 && level < column->n_levels && floor(level) == level)) return BF_CATEGORY;
        number = (int32_t)level;
    }
    for (j = 0; j < column->n_features; ++j) {
        if (isnan(level))
            out[j] = NAN;
        else if (column->kind == BF_MEANS)
            out[j] = column->means[(int64_t)number * column->n_features + j];
        else
            out[j] = number == first + j ? 1.0 : 0.0;
    }
    return BF_OK;
}

static inline int bf_features(const bf_forest* forest, const double* row, double* x) {
    int32_t j, k = 0;
    for (j = 0; j < forest->n_columns; ++j) {
        const int32_t kind = forest->columns == NULL ? BF_NUMBER : forest->columns[j].kind;
        if (kind == BF_ONE_HOT || kind == BF_MEANS) {
            const int status = bf_category(&forest->columns[j], row[j], x + k);
            if (status != BF_OK) return status;
            k += forest->columns[j].n_features;
            continue;
        }
        if (isinf(row[j])) return BF_INFINITE;
        x[k++] = row[j];
        if (kind == BF_NUMBER_AND_MARK) x[k++] = isnan(row[j]) ? 1.0 : 0.0;
    }
    for (k = 0; k < forest->n_features; ++k) x[k] = (x[k] - forest->mean[k]) / forest->scale[k];
    return BF_OK;
}

/* Expected values of what is missing, given the rest, under a normal distribution with centre c and precision P:
 * P_mm (x_m - c_m) = -P_mk (x_k - c_k), by Cholesky's factors. factor: n_features squared, rhs: n_features values. */
static inline void bf_expected(const bf_forest* forest, double* x, double* factor, double* rhs, double* number) {
    const int32_t d = forest->n_features;
    const double *centre = forest->fill, *precision = forest->fill + d;
    int32_t n = 0, a, b, c;
    for (a = 0; a < d; ++a)
        if (isnan(x[a])) number[n++] = a;
    for (a = 0; a < n; ++a) {
        const double* row = precision + (int64_t)number[a] * d;
        double total = 0;
        for (b = 0; b < d; ++b)
            if (!isnan(x[b])) total -= row[b] * (x[b] - centre[b]);
        for (b = 0; b <= a; ++b) {
            double value = row[(int32_t)number[b]];
            for (c = 0; c < b; ++c) value -= factor[a * d + c] * factor[b * d + c];
            if (a == b && !(value > 0)) { /* no distribution: the centre */
                for (c = 0; c < n; ++c) x[(int32_t)number[c]] = centre[(int32_t)number[c]];
                return;
            }
            factor[a * d + b] = a == b ? sqrt(value) : value / factor[b * d + b];
        }
        for (b = 0; b < a; ++b) total -= factor[a * d + b] * rhs[b];
        rhs[a] = total / factor[a * d + a];
    }
    for (a = n - 1; a >= 0; --a) {
        for (b = a + 1; b < n; ++b) rhs[a] -= factor[b * d + a] * rhs[b];
        rhs[a] /= factor[a * d + a];
    }
    for (a = 0; a < n; ++a) x[(int32_t)number[a]] = centre[(int32_t)number[a]] + rhs[a];
}

/* ------------------------------------------------------------------------------------------------------------ trees */

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
        total = (p)[0] + ((s0 + s1) + (s2 + s3));                     \
    } while (0)

/* Model number `model` (of all outputs of all models) whose coefficients begin at `start`. */
static inline double bf_model(const bf_values* values, int64_t model, int64_t start, int32_t n, const double* x) {
    double total, unit;
    int32_t j = 0;
    if (values->f64 != NULL) {
        BF_SUM(values->f64 + start);
    } else if (values->f32 != NULL) {
        BF_SUM(values->f32 + start);
    } else {
        const uint64_t bits = (uint64_t)(1023 + values->exponent[model]) << 52;
        BF_SUM(values->i8 + start);
        memcpy(&unit, &bits, sizeof unit);
        total *= unit;
    }
    return total;
}

/* What node models of a tree see: some features, or the units of its hidden layer. */
static inline const double* bf_inputs(const bf_forest* forest, int64_t tree, const double* seen, double* units) {
    const int32_t n = forest->n_inputs[tree];
    const double* layer;
    int32_t j, k;
    if (forest->kind[tree] != BF_HIDDEN) return seen;
    layer = forest->hidden + forest->first_hidden[tree];
    for (k = 0; k < n; ++k) units[k] = layer[k];
    for (j = 0; j < forest->n_seen; ++j)
        for (k = 0; k < n; ++k) units[k] += seen[j] * layer[(int64_t)(1 + j) * n + k];
    for (k = 0; k < n; ++k) units[k] = bf_sigmoid(units[k]);
    return units;
}

static inline double bf_range(const bf_values* values, int64_t i) {
    return values->f64 != NULL ? values->f64[i] : (double)values->f32[i];
}

/* Scores of a row by one tree; x with NaN for missing values. Returns the leaf. */
static inline int32_t bf_tree(const bf_forest* forest, int64_t tree, const double* x, const double* inputs,
                              double* scores) {
    const int64_t root = forest->tree_start[tree];
    const int32_t *feature = forest->feature + root, *left = forest->left + root;
    const double* threshold = forest->threshold + root;
    const uint8_t* missing_left = forest->missing_left + root;
    const int32_t n_inputs = forest->n_inputs[tree], n_outputs = forest->n_outputs;
    const int is_alone = forest->tree_start[tree + 1] - root == 1, sum_path = forest->sum_path[tree];
    int32_t node = 0, c;
    scores[0] = 0;
    for (;;) {
        double value;
        if (sum_path && (node > 0 || is_alone)) { /* a root that is split has no model */
            const int64_t model = is_alone ? 0 : node - 1;
            const double low = bf_range(&forest->lower, root + node), high = bf_range(&forest->upper, root + node);
            value = bf_model(&forest->params, forest->first_model[tree] + model,
                             forest->first_param[tree] + model * (1 + n_inputs), n_inputs, inputs);
            value = value < low ? low : value;
            scores[0] += value > high ? high : value;
        }
        if (feature[node] < 0) break;
        value = x[feature[node]];
        node = left[node] + !((value <= threshold[node]) | ((value != value) & missing_left[node]));
    }
    for (c = 0; c < n_outputs && !sum_path; ++c) {
        const int64_t model = (int64_t)left[node] * n_outputs + c;
        scores[c] = bf_model(&forest->params, forest->first_model[tree] + model,
                             forest->first_param[tree] + model * (1 + n_inputs), n_inputs, inputs);
    }
    return node;
}

/* ------------------------------------------------------------------------------------------- from scores to results */

/* What trees add up to what a forest averages; of_tree: scores of one tree, which are kept within what is finite. */
static inline void bf_outputs(const bf_forest* forest, int of_tree, double* f) {
    const int32_t n = forest->n_outputs;
    const double most = of_tree ? BF_LARGEST_LOG : INFINITY;
    double top = f[0], total = 0;
    int32_t c;
    if (forest->link == BF_LOG) f[0] = exp(f[0] < -most ? -most : f[0] > most ? most : f[0]);
    if (forest->link == BF_SIGMOID) f[0] = bf_sigmoid(f[0]);
    if (forest->link != BF_SOFTMAX) return;
    for (c = 1; c < n; ++c) top = f[c] > top ? f[c] : top;
    for (c = 0; c < n; ++c) total += f[c] = exp(f[c] - top);
    for (c = 0; c < n; ++c) f[c] /= total;
}

static inline void bf_scores(const bf_forest* forest, double* p) {
    const int32_t n = forest->n_outputs;
    const double least = BF_LEAST_PROBABILITY;
    double mean = 0;
    int32_t c;
    if (forest->link == BF_LOG) p[0] = log(p[0] < BF_LEAST_OUTPUT ? BF_LEAST_OUTPUT : p[0]);
    if (forest->link == BF_SIGMOID) {
        const double value = p[0] < least ? least : p[0] > 1 - least ? 1 - least : p[0];
        p[0] = log(value / (1 - value));
    }
    if (forest->link != BF_SOFTMAX) return;
    for (c = 0; c < n; ++c) mean += p[c] = log(p[c] < least ? least : p[c]);
    for (c = 0; c < n; ++c) p[c] -= mean / n;
}

static inline void bf_calibrate(const bf_forest* forest, double* p) {
    const double* x = forest->knots;
    double total = 0;
    int32_t c, k;
    if (x == NULL) return;
    for (c = 0; c < forest->n_outputs; ++c) {
        const int32_t n = forest->n_knots[c];
        const double* y = x + n;
        for (k = 0; k < n && x[k] <= p[c]; ++k) {
        }
        if (k == 0 || k == n)
            p[c] = y[k == 0 ? 0 : n - 1];
        else
            p[c] = (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (p[c] - x[k - 1]) + y[k - 1];
        total += p[c];
        x = y + n;
    }
    for (c = 0; c < forest->n_outputs && forest->n_outputs > 1; ++c) p[c] /= total;
}

static inline double bf_in_units(const bf_forest* forest, double output) {
    const double most = BF_LARGEST_LOG;
    if (forest->link == BF_LOG) return (output > 0 ? output : 0) * exp(forest->target_mean);
    if (forest->link == BF_EXP_OF_MEAN)
        return exp(output < -most ? -most : output > most ? most : output) * exp(forest->target_mean);
    return output * forest->target_scale + forest->target_mean;
}

/* Work memory, in the order in which it lies there. */
typedef struct {
    double *x, *seen;                       /* rows: features with NaN, and what node models see */
    double *filled, *rhs, *number, *factor; /* one row */
    double *units, *one;                    /* one tree */
    double *sums, *scores;                  /* rows: of a stage, of all stages */
    double* end;
} bf_scratch;

static inline bf_scratch bf_parts(const bf_forest* forest, size_t n_rows, double* work) {
    const size_t d = (size_t)forest->n_features, n_outputs = (size_t)forest->n_outputs;
    bf_scratch s;
    s.x = work;
    s.seen = s.x + n_rows * d;
    s.filled = s.seen + n_rows * (size_t)forest->n_seen;
    s.rhs = s.filled + d;
    s.number = s.rhs + d;
    s.factor = s.number + d;
    s.units = s.factor + (forest->fill == NULL ? 0 : d * d);
    s.one = s.units + forest->most_inputs;
    s.sums = s.one + n_outputs;
    s.scores = s.sums + n_rows * n_outputs;
    s.end = s.scores + n_rows * n_outputs;
    return s;
}

BF_API size_t bf_work(const bf_forest* forest, size_t n_rows) {
    const size_t n = n_rows < BF_ROWS ? n_rows : BF_ROWS, d = (size_t)forest->n_features;
    return n * (d + (size_t)forest->n_seen + 2 * (size_t)forest->n_outputs) + 3 * d +
           (forest->fill == NULL ? 0 : d * d) + (size_t)forest->most_inputs + (size_t)forest->n_outputs;
}

static inline int bf_read_row(const bf_forest* forest, const double* row, const bf_scratch* s, size_t i) {
    const int32_t d = forest->n_features;
    double *x = s->x + i * (size_t)d, *seen = s->seen + i * (size_t)forest->n_seen;
    int32_t j, is_missing = 0;
    const int status = bf_features(forest, row, x);
    for (j = 0; j < d && status == BF_OK; ++j) {
        is_missing |= isnan(x[j]);
        s->filled[j] = isnan(x[j]) && forest->fill == NULL ? 0 : x[j];
    }
    if (is_missing && forest->fill != NULL) bf_expected(forest, s->filled, s->factor, s->rhs, s->number);
    for (j = 0; j < forest->n_seen && status == BF_OK; ++j)
        seen[j] = s->filled[forest->seen == NULL ? j : forest->seen[j]];
    return status;
}

/* What row i of the scratch gets from a tree: outputs in the first stage, scores in later ones. */
static inline int32_t bf_one_tree(const bf_forest* forest, int64_t tree, int stage, const bf_scratch* s, size_t i) {
    const double* seen = s->seen + i * (size_t)forest->n_seen;
    const double* inputs = bf_inputs(forest, tree, seen, s->units);
    const int32_t leaf = bf_tree(forest, tree, s->x + i * (size_t)forest->n_features, inputs, s->one);
    if (stage == 0) bf_outputs(forest, 1, s->one);
    return leaf;
}

static inline void bf_finish(const bf_forest* forest, double* f, double* result) {
    const int32_t n_outputs = forest->n_outputs;
    int32_t c;
    if (forest->n_stages > 1 || forest->stage_step[0] != 1 || forest->factor != 1 || forest->knots != NULL) {
        for (c = 0; c < n_outputs; ++c) f[c] *= forest->factor;
        bf_outputs(forest, 0, f);
        bf_calibrate(forest, f);
    }
    if (forest->n_classes == 0) {
        result[0] = bf_in_units(forest, f[0]);
    } else if (n_outputs > 1) {
        for (c = 0; c < n_outputs; ++c) result[c] = f[c];
    } else {
        result[0] = forest->n_classes == 1 ? 1.0 : 1 - f[0];
        if (forest->n_classes == 2) result[1] = f[0];
    }
}

BF_API int bf_predict_rows(const bf_forest* forest, const double* rows, size_t n_rows, double* results, double* work,
                           size_t* n_done) {
    const bf_scratch s = bf_parts(forest, n_rows < BF_ROWS ? n_rows : BF_ROWS, work);
    const size_t n_outputs = (size_t)forest->n_outputs;
    const int is_plain =
        forest->n_stages == 1 && forest->stage_step[0] == 1 && forest->factor == 1 && forest->knots == NULL;
    size_t begin, i, c, n;
    for (begin = 0; begin < n_rows; begin += n) {
        int64_t t = 0;
        int32_t stage;
        n = n_rows - begin < BF_ROWS ? n_rows - begin : BF_ROWS;
        for (i = 0; i < n; ++i) {
            const int status = bf_read_row(forest, rows + (begin + i) * (size_t)forest->n_columns, &s, i);
            if (n_done != NULL) *n_done = begin + i;
            if (status != BF_OK) return status;
        }
        for (i = 0; i < n * n_outputs; ++i) s.scores[i] = 0;
        for (stage = 0; stage < forest->n_stages; ++stage) {
            for (i = 0; i < n * n_outputs; ++i) s.sums[i] = 0;
            for (; t < forest->stage_end[stage]; ++t)
                for (i = 0; i < n; ++i) {
                    bf_one_tree(forest, t, stage, &s, i);
                    for (c = 0; c < n_outputs; ++c) s.sums[i * n_outputs + c] += s.one[c];
                }
            for (i = 0; i < n * n_outputs; ++i) s.sums[i] /= (double)forest->stage_units[stage];
            for (i = 0; i < n && stage == 0 && !is_plain; ++i) bf_scores(forest, s.sums + i * n_outputs);
            for (i = 0; i < n * n_outputs; ++i) s.scores[i] += forest->stage_step[stage] * s.sums[i];
        }
        for (i = 0; i < n; ++i)
            bf_finish(forest, s.scores + i * n_outputs, results + (begin + i) * (size_t)bf_n_results(forest));
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
    int32_t t;
    for (t = 0; t < forest->n_trees && status == BF_OK; ++t) leaves[t] = bf_one_tree(forest, t, 1, &s, 0);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- intervals */

/* Sorts values, and what goes with them, by a heap: in place, and quick whatever the order. */
static inline void bf_sort(double* value, double* with, int32_t n) {
    int32_t first = n / 2, last = n;
    while (last > 1) {
        int32_t at, child;
        double v, w;
        if (first > 0) {
            --first;
        } else {
            --last;
            v = value[0], value[0] = value[last], value[last] = v;
            w = with[0], with[0] = with[last], with[last] = w;
        }
        for (at = first; (child = 2 * at + 1) < last; at = child) {
            if (child + 1 < last && value[child + 1] > value[child]) ++child;
            if (!(value[child] > value[at])) break;
            v = value[at], value[at] = value[child], value[child] = v;
            w = with[at], with[at] = with[child], with[child] = w;
        }
    }
}

/* The smallest error that so much of the weight does not exceed, a new row among it; infinite: too few to tell. */
static inline double bf_limit(const bf_forest* forest, double coverage, double* errors, double* weights) {
    const int32_t n = forest->n_residuals;
    double total = 0, squares = 0, held = 0, share, top = 0;
    int32_t i;
    bf_sort(errors, weights, n);
    if (forest->residual_weight == NULL) {
        const double rank = ceil(coverage * (n + 1.0));
        return rank <= n ? errors[(int32_t)rank - 1] : INFINITY;
    }
    for (i = 0; i < n; ++i) top = weights[i] > top ? weights[i] : top;
    for (i = 0; i < n; ++i) total += weights[i] / top, squares += weights[i] / top * (weights[i] / top);
    share = coverage * (1 + squares / (total * total)) - 1e-12;
    if (share > 1) return INFINITY;
    for (i = 0; i < n - 1; ++i)
        if ((held += weights[i] / top) >= share * total) break;
    return errors[i];
}

BF_API size_t bf_work_interval(const bf_forest* forest) {
    return bf_work(forest, 1) + 3 * (size_t)forest->n_residuals;
}

/* Jackknife+ after bootstrap: the trees that have not drawn a training row are a forest that does not know it. */
BF_API int bf_interval(const bf_forest* forest, const double* row, double coverage, double* ends, double* work) {
    const bf_scratch s = bf_parts(forest, 1, work);
    const int32_t n = forest->n_residuals;
    const size_t n_bytes = ((size_t)n + 7) / 8;
    double *centre = s.end, *total = centre + n, *count = total + n;
    const int status = n == 0 ? BF_NO_INTERVALS : coverage > 0 && coverage < 1 ? BF_OK : BF_COVERAGE;
    const int read = status == BF_OK ? bf_read_row(forest, row, &s, 0) : status;
    int32_t i, stage, side;
    int64_t t = 0;
    if (read != BF_OK) return read;
    for (i = 0; i < n; ++i) centre[i] = 0;
    for (stage = 0; stage < forest->n_stages; ++stage) {
        for (i = 0; i < n; ++i) total[i] = count[i] = 0;
        while (t < forest->stage_end[stage]) {
            const uint8_t* absent = forest->absent + (size_t)forest->absent_row[t] * n_bytes;
            double sum = 0;
            do {
                bf_one_tree(forest, t, stage, &s, 0);
                sum += s.one[0];
            } while (++t < forest->stage_end[stage] && forest->absent_row[t] < 0);
            for (i = 0; i < n; ++i)
                if (absent[i / 8] >> (7 - i % 8) & 1) total[i] += sum, count[i] += 1;
        }
        for (i = 0; i < n; ++i) {
            double mean = forest->stage_step[stage] * total[i] / (count[i] > 1 ? count[i] : 1);
            if (stage == 0) bf_scores(forest, &mean);
            centre[i] += mean;
        }
    }
    for (i = 0; i < n; ++i) bf_outputs(forest, 0, &centre[i]);
    for (side = 0; side < 2; ++side) {
        for (i = 0; i < n; ++i) {
            total[i] = side == 0 ? forest->residuals[i] - centre[i] : centre[i] + forest->residuals[i];
            count[i] = forest->residual_weight == NULL ? 1 : forest->residual_weight[i];
        }
        ends[side] = (side == 0 ? -1 : 1) * bf_limit(forest, coverage, total, count);
        ends[side] = bf_in_units(forest, ends[side]);
    }
    return BF_OK;
}

/* ------------------------------------------------------------------------------------------------------ model files */

#ifndef BOOSTFOREST_NO_FILES
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* What files may have, docs/dev/format.md: what this header does not need is known, and left alone. */
/* clang-format off */
#define BF_TENSORS(X) \
    X(tree_start) X(kind) X(sum_path) X(tree_seeds) X(feature) X(threshold) X(missing_left) X(left) X(n_samples) \
    X(loss) X(gain) X(lower) X(upper) X(params) X(exponent) X(param_start) X(hidden_start) X(hidden) X(network) \
    X(split_features) X(model_features) X(monotonic_cst) X(feature_mean) X(feature_scale) X(feature_deviation) \
    X(target_mean) X(target_scale) X(stage_end) X(stage_step) X(stage_units) X(oob_loss) X(calibration_factor) \
    X(knot_start) X(knot_x) X(knot_y) X(residuals) X(absent) X(residual_weight) X(conformity) X(conformity_weight) \
    X(column_kind) X(level_start) X(level_missing) X(level_is_text) X(level_end) X(level_text) X(class_basis) \
    X(level_means) X(fill) X(classes)
#define BF_FIELDS(X) /* of the metadata, which are tensors if the header has no room for them */ \
    X(params) X(not_stored) X(n_features) X(feature_names) X(classes) X(tree_params) X(entropy) X(draws) X(oob_score) \
    X(dtype) X(loss) X(coded)
/* clang-format on */
#define BF_ID(name) BF_T_##name,
#define BF_FIELD_ID(name) BF_F_##name,
#define BF_NAME(name) #name,
#define BF_FIELD_NAME(name) "metadata." #name,
enum { BF_TENSORS(BF_ID) BF_FIELDS(BF_FIELD_ID) BF_N_TENSORS };
static const char* const bf_names[] = {BF_TENSORS(BF_NAME) BF_FIELDS(BF_FIELD_NAME)};
enum { BF_BOOL, BF_U8, BF_I8, BF_U16, BF_I16, BF_F16, BF_U32, BF_I32, BF_F32, BF_U64, BF_I64, BF_F64, BF_N_TYPES };
static const char bf_types[] = "BOOLU8  I8  U16 I16 F16 U32 I32 F32 U64 I64 F64 "; /* four characters each */

typedef struct {
    const uint8_t* at;
    size_t n;
} bf_span;

typedef struct {
    bf_span data;     /* NULL: it is not there */
    uint64_t n, rows; /* values, and the first dimension */
    int type, is_coded;
} bf_tensor;

typedef struct bf_block {
    struct bf_block* next;
    double align; /* values follow */
} bf_block;

#define BF_CONTEXTS 32

typedef struct {
    bf_span in;
    uint32_t states[2], turn;
    uint8_t is_known[BF_CONTEXTS];
    uint32_t slots[BF_CONTEXTS][4096]; /* frequency - 1, place among the symbol's slots, symbol */
} bf_symbols;

typedef struct {
    bf_tensor tensors[BF_N_TENSORS];
    bf_span header, metadata, data;
    bf_block *kept, *scratch; /* memory of the model, and of loading alone */
    bf_forest* forest;
    bf_symbols* symbols;
    uint64_t n_nodes, n_models;
    int32_t *left, *order, *open; /* per node; order: those of each tree depth first; open: scratch */
    uint8_t* is_seen;             /* per node: scratch */
    int status;                   /* what is wrong */
} bf_loader;

static int bf_require(bf_loader* l, int condition, int status) {
    if (!condition && l->status == BF_OK) l->status = status;
    return condition;
}

/* Memory for n values, zeros. Whoever asks has compared n with the size of the file. */
static void* bf_take(bf_loader* l, bf_block** list, uint64_t n, size_t size) {
    const int fits = n <= (SIZE_MAX / 2 - sizeof(bf_block)) / size;
    bf_block* block = fits ? (bf_block*)calloc(1, sizeof(bf_block) + (size_t)n * size) : NULL;
    if (!bf_require(l, block != NULL, BF_NO_MEMORY)) return NULL;
    block->next = *list;
    *list = block;
    return block + 1;
}

static void bf_free(bf_block* block) {
    while (block != NULL) {
        bf_block* next = block->next;
        free(block);
        block = next;
    }
}

static uint64_t bf_bits(const uint8_t* p, size_t size) { /* the lowest byte first */
    uint64_t bits = 0;
    while (size-- > 0) bits = bits << 8 | p[size];
    return bits;
}

/* JSON: a cursor moves over the text, and values are found by their names. 0, or no text: something else is there. */

static int bf_char(bf_span* c, char wanted) {
    while (c->n > 0 && (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')) ++c->at, --c->n;
    if (c->n == 0 || *c->at != (uint8_t)wanted) return 0;
    ++c->at, --c->n;
    return 1;
}

/* Any value: what is between the quotes of a string; numbers, lists and objects as they are. */
static bf_span bf_value(bf_span* c) {
    const int is_string = bf_char(c, '"');
    bf_span value = *c;
    int depth = 0, in_string = is_string;
    for (; c->n > 0; ++c->at, --c->n) {
        if (in_string) {
            if (*c->at == '\\' && c->n > 1)
                ++c->at, --c->n;
            else if (*c->at == '"')
                in_string = 0;
            if (!in_string && is_string) break;
            continue;
        }
        if (*c->at == '"') in_string = 1;
        if (*c->at == '{' || *c->at == '[') ++depth;
        if (depth == 0 && (*c->at == ',' || *c->at == '}' || *c->at == ']' || *c->at <= ' ')) break;
        if ((*c->at == '}' || *c->at == ']') && --depth == 0 && c->n--) {
            ++c->at;
            break;
        }
    }
    value.n = (size_t)(c->at - value.at);
    if (is_string ? !bf_char(c, '"') : value.n == 0) value.at = NULL, value.n = 0;
    return value;
}

static int bf_is(bf_span text, const char* wanted) {
    return text.at != NULL && text.n == strlen(wanted) && memcmp(text.at, wanted, text.n) == 0;
}

/* The value of a name in an object; counts all names, -1: it is not an object that has some. */
static bf_span bf_get(bf_span object, const char* name, int* n_names) {
    bf_span found = {NULL, 0}, key, value = {NULL, 0};
    int n = 0, more = bf_char(&object, '{');
    for (; more; more = bf_char(&object, ','), ++n) {
        key = bf_value(&object);
        value = bf_char(&object, ':') ? bf_value(&object) : found;
        if (key.at == NULL || value.at == NULL) break;
        if (found.at == NULL && bf_is(key, name)) found = value;
    }
    if (n_names != NULL) *n_names = bf_char(&object, '}') && !bf_char(&object, 1) && object.n == 0 ? n : -1;
    return found;
}

static int bf_count(bf_span text, uint64_t* out) {
    size_t k;
    if (text.at == NULL || text.n > 18) return 0;
    for (*out = 0, k = 0; k < text.n; ++k) {
        if (text.at[k] < '0' || text.at[k] > '9') return 0;
        *out = 10 * *out + (text.at[k] - '0');
    }
    return 1;
}

/* Whole numbers in a list; returns how many, -1: it is not such a list. */
static int bf_counts(bf_span c, uint64_t* out, int most) {
    int n = 0, more = bf_char(&c, '[');
    if (more && bf_char(&c, ']')) return 0;
    for (; more; more = bf_char(&c, ','), ++n)
        if (n == most || !bf_count(bf_value(&c), &out[n])) return -1;
    return bf_char(&c, ']') ? n : -1;
}

static size_t bf_put(uint32_t c, char* out) { /* as UTF-8; a lone half of a pair as three bytes */
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    int k;
    for (k = n - 1; k > 0; --k, c >>= 6) out[k] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
    return (size_t)n;
}

static long bf_escaped(bf_span c) { /* \uXXXX; -1: it is not that */
    long value = 0;
    int k;
    if (c.n < 6 || c.at[0] != '\\' || c.at[1] != 'u') return -1;
    for (k = 2; k < 6; ++k) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *at = (const char*)memchr(digits, c.at[k], 32);
        if (at == NULL) return -1;
        value = 16 * value + (at - digits) % 16;
    }
    return value;
}

/* A string without its escapes, and with a 0 at the end that does not count; at is NULL without one. */
static bf_span bf_text(bf_loader* l, bf_span c, bf_block** list) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char* text = c.at == NULL ? NULL : (char*)bf_take(l, list, (uint64_t)c.n + 1, 1);
    bf_span out = {(const uint8_t*)text, 0};
    while (text != NULL && c.n > 0) {
        const char* plain = c.n > 1 && c.at[0] == '\\' ? (const char*)memchr(from, c.at[1], 8) : NULL;
        const long one = bf_escaped(c);
        bf_span rest = c;
        size_t n_read = one >= 0 ? 6 : plain != NULL ? 2 : 1;
        if (one >= 0) {
            const long two = (rest.at += 6, rest.n -= 6, bf_escaped(rest));
            const int is_pair = one >> 10 == 0x36 && two >> 10 == 0x37;
            const long both = 0x10000 + ((one & 0x3ff) << 10 | (two & 0x3ff));
            out.n += bf_put((uint32_t)(is_pair ? both : one), text + out.n);
            n_read += is_pair ? 6 : 0;
        } else {
            text[out.n++] = plain != NULL ? to[plain - from] : (char)c.at[0];
        }
        c.at += n_read, c.n -= n_read;
    }
    return out;
}

static bf_span bf_field(bf_loader* l, const char* name) {
    const bf_span text = bf_text(l, bf_get(l->metadata, name, NULL), &l->scratch);
    int id = BF_F_params;
    while (id < BF_N_TENSORS && strcmp(bf_names[id] + 9, name) != 0) ++id;
    return text.at == NULL && id < BF_N_TENSORS ? l->tensors[id].data : text;
}

/* The container: names, types and places of tensors. */

static int bf_type_of(bf_span text) {
    int type = 0, k = 0;
    for (; text.at != NULL && text.n <= 4 && type < BF_N_TYPES; ++type) {
        for (k = 0; k < 4 && bf_types[4 * type + k] == (k < (int)text.n ? (char)text.at[k] : ' '); ++k) {
        }
        if (k == 4) return type;
    }
    return BF_N_TYPES;
}

static size_t bf_size(int type) {
    return type <= BF_I8 ? 1 : type <= BF_F16 ? 2 : type <= BF_F32 ? 4 : 8;
}

static int bf_read_entry(const bf_loader* l, bf_span entry, bf_tensor* t) {
    uint64_t shape[8] = {1}, ends[2] = {0};
    int n_names = 0, k;
    const int n = bf_counts(bf_get(entry, "shape", &n_names), shape, 8);
    t->type = bf_type_of(bf_get(entry, "dtype", NULL));
    if (n < 0 || n_names != 3 || t->type == BF_N_TYPES) return 0;
    if (bf_counts(bf_get(entry, "data_offsets", NULL), ends, 2) != 2) return 0;
    for (t->n = 1, k = 0; k < n; ++k) {
        if (shape[k] > 0 && t->n > l->data.n / shape[k]) return 0;
        t->n *= shape[k];
    }
    t->rows = shape[0];
    if (ends[0] > ends[1] || ends[1] > l->data.n || t->n * bf_size(t->type) != ends[1] - ends[0]) return 0;
    t->data.at = l->data.at + ends[0];
    t->data.n = (size_t)(ends[1] - ends[0]);
    return 1;
}

/* What the metadata says of a coded column: ["type", number of values]; at most 256 bytes for each that is there. */
static int bf_read_coded(int id, bf_span said, bf_tensor* t) {
    const int is_list = bf_char(&said, '[') && (id <= BF_T_exponent || id == BF_T_absent);
    const int type = is_list && t->type == BF_U8 ? bf_type_of(bf_value(&said)) : BF_N_TYPES;
    t->type = type;
    if (type == BF_N_TYPES || type == BF_BOOL || !bf_char(&said, ',') || !bf_count(bf_value(&said), &t->n)) return 0;
    return t->data.n > 0 && t->n <= 256 * (uint64_t)t->data.n / bf_size(type) && bf_char(&said, ']');
}

/* All tensors: their names are known, and they lie side by side with nothing else in between. */
static int bf_read_entries(bf_loader* l) {
    bf_span c = l->header, coded;
    uint64_t total = 0;
    int id, other, n_others = 0, n_targets = 0, n_unknown = 0, n_metadata = 0, n_coded = 0, n_said = 0,
                   more = bf_char(&c, '{');
    for (; more; more = bf_char(&c, ',')) {
        bf_span name = bf_value(&c), entry = bf_char(&c, ':') ? bf_value(&c) : l->metadata;
        const size_t n_prefix = name.n > 6 && memcmp(name.at, "coded.", 6) == 0 ? 6 : 0;
        if (!bf_require(l, name.at != NULL && entry.at != NULL, BF_HEADER)) return 0;
        n_metadata += bf_is(name, "__metadata__");
        if (bf_is(name, "__metadata__")) continue;
        name.at += n_prefix, name.n -= n_prefix;
        for (id = 0; id < BF_N_TENSORS && !bf_is(name, bf_names[id]); ++id) {
        }
        n_unknown += id == BF_N_TENSORS;
        n_others += name.n > 9 && (memcmp(name.at, "calendar_", 9) == 0 || memcmp(name.at, "sparse_", 7) == 0);
        n_targets += bf_is(name, "target_end");
        if (id == BF_N_TENSORS && n_unknown < 1000) continue; /* a network has some */
        if (!bf_require(l, id < BF_N_TENSORS, BF_HEADER)) return 0;
        if (!bf_require(l, l->tensors[id].data.at == NULL && bf_read_entry(l, entry, &l->tensors[id]), BF_HEADER))
            return 0;
        for (other = 0; other < BF_N_TENSORS; ++other) {
            const bf_span *a = &l->tensors[id].data, *b = &l->tensors[other].data;
            const int apart = a->n == 0 || b->n == 0 || a->at >= b->at + b->n || b->at >= a->at + a->n;
            if (!bf_require(l, apart || other == id, BF_HEADER)) return 0;
        }
        total += l->tensors[id].data.n;
        if (id >= BF_F_params && !bf_require(l, l->tensors[id].type == BF_U8, BF_HEADER)) return 0;
        l->tensors[id].is_coded = n_prefix > 0;
    }
    coded = bf_field(l, "coded");
    for (id = 0; id < BF_N_TENSORS; ++id) {
        bf_tensor* t = &l->tensors[id];
        n_coded += t->is_coded;
        if (t->is_coded && !bf_require(l, bf_read_coded(id, bf_get(coded, bf_names[id], NULL), t), BF_CODED)) return 0;
    }
    if (!bf_require(l, l->tensors[BF_T_network].data.at == NULL, BF_NETWORKS)) return 0;
    if (!bf_require(l, l->tensors[BF_T_monotonic_cst].data.at == NULL, BF_CONSTRAINTS)) return 0;
    if (!bf_require(l, n_others == 0, BF_COLUMNS)) return 0;
    if (!bf_require(l, n_targets == 0, BF_TARGETS)) return 0;
    if (coded.at != NULL) bf_get(coded, "", &n_said);
    return bf_require(l, n_unknown == 0 && n_metadata == 1 && n_coded == n_said && total == l->data.n, BF_HEADER) &&
           bf_require(l, bf_char(&c, '}') && !bf_char(&c, 1) && c.n == 0, BF_HEADER);
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
    uint32_t w[64], v[8], a, b;
    int i;
    for (i = 0; i < 16; ++i)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (BF_TURN(w[i - 15], 7) ^ BF_TURN(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (BF_TURN(w[i - 2], 17) ^ BF_TURN(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (i = 0; i < 64; ++i) {
        a = v[7] + (BF_TURN(v[4], 6) ^ BF_TURN(v[4], 11) ^ BF_TURN(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
            k[i] + w[i];
        b = (BF_TURN(v[0], 2) ^ BF_TURN(v[0], 13) ^ BF_TURN(v[0], 22)) +
            ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (i = 0; i < 8; ++i) h[i] += v[i];
}

static void bf_digest(const uint8_t* bytes, size_t n_bytes, size_t seal, char* digits) { /* seal: where they are */
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t block[64];
    size_t at, k;
    for (at = 0; at <= n_bytes + 8; at += 64) { /* the last one has the number of bits in its last eight bytes */
        for (k = 0; k < 64; ++k) {
            const size_t i = at + k;
            block[k] = i < n_bytes ? (i >= seal && i < seal + 64 ? '0' : bytes[i]) : i == n_bytes ? 0x80 : 0;
        }
        for (k = 0; k < 8 && n_bytes + 8 < at + 64; ++k)
            block[56 + k] = (uint8_t)((uint64_t)n_bytes * 8 >> (56 - 8 * k));
        bf_sha_block(h, block);
    }
    for (k = 0; k < 64; ++k) digits[k] = "0123456789abcdef"[h[k / 8] >> (28 - 4 * (k % 8)) & 15];
}

static int bf_check_seal(bf_span said, const uint8_t* bytes, size_t n_bytes) {
    char digits[64];
    if (said.n != 64 || said.at - bytes < 10 || memcmp(said.at - 10, "\"sha256\":\"", 10) != 0) return 0;
    bf_digest(bytes, n_bytes, (size_t)(said.at - bytes), digits);
    return memcmp(digits, said.at, 64) == 0;
}

/* Columns in fewer bytes: bytes by how often they occur in a context (rANS), see docs/dev/format.md. */

static int bf_byte(bf_span* in) {
    if (in->n == 0) return -1;
    --in->n;
    return *in->at++;
}

static int bf_start(bf_symbols* s, bf_span in, int n_contexts) {
    int c, k, symbol;
    s->in = in;
    s->turn = 0;
    for (c = 0; c < n_contexts; ++c) {
        int filled = 0;
        for (symbol = 0; symbol < 256; ++symbol) {
            int f = bf_byte(&s->in), more = f == 0 || f >= 128 ? bf_byte(&s->in) : 0;
            if (f < 0 || more < 0) return 0;
            if (f == 0) {
                symbol += more;
                continue;
            }
            if (f >= 128) f = (f & 127) << 7 | more;
            if (f == 0 || f > 4096 - filled) return 0;
            for (k = 0; k < f; ++k)
                s->slots[c][filled++] = (uint32_t)(f - 1) << 20 | (uint32_t)k << 8 | (uint32_t)symbol;
        }
        if (filled != 0 && filled != 4096) return 0;
        s->is_known[c] = filled != 0;
    }
    if (s->in.n < 8) return 0;
    for (k = 0; k < 2; ++k)
        for (s->states[k] = 0, c = 0; c < 4; ++c) s->states[k] |= (uint32_t)bf_byte(&s->in) << 8 * c;
    return s->states[0] >= 1U << 16 && s->states[1] >= 1U << 16;
}

static int bf_symbol(bf_symbols* s, unsigned context) { /* -1: damaged */
    uint32_t *state = &s->states[s->turn], slot = s->slots[context][*state & 4095];
    if (!s->is_known[context]) return -1;
    *state = ((slot >> 20) + 1) * (*state >> 12) + (slot >> 8 & 4095);
    if (*state < 1U << 16) {
        if (s->in.n < 2) return -1;
        *state = *state << 16 | s->in.at[0] | (uint32_t)s->in.at[1] << 8;
        s->in.at += 2, s->in.n -= 2;
    }
    s->turn ^= 1;
    return slot & 255;
}

static int bf_is_done(const bf_symbols* s) {
    return s->states[0] == 1U << 16 && s->states[1] == 1U << 16 && s->in.n == 0;
}

/* The streams of a coded column, each behind the number of its bytes; zeros follow. */
static int bf_streams(bf_span coded, int n, bf_span* streams) {
    const uint8_t* lengths = coded.at + 1;
    size_t k;
    if (coded.n < 1 + 8 * (size_t)n) return 0;
    coded.at += 1 + 8 * n, coded.n -= 1 + 8 * (size_t)n;
    for (; n > 0; --n, lengths += 8, ++streams) {
        const uint64_t length = bf_bits(lengths, 8);
        if (length > coded.n) return 0;
        streams->at = coded.at, streams->n = (size_t)length;
        coded.at += length, coded.n -= (size_t)length;
    }
    for (k = 0; k < coded.n; ++k)
        if (coded.at[k] != 0) return 0;
    return 1;
}

/* A context for each of the 31 numbers that occur most often, 0 for others. */
static void bf_contexts(const uint64_t* counts, uint64_t n, uint8_t* context) {
    uint64_t k, most;
    int c;
    memset(context, 0, (size_t)n);
    for (c = 1; c < BF_CONTEXTS; ++c) {
        for (most = n, k = 0; k < n; ++k)
            if (context[k] == 0 && (most == n || counts[k] > counts[most])) most = k;
        if (most < n) context[most] = (uint8_t)c;
    }
}

/* n values of so many bytes, a stream for each of these, the highest first. known: contexts of the values, or NULL. */
static int bf_planes(bf_symbols* s, const bf_span* streams, uint64_t n, size_t size, const uint8_t* known,
                     uint8_t* out) {
    uint64_t counts[256], i;
    uint8_t context[256];
    size_t place;
    for (place = size; place-- > 0; ++streams) {
        bf_span in = *streams;
        const int way = bf_byte(&in), by_byte_above = way == 2;
        if (way < 0 || way > 3 || (way == 0 && in.n != n) || (by_byte_above && place == size - 1)) return 0;
        if ((way == 3 && known == NULL) || (way > 0 && !bf_start(s, in, way == 1 ? 1 : BF_CONTEXTS))) return 0;
        if (by_byte_above) {
            memset(counts, 0, sizeof counts);
            for (i = 0; i < n; ++i) ++counts[out[i * size + place + 1]];
            bf_contexts(counts, 256, context);
        }
        for (i = 0; i < n; ++i) {
            uint8_t* to = out + i * size + place;
            const unsigned c = by_byte_above ? context[to[1]] : way == 3 ? known[i] : 0;
            const int byte = way == 0 ? in.at[i] : bf_symbol(s, c);
            if (byte < 0) return 0;
            *to = (uint8_t)byte;
        }
        if (way > 0 && !bf_is_done(s)) return 0;
    }
    return 1;
}

/* Thresholds as numbers in a table of those that their feature often has; features[i] is that of value i. */
static int bf_decode_table(bf_loader* l, const bf_span* streams, uint64_t n, const int32_t* features, uint8_t* out) {
    const uint64_t d = (uint64_t)l->forest->n_features;
    uint8_t* sizes = (uint8_t*)bf_take(l, &l->scratch, d, 4);
    uint64_t* first = (uint64_t*)bf_take(l, &l->scratch, d + 1, sizeof *first);
    uint64_t* counts = (uint64_t*)bf_take(l, &l->scratch, d, sizeof *counts);
    uint8_t *context = (uint8_t*)bf_take(l, &l->scratch, d, 1), *known = (uint8_t*)bf_take(l, &l->scratch, n, 1);
    uint8_t *numbers = (uint8_t*)bf_take(l, &l->scratch, n, 2), *table, *others;
    uint64_t i, n_others = 0;
    if (l->status != BF_OK || !bf_planes(l->symbols, streams, d, 4, NULL, sizes)) return 0;
    for (i = 0; i < d; ++i) first[i + 1] = first[i] + bf_bits(sizes + 4 * i, 4);
    for (i = 0; i < n; ++i) {
        if (features[i] < 0 || (uint64_t)features[i] >= d) return 0;
        ++counts[features[i]];
    }
    bf_contexts(counts, d, context);
    for (i = 0; i < n; ++i) known[i] = context[features[i]];
    if (first[d] > n || !bf_planes(l->symbols, streams + 12, n, 2, known, numbers)) return 0;
    for (i = 0; i < n; ++i) n_others += bf_bits(numbers + 2 * i, 2) == 0;
    table = (uint8_t*)bf_take(l, &l->scratch, first[d], 8);
    others = (uint8_t*)bf_take(l, &l->scratch, n_others, 8);
    if (l->status != BF_OK || !bf_planes(l->symbols, streams + 4, first[d], 8, NULL, table) ||
        !bf_planes(l->symbols, streams + 14, n_others, 8, NULL, others))
        return 0;
    for (i = 0; i < n; ++i) {
        const uint64_t number = bf_bits(numbers + 2 * i, 2), j = first[features[i]];
        if (number > first[features[i] + 1] - j) return 0;
        memcpy(out + 8 * i, number == 0 ? others : table + 8 * (j + number - 1), 8);
        others += number == 0 ? 8 : 0;
    }
    return 1;
}

/* Rows of some values. has_runs: bits say whether a row differs from the one before, and the rows that do are there.
 * place: where each row belongs; NULL: they are in order. */
static int bf_decode_rows(bf_loader* l, const bf_tensor* t, int has_runs, uint64_t n_rows, size_t n_bytes,
                          const int64_t* place, uint8_t* out) {
    const size_t size = bf_size(t->type);
    const int is_table = t->data.at[0] == 7;
    uint8_t* bits = (uint8_t*)bf_take(l, &l->scratch, n_rows / 8 + 1, 1);
    int32_t* features = is_table ? (int32_t*)bf_take(l, &l->scratch, n_rows, sizeof *features) : NULL;
    uint64_t i, n = 0;
    bf_span streams[23];
    uint8_t* values;
    if (l->status != BF_OK || !bf_streams(t->data, has_runs + (is_table ? 22 : (int)size), streams)) return 0;
    if (!has_runs && place == NULL) return bf_planes(l->symbols, streams, n_rows, size, NULL, out);
    memset(bits, 0xff, (size_t)(n_rows / 8 + 1));
    if (has_runs && !bf_planes(l->symbols, streams, (n_rows + 7) / 8, 1, NULL, bits)) return 0;
    if (n_rows == 0 || !(bits[0] >> 7)) return 0;
    for (i = 0; i < n_rows; ++i) {
        if (!(bits[i / 8] >> (7 - i % 8) & 1)) continue;
        if (is_table) features[n] = l->forest->feature[place[i]];
        ++n;
    }
    if ((values = (uint8_t*)bf_take(l, &l->scratch, n, n_bytes)) == NULL) return 0;
    if (is_table ? !bf_decode_table(l, streams + 1, n, features, values)
                 : !bf_planes(l->symbols, streams + has_runs, n * (n_bytes / size), size, NULL, values))
        return 0;
    for (i = 0; i < n_rows; ++i) {
        if (i > 0 && bits[i / 8] >> (7 - i % 8) & 1) values += n_bytes;
        memcpy(out + (place == NULL ? i : (uint64_t)place[i]) * n_bytes, values, n_bytes);
    }
    return 1;
}

/* Inner nodes: in their order or, by_level, tree by tree those of the least depth first. Returns their number. */
static uint64_t bf_inner_nodes(bf_loader* l, int by_level, int64_t* place) {
    const int64_t* start = l->forest->tree_start;
    int32_t *depth = l->open, *first = (int32_t*)bf_take(l, &l->scratch, l->n_nodes + 1, sizeof *first), t;
    uint64_t n = 0;
    int64_t i, k;
    for (t = 0; t < l->forest->n_trees && first != NULL; ++t) { /* first: per depth the inner nodes before it */
        const int64_t n_nodes = start[t + 1] - start[t];
        const int32_t* left = l->left + start[t];
        memset(first, 0, (size_t)n_nodes * sizeof *first);
        for (depth[0] = 0, i = 0; i < n_nodes; ++i) {
            if (left[i] == 0) continue;
            depth[left[i]] = depth[left[i] + 1] = by_level ? depth[i] + 1 : 0;
            ++first[depth[i] + 1];
        }
        for (k = 1; k < n_nodes; ++k) first[k] += first[k - 1];
        for (i = 0; i < n_nodes; ++i)
            if (left[i] != 0) place[n + (uint64_t)first[depth[i]]++] = start[t] + i;
        n += (uint64_t)(n_nodes - 1) / 2;
    }
    return n;
}

/* A tree depth first, left before right, into `order`. With bits (is a node split?) `left` follows from them. */
static int bf_walk(bf_loader* l, int64_t start, int64_t n, int32_t* left, const uint8_t* bits) {
    int32_t *open = l->open, *order = l->order + start;
    int64_t i, n_open = 1, next = 1;
    uint8_t* is_seen = l->is_seen;
    memset(is_seen, 0, (size_t)n);
    open[0] = 0;
    for (i = 0; i < n; ++i) {
        const int64_t at = start + i;
        const int32_t node = n_open > 0 ? open[--n_open] : 0;
        if (is_seen[node]++) return 0;
        if (bits != NULL && bits[at / 8] >> (7 - at % 8) & 1) {
            left[node] = (int32_t)next;
            next += 2;
        }
        order[i] = node;
        if (left[node] == 0) continue;
        if (left[node] <= node || left[node] >= n - 1) return 0;
        open[n_open++] = left[node] + 1;
        open[n_open++] = left[node];
    }
    return n_open == 0;
}

static int bf_decode_left(bf_loader* l, const bf_tensor* t, int32_t* left) {
    const int64_t* start = l->forest->tree_start;
    bf_span bits;
    int32_t k;
    if (!bf_streams(t->data, 1, &bits) || bits.n != (l->n_nodes + 7) / 8) return 0;
    for (k = 0; k < l->forest->n_trees; ++k)
        if (!bf_walk(l, start[k], start[k + 1] - start[k], left + start[k], bits.at)) return 0;
    return 1;
}

/* Coefficients of eight bits: models in an order in which neighbours are alike, in contexts of how large they are. */
static int bf_decode_params(bf_loader* l, const bf_tensor* t, int8_t* out) {
    bf_symbols* s = l->symbols;
    const bf_forest* f = l->forest;
    const int differences = t->data.at[0] == 4;
    uint32_t* sizes = NULL;
    int64_t tree, i, j, n_sizes = -1;
    bf_span in;
    if (!bf_streams(t->data, 1, &in) || !bf_start(s, in, 26)) return 0;
    for (tree = 0; tree < f->n_trees; ++tree) {
        const int64_t start = f->tree_start[tree], group = 1 + f->n_inputs[tree], n = f->tree_start[tree + 1] - start;
        const int64_t per_model = group * f->n_outputs;
        const int8_t* exponent = f->params.exponent + f->first_model[tree];
        int8_t *own = out + f->first_param[tree], *before = NULL;
        int64_t model_before = 0;
        if (n_sizes != per_model) {
            sizes = (uint32_t*)bf_take(l, &l->scratch, (uint64_t)(n_sizes = per_model), sizeof *sizes);
            if (sizes == NULL) return 0;
            for (j = 0; j < per_model; ++j) sizes[j] = 64;
        }
        for (i = 0; i < n; ++i) {
            const int32_t node = f->sum_path[tree] ? (int32_t)i : l->order[start + i];
            const int64_t model = f->sum_path[tree] ? node - (n > 1) : f->left[start + node];
            uint32_t here = 64;
            if (f->sum_path[tree] ? model < 0 : f->feature[start + node] >= 0) continue;
            for (j = 0; j < per_model; ++j) {
                const uint32_t size = (3 * sizes[j] + 2 * here) / 8;
                uint32_t context = size, octave = 0;
                int symbol, expected = 0;
                while (size >> octave > 1) ++octave;
                if (size >= 2) context = 2 * octave + (size >> (octave - 1) & 1);
                symbol = bf_symbol(s, context < 25 ? context : 25);
                if (symbol < 0) return 0;
                if (differences && before != NULL) {
                    const int shift =
                        exponent[model_before * f->n_outputs + j / group] - exponent[model * f->n_outputs + j / group];
                    expected = shift >= 0   ? before[j] * (shift >= 8 ? 256 : 1 << shift)
                               : shift < -8 ? 0
                                            : (before[j] + (1 << (-shift - 1))) >> -shift;
                    expected = expected > 127 ? 127 : expected < -127 ? -127 : expected;
                }
                symbol = symbol < 128 ? symbol : symbol - 256;
                own[model * per_model + j] = (int8_t)(uint8_t)(symbol + expected);
                sizes[j] = (3 * sizes[j] + 16 * (uint32_t)abs(symbol) + 2) / 4;
                here = (7 * here + 16 * (uint32_t)abs(symbol) + 4) / 8;
            }
            before = own + model * per_model;
            model_before = model;
        }
    }
    return bf_is_done(s);
}

/* Puts a coded column into memory for its values, the lowest byte of each first. */
static int bf_decode(bf_loader* l, int id, const bf_tensor* t, uint8_t* out) {
    const int way = t->data.at[0], of_splits = way == 1 || way == 6 || (way == 7 && id == BF_T_threshold);
    const size_t size = bf_size(t->type), n_trees = (size_t)l->forest->n_trees;
    uint64_t i, k, total = 0;
    int64_t* place;
    if (l->symbols == NULL) l->symbols = (bf_symbols*)bf_take(l, &l->scratch, 1, sizeof(bf_symbols));
    if (l->symbols == NULL) return 0;
    if (way == 0 || (way == 5 && id != BF_T_absent)) return bf_decode_rows(l, t, way == 5, t->n, size, NULL, out);
    if (way == 5)
        return t->n > 0 && t->n % n_trees == 0 && bf_decode_rows(l, t, 1, n_trees, (size_t)(t->n / n_trees), NULL, out);
    if (way == 2 && id == BF_T_left) return bf_decode_left(l, t, (int32_t*)(void*)out);
    if (way == 3 || way == 4) return id == BF_T_params && t->type == BF_I8 && bf_decode_params(l, t, (int8_t*)out);
    if (of_splits && (id == BF_T_feature || id == BF_T_threshold || id == BF_T_missing_left) && t->n == l->n_nodes) {
        memset(out, id == BF_T_feature ? 0xff : 0, (size_t)t->n * size); /* leaves have -1 or 0 */
        place = (int64_t*)bf_take(l, &l->scratch, t->n / 2 + 1, sizeof *place);
        return place != NULL && bf_decode_rows(l, t, way > 1, bf_inner_nodes(l, way > 1, place), size, place, out);
    }
    if (way != 8 || id != BF_T_tree_start || t->n == 0) return 0;
    if (!bf_decode_rows(l, t, 0, t->n - 1, size, NULL, out + size)) return 0;
    for (i = 1; i < t->n; ++i)
        for (total += bf_bits(out + 8 * i, 8), k = 0; k < 8; ++k) out[8 * i + k] = (uint8_t)(total >> 8 * k);
    return 1;
}

/* The values of a column, which it has in the right type and number; NULL: it has not. */
static void* bf_array(bf_loader* l, int id, int type, uint64_t n) {
    const bf_tensor* t = &l->tensors[id];
    const size_t size = bf_size(type);
    const int right = t->data.at != NULL && t->type == type && t->n == n, one = 1;
    const int is_native = t->is_coded && t->data.at[0] == 2; /* children, counted here */
    uint8_t* out = bf_require(l, right, BF_TENSOR) ? (uint8_t*)bf_take(l, &l->kept, n, size) : NULL;
    uint64_t i, k;
    if (out == NULL) return NULL;
    if (t->is_coded && !bf_require(l, bf_decode(l, id, t, out), BF_CODED)) return NULL;
    if (!t->is_coded && n > 0) memcpy(out, t->data.at, t->data.n);
    for (i = 0; *(const char*)&one == 0 && !is_native && i < n; ++i) /* the highest byte is first here */
        for (k = 0; k < size / 2; ++k) {
            const uint8_t byte = out[i * size + k];
            out[i * size + k] = out[(i + 1) * size - 1 - k];
            out[(i + 1) * size - 1 - k] = byte;
        }
    return out;
}

static const double* bf_doubles(bf_loader* l, int id, uint64_t n) { /* that are finite */
    const double* values = (const double*)bf_array(l, id, BF_F64, n);
    uint64_t i;
    for (i = 0; values != NULL && i < n; ++i)
        if (!bf_require(l, isfinite(values[i]) != 0, BF_TENSOR)) return NULL;
    return values;
}

/* Ends of parts: each has at least so many, and the last is the total. Starts have a 0 in front. */
static const int64_t* bf_ends(bf_loader* l, int id, uint64_t n, int has_zero, int64_t least, uint64_t total) {
    const int64_t* ends = (const int64_t*)bf_array(l, id, BF_I64, n + (has_zero != 0));
    uint64_t i;
    if (ends == NULL || (has_zero && !bf_require(l, *ends++ == 0, BF_TENSOR))) return NULL;
    for (i = 0; i < n; ++i) {
        const int64_t before = i > 0 ? ends[i - 1] : 0;
        if (!bf_require(l, ends[i] >= before && ends[i] - before >= least, BF_TENSOR)) return NULL;
    }
    return bf_require(l, (n > 0 ? (uint64_t)ends[n - 1] : 0) == total, BF_TENSOR) ? ends - (has_zero != 0) : NULL;
}

static float bf_half(uint16_t bits) {
    const int power = bits >> 10 & 31, digits = bits & 1023;
    const float size = power == 31  ? (digits ? NAN : INFINITY)
                       : power == 0 ? ldexpf((float)digits, -24)
                                    : ldexpf((float)(1024 + digits), power - 25);
    return bits >> 15 ? -size : size;
}

/* Coefficients, or ends of clip ranges, which may be infinite. */
static int bf_read_values(bf_loader* l, int id, uint64_t n, int finite, bf_values* out) {
    const int type = l->tensors[id].type;
    const int is_known = type == BF_F64 || type == BF_F32 || type == BF_F16 || (type == BF_I8 && finite);
    const void* values = bf_require(l, is_known, BF_TENSOR) ? bf_array(l, id, type, n) : NULL;
    float* floats = NULL;
    uint64_t i;
    if (values != NULL && type == BF_F16) {
        floats = (float*)bf_take(l, &l->kept, n, sizeof(float));
        for (i = 0; floats != NULL && i < n; ++i) floats[i] = bf_half(((const uint16_t*)values)[i]);
    }
    out->f64 = type == BF_F64 ? (const double*)values : NULL;
    out->f32 = type == BF_F16 ? floats : type == BF_F32 ? (const float*)values : NULL;
    out->i8 = type == BF_I8 ? (const int8_t*)values : NULL;
    for (i = 0; (out->f64 != NULL || out->f32 != NULL) && i < n; ++i) {
        const double value = bf_range(out, (int64_t)i);
        if (!bf_require(l, finite ? isfinite(value) != 0 : !isnan(value), BF_TENSOR)) return 0;
    }
    return l->status == BF_OK;
}

/* Shapes of trees, and where their models and coefficients are. */
static int bf_read_shapes(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n_trees = l->tensors[BF_T_kind].n;
    const int64_t n_all = (int64_t)l->tensors[BF_T_params].n;
    int64_t t, n_models = 0, n_params = 0, *first_model, *first_param;
    int32_t* n_inputs;
    if (!bf_require(l, n_trees > 0, BF_TREES) || !bf_require(l, n_trees < INT32_MAX, BF_TOO_LARGE)) return 0;
    f->n_trees = (int32_t)n_trees;
    f->kind = (const uint8_t*)bf_array(l, BF_T_kind, BF_U8, n_trees);
    f->sum_path = (const uint8_t*)bf_array(l, BF_T_sum_path, BF_BOOL, n_trees);
    f->tree_start = bf_ends(l, BF_T_tree_start, n_trees, 1, 1, l->n_nodes);
    if (l->tensors[BF_T_hidden].data.at != NULL) {
        f->hidden = bf_doubles(l, BF_T_hidden, l->tensors[BF_T_hidden].n);
        f->first_hidden = bf_ends(l, BF_T_hidden_start, n_trees, 1, 0, l->tensors[BF_T_hidden].n);
    } else {
        f->first_hidden = (const int64_t*)bf_take(l, &l->kept, n_trees + 1, sizeof(int64_t));
    }
    n_inputs = (int32_t*)bf_take(l, &l->kept, n_trees, sizeof(int32_t));
    first_model = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t));
    first_param = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t));
    for (t = 0; t < f->n_trees && l->status == BF_OK; ++t) {
        const int64_t n = f->tree_start[t + 1] - f->tree_start[t], per_unit = 1 + (int64_t)f->n_seen;
        const int64_t hidden = f->first_hidden[t + 1] - f->first_hidden[t], units = hidden / per_unit;
        const int is_hidden = f->kind[t] == BF_HIDDEN;
        const int64_t own = f->sum_path[t] ? n - (n > 1) : (n + 1) / 2;
        if (f->kind[t] == 255) return bf_require(l, 0, BF_NETWORKS);
        if (!bf_require(l, f->kind[t] <= BF_HIDDEN && f->sum_path[t] <= (f->n_outputs == 1), BF_TREES)) return 0;
        if (!bf_require(l, is_hidden ? units > 0 && units * per_unit == hidden : hidden == 0, BF_TREES)) return 0;
        if (!bf_require(l, n < INT32_MAX && units < INT32_MAX, BF_TOO_LARGE)) return 0;
        n_inputs[t] = is_hidden ? (int32_t)units : f->kind[t] == BF_LINEAR ? f->n_seen : 0;
        f->most_inputs = n_inputs[t] > f->most_inputs ? n_inputs[t] : f->most_inputs;
        first_model[t] = n_models;
        first_param[t] = n_params;
        if (!bf_require(l, own * f->n_outputs <= (n_all - n_params) / (1 + n_inputs[t]), BF_TREES)) return 0;
        n_models += own * f->n_outputs;
        n_params += own * f->n_outputs * (1 + (int64_t)n_inputs[t]);
    }
    f->n_inputs = n_inputs;
    f->first_model = first_model;
    f->first_param = first_param;
    l->n_models = (uint64_t)n_models;
    return bf_require(l, n_params == n_all, BF_TREES);
}

static int bf_read_trees(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->n_nodes = l->tensors[BF_T_left].n;
    int64_t t, i, n_leaves;
    int has_ranges = 0;
    if (!bf_read_shapes(l)) return 0;
    l->order = (int32_t*)bf_take(l, &l->scratch, n, sizeof(int32_t));
    l->open = (int32_t*)bf_take(l, &l->scratch, n + 2, sizeof(int32_t));
    l->is_seen = (uint8_t*)bf_take(l, &l->scratch, n, 1);
    if (l->status != BF_OK || (l->left = (int32_t*)bf_array(l, BF_T_left, BF_I32, n)) == NULL) return 0;
    for (t = 0; t < f->n_trees; ++t) {
        const int64_t start = f->tree_start[t];
        if (!bf_require(l, bf_walk(l, start, f->tree_start[t + 1] - start, l->left + start, NULL), BF_TREES)) return 0;
        has_ranges |= f->sum_path[t];
    }
    f->feature = (const int32_t*)bf_array(l, BF_T_feature, BF_I32, n); /* in this order: one needs the other */
    f->threshold = l->status == BF_OK ? bf_doubles(l, BF_T_threshold, n) : NULL;
    f->missing_left = (const uint8_t*)bf_array(l, BF_T_missing_left, BF_U8, n);
    for (t = 0; t < f->n_trees && l->status == BF_OK; ++t)
        for (i = f->tree_start[t], n_leaves = 0; i < f->tree_start[t + 1]; ++i) {
            const int is_leaf = l->left[i] == 0, is_feature = f->feature[i] >= 0 && f->feature[i] < f->n_features;
            const int is_right = (is_leaf ? f->feature[i] == -1 : is_feature) && f->missing_left[i] <= 1;
            if (!bf_require(l, is_right, BF_TREES)) return 0;
            if (is_leaf) l->left[i] = (int32_t)n_leaves++;
        }
    f->left = l->left;
    if (has_ranges && l->status == BF_OK && bf_read_values(l, BF_T_lower, n, 0, &f->lower) &&
        bf_read_values(l, BF_T_upper, n, 0, &f->upper))
        for (i = 0; i < (int64_t)n; ++i)
            if (!bf_require(l, bf_range(&f->lower, i) <= bf_range(&f->upper, i), BF_TREES)) return 0;
    if (l->status == BF_OK && l->tensors[BF_T_params].type == BF_I8)
        f->params.exponent = (const int8_t*)bf_array(l, BF_T_exponent, BF_I8, l->n_models);
    return l->status == BF_OK && bf_read_values(l, BF_T_params, l->tensors[BF_T_params].n, 1, &f->params);
}

/* Text of a number: as few digits as give the same one. */
static void bf_print(const bf_tensor* t, uint64_t i, char* out, size_t n) {
    const uint64_t bits = bf_bits(t->data.at + i * bf_size(t->type), bf_size(t->type));
    const uint32_t word = (uint32_t)bits;
    double value;
    float single;
    int digits;
    memcpy(&single, &word, sizeof single);
    memcpy(&value, &bits, sizeof value);
    if (t->type == BF_F16) value = bf_half((uint16_t)bits);
    if (t->type == BF_F32) value = single;
    if (t->type == BF_BOOL) {
        snprintf(out, n, bits ? "True" : "False");
    } else if (t->type == BF_F16 || t->type == BF_F32 || t->type == BF_F64) {
        for (digits = 1; digits < 18; ++digits) {
            snprintf(out, n, "%.*g", digits, value);
            if (t->type == BF_F64 ? strtod(out, NULL) == value : (float)strtod(out, NULL) == (float)value) break;
        }
        if (strspn(out, "-0123456789") == strlen(out)) strcat(out, ".0");
        if (strchr(out, *localeconv()->decimal_point) != NULL) *strchr(out, *localeconv()->decimal_point) = '.';
    } else if (t->type == BF_U8 || t->type == BF_U16 || t->type == BF_U32 || t->type == BF_U64) {
        snprintf(out, n, "%llu", (unsigned long long)bits);
    } else {
        const int unused = 64 - 8 * (int)bf_size(t->type);
        snprintf(out, n, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    }
}

static int bf_read_classes(bf_loader* l) {
    const bf_tensor* t = &l->tensors[BF_T_classes];
    const uint64_t n = t->rows, width = n > 0 ? t->n / n : 0;
    const int is_number = bf_is(bf_field(l, "classes"), "\"number\"");
    char **names, *text;
    uint64_t i, k;
    if (!bf_require(l, t->data.at != NULL && n > 0 && (is_number ? t->n == n : t->type == BF_U32), BF_TENSOR)) return 0;
    if (!bf_require(l, n < INT32_MAX, BF_TOO_LARGE)) return 0;
    names = (char**)bf_take(l, &l->kept, n, sizeof(char*));
    text = (char*)bf_take(l, &l->kept, is_number ? 32 * n : 4 * t->n + n, 1);
    for (i = 0; i < n && l->status == BF_OK; ++i) {
        names[i] = text;
        if (is_number) {
            bf_print(t, i, text, 32);
            text += 31;
        }
        for (k = 0; k < width && !is_number; ++k) {
            const uint32_t c = (uint32_t)bf_bits(t->data.at + 4 * (i * width + k), 4);
            if (!bf_require(l, c <= 0x10ffff, BF_TENSOR)) return 0;
            if (c > 0) text += bf_put(c, text);
        }
        ++text;
    }
    l->forest->class_names = (const char* const*)names;
    l->forest->n_classes = (int32_t)n;
    l->forest->n_outputs = n > 2 ? (int32_t)n : 1;
    l->forest->link = n > 2 ? BF_SOFTMAX : BF_SIGMOID;
    return l->status == BF_OK;
}

static int bf_read_target(bf_loader* l) {
    static const char* const losses[] = {"huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "aft"};
    const bf_span loss = bf_field(l, "loss"), name = bf_field(l, "estimator");
    const double *mean, *scale;
    int k, n_names = 0;
    l->forest->factor = 1;
    if (bf_is(name, "BoostTreeClassifier") || bf_is(name, "BoostForestClassifier")) return bf_read_classes(l);
    if (!bf_require(l, bf_is(name, "BoostTreeRegressor") || bf_is(name, "BoostForestRegressor"), BF_HEADER)) return 0;
    l->forest->n_outputs = 1;
    if (loss.at != NULL && !bf_is(loss, "null")) {
        for (k = 0; k < 7 && bf_get(loss, losses[k], &n_names).at == NULL; ++k) {
        }
        if (!bf_require(l, k < 7 && n_names == 1, BF_LOSS)) return 0;
        l->forest->link = k < 3 ? BF_IDENTITY : k < 6 ? BF_LOG : BF_EXP_OF_MEAN;
    }
    mean = bf_doubles(l, BF_T_target_mean, 1);
    scale = bf_doubles(l, BF_T_target_scale, 1);
    if (mean == NULL || scale == NULL || !bf_require(l, *scale > 0, BF_TENSOR)) return 0;
    l->forest->target_mean = *mean;
    l->forest->target_scale = *scale;
    return 1;
}

/* A level that is a number; NaN if no double is equal to it, text is then not a way to write one either. */
static double bf_parse_number(const char* text) {
    char digits[512], *end;
    const size_t n = strlen(text);
    double value;
    if (n == 0 || n > 400 || strspn(text, "0123456789+-.eE") != n) return INFINITY;
    memcpy(digits, text, n + 1);
    if (strchr(digits, '.') != NULL) *strchr(digits, '.') = *localeconv()->decimal_point;
    value = strtod(digits, &end);
    if (*end != 0) return INFINITY;
    if (strspn(text, "-0123456789") < n) return value;
    if (isfinite(value)) snprintf(digits, sizeof digits, "%.0f", value);
    return isfinite(value) && (strcmp(digits, text) == 0 || value == 0) ? value : NAN;
}

static int bf_read_levels(bf_loader* l, int64_t first, int64_t n, int is_text, const int64_t* ends, bf_column* column) {
    const uint8_t* from = l->tensors[BF_T_level_text].data.at;
    const char** texts = (const char**)bf_take(l, &l->kept, (uint64_t)n, sizeof(char*));
    double* numbers = (double*)bf_take(l, &l->kept, (uint64_t)n, sizeof(double));
    int64_t i;
    for (i = first; i < first + n && l->status == BF_OK; ++i) {
        const int64_t begin = i > 0 ? ends[i - 1] : 0, size = ends[i] - begin;
        char* text = (char*)bf_take(l, &l->kept, (uint64_t)size + 1, 1);
        if (text == NULL) return 0;
        memcpy(text, from + begin, (size_t)size);
        if (!bf_require(l, strlen(text) == (size_t)size, BF_ZERO_IN_TEXT)) return 0;
        texts[i - first] = text;
        numbers[i - first] = is_text ? 0 : bf_parse_number(text);
        if (!bf_require(l, !isinf(numbers[i - first]), BF_TABLE)) return 0;
        if (is_text && i > first && !bf_require(l, strcmp(texts[i - first - 1], text) < 0, BF_TABLE)) return 0;
    }
    column->texts = texts;
    column->numbers = is_text ? NULL : numbers;
    return l->status == BF_OK;
}

static int bf_read_columns(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->tensors[BF_T_column_kind].n, n_levels = l->tensors[BF_T_level_end].n,
                   n_means = l->tensors[BF_T_level_means].n;
    const uint8_t* kind = (const uint8_t*)bf_array(l, BF_T_column_kind, BF_U8, n);
    const uint8_t* missing = (const uint8_t*)bf_array(l, BF_T_level_missing, BF_BOOL, n);
    const uint8_t* is_text = (const uint8_t*)bf_array(l, BF_T_level_is_text, BF_BOOL, n);
    const int64_t* start = bf_ends(l, BF_T_level_start, n, 1, 0, n_levels);
    const int64_t* ends = bf_ends(l, BF_T_level_end, n_levels, 0, 0, l->tensors[BF_T_level_text].n);
    const double* means = bf_doubles(l, BF_T_level_means, n_means);
    const uint64_t n_basis = l->tensors[BF_T_class_basis].n;
    const int64_t n_targets = n_basis > 0 ? (int64_t)(n_basis / (uint64_t)f->n_outputs) : f->n_outputs;
    const int is_right =
        n_targets > 0 && n_targets < INT32_MAX && n_basis % (uint64_t)f->n_outputs == 0 && n < INT32_MAX;
    bf_column* columns = (bf_column*)bf_take(l, &l->kept, n, sizeof(bf_column));
    int64_t j, k = 0, at = 0;
    if (l->status != BF_OK || !bf_require(l, is_right && l->tensors[BF_T_level_text].type == BF_U8, BF_TABLE)) return 0;
    for (j = 0; j < (int64_t)n; ++j) {
        const int64_t n_known = start[j + 1] - start[j], levels = n_known + missing[j];
        const int is_category = kind[j] >= BF_ONE_HOT;
        if (!bf_require(l, kind[j] <= BF_MEANS || kind[j] > 6, BF_COLUMNS))
            return 0; /* 4 to 6: dates, text, left out */
        if (!bf_require(
                l,
                kind[j] <= BF_MEANS && missing[j] <= 1 && is_category == (levels > 0) && (!is_text[j] || n_known > 0),
                BF_TABLE))
            return 0;
        if (!bf_require(l, levels < INT32_MAX, BF_TOO_LARGE)) return 0;
        columns[j].kind = kind[j];
        columns[j].n_levels = (int32_t)levels;
        columns[j].missing = missing[j];
        columns[j].n_features = kind[j] == BF_MEANS     ? (int32_t)n_targets
                                : kind[j] == BF_ONE_HOT ? (int32_t)(levels == 2 ? 1 : levels)
                                                        : 1 + kind[j];
        if (kind[j] == BF_MEANS) {
            if (!bf_require(l, levels * n_targets <= (int64_t)n_means - at, BF_TABLE)) return 0;
            columns[j].means = means + at;
            at += levels * n_targets;
        }
        k += columns[j].n_features;
        if (is_category && !bf_read_levels(l, start[j], n_known, is_text[j], ends, &columns[j])) return 0;
    }
    f->columns = columns;
    f->n_columns = (int32_t)n;
    return bf_require(l, k == f->n_features && at == (int64_t)n_means, BF_TABLE);
}

static int bf_read_table(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->tensors[BF_T_feature_mean].n, n_seen = l->tensors[BF_T_model_features].n;
    bf_span names = bf_field(l, "feature_names"), name;
    const int has_names = bf_char(&names, '[');
    const char** texts;
    uint64_t i, said = 0;
    if (!bf_require(l, n > 0, BF_TENSOR) || !bf_require(l, n < INT32_MAX, BF_TOO_LARGE)) return 0;
    f->n_features = f->n_columns = f->n_seen = (int32_t)n;
    f->mean = bf_doubles(l, BF_T_feature_mean, n);
    f->scale = bf_doubles(l, BF_T_feature_scale, n);
    if (l->tensors[BF_T_fill].data.at != NULL && bf_require(l, n <= 256, BF_TABLE))
        f->fill = bf_doubles(l, BF_T_fill, n * (n + 1));
    if (l->tensors[BF_T_model_features].data.at != NULL) {
        const int32_t* seen = f->seen = (const int32_t*)bf_array(l, BF_T_model_features, BF_I32, n_seen);
        for (i = 0; seen != NULL && i < n_seen; ++i)
            bf_require(l, seen[i] > (i > 0 ? seen[i - 1] : -1) && (uint64_t)seen[i] < n, BF_TABLE);
        f->n_seen = (int32_t)n_seen;
    }
    if (l->tensors[BF_T_column_kind].data.at != NULL) bf_read_columns(l);
    for (i = 0; l->status == BF_OK && i < n; ++i) bf_require(l, f->scale[i] > 0, BF_TENSOR);
    texts = (const char**)bf_take(l, &l->kept, (uint64_t)f->n_columns, sizeof(char*));
    for (i = 0; i < (uint64_t)f->n_columns && l->status == BF_OK; ++i) {
        char* own = (char*)bf_take(l, &l->kept, 16, 1);
        if (own != NULL) snprintf(own, 16, "x%d", (int)i);
        texts[i] = own;
        if (!has_names || (i > 0 && !bf_require(l, bf_char(&names, ','), BF_TABLE))) continue;
        name = bf_text(l, bf_value(&names), &l->kept);
        bf_require(l, name.at != NULL, BF_TABLE);
        texts[i] = (const char*)name.at;
    }
    f->column_names = texts;
    return bf_require(l,
                      bf_count(bf_field(l, "n_features"), &said) && said == (uint64_t)f->n_columns &&
                          (!has_names || bf_char(&names, ']')),
                      BF_TABLE) &&
           l->status == BF_OK;
}

static int bf_read_results(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->tensors[BF_T_stage_end].data.at == NULL ? 1 : l->tensors[BF_T_stage_end].n;
    const uint64_t n_trees = (uint64_t)f->n_trees, n_knots = l->tensors[BF_T_knot_x].n;
    const int64_t* knot_start;
    int64_t *ends = NULL, *units;
    double *steps = NULL, *knots;
    int32_t* counts;
    uint64_t i, k;
    units = (int64_t*)bf_take(l, &l->kept, n, sizeof(int64_t));
    if (l->tensors[BF_T_stage_end].data.at != NULL) {
        f->stage_end = bf_ends(l, BF_T_stage_end, n, 0, 1, n_trees);
        f->stage_step = bf_doubles(l, BF_T_stage_step, n);
    } else {
        ends = (int64_t*)bf_take(l, &l->kept, 1, sizeof(int64_t));
        steps = (double*)bf_take(l, &l->kept, 1, sizeof(double));
        if (ends != NULL && steps != NULL) *ends = (int64_t)n_trees, *steps = 1;
        f->stage_end = ends;
        f->stage_step = steps;
    }
    f->n_stages = (int32_t)n;
    f->stage_units =
        l->tensors[BF_T_stage_units].data.at == NULL ? units : (const int64_t*)bf_array(l, BF_T_stage_units, BF_I64, n);
    for (i = 0; i < n && l->status == BF_OK; ++i) {
        const int64_t n_own = f->stage_end[i] - (i > 0 ? f->stage_end[i - 1] : 0);
        if (f->stage_units == units) units[i] = n_own;
        bf_require(l, f->stage_units[i] > 0 && f->stage_units[i] <= n_own && f->stage_step[i] >= 0, BF_STAGES);
    }
    if (l->tensors[BF_T_calibration_factor].data.at != NULL) {
        const double* factor = bf_doubles(l, BF_T_calibration_factor, 1);
        if (factor != NULL && bf_require(l, *factor > 0, BF_STAGES)) f->factor = *factor;
    }
    if (l->tensors[BF_T_knot_start].data.at != NULL && f->n_classes > 0) {
        const double *x = bf_doubles(l, BF_T_knot_x, n_knots), *y = bf_doubles(l, BF_T_knot_y, n_knots);
        knot_start = bf_ends(l, BF_T_knot_start, (uint64_t)f->n_outputs, 1, 1, n_knots);
        knots = (double*)bf_take(l, &l->kept, 2 * n_knots, sizeof(double));
        counts = (int32_t*)bf_take(l, &l->kept, (uint64_t)f->n_outputs, sizeof(int32_t));
        for (i = 0; i < (uint64_t)f->n_outputs && l->status == BF_OK; ++i) {
            const uint64_t first = (uint64_t)knot_start[i], own = (uint64_t)knot_start[i + 1] - first;
            for (k = first; k < first + own; ++k) {
                bf_require(l, y[k] > 0 && y[k] < 1 && (k == first || (x[k - 1] <= x[k] && y[k - 1] <= y[k])),
                           BF_STAGES);
                knots[first + k] = x[k];
                knots[first + k + own] = y[k];
            }
            counts[i] = (int32_t)own;
        }
        f->knots = knots;
        f->n_knots = counts;
    }
    return l->status == BF_OK;
}

static int bf_read_intervals(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->tensors[BF_T_residuals].n, n_bytes = (n + 7) / 8, n_trees = (uint64_t)f->n_trees;
    int64_t *rows, t, row = 0, first;
    const uint8_t* seeds;
    int32_t stage;
    uint64_t i;
    if (l->tensors[BF_T_residuals].data.at == NULL || f->n_classes > 0) return 1;
    if (!bf_require(l, n < INT32_MAX, BF_TOO_LARGE)) return 0;
    f->residuals = bf_doubles(l, BF_T_residuals, n);
    seeds = (const uint8_t*)bf_array(l, BF_T_tree_seeds, BF_U64, n_trees);
    f->absent = (const uint8_t*)bf_array(l, BF_T_absent, BF_U8, n_trees * n_bytes);
    if (l->tensors[BF_T_residual_weight].data.at != NULL) f->residual_weight = bf_doubles(l, BF_T_residual_weight, n);
    rows = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t));
    for (i = 0; i < n && l->status == BF_OK; ++i)
        bf_require(l, f->residuals[i] >= 0 && (f->residual_weight == NULL || f->residual_weight[i] > 0), BF_STAGES);
    for (t = 0, stage = 0; stage < f->n_stages && l->status == BF_OK; ++stage)
        for (first = t; t < f->stage_end[stage]; ++t, ++row) {
            const int is_bag = f->stage_units[stage] < f->stage_end[stage] - first;
            rows[t] = is_bag && t > first && memcmp(seeds + 8 * t, seeds + 8 * (t - 1), 8) == 0 ? -1 : row;
        }
    f->absent_row = rows;
    f->n_residuals = (int32_t)n;
    return l->status == BF_OK;
}

static int bf_read_file(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    uint64_t length = 0, version = 0;
    if (n_bytes >= 8) length = bf_bits(bytes, 8);
    if (!bf_require(l, n_bytes > 8 && length <= n_bytes - 8 && length <= 1 << 24, BF_NOT_A_MODEL)) return 0;
    l->header.at = bytes + 8;
    l->header.n = (size_t)length;
    l->data.at = bytes + 8 + length;
    l->data.n = n_bytes - 8 - (size_t)length;
    l->metadata = bf_get(l->header, "__metadata__", NULL);
    if (!bf_require(l, bf_is(bf_field(l, "format"), "boostforest"), BF_NOT_A_MODEL)) return 0;
    if (!bf_require(l, bf_count(bf_field(l, "format_version"), &version) && version > 0, BF_HEADER)) return 0;
    if (!bf_require(l, version <= 4, BF_NEWER)) return 0;
    if (!bf_require(l, bf_check_seal(bf_get(l->metadata, "sha256", NULL), bytes, n_bytes), BF_CHECKSUM)) return 0;
    l->forest = (bf_forest*)bf_take(l, &l->kept, 1, sizeof(bf_forest));
    return l->forest != NULL && bf_read_entries(l) && bf_read_target(l) && bf_read_table(l) && bf_read_trees(l) &&
           bf_read_results(l) && bf_read_intervals(l);
}

BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status) {
    bf_loader l;
    memset(&l, 0, sizeof l);
    if (!bf_read_file(&l, (const uint8_t*)bytes, n_bytes)) {
        bf_free(l.kept);
        l.kept = NULL;
        l.forest = NULL;
    }
    bf_free(l.scratch);
    if (l.forest != NULL) l.forest->memory = l.kept;
    if (status != NULL) *status = l.status;
    return l.forest;
}

BF_API bf_forest* bf_open(const char* path, int* status) {
    FILE* file = fopen(path, "rb");
    size_t n = 0, room = 1 << 16, got = 0;
    uint8_t *bytes = NULL, *more = NULL;
    bf_forest* forest = NULL;
    int failed = file == NULL ? (int)BF_NO_FILE : (int)BF_OK;
    while (failed == BF_OK && (n == 0 || got > 0)) {
        more = (uint8_t*)realloc(bytes, room *= 2);
        if (more == NULL) {
            failed = BF_NO_MEMORY;
            break;
        }
        bytes = more;
        got = fread(bytes + n, 1, room - n, file);
        n += got;
        if (ferror(file)) failed = BF_NO_FILE;
        if (n == 0) break;
    }
    if (file != NULL) fclose(file);
    if (failed == BF_OK) forest = bf_load(bytes, n, &failed);
    free(bytes);
    if (status != NULL) *status = failed;
    return forest;
}

BF_API void bf_close(bf_forest* forest) {
    if (forest != NULL) bf_free((bf_block*)forest->memory);
}
#endif

#endif
