// The flat columns of a forest, checked once so that nothing below has to: no index in them can lead outside.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../table/roles.hpp"
#include "tree_view.hpp"

namespace boostforest {

// Columns as they come from outside; they belong to somebody else. What each holds says docs/dev/format.md.
struct StoredColumns {
    std::span<const std::int64_t> tree_start;  // per tree: its first node; then the number of nodes
    std::span<const std::uint8_t> kind;        // per tree: ModelKind
    std::span<const bool> sum_path;            // per tree, as in TreeView
    std::span<const std::int32_t> feature;     // per node, as in TreeView: so are the next ones
    std::span<const double> threshold;
    std::span<const std::uint8_t> missing_left;
    std::span<const std::int32_t> left;
    std::span<const float> n_samples;
    Stored stored;  // what the next three hold
    const void *lower, *upper, *params;
    std::span<const std::int8_t> exponent;       // as in TreeView; empty unless params are bytes
    std::size_t n_lower, n_upper, n_params;      // how many values these have
    std::span<const std::int64_t> hidden_start;  // per tree: first value of its hidden layer; then their
    std::span<const double> hidden;              //   number, and the values
    std::optional<std::span<const std::int32_t>> model_features;  // features that node models see; none: all
    std::optional<std::span<const std::int8_t>> monotone;         // per feature, as in TreeView; none: all are free
    std::optional<std::span<const std::int32_t>> target_end;      // as in TreeView; none: there is one target
    int n_features, n_outputs;
};

class StoredForest {
   public:
    // Throws std::invalid_argument if something does not fit.
    explicit StoredForest(const StoredColumns& columns);

    int n_features() const { return columns_.n_features; }
    int n_outputs() const { return columns_.n_outputs; }
    FeatureList model_features() const;

    // The trees first … last - 1; those with models in Python can only be walked, not evaluated.
    std::span<const TreeView> trees(std::size_t first, std::size_t last, bool evaluated = true) const;

   private:
    void check_lengths() const;
    void check_roles();
    void check_targets() const;
    void check_nodes(std::int64_t tree, std::int64_t begin, std::int64_t end) const;
    std::int64_t add_tree(std::size_t t, std::int64_t first_param, std::int64_t& first_exponent);
    std::int64_t number_leaves(std::int64_t begin, std::int64_t end);
    const ShortNode* shorten(const TreeView& tree);
    std::int64_t count_inputs(std::size_t t, ModelKind kind) const;

    StoredColumns columns_;
    std::vector<std::int32_t> slope_of_;                   // see TreeView
    std::vector<std::vector<std::int32_t>> leaf_numbers_;  // of the trees that have models at their leaves alone
    std::vector<ShortNode> short_nodes_;                   // of the trees that fit
    std::vector<TreeView> trees_;
};

}  // namespace boostforest
