/* Times predictions of rows that are read as doubles: microseconds per row, one at a time and all together, the least
 * of several rounds. Arguments: a model file, rounds. */
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
    int status = -1, round, n_rounds = argc > 2 ? atoi(argv[2]) : 5;
    bf_forest* forest = argc > 1 ? bf_open(argv[1], &status) : NULL;
    size_t n_columns, n_results, n = 0, i;
    double *rows, *results, *work, one = 1e9, all = 1e9;
    clock_t begin;
    if (forest == NULL) return puts(bf_error(status)), 1;
    n_columns = (size_t)forest->n_columns, n_results = (size_t)bf_n_results(forest);
    rows = (double*)malloc(10000 * n_columns * sizeof(double));
    results = (double*)malloc(10000 * n_results * sizeof(double));
    while (n < 10000 && fread(rows + n * n_columns, sizeof(double), n_columns, stdin) == n_columns) ++n;
    work = (double*)malloc(bf_work(forest, n) * sizeof(double));
    for (round = 0; round < n_rounds && n > 0; ++round) {
        double seconds;
        begin = clock();
        for (i = 0; i < n; ++i) bf_predict(forest, rows + i * n_columns, n_columns, results + i * n_results, work);
        seconds = (double)(clock() - begin) / CLOCKS_PER_SEC / (double)n;
        one = seconds < one ? seconds : one;
        begin = clock();
        bf_predict_rows(forest, rows, n, n_columns, results, work, NULL);
        seconds = (double)(clock() - begin) / CLOCKS_PER_SEC / (double)n;
        all = seconds < all ? seconds : all;
    }
    printf("%.2f %.2f\n", 1e6 * one, 1e6 * all);
    free(rows), free(results), free(work);
    bf_close(forest);
    return 0;
}
