/* Opens the model file that is the first argument and reads rows of doubles; writes, all as doubles: the numbers of
 * columns, results and trees; then of each row its status, results and leaves, the status of its interval and its ends.
 * The second argument is the coverage. */
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"

#include <stdio.h>
#include <stdlib.h>

static void put(double value) {
    fwrite(&value, sizeof value, 1, stdout);
}

int main(int argc, char** argv) {
    int status = -1;
    bf_forest* forest = argc > 1 ? bf_open(argv[1], &status) : NULL;
    const double coverage = argc > 2 ? atof(argv[2]) : 0.9;
    size_t n_columns, n_results, n_rows = 0, room = 64, i, c;
    double *rows, *results, *together, *work, *work_rows;
    int32_t* leaves;
    if (forest == NULL) {
        fprintf(stderr, "%d %s\n", status, bf_error(status));
        return 1;
    }
    n_columns = (size_t)forest->n_columns;
    n_results = (size_t)bf_n_results(forest);
    rows = (double*)malloc(room * n_columns * sizeof(double));
    while (fread(rows + n_rows * n_columns, sizeof(double), n_columns, stdin) == n_columns)
        if (++n_rows == room) rows = (double*)realloc(rows, (room *= 2) * n_columns * sizeof(double));
    results = (double*)malloc(n_results * sizeof(double));
    together = (double*)malloc((n_rows + 1) * n_results * sizeof(double));
    work = (double*)malloc(bf_work(forest, 1) * sizeof(double));
    work_rows = (double*)malloc(bf_work(forest, n_rows) * sizeof(double));
    leaves = (int32_t*)calloc((size_t)forest->n_trees, sizeof(int32_t));
    put((double)n_columns), put((double)n_results), put(forest->n_trees);
    for (i = 0; i < n_rows; ++i) {
        double ends[2] = {0, 0};
        for (c = 0; c < n_results; ++c) results[c] = 0;
        status = bf_predict(forest, rows + i * n_columns, n_columns, results, work);
        put(status);
        for (c = 0; c < n_results; ++c) put(results[c]);
        bf_apply(forest, rows + i * n_columns, n_columns, leaves, work);
        for (c = 0; c < (size_t)forest->n_trees; ++c) put(leaves[c]);
        put(bf_interval(forest, rows + i * n_columns, n_columns, coverage, ends, work));
        put(ends[0]), put(ends[1]);
        if (status == BF_OK) { /* many rows at once give the same */
            size_t n_done = 0;
            if (bf_predict_rows(forest, rows, i + 1, n_columns, together, work_rows, &n_done) == BF_OK &&
                (n_done != i + 1 || memcmp(together + i * n_results, results, n_results * sizeof(double)) != 0))
                return 2;
        }
    }
    free(rows), free(results), free(together), free(work), free(work_rows), free(leaves);
    bf_close(forest);
    return 0;
}
