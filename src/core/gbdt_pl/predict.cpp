#include <algorithm>

#include "gbdt_pl.hpp"

namespace boostforest::gbdt_pl {

namespace {

constexpr std::int64_t kRowsPerBlock = 256;

double tree_score(const View& trees, std::int64_t tree, const double* row) {
    const std::int64_t root = trees.tree_start[tree];
    std::int64_t node = root;
    while (trees.feature[node] >= 0)
        node = root + trees.left[node] + (row[trees.feature[node]] <= trees.threshold[node] ? 0 : 1);
    double score = trees.intercept[node];
    for (std::int64_t k = trees.term_start[node]; k < trees.term_start[node + 1]; ++k)
        score += trees.term_slope[k] * row[trees.term_feature[k]];
    return score;
}

}  // namespace

void add_scores(const View& trees, std::int64_t first, std::int64_t last, const double* x, std::int64_t n_rows,
                double* out, int n_threads, Control& control) {
    const int k = trees.n_outputs;
    const std::int64_t n_blocks = (n_rows + kRowsPerBlock - 1) / kRowsPerBlock;
    parallel_for(n_blocks, n_threads, control, [&](std::int64_t block, Worker& worker) {
        const std::int64_t begin = block * kRowsPerBlock, end = std::min(begin + kRowsPerBlock, n_rows);
        worker.check((end - begin) * (last - first) * k * 20);
        for (std::int64_t tree = first * k; tree < last * k; ++tree)
            for (std::int64_t i = begin; i < end; ++i)
                out[i * k + tree % k] += tree_score(trees, tree, x + i * trees.n_features);
    });
}

}  // namespace boostforest::gbdt_pl
