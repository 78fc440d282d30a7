#include "explain.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "interventional.hpp"
#include "path_dependent.hpp"
#include "whole_tree.hpp"

namespace boostforest {

namespace {

constexpr int kMostLevels = 200;                      // of a tree that is walked with all its branches
constexpr std::size_t kTreeBytes = std::size_t{64} << 20;  // of prepared trees at a time

int depth_of(const TreeView& tree) {
    std::vector<int> depth(tree.n_nodes);
    int deepest = 0;
    for (std::int64_t node = 0; node < tree.n_nodes; ++node) {
        deepest = std::max(deepest, depth[node]);
        if (tree.feature[node] >= 0) depth[tree.left[node]] = depth[tree.left[node] + 1] = depth[node] + 1;
    }
    return deepest;
}

// Scratch of one thread.
struct Explainers {
    Explainers(const PreparedRows& background, const Players& players, const BetaTable& beta, int n_outputs)
        : by_nodes(background, players, beta, n_outputs), whole(background, players, beta, n_outputs) {}
    Interventional by_nodes;
    WholeTree whole;
};

// Interactions with itself are what is left of a column's contribution.
void fill_diagonal(const double* values, int n_players, int n_outputs, double* pairs) {
    for (int i = 0; i < n_players; ++i)
        for (int k = 0; k < n_outputs; ++k) {
            double rest = values[i * n_outputs + k];
            for (int j = 0; j < n_players; ++j)
                if (j != i) rest -= pairs[(static_cast<std::int64_t>(i) * n_players + j) * n_outputs + k];
            pairs[static_cast<std::int64_t>(i) * (n_players + 1) * n_outputs + k] = rest;
        }
}

template <int kPoints>
void explain_paths(const std::vector<PathTree>& trees, const double* weights, const PreparedRows& row,
                   const Players& players, int n_outputs, Worker& worker, double* values) {
    PathDependent<kPoints> paths(players, n_outputs);
    for (std::size_t t = 0; t < trees.size(); ++t) {
        worker.check(trees[t].tree().n_nodes * kPoints);
        paths.add_tree(trees[t], row.routed(0), row.inputs(0), weights[t], values);
    }
}

}  // namespace

bool has_closed_forms(const TreeView& tree) {
    return is_sum_of_models(tree) && depth_of(tree) <= kMostLevels;
}

void explain_interventional(const WeightedTrees& forest, const RawRows& rows, const RawRows& background,
                            const Players& players, int n_threads, Control& control, const Contributions& out) {
    if (forest.trees.empty()) return;
    const int n_outputs = forest.trees[0].n_outputs;
    const PreparedRows others(background, 0, background.n_rows);
    const BetaTable beta(kMostLevels + kMostPaired);
    std::vector<bool> closed(forest.trees.size());
    std::transform(forest.trees.begin(), forest.trees.end(), closed.begin(), has_closed_forms);
    std::vector<std::unique_ptr<Explainers>> explainers(kMaxThreads);
    const std::int64_t n_apart = out.apart ? others.n() : 1, size = n_apart * players.n * n_outputs;
    parallel_for(rows.n_rows, n_threads, control, [&](std::int64_t i, Worker& worker) {
        auto& own = explainers[worker.number()];
        if (!own) own = std::make_unique<Explainers>(others, players, beta, n_outputs);
        const PreparedRows row(rows, i, i + 1);
        Target target{.sums = {.values = out.values + i * size,
                               .variance = out.variance + i * size,
                               .pairs = out.pairs == nullptr ? nullptr : out.pairs + i * size * players.n,
                               .weight = 0},
                      .apart = out.apart};
        for (std::size_t t = 0; t < forest.trees.size(); ++t) {
            const TreeView& tree = forest.trees[t];
            const Key key = child(row.key(0), forest.first + t);
            target.sums.weight = forest.weights[t] / (out.apart ? 1.0 : static_cast<double>(others.n()));
            worker.check(others.n() * 16 * others.width());
            if (closed[t]) {
                own->by_nodes.add_tree(tree, forest.output, row, 0, key, target);
            } else {
                own->whole.add_tree(tree, forest.output, row, 0, key, worker, target);
            }
        }
        for (std::int64_t other = 0; other < n_apart && out.pairs != nullptr; ++other) {
            const Sums sums = target.of(other, players.n, n_outputs);
            fill_diagonal(sums.values, players.n, n_outputs, sums.pairs);
        }
    });
}

void explain_path(const WeightedTrees& forest, const RawRows& rows, const RawRows& background, const Players& players,
                  int n_threads, Control& control, double* values, double* base) {
    if (forest.trees.empty()) return;
    const int n_outputs = forest.trees[0].n_outputs;
    const PreparedRows others(background, 0, background.n_rows);
    for (std::size_t first = 0; first < forest.trees.size();) {
        std::vector<PathTree> trees;
        std::size_t n_bytes = 0;
        int deepest = 0;
        const double* weights = forest.weights + first;
        for (; first < forest.trees.size() && n_bytes < kTreeBytes; ++first) {
            trees.emplace_back(forest.trees[first], forest.output, others);
            trees.back().add_base(forest.weights[first], base);
            n_bytes += trees.back().n_bytes();
            deepest = std::max(deepest, trees.back().deepest());
        }
        const bool few = std::min(deepest, players.n) < 16;
        parallel_for(rows.n_rows, n_threads, control, [&](std::int64_t i, Worker& worker) {
            const PreparedRows row(rows, i, i + 1);
            const auto explain = few ? explain_paths<8> : explain_paths<32>;
            explain(trees, weights, row, players, n_outputs, worker, values + i * players.n * n_outputs);
        });
    }
}

}  // namespace boostforest
