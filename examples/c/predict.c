/* Predicts a row with a model file: predict MODEL VALUES...
 *
 *     cc -std=c99 -O2 -I "$(python -c 'import boostforest; print(boostforest.get_include())')" predict.c -o predict -lm
 *     ./predict houses.bf 120.5 Bonn -
 *
 * Categories are given by their text; - is a missing value. */
#define BOOSTFOREST_IMPLEMENTATION
#include <stdio.h>
#include <stdlib.h>

#include "boostforest.h"

static double read_value(const bf_forest* forest, int32_t column, const char* text) {
    const int has_kind = column < forest->n_columns && forest->column_kind != NULL;
    const int is_category = has_kind && forest->column_kind[column] >= BF_ONE_HOT;
    const int is_missing = strcmp(text, "-") == 0;
    if (is_category) return bf_text_level(forest, column, is_missing ? NULL : text);
    return is_missing ? NAN : strtod(text, NULL);
}

int main(int argc, char** argv) {
    int status = BF_NO_FILE;
    bf_forest* forest = argc > 1 ? bf_open(argv[1], &status) : NULL;
    double *row, *results, *work, ends[2];
    const int32_t n = argc > 2 ? argc - 2 : 0;
    int32_t j, k;
    if (forest == NULL) {
        fprintf(stderr, "%s\n", bf_error(status));
        return 1;
    }
    row = malloc((size_t)argc * sizeof(double));
    results = malloc((size_t)bf_n_results(forest) * sizeof(double));
    work = malloc(bf_work(forest, 1) * sizeof(double));
    for (j = 0; j < n; ++j) row[j] = read_value(forest, j, argv[2 + j]);
    status = bf_predict(forest, row, (size_t)n, results, work);
    if (status != BF_OK) fprintf(stderr, "%s\n", bf_error(status));
    for (k = 0; k < bf_n_results(forest) && status == BF_OK; ++k) {
        const char* name = forest->n_classes > 0 ? forest->class_names[k] : NULL;
        printf("%s%s%.17g\n", name == NULL ? "" : name, name == NULL ? "" : " ", results[k]);
    }
    if (status == BF_OK && bf_interval(forest, row, (size_t)n, 0.9, ends, work) == BF_OK)
        printf("90%% interval: %.17g to %.17g\n", ends[0], ends[1]);
    free(row), free(results), free(work);
    bf_close(forest);
    return status == BF_OK ? 0 : 1;
}
