/* Prediction with trees and forests of boostforest: C99, nothing but the standard library, no allocation.
 *
 * Tables describe a model (bf_forest); `boostforest export model.bf --to c` writes them, with a copy of this file above
 * them. All functions can be called from several threads, each with work memory of its own. Compile without options
 * that change arithmetic, such as -ffast-math: missing values are NaN. */
#ifndef BOOSTFOREST_H
#define BOOSTFOREST_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum bf_status { BF_OK = 0, BF_INFINITE = 1, BF_CATEGORY = 2 };
enum bf_column_kind { BF_NUMBER = 0, BF_NUMBER_AND_MARK = 1, BF_ONE_HOT = 2, BF_MEANS = 3 };
enum bf_link { BF_IDENTITY = 0, BF_SIGMOID = 1, BF_SOFTMAX = 2, BF_LOG = 3, BF_EXP_OF_MEAN = 4 };
enum bf_kind { BF_CONSTANT = 0, BF_LINEAR = 1, BF_HIDDEN = 2 };

/* One column of the table. A category is the number of its level: bf_text_level and bf_number_level find it. */
typedef struct {
    int32_t kind;             /* enum bf_column_kind */
    int32_t n_features;       /* that it becomes */
    int32_t n_levels;         /* of a category; the missing ones are the last level if the fit has seen some */
    int32_t missing;          /* 1 if it has */
    const char* const* texts; /* levels that are text, UTF-8, in ascending order; else NULL */
    const double* numbers;    /* levels that are numbers, ascending; else NULL */
    const double* means;      /* n_levels x n_features; NULL: one-hot */
} bf_column;

/* Coefficients, as many digits as were asked for: one of both is not NULL. */
typedef struct {
    const double* f64;
    const float* f32;
} bf_values;

typedef struct {
    /* the table */
    int32_t n_columns, n_features;
    const bf_column* columns; /* NULL: every column is a feature as it is */
    const double *mean, *scale;
    const double* fill;  /* centre and precision of a normal distribution; NULL: the mean replaces missing values */
    const int32_t* seen; /* features that node models see; NULL: all */
    int32_t n_seen;
    /* the trees, nodes of all of them one after another */
    int32_t n_trees, n_outputs;
    const int32_t* tree_start;   /* per tree: its first node; then their number */
    const uint8_t* kind;         /* per tree: enum bf_kind */
    const uint8_t* sum_path;     /* per tree: 1 if a score is the sum of the clipped models on the path */
    const int32_t* n_inputs;     /* per tree: slopes of a model */
    const int64_t* first_param;  /* per tree */
    const int64_t* first_hidden; /* per tree: of its hidden layer, biases and then weights by feature */
    const int32_t* feature;      /* per node: split feature, -1 for a leaf */
    const double* threshold;     /* per node: x <= threshold goes left */
    const uint8_t* missing_left; /* per node: 1 where a missing value goes left */
    const int32_t* left;    /* per node: left child, counted from the root, the right one follows; leaves: number */
    bf_values lower, upper; /* per node: clip range; where a tree has sum_path */
    bf_values params;       /* of each model: intercept and slopes, for each output */
    const double* hidden;
    /* from scores to predictions */
    int32_t link, n_first;       /* n_first: trees of the first stage, whose outputs are averaged */
    int32_t is_plain;            /* 1: their mean is the output */
    double first_step;           /* else: what the score of their mean counts, */
    const double* later_weights; /*   and the scores of each later tree */
    double factor;               /* of scores, by calibration */
    const double* knots;         /* per output: places, then values; NULL: none */
    const int32_t* n_knots;      /* per output */
    int32_t n_classes;           /* 0 in regression */
    double target_mean, target_scale, least_probability;
    int32_t most_inputs;
} bf_forest;

static inline const char* bf_error(int status) {
    switch (status) {
        case BF_OK: return "no error";
        case BF_INFINITE: return "a value of the row is infinite";
        case BF_CATEGORY: return "a category is not the number of a level: see bf_text_level and bf_number_level";
        default: return "unknown status";
    }
}

/* Number of the level of a category that is text; NULL is a missing one. NaN: unknown. */
static inline double bf_text_level(const bf_forest* forest, int32_t column, const char* text) {
    const bf_column* c = &forest->columns[column];
    int32_t low = 0, high = c->n_levels - c->missing - 1;
    if (text == NULL) return c->missing ? c->n_levels - 1 : NAN;
    while (c->texts != NULL && low <= high) {
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

/* The same for categories that are numbers; NaN is a missing one. */
static inline double bf_number_level(const bf_forest* forest, int32_t column, double number) {
    const bf_column* c = &forest->columns[column];
    int32_t low = 0, high = c->n_levels - c->missing - 1;
    if (isnan(number)) return c->missing ? c->n_levels - 1 : NAN;
    while (c->numbers != NULL && low <= high) {
        const int32_t middle = low + (high - low) / 2;
        if (number == c->numbers[middle]) return middle;
        if (number < c->numbers[middle])
            high = middle - 1;
        else
            low = middle + 1;
    }
    return NAN;
}

static inline double bf_at(const bf_values* values, int64_t i) {
    return values->f64 != NULL ? values->f64[i] : (double)values->f32[i];
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

static inline double bf_model(const bf_forest* forest, int64_t start, int32_t n_inputs, const double* inputs) {
    double total = bf_at(&forest->params, start);
    int32_t j;
    for (j = 0; j < n_inputs; ++j) total += bf_at(&forest->params, start + 1 + j) * inputs[j];
    return total;
}

/* What node models of a tree see: some features, or the units of its hidden layer. */
static inline const double* bf_inputs(const bf_forest* forest, int32_t tree, const double* seen, double* units) {
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

static inline int32_t bf_next(const bf_forest* forest, int32_t root, int32_t node, const double* x) {
    const int64_t at = (int64_t)root + node;
    const double value = x[forest->feature[at]];
    const int goes_left = isnan(value) ? forest->missing_left[at] : value <= forest->threshold[at];
    return forest->left[at] + (goes_left ? 0 : 1);
}

/* Scores of a row by one tree; x with NaN for missing values. Returns the leaf. */
static inline int32_t bf_tree(const bf_forest* forest, int32_t tree, const double* x, const double* inputs,
                              double* scores) {
    const int32_t root = forest->tree_start[tree], n = forest->tree_start[tree + 1] - root;
    const int32_t n_inputs = forest->n_inputs[tree], n_outputs = forest->n_outputs;
    const int64_t first = forest->first_param[tree];
    int32_t node = 0, c;
    if (!forest->sum_path[tree]) {
        while (forest->feature[root + node] >= 0) node = bf_next(forest, root, node, x);
        for (c = 0; c < n_outputs; ++c) {
            const int64_t model = (int64_t)forest->left[root + node] * n_outputs + c;
            scores[c] = bf_model(forest, first + model * (1 + n_inputs), n_inputs, inputs);
        }
        return node;
    }
    scores[0] = 0;
    for (;;) {
        if (node > 0 || n == 1) { /* a root that is split has no model */
            const int64_t model = n == 1 ? 0 : node - 1;
            const double value = bf_model(forest, first + model * (1 + n_inputs), n_inputs, inputs);
            const double low = bf_at(&forest->lower, root + node), high = bf_at(&forest->upper, root + node);
            const double above = value < low ? low : value;
            scores[0] += above > high ? high : above;
        }
        if (forest->feature[root + node] < 0) return node;
        node = bf_next(forest, root, node, x);
    }
}

/* ------------------------------------------------------------------------------------------- from scores to results */

static inline double bf_exp(double f) {
    return exp(f < -230 ? -230 : f > 230 ? 230 : f); /* sums are finite */
}

static inline void bf_outputs(const bf_forest* forest, double* f) {
    const int32_t n = forest->n_outputs;
    double top = f[0], total = 0;
    int32_t c;
    if (forest->link == BF_SIGMOID) f[0] = bf_sigmoid(f[0]);
    if (forest->link == BF_LOG) f[0] = bf_exp(f[0]);
    if (forest->link != BF_SOFTMAX) return;
    for (c = 1; c < n; ++c) top = f[c] > top ? f[c] : top;
    for (c = 0; c < n; ++c) total += f[c] = exp(f[c] - top);
    for (c = 0; c < n; ++c) f[c] /= total;
}

static inline void bf_scores(const bf_forest* forest, double* p) {
    const int32_t n = forest->n_outputs;
    const double least = forest->least_probability;
    double mean = 0;
    int32_t c;
    if (forest->link == BF_SIGMOID) {
        const double value = p[0] < least ? least : p[0] > 1 - least ? 1 - least : p[0];
        p[0] = log(value / (1 - value));
    }
    if (forest->link == BF_LOG) p[0] = log(p[0] < least ? least : p[0]);
    if (forest->link != BF_SOFTMAX) return;
    for (c = 0; c < n; ++c) mean += (p[c] = log(p[c] < least ? least : p[c])) / n;
    for (c = 0; c < n; ++c) p[c] -= mean;
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
            p[c] = y[k - 1] + (p[c] - x[k - 1]) / (x[k] - x[k - 1]) * (y[k] - y[k - 1]);
        total += p[c];
        x = y + n;
    }
    for (c = 0; c < forest->n_outputs && forest->n_outputs > 1; ++c) p[c] /= total;
}

/* Doubles of work memory that a prediction needs. */
static inline size_t bf_work(const bf_forest* forest) {
    const size_t d = (size_t)forest->n_features;
    return 4 * d + (forest->fill == NULL ? 0 : d * d) + (size_t)forest->n_seen + (size_t)forest->most_inputs +
           3 * (size_t)forest->n_outputs;
}

/* Predicts one row: the target, or the probability of each class. row: a value per column, NaN for a missing number.
 * leaves, unless NULL, gets the leaf of each tree. */
static inline int bf_predict(const bf_forest* forest, const double* row, double* result, double* work,
                             int32_t* leaves) {
    const int32_t d = forest->n_features, n_outputs = forest->n_outputs;
    double *x = work, *filled = x + d, *rhs = filled + d, *number = rhs + d, *factor = number + d;
    double *seen = factor + (forest->fill == NULL ? 0 : (size_t)d * (size_t)d), *units = seen + forest->n_seen;
    double *mean = units + forest->most_inputs, *later = mean + n_outputs, *scores = later + n_outputs;
    int32_t j, c, t, has_gaps = 0;
    const int status = bf_features(forest, row, x);
    if (status != BF_OK) return status;
    for (j = 0; j < d; ++j) {
        filled[j] = x[j];
        if (!isnan(x[j])) continue;
        has_gaps = 1;
        if (forest->fill == NULL) filled[j] = 0;
    }
    if (has_gaps && forest->fill != NULL) bf_expected(forest, filled, factor, rhs, number);
    for (j = 0; j < forest->n_seen; ++j) seen[j] = filled[forest->seen == NULL ? j : forest->seen[j]];
    for (c = 0; c < n_outputs; ++c) mean[c] = later[c] = 0;
    for (t = 0; t < forest->n_trees; ++t) {
        const int32_t leaf = bf_tree(forest, t, x, bf_inputs(forest, t, seen, units), scores);
        if (leaves != NULL) leaves[t] = leaf;
        if (t < forest->n_first) bf_outputs(forest, scores);
        for (c = 0; c < n_outputs; ++c) {
            if (t < forest->n_first)
                mean[c] += scores[c];
            else
                later[c] += forest->later_weights[t - forest->n_first] * scores[c];
        }
    }
    for (c = 0; c < n_outputs; ++c) mean[c] /= forest->n_first;
    if (!forest->is_plain) {
        bf_scores(forest, mean);
        for (c = 0; c < n_outputs; ++c) mean[c] = forest->factor * (forest->first_step * mean[c] + later[c]);
        bf_outputs(forest, mean);
        bf_calibrate(forest, mean);
    }
    if (forest->n_classes == 0) {
        if (forest->link == BF_EXP_OF_MEAN) mean[0] = bf_exp(mean[0]);
        result[0] = mean[0] * forest->target_scale + forest->target_mean;
    } else if (n_outputs > 1) {
        for (c = 0; c < n_outputs; ++c) result[c] = mean[c];
    } else {
        result[0] = forest->n_classes == 1 ? 1.0 : 1 - mean[0];
        if (forest->n_classes == 2) result[1] = mean[0];
    }
    return BF_OK;
}

#endif
