#include "explain.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "coalition_tables.hpp"
#include "interventional.hpp"
#include "mixed_lanes.hpp"
#include "path_dependent.hpp"
#include "row_blocks.hpp"
#include "whole_tree.hpp"

namespace boostforest {

namespace {

constexpr std::int64_t kMostRows = 16;                    // that one thread takes through a tree
constexpr std::int64_t kMostPathRows = 64;                // the same, along paths
constexpr std::size_t kTreeBytes = std::size_t{4} << 20;  // of prepared trees at a time: they stay near

// Scratch of one thread.
struct Explainers {
    Explainers(const PreparedRows& background, const Players& players, const Weights& weights, int n_outputs)
        : by_nodes(background, players, weights, n_outputs),
          tables(background, players, weights),
          lanes(background, players, weights),
          whole(background, players, weights, n_outputs) {}
    Interventional by_nodes;
    CoalitionTables tables;
    MixedLanes lanes;
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

}  // namespace

bool has_closed_forms(const TreeView& tree, Link link) {
    return is_sum_of_models(tree, link) && is_walked(tree);
}

bool has_paths(const TreeView& tree, Link link) {
    return has_closed_forms(tree, link) ||
           (tree.kind == ModelKind::kHidden && tree.monotone == nullptr && link != Link::kLog && is_walked(tree));
}

void explain_interventional(const WeightedTrees& forest, const RawRows& rows, const RawRows& background,
                            const Players& players, int n_threads, Control& control, const Contributions& out) {
    if (forest.trees.empty()) return;
    const int n_outputs = forest.trees[0].n_outputs;
    const PreparedRows others(background, 0, background.n_rows);
    const Weights weights(std::min(players.n, kMostLevels + kMostPaired));
    std::vector<bool> closed(forest.trees.size());
    std::transform(forest.trees.begin(), forest.trees.end(), closed.begin(),
                   [&](const TreeView& tree) { return has_closed_forms(tree, forest.link); });
    const bool in_lanes = !out.apart && out.pairs == nullptr;
    const bool in_tables = in_lanes && players.n <= kCubePlayers;
    const double full = full_rest(forest.trees, forest.weights, forest.link, others.input_width());
    std::vector<std::unique_ptr<Explainers>> explainers(kMaxThreads);
    const std::int64_t n_apart = out.apart ? others.n() : 1, size = n_apart * players.n * n_outputs;
    const auto target_of = [&](std::int64_t row, double weight) {
        return Target{.sums = {.values = out.values + row * size,
                               .variance = out.variance + row * size,
                               .pairs = out.pairs == nullptr ? nullptr : out.pairs + row * size * players.n,
                               .weight = out.apart ? weight : weight / static_cast<double>(others.n())},
                      .apart = out.apart};
    };
    for_row_blocks(rows, kMostRows, n_threads, control,
                   [&](const PreparedRows& block, std::int64_t begin, Worker& worker) {
                       auto& own = explainers[worker.number()];
                       if (!own) own = std::make_unique<Explainers>(others, players, weights, n_outputs);
                       std::vector<Key> keys(block.n());
                       for (std::int64_t i = 0; i < block.n(); ++i) keys[i] = block.key(i);
                       if (in_tables) own->tables.take(block);
                       for (std::size_t t = 0; t < forest.trees.size(); ++t) {
                           if (closed[t] && in_tables && fits_tables(forest.trees[t], forest.link)) {
                               own->tables.add_tree(forest.trees[t], forest.link,
                                                    target_of(begin, forest.weights[t]).sums.weight, worker);
                               continue;
                           }
                           const bool fits = closed[t] && in_lanes && fits_lanes(forest.trees[t], forest.link, players);
                           if (fits) own->lanes.take(forest.trees[t], forest.link, block, full);
                           for (std::int64_t i = 0; i < block.n(); ++i) {
                               const Target target = target_of(begin + i, forest.weights[t]);
                               const Key key = child(keys[i], forest.first + t);
                               worker.check(others.n() * 16 * others.width());
                               if (fits) {
                                   own->lanes.add_row(i, key, target.sums);
                               } else if (closed[t]) {
                                   own->by_nodes.add_tree(forest.trees[t], forest.link, block, i, key, target);
                               } else {
                                   own->whole.add_tree(forest.trees[t], forest.link, block, i, key, worker, target);
                               }
                           }
                       }
                       for (std::int64_t i = 0; i < block.n() && in_tables; ++i)
                           own->tables.give(i, out.values + (begin + i) * size);
                       for (std::int64_t i = 0; i < block.n() && out.pairs != nullptr; ++i)
                           for (std::int64_t other = 0; other < n_apart; ++other) {
                               const Sums sums = target_of(begin + i, 0).of(other, players.n, n_outputs);
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
        const double* weights = forest.weights + first;
        for (; first < forest.trees.size() && n_bytes < kTreeBytes; ++first) {
            trees.emplace_back(forest.trees[first], forest.link, others, players);
            trees.back().add_base(forest.weights[first], base);
            n_bytes += trees.back().n_bytes();
        }
        for_row_blocks(
            rows, kMostPathRows, n_threads, control,
            [&](const PreparedRows& block, std::int64_t begin, Worker& worker) {
                const std::int64_t size = std::int64_t{players.n} * n_outputs;
                std::vector<std::unique_ptr<PathDependent>> paths;
                for (std::int64_t i = 0; i < block.n(); i += kPathRows) {
                    paths.push_back(std::make_unique<PathDependent>(players, n_outputs, others.input_width()));
                    paths.back()->take(block, i);
                }
                for (std::size_t t = 0; t < trees.size(); ++t)
                    for (const auto& rows_of : paths) {
                        worker.check(trees[t].tree().n_nodes * 16 * kPathRows);
                        rows_of->add_tree(trees[t], weights[t]);
                    }
                for (std::size_t i = 0; i < paths.size(); ++i) paths[i]->give(values + (begin + i * kPathRows) * size);
            });
    }
}

}  // namespace boostforest
