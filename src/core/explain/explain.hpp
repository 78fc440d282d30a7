// Explanations of a forest: what each column adds to the output of each row.
#pragma once

#include <cstdint>
#include <span>

#include "../base/parallel.hpp"
#include "../forest/forest.hpp"
#include "../table/raw_rows.hpp"
#include "players.hpp"

namespace boostforest {

// What is explained: Σ of weight × output over some trees.
struct WeightedTrees {
    std::span<const TreeView> trees;
    const double* weights;  // one per tree
    Link link;
    std::int64_t first;  // number of the first one in the forest: samples are drawn under the numbers of trees
};

// Whether contributions to a tree are sums over its nodes; others take mixtures of rows through the whole tree.
bool has_closed_forms(const TreeView& tree, Link link);

// Whether a tree has path-dependent contributions: these, and trees with a hidden layer.
bool has_paths(const TreeView& tree, Link link);

struct Contributions {
    double* values;    // rows × columns × outputs, or rows × background rows × columns × outputs
    double* variance;  // the same: of the values, as far as they were sampled
    double* pairs;     // the same with columns × columns: interactions; null: not asked for
    bool apart;        // against each background row; else the mean over these
};

// Interventional contributions; out is zero before. The same for any number of threads.
void explain_interventional(const WeightedTrees& forest, const RawRows& rows, const RawRows& background,
                            const Players& players, int n_threads, Control& control, const Contributions& out);

// Path-dependent contributions: values as above, and what the output is when nothing is known; both are zero before.
void explain_path(const WeightedTrees& forest, const RawRows& rows, const RawRows& background, const Players& players,
                  int n_threads, Control& control, double* values, double* base);

}  // namespace boostforest
