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
 * boostforest_files.h, which lies beside this file and is included by it, reads files; tables do not need it.
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
    const int8_t *i8, *exponent; /* whole numbers, per model and output in units of 2 to this power */
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
    int32_t low = 0, high = c == NULL || c->texts == NULL ? 0 : c->n_levels - c->missing;
    if (text == NULL) return c != NULL && c->missing ? c->n_levels - 1 : NAN;
    for (; low < high && c->numbers != NULL; ++low) /* text of numbers has another order */
        if (strcmp(text, c->texts[low]) == 0) return low;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const int order = strcmp(text, c->texts[middle]);
        if (order == 0) return middle;
        low = order < 0 ? low : middle + 1;
        high = order < 0 ? middle : high;
    }
    return NAN;
}

BF_API double bf_number_level(const bf_forest* forest, int32_t column, double number) {
    const bf_column* c = bf_category_at(forest, column);
    if (c != NULL && c->missing && isnan(number)) return c->n_levels - 1;
    for (int32_t k = 0; c != NULL && c->numbers != NULL && k < c->n_levels - c->missing; ++k)
        if (number == c->numbers[k]) return k;
    return NAN;
}

/* --------------------------------------------------------------------------------------------- from row to features */

static inline int bf_features(const bf_forest* forest, const double* row, double* x) {
    int32_t k = 0;
    for (int32_t j = 0; j < forest->n_columns; ++j) {
        const bf_column* c = bf_category_at(forest, j);
        const double value = row[j];
        if (c == NULL) {
            if (isinf(value)) return BF_INFINITE;
            x[k++] = value;
            if (forest->columns != NULL && forest->columns[j].kind == BF_NUMBER_AND_MARK) x[k++] = isnan(value) ? 1 : 0;
            continue;
        }
        if (!isnan(value) && !(value >= 0 && value < c->n_levels && floor(value) == value)) return BF_CATEGORY;
        for (int32_t i = 0; i < c->n_features; ++i) {
            if (isnan(value))
                x[k++] = NAN;
            else if (c->kind == BF_MEANS)
                x[k++] = c->means[(int64_t)value * c->n_features + i];
            else /* of two levels the second */
                x[k++] = value == i + (c->n_levels == 2) ? 1 : 0;
        }
    }
    for (k = 0; k < forest->n_features; ++k) x[k] = (x[k] - forest->mean[k]) / forest->scale[k];
    return BF_OK;
}

/* Expected values of what is missing, given the rest, under a normal distribution with centre c and precision P:
 * P_mm (x_m - c_m) = -P_mk (x_k - c_k), by Cholesky's factors. factor: n_features squared, rhs: n_features values. */
static inline void bf_expected(const bf_forest* forest, double* x, double* factor, double* rhs, double* number) {
    const int32_t d = forest->n_features;
    const double *centre = forest->fill, *precision = forest->fill + d;
    int32_t n = 0, is_positive = 1;
    for (int32_t a = 0; a < d; ++a)
        if (isnan(x[a])) number[n++] = a;
    for (int32_t a = 0; a < n; ++a) {
        const double* row = precision + (int64_t)number[a] * d;
        double total = 0;
        for (int32_t b = 0; b < d; ++b) total -= isnan(x[b]) ? 0 : row[b] * (x[b] - centre[b]);
        for (int32_t b = 0; b <= a; ++b) {
            double value = row[(int32_t)number[b]];
            for (int32_t c = 0; c < b; ++c) value -= factor[a * d + c] * factor[b * d + c];
            is_positive &= a != b || value > 0;
            factor[a * d + b] = a == b ? sqrt(value) : value / factor[b * d + b];
        }
        for (int32_t b = 0; b < a; ++b) total -= factor[a * d + b] * rhs[b];
        rhs[a] = total / factor[a * d + a];
    }
    for (int32_t a = n - 1; a >= 0; --a) {
        for (int32_t b = a + 1; b < n; ++b) rhs[a] -= factor[b * d + a] * rhs[b];
        rhs[a] /= factor[a * d + a];
    }
    for (int32_t a = 0; a < n; ++a) { /* not a distribution: the centre */
        const int32_t j = (int32_t)number[a];
        x[j] = centre[j] + (is_positive ? rhs[a] : 0);
    }
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

/* Model number `model` of a tree (of all outputs of all its models). */
static inline double bf_model(const bf_forest* forest, int64_t tree, int64_t model, const double* x) {
    const bf_values* values = &forest->params;
    const int32_t n = forest->n_inputs[tree];
    const int64_t start = forest->first_param[tree] + model * (1 + (int64_t)n);
    double total, unit;
    int32_t j = 0;
    if (values->f64 != NULL) {
        BF_SUM(values->f64 + start);
    } else if (values->f32 != NULL) {
        BF_SUM(values->f32 + start);
    } else {
        const uint64_t bits = (uint64_t)(1023 + values->exponent[forest->first_model[tree] + model]) << 52;
        BF_SUM(values->i8 + start);
        memcpy(&unit, &bits, sizeof unit);
        total *= unit;
    }
    return total;
}

/* What node models of a tree see: some features, or the units of its hidden layer. */
static inline const double* bf_inputs(const bf_forest* forest, int64_t tree, const double* seen, double* units) {
    const int32_t n = forest->n_inputs[tree];
    if (forest->kind[tree] != BF_HIDDEN) return seen;
    const double* layer = forest->hidden + forest->first_hidden[tree];
    for (int32_t k = 0; k < n; ++k) units[k] = layer[k];
    for (int32_t j = 0; j < forest->n_seen; ++j)
        for (int32_t k = 0; k < n; ++k) units[k] += seen[j] * layer[(int64_t)(1 + j) * n + k];
    for (int32_t k = 0; k < n; ++k) units[k] = bf_sigmoid(units[k]);
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
    const int is_alone = forest->tree_start[tree + 1] - root == 1, sum_path = forest->sum_path[tree];
    int32_t node = 0;
    scores[0] = 0;
    for (;;) {
        double value;
        if (sum_path && (node > 0 || is_alone)) { /* a root that is split has no model */
            const double low = bf_range(&forest->lower, root + node), high = bf_range(&forest->upper, root + node);
            value = bf_model(forest, tree, is_alone ? 0 : node - 1, inputs);
            value = value < low ? low : value;
            scores[0] += value > high ? high : value;
        }
        if (feature[node] < 0) break;
        value = x[feature[node]];
        node = left[node] + !((value <= threshold[node]) | ((value != value) & missing_left[node]));
    }
    for (int32_t c = 0; c < forest->n_outputs && !sum_path; ++c)
        scores[c] = bf_model(forest, tree, (int64_t)left[node] * forest->n_outputs + c, inputs);
    return node;
}

/* ------------------------------------------------------------------------------------------- from scores to results */

static inline double bf_clip(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

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
    const double least = BF_LEAST_PROBABILITY;
    double mean = 0;
    if (forest->link == BF_LOG) p[0] = log(p[0] < BF_LEAST_OUTPUT ? BF_LEAST_OUTPUT : p[0]);
    if (forest->link == BF_SIGMOID) {
        const double value = bf_clip(p[0], least, 1 - least);
        p[0] = log(value / (1 - value));
    }
    if (forest->link != BF_SOFTMAX) return;
    for (int32_t c = 0; c < n; ++c) mean += p[c] = log(p[c] < least ? least : p[c]);
    for (int32_t c = 0; c < n; ++c) p[c] -= mean / n;
}

static inline void bf_calibrate(const bf_forest* forest, double* p) {
    const double* x = forest->knots;
    double total = 0;
    if (x == NULL) return;
    for (int32_t c = 0; c < forest->n_outputs; ++c) {
        const int32_t n = forest->n_knots[c];
        const double* y = x + n;
        int32_t k = 0;
        while (k < n && x[k] <= p[c]) ++k;
        if (k == 0 || k == n)
            p[c] = y[k == 0 ? 0 : n - 1];
        else
            p[c] = (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (p[c] - x[k - 1]) + y[k - 1];
        total += p[c];
        x = y + n;
    }
    for (int32_t c = 0; c < forest->n_outputs && forest->n_outputs > 1; ++c) p[c] /= total;
}

static inline double bf_in_units(const bf_forest* forest, double output) {
    if (forest->link == BF_LOG) return (output > 0 ? output : 0) * exp(forest->target_mean);
    if (forest->link == BF_EXP_OF_MEAN)
        return exp(bf_clip(output, -BF_LARGEST_LOG, BF_LARGEST_LOG)) * exp(forest->target_mean);
    return output * forest->target_scale + forest->target_mean;
}

/* Work memory: where its parts begin. */
typedef struct {
    double* work;
    size_t x, seen;                     /* rows: features with NaN, and what node models see */
    size_t filled, rhs, number, factor; /* one row */
    size_t units, one;                  /* one tree */
    size_t sums, scores;                /* rows: of a stage, of all stages */
    size_t end;
} bf_scratch;

static inline bf_scratch bf_parts(const bf_forest* forest, size_t n_rows, double* work) {
    const size_t d = (size_t)forest->n_features, n_outputs = (size_t)forest->n_outputs;
    const size_t n = n_rows < BF_ROWS ? n_rows : BF_ROWS;
    bf_scratch s;
    s.work = work, s.x = 0, s.seen = n * d;
    s.filled = s.seen + n * (size_t)forest->n_seen;
    s.rhs = s.filled + d, s.number = s.rhs + d, s.factor = s.number + d;
    s.units = s.factor + (forest->fill == NULL ? 0 : d * d);
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
    int is_missing = 0;
    if (status != BF_OK) return status;
    for (size_t j = 0; j < d; ++j) {
        is_missing |= isnan(x[j]) != 0;
        filled[j] = isnan(x[j]) && forest->fill == NULL ? 0 : x[j];
    }
    if (is_missing && forest->fill != NULL)
        bf_expected(forest, filled, s->work + s->factor, s->work + s->rhs, s->work + s->number);
    for (size_t j = 0; j < n_seen; ++j) seen[j] = filled[forest->seen == NULL ? j : (size_t)forest->seen[j]];
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
    return forest->n_stages == 1 && forest->stage_step[0] == 1 && forest->factor == 1 && forest->knots == NULL;
}

static inline void bf_finish(const bf_forest* forest, double* f, double* result) {
    const int32_t n_outputs = forest->n_outputs;
    if (!bf_is_plain(forest)) {
        for (int32_t c = 0; c < n_outputs; ++c) f[c] *= forest->factor;
        bf_outputs(forest, 0, f);
        bf_calibrate(forest, f);
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

static inline void bf_swap(double* values, int32_t i, int32_t j) {
    const double value = values[i];
    values[i] = values[j];
    values[j] = value;
}

/* Sorts values, and what goes with them, by a heap: in place, and quick whatever the order. */
static inline void bf_sort(double* value, double* with, int32_t n) {
    int32_t first = n / 2, last = n;
    while (last > 1) {
        if (first > 0)
            --first;
        else
            --last, bf_swap(value, 0, last), bf_swap(with, 0, last);
        for (int32_t at = first, child; (child = 2 * at + 1) < last; at = child) {
            if (child + 1 < last && value[child + 1] > value[child]) ++child;
            if (!(value[child] > value[at])) break;
            bf_swap(value, at, child), bf_swap(with, at, child);
        }
    }
}

/* The smallest error that so much of the weight does not exceed, a new row among it; infinite: too few to tell. */
static inline double bf_limit(const bf_forest* forest, double coverage, double* errors, double* weights) {
    const int32_t n = forest->n_residuals;
    double total = 0, squares = 0, held = 0, top = 0;
    int32_t i = 0;
    bf_sort(errors, weights, n);
    if (forest->residual_weight == NULL) {
        const double rank = ceil(coverage * (n + 1.0));
        return rank <= n ? errors[(int32_t)rank - 1] : INFINITY;
    }
    for (i = 0; i < n; ++i) top = weights[i] > top ? weights[i] : top;
    for (i = 0; i < n; ++i) total += weights[i] / top, squares += weights[i] / top * (weights[i] / top);
    const double share = coverage * (1 + squares / (total * total)) - 1e-12;
    for (i = 0; i < n - 1; ++i)
        if ((held += weights[i] / top) >= share * total) break;
    return share > 1 ? INFINITY : errors[i];
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
        for (int32_t i = 0; i < n; ++i) {
            total[i] = side == 0 ? forest->residuals[i] - centre[i] : centre[i] + forest->residuals[i];
            count[i] = forest->residual_weight == NULL ? 1 : forest->residual_weight[i];
        }
        const double limit = bf_limit(forest, coverage, total, count);
        ends[side] = bf_in_units(forest, side == 0 ? -limit : limit);
    }
    return BF_OK;
}

#ifndef BOOSTFOREST_NO_FILES
#include "boostforest_files.h"
#endif

#endif
