/* Damages model files at random and loads them: no file may do harm. Build it with sanitizers.
 *
 *     fuzz SEED SECONDS FILES...   damages the files itself, and gives most of them the right checksum
 *     fuzz -                       reads files from standard input, each behind its size (8 bytes, the lowest first);
 *                                  writes, as doubles: the status, and if it is 0 the numbers of columns and results,
 *                                  the results of ROWS rows and an interval; the rows are those of value() */
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS 5

static double value(const bf_forest* forest, int i, int32_t j) {
    const int32_t n_levels = bf_levels(forest, j, 1);
    if (i == 0) return NAN;
    if (n_levels > 0) return (i * 7 + j) % n_levels;
    return ((i * 7 + j * 13) % 11 - 5) / 2.0;
}

/* Loads bytes and uses everything that came of them; returns the status, and what was predicted if there is room. */
static int use(const uint8_t* bytes, size_t n, FILE* out) {
    int status = -1, i;
    uint8_t* own = (uint8_t*)malloc(n > 0 ? n : 1); /* exactly as long: a sanitizer sees what is behind it */
    bf_forest* forest;
    double *rows, *results, *work, ends[2] = {0, 0}, head[3];
    size_t n_columns, n_results;
    int32_t j, k, *leaves;
    memcpy(own, bytes, n);
    forest = bf_load(own, n, &status);
    free(own);
    if ((forest == NULL) != (status != BF_OK) || strcmp(bf_error(status), "unknown status") == 0) abort();
    head[0] = status;
    if (out != NULL) fwrite(head, sizeof *head, 1, out);
    if (forest == NULL) return status;
    n_columns = (size_t)forest->n_columns, n_results = (size_t)bf_n_results(forest);
    rows = (double*)malloc(ROWS * n_columns * sizeof(double));
    results = (double*)calloc(ROWS * n_results, sizeof(double));
    work = (double*)malloc(bf_work(forest, ROWS) * sizeof(double));
    leaves = (int32_t*)calloc((size_t)forest->n_trees, sizeof(int32_t));
    for (i = 0; i < ROWS; ++i)
        for (j = 0; j < forest->n_columns; ++j) rows[(size_t)i * n_columns + (size_t)j] = value(forest, i, j);
    if (bf_predict_rows(forest, rows, ROWS, n_columns, results, work, NULL) != BF_OK) abort();
    if (bf_apply(forest, rows, n_columns, leaves, work) != BF_OK) abort();
    if (forest->n_residuals > 0 && bf_interval(forest, rows, n_columns, 0.8, ends, work) != BF_OK) abort();
    for (j = 0; j < forest->n_columns; ++j) {
        if (strlen(forest->column_names[j]) > n) abort();
        bf_text_level(forest, j, "a"), bf_text_level(forest, j, NULL), bf_number_level(forest, j, 0.5);
        for (k = 0; k < bf_levels(forest, j, 0); ++k)
            if (strlen(forest->level_names[forest->level_start[j] + k]) > n) abort();
    }
    for (j = 0; j < forest->n_classes; ++j)
        if (strlen(forest->class_names[j]) > n) abort();
    if (out != NULL) {
        head[1] = (double)n_columns, head[2] = (double)n_results;
        fwrite(head + 1, sizeof *head, 2, out);
        fwrite(results, sizeof *results, ROWS * n_results, out);
        fwrite(ends, sizeof *ends, 2, out);
    }
    free(rows), free(results), free(work), free(leaves);
    bf_close(forest);
    return status;
}

static uint64_t state;

static uint64_t draw(uint64_t n) { /* below n */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return n > 0 ? (state >> 11) % n : 0;
}

static size_t damage(uint8_t* bytes, size_t n) {
    static const uint64_t odd[] = {0, 1, 2, 3, 255, 4096, 0x7fffffff, 0x80000000, UINT64_MAX, (uint64_t)1 << 63};
    const size_t end = n < 8 ? n : 8 + (size_t)bf_bits(bytes, 8);
    uint64_t times = 1 + draw(draw(2) ? 1 : 8);
    while (times-- > 0 && n > 8) {
        const size_t at = (size_t)(draw(3) == 0 ? 8 + draw(end < n ? end - 8 : n - 8) : draw(n)), left = n - at;
        const uint64_t number = odd[draw(10)];
        size_t k, size;
        switch (draw(8)) {
            case 0:
            case 1: bytes[at] ^= (uint8_t)(1 << draw(8)); break;
            case 2: bytes[at] = (uint8_t)draw(256); break;
            case 3: bytes[at] = (uint8_t)"0123456789{}[]\":,\\u "[draw(20)]; break;
            case 4:
                size = (size_t)1 << draw(4);
                for (k = 0; k < size && k < left; ++k) bytes[at + k] = (uint8_t)(number >> 8 * k);
                break;
            case 5:
                size = (size_t)draw(left < 64 ? left : 64);
                memmove(bytes + draw(n - size), bytes + at, size);
                break;
            case 6: bytes[at] = (uint8_t)(bytes[at] + draw(3) - 1); break;
            default:
                if (draw(6) == 0) n -= (size_t)draw(left);
        }
    }
    return n;
}

static void seal(uint8_t* bytes, size_t n) {
    size_t at;
    for (at = 0; at + 74 <= n; ++at)
        if (memcmp(bytes + at, "\"sha256\":\"", 10) == 0) {
            char digits[64];
            bf_digest(bytes, n, at + 10, digits);
            memcpy(bytes + at + 10, digits, 64);
            return;
        }
}

static uint8_t* read_file(const char* path, size_t* n) {
    FILE* file = fopen(path, "rb");
    uint8_t* bytes = (uint8_t*)malloc(1 << 20);
    if (file == NULL || bytes == NULL) exit(3);
    *n = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static int from_input(void) {
    uint8_t head[8];
    while (fread(head, 1, 8, stdin) == 8) {
        const size_t n = (size_t)bf_bits(head, 8);
        uint8_t* bytes = (uint8_t*)malloc(n > 0 ? n : 1);
        if (fread(bytes, 1, n, stdin) != n) return 4;
        use(bytes, n, stdout);
        fflush(stdout);
        free(bytes);
    }
    return 0;
}

int main(int argc, char** argv) {
    const int n_files = argc - 3;
    uint64_t n_by_status[64] = {0}, n_all = 0;
    const time_t begin = time(NULL);
    uint8_t **files, *bytes;
    size_t* sizes;
    int k;
    if (argc == 2) return from_input();
    if (n_files < 1) return 3;
    state = strtoull(argv[1], NULL, 10) * 2 + 1;
    files = (uint8_t**)malloc((size_t)n_files * sizeof *files);
    sizes = (size_t*)malloc((size_t)n_files * sizeof *sizes);
    bytes = (uint8_t*)malloc(1 << 20);
    for (k = 0; k < n_files; ++k) files[k] = read_file(argv[3 + k], &sizes[k]);
    while (difftime(time(NULL), begin) < atof(argv[2]) || n_all < 2000) {
        const uint64_t before = state;
        size_t n;
        k = (int)draw((uint64_t)n_files);
        memcpy(bytes, files[k], sizes[k]);
        n = damage(bytes, sizes[k]);
        if (draw(8) > 0) seal(bytes, n);
        if (n_all % 100 == 0) { /* where to go on after a crash: fuzz (state / 2) 0 FILES */
            fprintf(stderr, "\r%llu", (unsigned long long)(before / 2));
        }
        ++n_by_status[use(bytes, n, NULL)];
        ++n_all;
    }
    fprintf(stderr, "\n");
    printf("%llu files\n", (unsigned long long)n_all);
    for (k = 0; k < 64; ++k)
        if (n_by_status[k] > 0) printf("%9llu %s\n", (unsigned long long)n_by_status[k], bf_error(k));
    for (k = 0; k < n_files; ++k) free(files[k]);
    free(files), free(sizes), free(bytes);
    return 0;
}
