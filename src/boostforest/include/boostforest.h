/* boostforest.h: trees and forests of boostforest in C99, with nothing but the standard library.
 *
 * ONE source file defines BOOSTFOREST_IMPLEMENTATION before it includes this one; others include it alone. A model
 * comes from a file or from bytes in memory, which are checked, or from tables that are compiled in (`boostforest
 * export model.bf --to c` writes them, with a copy of this file). Memory is taken while a model is loaded, and never
 * afterwards. Threads may share a model, each with work memory of its own; docs/deploy.md has an example.
 *
 * Compile without options that change arithmetic, such as -ffast-math: missing values are NaN. BOOSTFOREST_STATIC makes
 * all functions static, BOOSTFOREST_NO_FILES leaves out what loads files (and malloc). */
#ifndef BOOSTFOREST_H
#define BOOSTFOREST_H

#include <stddef.h>
#include <stdint.h>

#if defined(BOOSTFOREST_STATIC)
#define BF_API static inline
#elif defined(__cplusplus)
#define BF_API extern "C"
#else
#define BF_API extern
#endif

/* Of rows; of files; and what files may have that this header does not know. bf_error has a text for each. */
enum { BF_OK = 0, BF_INFINITE = 1, BF_CATEGORY = 2, BF_NO_INTERVALS = 3, BF_COVERAGE = 4, BF_WIDTH = 5 };
enum { BF_NO_FILE = 10, BF_NO_MEMORY = 11, BF_NOT_A_MODEL = 12, BF_NEWER = 13, BF_CHECKSUM = 14, BF_HEADER = 15 };
enum { BF_DAMAGED = 16, BF_NETWORKS = 30, BF_CONSTRAINTS = 31, BF_LOSS = 32, BF_TOO_LARGE = 33, BF_ZERO_IN_TEXT = 34 };
enum { BF_COLUMNS = 35, BF_TARGETS = 36 };
enum bf_column_kind { BF_NUMBER = 0, BF_NUMBER_AND_MARK = 1, BF_ONE_HOT = 2, BF_MEANS = 3, BF_MEANS_AND_ORDERS = 7 };
/* BF_EXP_OF_MEAN: scores are averaged, and the prediction is e to the power of their mean. */
enum bf_link { BF_IDENTITY = 0, BF_LOG = 1, BF_SIGMOID = 2, BF_SOFTMAX = 3, BF_EXP_OF_MEAN = 4 };

/* A model. Arrays have the names of the tensors in docs/dev/format.md; those that need not be there may be NULL. */
typedef struct {
    /* the table */
    int32_t n_columns, n_features, n_means, n_seen; /* n_seen: features that node models see */
    const char* const* column_names;
    const uint8_t* column_kind;                   /* enum bf_column_kind; NULL: every column is a feature as it is */
    const int64_t* level_start;                   /* per column: its first level; then their number */
    const uint8_t *level_missing, *level_is_text; /* per column: 1 if missing ones are a level, behind the others */
    const char* const* level_names;               /* UTF-8 */
    const double* level_means;                    /* n_means for each level of a column of means; orders are 3 more */
    const double *feature_mean, *feature_scale;
    const double* fill; /* centre and precision of a normal distribution; NULL: the mean replaces missing values */
    const int32_t* model_features; /* that node models see; NULL: all */
    /* the trees, nodes of all of them one after another */
    int32_t n_trees, n_outputs, most_inputs;
    const int64_t* tree_start;   /* per tree: its first node; then their number */
    const int32_t* n_inputs;     /* per tree: slopes of a model */
    const int64_t* hidden_start; /* per tree: its hidden layer, biases and then weights by feature; then their number */
    const double* hidden;        /* NULL: no tree has one */
    const int32_t* feature;      /* per node: split feature, -1 for a leaf */
    const int32_t* left;         /* per node: left child, counted from the root; the right one is behind it */
    const double* threshold;     /* per node: x <= threshold goes left */
    const uint8_t* missing_left; /* per node: 1 where a missing value goes left */
    const int64_t* param_start;  /* per node: first coefficient of its model, -1 for none */
    const double *lower, *upper; /* per node: what the model is kept within; NULL: nothing */
    const double* params;        /* of each model: intercept and slopes, for each output */
    const float* params_f32;     /* the same in fewer digits, if params is NULL */
    /* from scores to predictions */
    int32_t link, n_classes, n_stages, is_plain; /* enum bf_link; is_plain: the mean of trees is what is predicted */
    const char* const* class_names;
    const int64_t *stage_end, *stage_units; /* per stage: trees up to its end, and what their sum is divided by */
    const double* stage_step;               /* per stage: what it counts */
    const int64_t* knot_start; /* per output: first corner of the line that calibrates it; then their number */
    const double *knot_x, *knot_y;
    double factor, target_mean, target_scale; /* factor: of scores, by calibration */
    /* intervals: errors of training rows, and which trees have not drawn these rows */
    int32_t n_residuals; /* 0: there are none */
    const double *residuals, *residual_weight;
    const uint64_t* tree_seeds; /* per tree: the same for those of a bag, which have drawn the same rows */
    const uint8_t* absent;      /* per tree: (n_residuals + 7) / 8 bytes, the highest bit first */
    void* memory;               /* that bf_close gives back; NULL for tables */
} bf_forest;

#ifndef BOOSTFOREST_NO_FILES
/* A model from a file, or from its bytes in memory, which are not needed afterwards; NULL: see *status. */
BF_API bf_forest* bf_open(const char* path, int* status);
BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status);
BF_API void bf_close(bf_forest* forest); /* NULL is nothing */
#endif
BF_API const char* bf_error(int status);              /* one sentence */
BF_API int32_t bf_n_results(const bf_forest* forest); /* 1 in regression, otherwise the number of classes */
/* Number of the level of a category, given its text; NULL is a missing one. NaN: unknown. Infinite: no such column. */
BF_API double bf_text_level(const bf_forest* forest, int32_t column, const char* text);
/* The same for a category that is a number, if a double is equal to it (else by its digits as text). */
BF_API double bf_number_level(const bf_forest* forest, int32_t column, double number);
BF_API size_t bf_work(const bf_forest* forest, size_t n_rows); /* doubles of memory that so many rows at once need */
/* Predicts one row, a value per column, NaN for a missing number: the target, or the probability of each class. */
BF_API int bf_predict(const bf_forest* forest, const double* row, size_t n_columns, double* result, double* work);
/* Predicts rows, one behind the other; after an error *n_done (unless NULL) is the row that it is about. */
BF_API int bf_predict_rows(const bf_forest* forest, const double* rows, size_t n_rows, size_t n_columns,
                           double* results, double* work, size_t* n_done);
/* The leaf of each tree; lower and upper end of an interval that holds the target so often. */
BF_API int bf_apply(const bf_forest* forest, const double* row, size_t n_columns, int32_t* leaves, double* work);
BF_API int bf_interval(const bf_forest* forest, const double* row, size_t n_columns, double coverage, double* ends,
                       double* work);
#endif
#if defined(BOOSTFOREST_IMPLEMENTATION) && !defined(BOOSTFOREST_IMPLEMENTED)
#define BOOSTFOREST_IMPLEMENTED
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BF_ROWS 256 /* that go through a tree together */

BF_API const char* bf_error(int status) {
    switch (status) {
        case BF_OK: return "no error";
        case BF_INFINITE: return "a value of the row is infinite, or a level of a column of numbers";
        case BF_CATEGORY: return "a category is not the number of a level: see bf_text_level and bf_number_level";
        case BF_NO_INTERVALS: return "the model has no intervals: fit a regressor with oob_score=True, and save it";
        case BF_COVERAGE: return "coverage must be above 0 and below 1";
        case BF_WIDTH: return "a row must have a value for each column of the model";
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

BF_API int32_t bf_n_results(const bf_forest* f) {
    return f->n_classes > 0 ? f->n_classes : 1;
}
/* Levels of a category, with or without that of missing ones; 0 for numbers. */
static inline int32_t bf_levels(const bf_forest* f, int32_t column, int with_missing) {
    if (f->column_kind == NULL || column < 0 || column >= f->n_columns || f->column_kind[column] < BF_ONE_HOT) return 0;
    return (int32_t)(f->level_start[column + 1] - f->level_start[column]) + (with_missing && f->level_missing[column]);
}

BF_API double bf_text_level(const bf_forest* f, int32_t column, const char* text) {
    const int32_t n = bf_levels(f, column, 0);
    for (int32_t k = 0; text != NULL && k < n; ++k)
        if (strcmp(text, f->level_names[f->level_start[column] + k]) == 0) return k;
    return bf_levels(f, column, 1) == 0 ? INFINITY : text == NULL && bf_levels(f, column, 1) > n ? n : NAN;
}
/* A number as in Python, with as few digits as give the same one; whole: as an integer. */
static inline void bf_print(double number, int whole, char out[512]) {
    int digits = 0;
    do snprintf(out, 512, "%.*g", ++digits, number);
    while (digits < 17 && strtod(out, NULL) != number);
    if (floor(number) == number && (whole || fabs(number) < 1e16)) snprintf(out, 512, "%.*f", !whole, number);
    if (strchr(out, *localeconv()->decimal_point) != NULL) *strchr(out, *localeconv()->decimal_point) = '.';
}

BF_API double bf_number_level(const bf_forest* f, int32_t column, double number) {
    const int is_text = bf_levels(f, column, 0) > 0 && f->level_is_text[column];
    double level = is_text && !isnan(number) ? INFINITY : bf_text_level(f, column, isnan(number) ? NULL : "");
    char text[512];
    for (int whole = 0; whole < 2 && isfinite(number) && isnan(level); ++whole) /* 2 may be 2.0, and -0.0 is 0.0 */
        bf_print(number + 0.0, whole, text), level = bf_text_level(f, column, text);
    return level;
}
/* Where row i is in work memory: features, what node models see, sums over a stage and over all. Before the rows:
 * scores of a tree, units of its hidden layer, features without gaps, and the equations that fill these. */
static inline size_t bf_row(const bf_forest* f, size_t i) {
    const size_t d = f->n_features, before = f->n_outputs + f->most_inputs + d + (f->fill == NULL ? 0 : d * (d + 1));
    return before + i * (d + f->n_seen + 2 * f->n_outputs);
}

BF_API size_t bf_work(const bf_forest* f, size_t n_rows) { /* behind the rows: what intervals need */
    return bf_row(f, n_rows < BF_ROWS ? n_rows : BF_ROWS) + 3 * (size_t)f->n_residuals;
}
/* Expected values of what is missing, given the rest, under a normal distribution with centre c and precision P:
 * P_mm (x_m - c_m) = -P_mk (x_k - c_k), by elimination. equations: d (d + 1) values, d = n_features. */
static inline void bf_expected(const bf_forest* f, double* x, double* equations) {
    const int32_t d = f->n_features;
    const double *centre = f->fill, *precision = f->fill + d;
    int is_positive = 1;
    for (int32_t a = 0; a < d; ++a) {
        double* own = equations + a * (d + 1);
        if (!isnan(x[a])) continue;
        memcpy(own, precision + a * d, d * sizeof *own);
        own[d] = 0;
        for (int32_t k = 0; k < d; ++k) own[d] -= isnan(x[k]) ? 0 : own[k] * (x[k] - centre[k]);
    }
    for (int32_t a = 0; a < d; ++a) {
        const double* own = equations + a * (d + 1);
        if (!isnan(x[a])) continue;
        is_positive &= own[a] > 0;
        for (int32_t b = 0; b < d; ++b) {
            double* other = equations + b * (d + 1);
            const double factor = b == a || !isnan(x[b]) ? 0 : other[a] / own[a];
            for (int32_t c = a; c <= d && factor != 0; ++c) other[c] -= factor * own[c];
        }
    }
    for (int32_t a = 0; a < d; ++a) /* not a distribution: the centre */
        if (isnan(x[a])) x[a] = centre[a] + (is_positive ? equations[a * (d + 1) + d] / equations[a * (d + 2)] : 0);
}
#define BF_N_MEANS(f, kind) ((kind) < BF_MEANS ? 0 : (f)->n_means + ((kind) > BF_MEANS ? 3 : 0)) /* and orders */
/* Makes row i of work memory of a row of the table. */
static inline int bf_read_row(const bf_forest* f, const double* row, size_t n_columns, size_t i, double* work) {
    double *x = work + bf_row(f, i), *to = x, *filled = work + f->n_outputs + f->most_inputs;
    const double* means = f->level_means;
    if (n_columns != (size_t)f->n_columns) return BF_WIDTH;
    for (int32_t j = 0; j < f->n_columns; ++j) {
        const int kind = f->column_kind != NULL ? f->column_kind[j] : (int)BF_NUMBER;
        const int32_t n_levels = bf_levels(f, j, 1), n_means = BF_N_MEANS(f, kind);
        const double value = row[j];
        const int is_level = isnan(value) || (value >= 0 && value < n_levels && floor(value) == value);
        if (kind < BF_ONE_HOT ? isinf(value) : !is_level) return kind < BF_ONE_HOT ? BF_INFINITE : BF_CATEGORY;
        if (kind < BF_ONE_HOT) *to++ = value;
        if (kind == BF_NUMBER_AND_MARK) *to++ = isnan(value) ? 1 : 0;
        for (int32_t k = n_levels == 2; k < n_levels && kind == BF_ONE_HOT; ++k) /* of two levels the second */
            *to++ = isnan(value) ? NAN : value == k;
        for (int32_t k = 0; k < n_means; ++k) *to++ = isnan(value) ? NAN : means[(int64_t)value * n_means + k];
        if (n_means > 0) means += (int64_t)n_levels * n_means;
    }
    for (int32_t k = 0; k < f->n_features; ++k) {
        x[k] = (x[k] - f->feature_mean[k]) / f->feature_scale[k];
        filled[k] = isnan(x[k]) && f->fill == NULL ? 0 : x[k];
    }
    if (f->fill != NULL) bf_expected(f, filled, filled + f->n_features);
    for (int32_t k = 0; k < f->n_seen; ++k) *to++ = filled[f->model_features == NULL ? k : f->model_features[k]];
    return BF_OK;
}

static inline double bf_clip(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

static inline double bf_sigmoid(double score) {
    const double e = exp(score < 0 ? score : -score); /* cannot overflow */
    return (score < 0 ? e : 1.0) / (1.0 + e);
}
/* The model whose coefficients begin at `start`: intercept and n slopes. */
static inline double bf_model(const bf_forest* f, int64_t start, int32_t n, const double* x) {
    const double* p = f->params;
    const float* q = f->params_f32;
    double sum = p != NULL ? p[start] : q[start];
    for (int32_t j = 0; j < n && p != NULL; ++j) sum += p[start + 1 + j] * x[j];
    for (int32_t j = 0; j < n && p == NULL; ++j) sum += q[start + 1 + j] * x[j];
    return sum;
}
/* Scores of a row by one tree, sums of the models on its path: x has the features, and behind them what node models
 * see. Behind the scores is room for the units of a hidden layer. Returns the leaf. */
static inline int32_t bf_tree(const bf_forest* f, int64_t tree, const double* x, double* scores) {
    const int64_t root = f->tree_start[tree];
    const int32_t n = f->n_inputs[tree], n_outputs = f->n_outputs;
    const double *seen = x + f->n_features, *layer = f->hidden;
    double* units = scores + n_outputs;
    if (layer != NULL && f->hidden_start[tree + 1] > f->hidden_start[tree]) {
        memcpy(units, layer += f->hidden_start[tree], n * sizeof *units);
        for (int32_t j = 0; j < f->n_seen; ++j)
            for (int32_t k = 0; k < n; ++k) units[k] += seen[j] * layer[(int64_t)(1 + j) * n + k];
        for (int32_t k = 0; k < n; ++k) units[k] = bf_sigmoid(units[k]);
        seen = units;
    }
    for (int32_t c = 0; c < n_outputs; ++c) scores[c] = 0;
    for (int64_t node = root;;) {
        const int64_t start = f->param_start[node];
        for (int32_t c = 0; c < n_outputs && start >= 0; ++c) {
            const double value = bf_model(f, start + c * (int64_t)(1 + n), n, seen);
            scores[c] += f->lower == NULL ? value : bf_clip(value, f->lower[node], f->upper[node]);
        }
        if (f->feature[node] < 0) return (int32_t)(node - root);
        const double value = x[f->feature[node]];
        const int goes_left = (value <= f->threshold[node]) | ((value != value) & f->missing_left[node]);
        node = root + f->left[node] + !goes_left;
    }
}
/* What scores stand for, and a forest averages; largest: beyond it a score on a log scale counts as that. */
static inline void bf_outputs(const bf_forest* f, double largest, double* s) {
    double top = s[0], total = 0;
    if (f->link == BF_LOG) s[0] = exp(bf_clip(s[0], -largest, largest));
    if (f->link == BF_SIGMOID) s[0] = bf_sigmoid(s[0]);
    if (f->link != BF_SOFTMAX) return;
    for (int32_t c = 1; c < f->n_outputs; ++c) top = s[c] > top ? s[c] : top;
    for (int32_t c = 0; c < f->n_outputs; ++c) total += s[c] = exp(s[c] - top);
    for (int32_t c = 0; c < f->n_outputs; ++c) s[c] /= total;
}
/* Adds what a stage gives to scores: its sums over n trees or bags, of which the first stage has outputs. */
static inline void bf_add_stage(const bf_forest* f, int32_t stage, double n, double* sums, double* scores) {
    const int has_outputs = stage == 0 && !f->is_plain; /* then the scores that their mean stands for */
    double mean = 0;
    for (int32_t c = 0; c < f->n_outputs; ++c) {
        double value = sums[c] / n;
        const double p = bf_clip(value, 1e-3, f->link == BF_SIGMOID ? 1 - 1e-3 : 1);
        if (has_outputs && f->link == BF_LOG) value = log(value < 1e-9 ? 1e-9 : value);
        if (has_outputs && f->link == BF_SIGMOID) value = log(p / (1 - p));
        if (has_outputs && f->link == BF_SOFTMAX) mean += value = log(p);
        sums[c] = value;
    }
    for (int32_t c = 0; c < f->n_outputs; ++c)
        scores[c] = (stage > 0 ? scores[c] : 0) + f->stage_step[stage] * (sums[c] - mean / f->n_outputs);
}

static inline double bf_in_units(const bf_forest* f, double output) {
    if (f->link == BF_EXP_OF_MEAN) output = exp(bf_clip(output, -230, 230));
    if (f->link == BF_LOG || f->link == BF_EXP_OF_MEAN) return (output > 0 ? output : 0) * exp(f->target_mean);
    return output * f->target_scale + f->target_mean;
}
/* What is predicted, from the scores of all stages. */
static inline void bf_finish(const bf_forest* f, double* s, double* result) {
    const double *x = f->knot_x, *y = f->knot_y;
    double total = 0;
    for (int32_t c = 0; c < f->n_outputs; ++c) s[c] *= f->factor;
    if (!f->is_plain) bf_outputs(f, INFINITY, s);
    for (int32_t c = 0; c < f->n_outputs && x != NULL; ++c) { /* calibrated by a line with corners */
        const int64_t first = f->knot_start[c], end = f->knot_start[c + 1];
        int64_t k = first;
        while (k < end && x[k] <= s[c]) ++k;
        const double slope = k == first || k == end ? 0 : (y[k] - y[k - 1]) / (x[k] - x[k - 1]);
        total += s[c] = k == first ? y[k] : slope * (s[c] - x[k - 1]) + y[k - 1];
    }
    for (int32_t c = 0; c < f->n_outputs; ++c) result[c] = x == NULL || f->n_outputs == 1 ? s[c] : s[c] / total;
    if (f->n_classes == 2) result[1] = s[0];
    if (f->n_outputs == 1) result[0] = f->n_classes == 0 ? bf_in_units(f, s[0]) : f->n_classes == 1 ? 1 : 1 - s[0];
}

BF_API int bf_predict_rows(const bf_forest* f, const double* rows, size_t n_rows, size_t n_columns, double* results,
                           double* work, size_t* n_done) {
    const size_t sums = f->n_features + f->n_seen, scores = sums + f->n_outputs;
    for (size_t begin = 0; begin < n_rows; begin += BF_ROWS) {
        const size_t n = n_rows - begin < BF_ROWS ? n_rows - begin : BF_ROWS;
        int64_t t = 0;
        for (size_t i = 0; i < n; ++i) {
            const int status = bf_read_row(f, rows + (begin + i) * n_columns, n_columns, i, work);
            if (n_done != NULL) *n_done = begin + i;
            if (status != BF_OK) return status;
        }
        for (int32_t stage = 0; stage < f->n_stages; ++stage) {
            for (size_t i = 0; i < n; ++i) memset(work + bf_row(f, i) + sums, 0, f->n_outputs * sizeof *work);
            for (; t < f->stage_end[stage]; ++t)
                for (size_t i = 0; i < n; ++i) {
                    double* row = work + bf_row(f, i);
                    bf_tree(f, t, row, work);
                    if (stage == 0) bf_outputs(f, 230, work);
                    for (int32_t c = 0; c < f->n_outputs; ++c) row[sums + c] += work[c];
                }
            for (double* row = work + bf_row(f, 0); row < work + bf_row(f, n); row += scores + f->n_outputs)
                bf_add_stage(f, stage, (double)f->stage_units[stage], row + sums, row + scores);
        }
        for (size_t i = 0; i < n; ++i)
            bf_finish(f, work + bf_row(f, i) + scores, results + (begin + i) * bf_n_results(f));
    }
    if (n_done != NULL) *n_done = n_rows;
    return BF_OK;
}

BF_API int bf_predict(const bf_forest* f, const double* row, size_t n_columns, double* result, double* work) {
    return bf_predict_rows(f, row, 1, n_columns, result, work, NULL);
}

BF_API int bf_apply(const bf_forest* f, const double* row, size_t n_columns, int32_t* leaves, double* work) {
    const int status = bf_read_row(f, row, n_columns, 0, work);
    for (int32_t t = 0; t < f->n_trees && status == BF_OK; ++t) leaves[t] = bf_tree(f, t, work + bf_row(f, 0), work);
    return status;
}

static inline int bf_bit(const uint8_t* bits, int64_t i) { /* the highest of a byte first */
    return bits[i / 8] >> (7 - i % 8) & 1;
}
/* The smallest error that so much of the weight does not exceed, a new row among it; infinite: too few to tell. */
static inline double bf_limit(const bf_forest* f, double coverage, const double* errors) {
    const int32_t n = f->n_residuals;
    const double* weight = f->residual_weight;
    double total = 0, squares = 0, low = -INFINITY, high = INFINITY;
    for (int32_t i = 0; i < n && weight != NULL; ++i) total += weight[i], squares += weight[i] * weight[i];
    const double share = weight != NULL ? coverage * (1 + squares / total / total) - 1e-12 : 0;
    const double needed = weight != NULL ? share * total : ceil(coverage * (n + 1.0));
    for (int32_t i = 0; i < n; ++i) {
        double held = 0;
        if (!(errors[i] > low && errors[i] < high)) continue; /* known: of errors in any order few are left */
        for (int32_t j = 0; j < n; ++j) held += errors[j] > errors[i] ? 0 : weight != NULL ? weight[j] : 1;
        *(held < needed ? &low : &high) = errors[i];
    }
    return high;
}
/* Jackknife+ after bootstrap: the trees that have not drawn a training row are a forest that does not know it. */
BF_API int bf_interval(const bf_forest* f, const double* row, size_t n_columns, double coverage, double* ends,
                       double* work) {
    const int32_t n = f->n_residuals;
    double *x = work + bf_row(f, 0), *centre = work + bf_row(f, 1), *total = centre + n, *count = total + n;
    int64_t t = 0;
    if (n == 0 || !(coverage > 0 && coverage < 1)) return n == 0 ? BF_NO_INTERVALS : BF_COVERAGE;
    const int status = bf_read_row(f, row, n_columns, 0, work);
    if (status != BF_OK) return status;
    for (int32_t stage = 0; stage < f->n_stages; ++stage) {
        const int64_t end = f->stage_end[stage], has_bags = f->stage_units[stage] < end - t;
        for (int32_t i = 0; i < n; ++i) total[i] = count[i] = 0;
        while (t < end) {
            const uint8_t* absent = f->absent + (size_t)t * ((n + (size_t)7) / 8);
            double sum = 0;
            do { /* the trees of a bag, which have the same seed */
                bf_tree(f, t, x, work);
                if (stage == 0) bf_outputs(f, 230, work);
                sum += work[0];
            } while (++t < end && has_bags && f->tree_seeds[t] == f->tree_seeds[t - 1]);
            for (int32_t i = 0; i < n; ++i) total[i] += bf_bit(absent, i) ? sum : 0, count[i] += bf_bit(absent, i);
        }
        for (int32_t i = 0; i < n; ++i) bf_add_stage(f, stage, count[i] > 1 ? count[i] : 1, total + i, centre + i);
    }
    for (int32_t i = 0; i < n && !f->is_plain; ++i) bf_outputs(f, INFINITY, centre + i);
    for (int side = 0; side < 2; ++side) {
        for (int32_t i = 0; i < n; ++i) total[i] = f->residuals[i] + (side == 0 ? -centre[i] : centre[i]);
        ends[side] = bf_in_units(f, (side == 0 ? -1 : 1) * bf_limit(f, coverage, total));
    }
    return BF_OK;
}
/* What is wrong with a file ends the reading at once (bf_require jumps back to bf_load), so that what comes after a
 * check may rely on it. The format is that of docs/dev/format.md. */
#ifndef BOOSTFOREST_NO_FILES
#include <setjmp.h>
#define BF_TINY (DBL_MIN * DBL_EPSILON) /* the smallest number above 0 */
typedef struct {
    const char* name;
    const uint8_t* at;        /* its bytes, NULL if there is no such tensor */
    int64_t n_bytes, n, rows; /* n: values, rows: the first dimension */
    int size, kind, is_coded; /* size: bytes of a value; kind: 'F'loat, 'I'nteger, 'U'nsigned or 'B'ool */
} bf_tensor;

typedef struct {
    bf_forest* f;
    jmp_buf failed;                        /* where bf_require goes */
    int status;                            /* and why */
    void **kept, **scratch;                /* lists of memory: of the model, and of loading alone */
    const char *header, *coded;            /* JSON: all of it, and the types of coded columns */
    const uint8_t *data, *end;             /* bytes of tensors */
    const uint8_t *in, *in_end, *sum_path; /* in: what is left of the column that is decoded */
    const int8_t* exponent;
    int32_t *order, *inner, *by_level, n_inner; /* nodes depth first; inner ones by number, and by depth */
    uint32_t states[2], turn, (*slots)[4096];   /* slots, per context: frequency - 1, place within it, symbol */
} bf_loader;

static void bf_require(bf_loader* l, int condition, int status) {
    if (condition) return;
    l->status = status;
    longjmp(l->failed, 1);
}
#define BF_CHECK(condition) bf_require(l, condition, BF_DAMAGED)
/* Memory for n values, zeros, in a list of blocks. Whoever asks has compared n with the size of the file. */
static void* bf_take(bf_loader* l, void*** list, int64_t n, size_t size) {
    void** block = (uint64_t)n < SIZE_MAX / 2 / size ? (void**)calloc(1, 16 + (size_t)n * size) : NULL;
    bf_require(l, block != NULL, BF_NO_MEMORY);
    *block = *list, *list = block;
    return (char*)block + 16;
}
#define BF_NEW(list, type, n) ((type*)bf_take(l, &l->list, n, sizeof(type)))

static void bf_free(void** block) {
    for (void** next; block != NULL; block = next) next = (void**)*block, free(block);
}

static uint64_t bf_bits(const uint8_t* p, size_t size) { /* the lowest byte first */
    uint64_t bits = 0;
    while (size-- > 0) bits = bits << 8 | p[size];
    return bits;
}
/* The value of a name in JSON, if it begins so; NULL: there is none. In quotes that are not escaped it is a name. */
static const char* bf_value(const char* json, const char* name, char first) {
    char quoted[64];
    const int n = snprintf(quoted, sizeof quoted, "\"%s\"", name);
    while (json != NULL && (json = strstr(json, quoted)) != NULL) {
        json += n + strspn(json + n, " \n\r\t:");
        if (*json == first) break;
    }
    return json;
}

static char* bf_put(uint32_t c, char* out) { /* as UTF-8; a lone half of a pair as three bytes */
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int k = n - 1; k > 0; --k, c >>= 6) out[k] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
    return out + n;
}
/* The string of JSON that the cursor is at, without its quotes and escapes; the cursor moves behind it. */
static const char* bf_text(bf_loader* l, const char** c) {
    static const char from[] = "bfnrtu", to[] = "\b\f\n\r\t";
    const char *at = *c, *end = at + 1;
    uint32_t code, half = 0; /* the first one of a pair */
    bf_require(l, *at == '"', BF_HEADER);
    while (*end != 0 && *end != '"') end += *end == '\\' && end[1] != 0 ? 2 : 1;
    char *text = BF_NEW(kept, char, end - at), *out = text, digits[5] = "";
    while (++at < end) {
        const char* known = *at == '\\' && at[1] != 0 ? strchr(from, *++at) : NULL; /* not what ends from */
        if (known != NULL && *known == 'u' && end - at > 4) {
            memcpy(digits, at + 1, 4), at += 4;
            code = strtoul(digits, NULL, 16) & 0xffff;
            if (half > 0 && code >> 10 == 0x37) out -= 3, code = 0x10000 + ((half & 0x3ff) << 10 | (code & 0x3ff));
            out = bf_put(code, out);
        } else {
            *out++ = (char)(code = known != NULL ? to[known - from] : *at);
        }
        half = code >> 10 == 0x36 ? code : 0;
    }
    *c = end + (*end != 0);
    return text;
}
/* A tensor, as it is or coded: its type, number of values and place. */
static bf_tensor bf_find(bf_loader* l, const char* name) {
    bf_tensor t = {name, NULL, 0, 0, 0, 0, 0, 0};
    char coded[64], type[8] = "";
    long long begin = 0, end = 0, n = 0;
    const char* entry = bf_value(l->header, name, '{');
    snprintf(coded, sizeof coded, "coded.%s", name);
    t.is_coded = entry == NULL && (entry = bf_value(l->header, coded, '{')) != NULL;
    if (entry == NULL) return t;
    const char *places = bf_value(entry, "data_offsets", '['), *shape = bf_value(entry, "shape", '[');
    const char* values = bf_value(l->coded, name, '['); /* ["type", number of values] */
    bf_require(l, t.is_coded || sscanf(entry, "{ \"dtype\" : \"%4[A-Z0-9]\"", type) == 1, BF_HEADER);
    BF_CHECK(!t.is_coded || (values != NULL && sscanf(values, "[ \"%4[A-Z0-9]\" , %18lld ]", type, &n) == 2));
    bf_require(l, places != NULL && sscanf(places, "[ %18lld , %18lld ]", &begin, &end) == 2, BF_HEADER);
    const int bits = strcmp(type, "BOOL") == 0 ? 8 : atoi(type + 1);
    bf_require(l, strchr("FIUB", *type) != NULL && (bits == 8 || bits == 16 || bits == 32 || bits == 64), BF_HEADER);
    bf_require(l, 0 <= begin && begin <= end && end <= l->end - l->data, BF_HEADER);
    t.kind = *type, t.size = bits / 8, t.at = l->data + begin, t.n_bytes = end - begin;
    t.n = t.is_coded ? n : t.n_bytes / t.size; /* a byte may stand for at most 256 */
    BF_CHECK(t.is_coded ? 0 <= n && n <= 256 * t.n_bytes / t.size : t.n * t.size == t.n_bytes);
    bf_require(l, t.n < INT32_MAX, BF_TOO_LARGE);
    t.rows = shape != NULL && sscanf(shape, "[ %18lld", &n) == 1 ? n : t.n;
    return t;
}
/* A field of the metadata, "metadata." before its name: long ones are tensors. NULL: it is not there. */
static const char* bf_field(bf_loader* l, const char* name) {
    const char* value = bf_value(l->header, name + strlen("metadata."), '"');
    const bf_tensor t = bf_find(l, name);
    if (value != NULL) return bf_text(l, &value);
    return t.at == NULL ? NULL : (char*)memcpy(BF_NEW(kept, char, t.n_bytes + 1), t.at, t.n_bytes);
}

#define BF_TURN(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define BF_TURNS(x, a, b, c) (BF_TURN(x, a) ^ BF_TURN(x, b) ^ BF_TURN(x, c))
#define BF_MIX(x, a, b, c) (BF_TURN(x, a) ^ BF_TURN(x, b) ^ (x) >> (c))
/* SHA-256 of the file, in which the digits of the checksum, at `seal`, count as zeros. */
static void bf_digest(const uint8_t* bytes, size_t n_bytes, size_t seal, char* digits) {
    uint32_t h[8], k[64], w[64] = {0}, v[8];
    for (uint32_t prime = 2, n = 0, divisor = 2; n < 64; ++prime, divisor = 2) {
        while (prime % divisor != 0) ++divisor;
        if (divisor < prime) continue;
        if (n < 8) h[n] = (uint32_t)(fmod(sqrt(prime), 1) * 4294967296.0); /* its constants: roots of primes */
        k[n++] = (uint32_t)(fmod(cbrt(prime), 1) * 4294967296.0);
    }
    for (size_t at = 0; at <= n_bytes + 8; at += 64) { /* the last block has the number of bits at its end */
        for (size_t i = at; i < at + 64; ++i) {
            const uint8_t byte = i < n_bytes ? bytes[i] : i == n_bytes ? 0x80 : 0;
            w[(i - at) / 4] = w[(i - at) / 4] << 8 | (i >= seal && i < seal + 64 ? '0' : byte);
        }
        if (n_bytes + 8 < at + 64) w[14] = (uint32_t)((uint64_t)n_bytes >> 29), w[15] = (uint32_t)(n_bytes << 3);
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; ++i) {
            if (i >= 16) w[i] = w[i - 16] + w[i - 7] + BF_MIX(w[i - 15], 7, 18, 3) + BF_MIX(w[i - 2], 17, 19, 10);
            const uint32_t a = v[7] + BF_TURNS(v[4], 6, 11, 25) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
            const uint32_t b = BF_TURNS(v[0], 2, 13, 22) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += a, v[0] = a + b;
        }
        for (int i = 0; i < 8; ++i) h[i] += v[i];
    }
    for (int i = 0; i < 64; ++i) digits[i] = "0123456789abcdef"[h[i / 8] >> (28 - 4 * (i % 8)) & 15];
}

static uint32_t bf_bytes(bf_loader* l, int n) { /* the next ones of a column */
    BF_CHECK(l->in_end - l->in >= n);
    l->in += n;
    return (uint32_t)bf_bits(l->in - n, n);
}
/* Reads how often bytes occur in each context, in 4096, and where the decoder (rANS) starts. */
static void bf_start(bf_loader* l, uint32_t n_contexts) {
    for (uint32_t c = 0, filled = 0; c < n_contexts; ++c, filled = 0) {
        for (uint32_t symbol = 0; symbol < 256; ++symbol) {
            uint32_t n = bf_bytes(l, 1);
            if (n == 0) symbol += bf_bytes(l, 1);
            if (n >= 128) n = (n & 127) << 7 | bf_bytes(l, 1);
            BF_CHECK(n <= 4096 - filled);
            for (uint32_t k = 0; k < n; ++k) l->slots[c][filled++] = (n - 1) << 20 | k << 8 | symbol;
        }
        BF_CHECK(filled == 0 || filled == 4096); /* 0: nothing is in this context */
    }
    l->turn = 1, l->states[0] = bf_bytes(l, 4), l->states[1] = bf_bytes(l, 4);
}

static uint8_t bf_symbol(bf_loader* l, uint32_t context) {
    uint32_t *state = &l->states[l->turn ^= 1], slot = l->slots[context][*state & 4095]; /* they take turns */
    *state = ((slot >> 20) + 1) * (*state >> 12) + (slot >> 8 & 4095);
    if (*state < 1U << 16) *state = *state << 16 | bf_bytes(l, 2);
    return slot & 255;
}
/* A context for each of the 31 numbers that occur most often, 0 for others. */
static void bf_contexts(const int64_t* counts, int64_t n, uint8_t* context) {
    memset(context, 0, n);
    for (int c = 1; c < 32 && c <= n; ++c) {
        int64_t most = -1;
        for (int64_t k = 0; k < n; ++k)
            if (context[k] == 0 && (most < 0 || counts[k] > counts[most])) most = k;
        context[most] = (uint8_t)c;
    }
}
/* n values of so many bytes, a stream for each of these, the highest first. known: contexts of the values, or NULL. */
static uint8_t* bf_planes(bf_loader* l, int64_t n, int size, const uint8_t* known) {
    uint8_t *out = (uint8_t*)bf_take(l, &l->scratch, n, size), above[256];
    for (int place = size - 1; place >= 0; --place) {
        const uint32_t way = bf_bytes(l, 1); /* 0: as they are, 1: by frequencies, 2: that the byte above decides */
        int64_t counts[256] = {0};
        BF_CHECK(way <= 1 || (way == 2 && place < size - 1) || (way == 3 && known != NULL));
        for (int64_t i = 0; i < n && way == 2; ++i) ++counts[out[i * size + place + 1]];
        bf_contexts(counts, 256, above);
        if (way > 0) bf_start(l, way == 1 ? 1 : 32);
        for (int64_t i = 0; i < n; ++i) {
            uint8_t* to = out + i * size + place;
            const uint32_t context = way == 2 ? above[to[1]] : way == 3 ? known[i] : 0;
            *to = way == 0 ? (uint8_t)bf_bytes(l, 1) : bf_symbol(l, context);
        }
        BF_CHECK(way == 0 || (l->states[0] == 1U << 16 && l->states[1] == 1U << 16)); /* where the encoder began */
    }
    return out;
}
/* Thresholds as numbers in a table of those that their feature often has; features[i] is that of value i. */
static uint8_t* bf_decode_table(bf_loader* l, int64_t n, const int32_t* features) {
    const int64_t d = l->f->n_features;
    uint8_t *context = BF_NEW(scratch, uint8_t, d), *known = BF_NEW(scratch, uint8_t, n);
    uint8_t *out = BF_NEW(scratch, uint8_t, 8 * n), *sizes = bf_planes(l, d, 4, NULL);
    int64_t *first = BF_NEW(scratch, int64_t, d + 1), *counts = BF_NEW(scratch, int64_t, d), n_others = 0;
    for (int64_t i = 0; i < d; ++i) first[i + 1] = first[i] + bf_bits(sizes + 4 * i, 4);
    BF_CHECK(first[d] <= n);
    const uint8_t* table = bf_planes(l, first[d], 8, NULL);
    for (int64_t i = 0; i < n; ++i) BF_CHECK(features[i] >= 0), ++counts[features[i]];
    bf_contexts(counts, d, context);
    for (int64_t i = 0; i < n; ++i) known[i] = context[features[i]];
    const uint8_t* numbers = bf_planes(l, n, 2, known);
    for (int64_t i = 0; i < n; ++i) n_others += bf_bits(numbers + 2 * i, 2) == 0;
    const uint8_t* others = bf_planes(l, n_others, 8, NULL); /* that are in no table */
    for (int64_t i = 0; i < n; ++i) {
        const int64_t number = bf_bits(numbers + 2 * i, 2), own = first[features[i]];
        BF_CHECK(number <= first[features[i] + 1] - own);
        memcpy(out + 8 * i, number == 0 ? others : table + 8 * (own + number - 1), 8);
        others += number == 0 ? 8 : 0;
    }
    return out;
}
/* Finds where trees begin and the orders of their nodes: depth first, left before right, and inner ones by depth. With
 * bits (is a node split? depth first) the left children follow as well. */
static void bf_walk(bf_loader* l, int64_t n_nodes, int32_t* left, const uint8_t* bits) {
    int32_t *open = BF_NEW(scratch, int32_t, 3 * n_nodes + 6), *depth = open + n_nodes + 2, n = 0;
    int32_t* first = depth + n_nodes + 2; /* per depth: inner nodes before it */
    int64_t* starts = BF_NEW(kept, int64_t, l->f->n_trees + 1);
    l->order = BF_NEW(scratch, int32_t, 3 * n_nodes), l->inner = l->order + n_nodes, l->by_level = l->inner + n_nodes;
    for (int32_t t = 0; t < l->f->n_trees; starts[++t] = n) {
        const int32_t start = n, n_before = l->n_inner;
        int32_t n_open = 1, next = 1, last = start;
        open[0] = start;
        while (n_open > 0) {
            const int32_t node = open[--n_open];
            BF_CHECK(n < n_nodes);
            if (bits != NULL && bf_bit(bits, n)) left[node] = next, next += 2;
            l->order[n++] = node;
            if (left[node] == 0) continue;
            BF_CHECK(left[node] > node - start && left[node] < n_nodes - start - 1);
            const int32_t child = start + left[node];
            BF_CHECK(depth[child] == 0 && depth[child + 1] == 0); /* a node has one parent */
            ++first[depth[child] = depth[child + 1] = depth[node] + 1];
            open[n_open++] = child + 1, open[n_open++] = child;
            last = child + 1 > last ? child + 1 : last;
        }
        BF_CHECK(last < n);
        for (int32_t k = 1; k <= n - start; ++k) first[k] += first[k - 1];
        for (int32_t node = start; node < n; ++node)
            if (left[node] != 0) l->inner[l->n_inner++] = l->by_level[n_before + first[depth[node]]++] = node;
        memset(first, 0, (n - start + 1) * sizeof *first);
    }
    BF_CHECK(n == n_nodes);
    l->f->tree_start = starts;
}
/* Coefficients of eight bits: models in an order in which neighbours are alike, in contexts of how large they are. */
static const uint8_t* bf_decode_params(bf_loader* l, int has_differences, int8_t* out) {
    const bf_forest* f = l->f;
    const int8_t* exponent = l->exponent; /* of the first model of a tree, whose coefficients begin at `first` */
    uint32_t* sizes = NULL;               /* per place in a model: mean size of what was there, in sixteenths */
    int64_t n_sizes = -1, first = 0;
    bf_start(l, 26);
    for (int64_t tree = 0; tree < f->n_trees; ++tree) {
        const int64_t group = 1 + f->n_inputs[tree], per_model = group * f->n_outputs;
        int64_t before = -1, n = 0;
        if (n_sizes != per_model) sizes = BF_NEW(scratch, uint32_t, per_model);
        for (int64_t j = 0; j < per_model && n_sizes != per_model; ++j) sizes[j] = 64;
        n_sizes = per_model;
        for (int64_t i = f->tree_start[tree]; i < f->tree_start[tree + 1]; ++i) {
            const int64_t own = f->param_start[l->sum_path[tree] ? i : l->order[i]];
            uint32_t here = 64; /* the same of what was before in this model */
            for (int64_t j = own; j < own + per_model && own >= 0; ++j) {
                const int64_t k = before + j - own; /* the same coefficient of the model before */
                uint32_t *size = &sizes[j - own], mean = (3 * *size + 2 * here) / 8, context = 0;
                for (; mean > 3; mean >>= 1) context += 2; /* half octaves */
                const int8_t value = (int8_t)bf_symbol(l, context + mean < 25 ? context + mean : 25);
                double expected = 0;
                if (has_differences && before >= 0)
                    expected = ldexp(out[k], exponent[(k - first) / group] - exponent[(j - first) / group]);
                out[j] = (int8_t)(uint8_t)(value + (int)bf_clip(floor(expected + 0.5), -127, 127));
                *size = (3 * *size + 16 * abs(value) + 2) / 4;
                here = (7 * here + 16 * abs(value) + 4) / 8;
            }
            if (own >= 0) before = own, n += per_model;
        }
        first += n, exponent += n / group;
    }
    BF_CHECK(l->states[0] == 1U << 16 && l->states[1] == 1U << 16);
    return (uint8_t*)out;
}
/* The values of a coded column, the lowest byte of each first. */
static const uint8_t* bf_decode(bf_loader* l, const bf_tensor* t) {
    uint8_t* out = (uint8_t*)bf_take(l, &l->scratch, t->n, t->size);
    l->in = t->at, l->in_end = t->at + t->n_bytes;
    const uint32_t way = bf_bytes(l, 1);
    const int has_bits = way >= 5, is_inner = way == 1 || way > 5, is_params = strcmp(t->name, "params") == 0;
    const int n_streams = way == 7 ? 23 : way == 3 || way == 4 ? 1 : t->size + has_bits;
    for (int i = 0; i < n_streams; ++i) bf_bytes(l, 8); /* their lengths, which follow from what is in them */
    if (is_params && l->exponent != NULL && n_streams == 1) return bf_decode_params(l, way == 4, (int8_t*)out);
    BF_CHECK(!is_inner || strstr("feature threshold missing_left", t->name) != NULL);
    BF_CHECK(way <= 1 || way == 5 || way == 6 || (way == 7 && t->size == 8));
    /* Rows of values; bits say whether one differs from the row before it. */
    const int64_t n_all = has_bits && strcmp(t->name, "absent") == 0 ? l->f->n_trees : t->n, n_values = t->n / n_all;
    const int64_t n_rows = is_inner ? l->n_inner : n_all, row = n_values * t->size;
    const int32_t* nodes = is_inner ? (way == 1 ? l->inner : l->by_level) : NULL;
    const uint8_t *bits = has_bits ? bf_planes(l, (n_rows + 7) / 8, 1, NULL) : NULL, *values;
    int32_t* features = BF_NEW(scratch, int32_t, n_rows);
    int64_t n = 0;
    for (int64_t i = 0; i < n_rows; ++i)
        if (bits == NULL || bf_bit(bits, i)) features[n++] = way == 7 ? l->f->feature[nodes[i]] : 0;
    BF_CHECK(n_rows == 0 || bits == NULL || bf_bit(bits, 0));
    values = way == 7 ? bf_decode_table(l, n, features) : bf_planes(l, n * n_values, t->size, NULL);
    memset(out, strcmp(t->name, "feature") == 0 ? 0xff : 0, t->n * t->size); /* leaves have -1 or 0 */
    for (int64_t i = 0; i < n_rows; ++i) {
        values += i > 0 && (bits == NULL || bf_bit(bits, i)) ? row : 0;
        memcpy(out + (nodes == NULL ? i : nodes[i]) * row, values, row);
    }
    return out;
}

static double bf_number(const bf_tensor* t, uint64_t bits) {
    const int unused = 64 - 8 * t->size, power = bits >> 10 & 31, digits = bits & 1023;
    const uint32_t word = (uint32_t)bits;
    double value;
    float single;
    memcpy(&value, &bits, sizeof value), memcpy(&single, &word, sizeof single);
    if (t->kind != 'F') return t->kind == 'I' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
    if (t->size > 2) return t->size == 8 ? value : single;
    value = power == 31 ? (digits > 0 ? NAN : INFINITY) : ldexp(digits + (power ? 1024 : 0), (power ? power : 1) - 25);
    return bits >> 15 ? -value : value;
}
/* The n values of a tensor as an array of a type, all of them within limits. */
static void* bf_read(bf_loader* l, const char* name, int64_t n, int kind, int size, double low, double high) {
    const bf_tensor t = bf_find(l, name);
    BF_CHECK(t.at != NULL && t.n == n && (t.kind != 'F' || kind == 'F'));
    const uint8_t* from = t.is_coded && n > 0 ? bf_decode(l, &t) : t.at;
    void* out = bf_take(l, &l->kept, n, size);
    for (int64_t i = 0; i < n; ++i) {
        const uint64_t bits = bf_bits(from + i * t.size, t.size);
        const double value = bf_number(&t, bits);
        BF_CHECK(value >= low && value <= high);
        if (kind == 'F' && size == 8) ((double*)out)[i] = value;
        if (kind == 'F' && size == 4) ((float*)out)[i] = (float)value;
        if (kind == 'I' && size == 4) ((int32_t*)out)[i] = (int32_t)value;
        if (kind != 'F' && size == 8) ((uint64_t*)out)[i] = t.size == 8 ? bits : (uint64_t)value;
        if (size == 1) ((uint8_t*)out)[i] = (uint8_t)(int)value;
    }
    return out;
}

static double* bf_reals(bf_loader* l, const char* name, int64_t n, double low) {
    return (double*)bf_read(l, name, n, 'F', 8, low, low < -DBL_MAX ? INFINITY : DBL_MAX);
}
/* Where n parts of `total` values begin and the last ends or, if n_before is 0, where each ends; least: of a part. */
static int64_t* bf_parts(bf_loader* l, const char* name, int64_t n, int n_before, int least, int64_t total) {
    int64_t *starts = (int64_t*)bf_read(l, name, n + n_before, 'I', 8, 0, (double)total), last = 0;
    BF_CHECK(n_before == 0 || starts[0] == 0);
    for (int64_t i = n_before; i < n + n_before; last = starts[i++]) BF_CHECK(starts[i] - last >= least);
    BF_CHECK(last == total);
    return starts;
}
static void bf_read_trees(bf_loader* l) {
    bf_forest* f = l->f;
    const bf_tensor params = bf_find(l, "params"), shape = bf_find(l, "left");
    const int32_t n_trees = f->n_trees = bf_find(l, "kind").n, n = bf_find(l, "left").n;
    const int64_t n_hidden = bf_find(l, "hidden").n;
    const int has_bits = shape.is_coded && shape.n_bytes >= 9 + (n + 7) / 8 && *shape.at == 2; /* is a node split? */
    int64_t *start = BF_NEW(kept, int64_t, n), n_params = 0, n_models = 0;
    int32_t *n_inputs = BF_NEW(kept, int32_t, n_trees), *left = BF_NEW(kept, int32_t, n);
    if (!has_bits) left = (int32_t*)bf_read(l, "left", n, 'I', 4, 0, INT32_MAX);
    bf_walk(l, n, left, has_bits ? shape.at + 9 : NULL); /* what follows is coded by it */
    const uint8_t* kind = (uint8_t*)bf_read(l, "kind", n_trees, 'U', 1, 0, 255);
    l->sum_path = (uint8_t*)bf_read(l, "sum_path", n_trees, 'U', 1, 0, 1);
    f->feature = (int32_t*)bf_read(l, "feature", n, 'I', 4, -1, f->n_features - 1.0);
    f->missing_left = (uint8_t*)bf_read(l, "missing_left", n, 'U', 1, 0, 1);
    f->threshold = bf_reals(l, "threshold", n, -DBL_MAX);
    double *lower = bf_reals(l, "lower", n, -INFINITY), *upper = bf_reals(l, "upper", n, -INFINITY);
    if (n_hidden > 0) f->hidden_start = bf_parts(l, "hidden_start", n_trees, 1, 0, n_hidden);
    if (n_hidden > 0) f->hidden = bf_reals(l, "hidden", n_hidden, -DBL_MAX);
    for (int32_t t = 0; t < n_trees; ++t) { /* where models begin follows from their order */
        const int64_t layer = n_hidden > 0 ? f->hidden_start[t + 1] - f->hidden_start[t] : 0;
        const int64_t root = f->tree_start[t], units = layer / (1 + f->n_seen);
        const int is_sum = l->sum_path[t], is_hidden = kind[t] == 2;
        bf_require(l, kind[t] != 255, BF_NETWORKS);
        BF_CHECK(kind[t] <= 2 && (!is_sum || f->n_outputs == 1) && is_hidden == (units > 0));
        n_inputs[t] = is_hidden ? (int32_t)units : kind[t] == 1 ? f->n_seen : 0;
        f->most_inputs = n_inputs[t] > f->most_inputs ? n_inputs[t] : f->most_inputs;
        for (int64_t i = root; i < f->tree_start[t + 1]; ++i) {
            const int is_leaf = left[i] == 0, has_model = is_leaf || (is_sum && i > root);
            BF_CHECK(is_leaf == (f->feature[i] < 0) && (!is_sum || lower[i] <= upper[i]));
            if (!is_sum) lower[i] = -INFINITY, upper[i] = INFINITY;
            start[i] = has_model ? n_params : -1;
            n_models += has_model ? f->n_outputs : 0;
            n_params += has_model ? f->n_outputs * (1 + (int64_t)n_inputs[t]) : 0;
            BF_CHECK(n_params <= params.n);
        }
    }
    BF_CHECK(n_trees > 0 && n_params == params.n);
    f->left = left, f->n_inputs = n_inputs, f->param_start = start;
    if (memchr(l->sum_path, 1, n_trees) != NULL) f->lower = lower, f->upper = upper;
    const int is_double = params.kind == 'F' && params.size == 8, is_byte = params.kind != 'F';
    if (is_byte) l->exponent = (int8_t*)bf_read(l, "exponent", n_models, 'I', 1, -128, 127);
    if (is_double) f->params = bf_reals(l, "params", n_params, -DBL_MAX);
    float* p = is_double ? NULL : (float*)bf_read(l, "params", n_params, 'F', 4, -FLT_MAX, FLT_MAX);
    f->params_f32 = p;
    for (int32_t t = 0; t < n_trees && is_byte; ++t) /* whole numbers in units of a power of two */
        for (int64_t i = f->tree_start[t]; i < f->tree_start[t + 1]; ++i)
            for (int32_t c = 0; c < f->n_outputs && start[i] >= 0; ++c, ++l->exponent)
                for (int32_t j = 0; j <= n_inputs[t]; ++j, ++p)
                    bf_require(l, fabsf(*p = ldexpf(*p, *l->exponent)) <= FLT_MAX, BF_TOO_LARGE);
}
/* What is predicted: classes, or a number by a loss. */
static void bf_read_target(bf_loader* l) {
    static const char* const losses[] = {"huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "aft"};
    bf_forest* f = l->f;
    const char *name = bf_field(l, "metadata.estimator"), *loss = bf_field(l, "metadata.loss");
    const char* type = bf_field(l, "metadata.classes"); /* of a regressor null */
    int k = 0, is_class = name != NULL && strstr(name, "Classifier") != NULL, has_loss = loss != NULL && *loss == '{';
    const bf_tensor t = bf_find(l, "classes");
    bf_require(l, is_class || (name != NULL && strstr(name, "Regressor") != NULL), BF_HEADER);
    f->n_outputs = 1;
    if (!is_class) {
        f->target_mean = *bf_reals(l, "target_mean", 1, -DBL_MAX);
        f->target_scale = *bf_reals(l, "target_scale", 1, BF_TINY);
        while (k < 7 && has_loss && bf_value(loss, losses[k], '{') == NULL) ++k;
        bf_require(l, k < 7, BF_LOSS);
        f->link = k < 3 ? BF_IDENTITY : k < 6 ? BF_LOG : BF_EXP_OF_MEAN;
        return;
    }
    const int64_t n = t.rows, width = n > 0 ? t.n / n : 0, is_number = type != NULL && strstr(type, "number") != NULL;
    BF_CHECK(n > 0 && n * width == t.n && (is_number ? width == 1 : t.size == 4) && !t.is_coded);
    const char** names = BF_NEW(kept, const char*, n);
    f->n_classes = n, f->class_names = names, f->n_outputs = n > 2 ? n : 1, f->link = n > 2 ? BF_SOFTMAX : BF_SIGMOID;
    for (int64_t i = 0; i < n; ++i) {
        char* text = BF_NEW(kept, char, is_number ? 512 : 4 * width + 1);
        const uint64_t bits = bf_bits(t.at + i * t.size, t.size);
        names[i] = text;
        const long long whole = t.size == 8 ? (long long)bits : (long long)bf_number(&t, bits);
        if (is_number && t.kind == 'F') bf_print(bf_number(&t, bits), 0, text);
        if (is_number && t.kind != 'F') snprintf(text, 512, t.kind == 'I' ? "%lld" : "%llu", whole);
        if (t.kind == 'B') strcpy(text, bits != 0 ? "True" : "False");
        for (int64_t j = i * width; j < (i + 1) * width && !is_number; ++j) {
            const uint32_t code = (uint32_t)bf_bits(t.at + 4 * j, 4);
            BF_CHECK(code <= 0x10ffff);
            text = code > 0 ? bf_put(code, text) : text;
        }
    }
}
/* Columns and features, and the levels of columns that are not features as they are. */
static void bf_read_table(bf_loader* l) {
    bf_forest* f = l->f;
    const char *width = bf_field(l, "metadata.n_features"), *names = bf_field(l, "metadata.feature_names");
    const bf_tensor seen = bf_find(l, "model_features"), basis = bf_find(l, "class_basis");
    const int64_t d = f->n_features = bf_find(l, "feature_mean").n, n = bf_find(l, "column_kind").n;
    const int64_t n_levels = bf_find(l, "level_end").n, n_text = bf_find(l, "level_text").n;
    const char **texts = BF_NEW(kept, const char*, n > 0 ? n : d), **levels = BF_NEW(kept, const char*, n_levels);
    char* text = BF_NEW(kept, char, n_text + n_levels);
    int64_t begin = 0, n_features = 0, n_values = 0;
    f->column_names = texts, f->level_names = levels, f->n_columns = n > 0 ? n : d;
    f->n_means = basis.n > 0 ? basis.n / f->n_outputs : f->n_outputs, f->n_seen = seen.at != NULL ? seen.n : d;
    f->feature_mean = bf_reals(l, "feature_mean", d, -DBL_MAX);
    f->feature_scale = bf_reals(l, "feature_scale", d, BF_TINY);
    if (bf_find(l, "fill").at != NULL) f->fill = bf_reals(l, "fill", d * (d + 1), -DBL_MAX);
    if (seen.at != NULL) f->model_features = (int32_t*)bf_read(l, seen.name, seen.n, 'I', 4, 0, d - 1.0);
    BF_CHECK(d > 0 && width != NULL && strtol(width, NULL, 10) == f->n_columns);
    for (int32_t i = 0; i < f->n_columns; ++i) {
        char* own = BF_NEW(kept, char, 16);
        snprintf(own, 16, "x%d", (int)i);
        if (names != NULL) names += strspn(names, "[, \n\r\t");
        texts[i] = names == NULL || *names == 'n' ? own : bf_text(l, &names); /* null: there are none */
    }
    if (n == 0) return;
    f->column_kind = (uint8_t*)bf_read(l, "column_kind", n, 'U', 1, 0, 7);
    f->level_start = bf_parts(l, "level_start", n, 1, 0, n_levels);
    f->level_missing = (uint8_t*)bf_read(l, "level_missing", n, 'U', 1, 0, 1);
    f->level_is_text = (uint8_t*)bf_read(l, "level_is_text", n, 'U', 1, 0, 1);
    const int64_t* ends = bf_parts(l, "level_end", n_levels, 0, 0, n_text);
    const uint8_t* source = (uint8_t*)bf_read(l, "level_text", n_text, 'U', 1, 0, 255);
    for (int32_t j = 0; j < n; ++j) {
        const int64_t kind = f->column_kind[j], n_own = bf_levels(f, j, 1);
        bf_require(l, kind <= BF_MEANS || kind > 6, BF_COLUMNS); /* left out, dates, text */
        BF_CHECK((kind >= BF_ONE_HOT) == (n_own > 0));           /* a category has levels, numbers have none */
        for (int64_t i = f->level_start[j]; i < f->level_start[j + 1]; begin = ends[i++]) {
            levels[i] = (char*)memcpy(text + begin + i, source + begin, ends[i] - begin);
            bf_require(l, memchr(levels[i], 0, ends[i] - begin) == NULL, BF_ZERO_IN_TEXT);
            if (!f->level_is_text[j] && strcmp(levels[i], "-0.0") == 0) levels[i] = "0.0";
        }
        n_features += kind >= BF_MEANS ? BF_N_MEANS(f, kind) : kind < BF_ONE_HOT ? 1 + kind : n_own == 2 ? 1 : n_own;
        n_values += n_own * BF_N_MEANS(f, kind);
    }
    f->level_means = bf_reals(l, "level_means", n_values, -DBL_MAX);
    BF_CHECK(n_features == d);
}
/* How trees add up, calibration, and what intervals need. */
static void bf_read_results(bf_loader* l) {
    static const double one = 1;
    bf_forest* f = l->f;
    const int64_t n_trees = f->n_trees, n_knots = f->n_classes > 0 ? bf_find(l, "knot_x").n : 0;
    const int32_t n_stages = bf_find(l, "stage_end").n, n = bf_find(l, "residuals").n, is_class = f->n_classes > 0;
    int64_t* units = BF_NEW(kept, int64_t, n_stages + 1);
    f->n_stages = n_stages > 0 ? n_stages : 1, f->stage_end = f->stage_units = units, f->stage_step = &one;
    *units = n_trees;
    if (n_stages > 0) f->stage_end = bf_parts(l, "stage_end", n_stages, 0, 1, n_trees);
    if (n_stages > 0) f->stage_step = bf_reals(l, "stage_step", n_stages, 0);
    for (int32_t i = 0; i < n_stages; ++i) units[i] = f->stage_end[i] - (i > 0 ? f->stage_end[i - 1] : 0);
    if (bf_find(l, "stage_units").n > 0)
        f->stage_units = (int64_t*)bf_read(l, "stage_units", n_stages, 'I', 8, 1, (double)n_trees);
    f->factor = is_class && bf_find(l, "calibration_factor").n > 0 ? *bf_reals(l, "calibration_factor", 1, BF_TINY) : 1;
    if (n_knots > 0) f->knot_start = bf_parts(l, "knot_start", f->n_outputs, 1, 1, n_knots);
    if (n_knots > 0) f->knot_x = bf_reals(l, "knot_x", n_knots, -DBL_MAX);
    if (n_knots > 0) f->knot_y = bf_reals(l, "knot_y", n_knots, BF_TINY);
    f->is_plain = n_stages <= 1 && f->stage_step[0] == 1 && f->factor == 1 && f->knot_x == NULL;
    if (is_class || n == 0) return;
    f->n_residuals = n, f->residuals = bf_reals(l, "residuals", n, 0);
    f->absent = (uint8_t*)bf_read(l, "absent", n_trees * (((int64_t)n + 7) / 8), 'U', 1, 0, 255);
    f->tree_seeds = (uint64_t*)bf_read(l, "tree_seeds", n_trees, 'U', 8, 0, 2e19);
    if (bf_find(l, "residual_weight").n > 0) f->residual_weight = bf_reals(l, "residual_weight", n, BF_TINY);
}

static void bf_read_file(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    const uint64_t length = n_bytes > 8 ? bf_bits(bytes, 8) : UINT64_MAX;
    char digits[64];
    bf_require(l, length <= (1 << 24) && length <= n_bytes - 8, BF_NOT_A_MODEL);
    l->data = bytes + 8 + length, l->end = bytes + n_bytes, l->f = BF_NEW(kept, bf_forest, 1);
    l->header = (char*)memcpy(BF_NEW(scratch, char, length + 1), bytes + 8, length);
    const char *format = bf_field(l, "metadata.format"), *text = bf_field(l, "metadata.format_version");
    const char* seal = bf_value(l->header, "sha256", '"');
    const long version = text != NULL ? strtol(text, NULL, 10) : 0;
    bf_require(l, format != NULL && strcmp(format, "boostforest") == 0, BF_NOT_A_MODEL);
    bf_require(l, version > 0 && version <= 7, version > 7 ? BF_NEWER : BF_HEADER);
    bf_require(l, seal != NULL && strspn(++seal, "0123456789abcdef") == 64, BF_CHECKSUM);
    bf_digest(bytes, n_bytes, 8 + (seal - l->header), digits);
    bf_require(l, memcmp(digits, seal, 64) == 0, BF_CHECKSUM);
    bf_require(l, bf_find(l, "network").at == NULL, BF_NETWORKS);
    bf_require(l, bf_find(l, "monotonic_cst").at == NULL, BF_CONSTRAINTS);
    bf_require(l, bf_find(l, "sparse_chosen").at == NULL, BF_COLUMNS);
    bf_require(l, bf_find(l, "target_end").at == NULL, BF_TARGETS);
    l->slots = (uint32_t (*)[4096])bf_take(l, &l->scratch, 32, sizeof *l->slots);
    l->coded = bf_field(l, "metadata.coded");
    bf_read_target(l), bf_read_table(l), bf_read_trees(l), bf_read_results(l);
    l->f->memory = l->kept;
}
/* Variables of a function that calls setjmp are lost if they have changed: this one has none. */
static void bf_try(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    if (setjmp(l->failed) == 0) bf_read_file(l, bytes, n_bytes);
}

BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status) {
    bf_loader l;
    memset(&l, 0, sizeof l);
    bf_try(&l, (const uint8_t*)bytes, n_bytes);
    if (l.status != BF_OK) bf_free(l.kept);
    bf_free(l.scratch);
    if (status != NULL) *status = l.status;
    return l.status == BF_OK ? l.f : NULL;
}

BF_API bf_forest* bf_open(const char* path, int* status) {
    FILE* file = fopen(path, "rb");
    const int is_file = file != NULL && (fgetc(file) != EOF || feof(file)); /* a folder cannot be read */
    const long size = is_file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t* bytes = size >= 0 ? (uint8_t*)malloc(size + 1) : NULL;
    int failed = size >= 0 && bytes == NULL ? BF_NO_MEMORY : BF_NO_FILE;
    bf_forest* forest = NULL;
    if (bytes != NULL && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, size, file) == (size_t)size)
        forest = bf_load(bytes, size, &failed);
    if (file != NULL) fclose(file);
    free(bytes);
    if (status != NULL) *status = failed;
    return forest;
}

BF_API void bf_close(bf_forest* forest) {
    if (forest != NULL) bf_free((void**)forest->memory);
}

#endif
#endif
