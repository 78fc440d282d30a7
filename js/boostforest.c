/* boostforest.h for WebAssembly: what index.js calls. Memory is taken and given back by malloc and free. */
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"

#include <emscripten.h>

/* What C reads from the model itself. */
EMSCRIPTEN_KEEPALIVE int32_t n_columns(const bf_forest* forest) {
    return forest->n_columns;
}

EMSCRIPTEN_KEEPALIVE const char* column_name(const bf_forest* forest, int32_t column) {
    return forest->column_names[column];
}

EMSCRIPTEN_KEEPALIVE const char* class_name(const bf_forest* forest, int32_t number) {
    return forest->class_names[number];
}

/* NULL: it has fewer levels. */
EMSCRIPTEN_KEEPALIVE const char* level_name(const bf_forest* forest, int32_t column, int32_t level) {
    return level < bf_levels(forest, column, 0) ? forest->level_names[forest->level_start[column] + level] : NULL;
}

EMSCRIPTEN_KEEPALIVE int32_t n_classes(const bf_forest* forest) {
    return forest->n_classes;
}

EMSCRIPTEN_KEEPALIVE int32_t n_trees(const bf_forest* forest) {
    return forest->n_trees;
}

EMSCRIPTEN_KEEPALIVE int32_t has_intervals(const bf_forest* forest) {
    return forest->n_residuals > 0;
}

/* 0: numbers; 1: categories that are text; 2: categories that are numbers. */
EMSCRIPTEN_KEEPALIVE int32_t column_kind(const bf_forest* forest, int32_t column) {
    return bf_levels(forest, column, 1) == 0 ? 0 : forest->level_is_text[column] ? 1 : 2;
}
