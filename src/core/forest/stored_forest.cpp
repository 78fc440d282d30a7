#include "stored_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace boostforest {

namespace {

// The message is made only when it is needed: this runs for every node.
void require(bool condition, const char* message, std::int64_t tree = -1) {
    if (condition) return;
    const std::string where = tree < 0 ? "" : "tree " + std::to_string(tree) + " ";
    throw std::invalid_argument("damaged model: " + where + message);
}

const void* value_at(const void* column, std::int64_t i, std::size_t n_bytes) {
    return static_cast<const char*>(column) + static_cast<std::size_t>(i) * n_bytes;
}

}  // namespace

StoredForest::StoredForest(const StoredColumns& columns) : columns_(columns) {
    check_lengths();
    check_roles();
    check_targets();
    if (columns_.stored == Stored::kByte) short_nodes_.reserve(columns_.feature.size());
    std::int64_t n_params = 0, n_exponents = 0;  // up to the end of each tree
    for (std::size_t t = 0; t < columns_.kind.size(); ++t) n_params = add_tree(t, n_params, n_exponents);
    require(static_cast<std::size_t>(n_exponents) == columns_.exponent.size(), "there are exponents of no model");
    require(static_cast<std::size_t>(n_params) == columns_.n_params, "there are parameters of no model");
}

FeatureList StoredForest::model_features() const {
    const auto& numbers = columns_.model_features;
    if (!numbers) return {.numbers = nullptr, .n = columns_.n_features};
    return {.numbers = numbers->data(), .n = static_cast<int>(numbers->size())};
}

std::span<const TreeView> StoredForest::trees(std::size_t first, std::size_t last, bool evaluated) const {
    if (first > last || last > trees_.size()) throw std::out_of_range("no such trees");
    for (std::size_t t = first; t < last && evaluated; ++t)
        require(trees_[t].kind != ModelKind::kPython, "has its models in Python", static_cast<std::int64_t>(t));
    return std::span(trees_).subspan(first, last - first);
}

void StoredForest::check_lengths() const {
    const StoredColumns& c = columns_;
    const std::size_t n_nodes = c.feature.size();
    require(c.n_features >= 1 && c.n_outputs >= 1, "a model needs at least one feature and one output");
    require(
        !c.tree_start.empty() && c.tree_start.front() == 0 && static_cast<std::size_t>(c.tree_start.back()) == n_nodes,
        "tree_start must run from 0 to the number of nodes");
    require(c.kind.size() + 1 == c.tree_start.size() && c.sum_path.size() == c.kind.size(),
            "kind and sum_path must have one value per tree");
    require(c.left.size() == n_nodes && c.missing_left.size() == n_nodes && c.threshold.size() == n_nodes &&
                c.n_lower == n_nodes && c.n_upper == n_nodes && c.n_samples.size() == n_nodes,
            "all node columns must have the same length");
    require(c.hidden_start.size() == c.tree_start.size() && c.hidden_start.front() == 0 &&
                static_cast<std::size_t>(c.hidden_start.back()) == c.hidden.size(),
            "hidden_start must run from 0 to the number of values in hidden");
}

void StoredForest::check_roles() {
    const FeatureList features = model_features();
    for (int j = 0; features.numbers != nullptr && j < features.n; ++j)
        require(features[j] > (j == 0 ? -1 : features[j - 1]) && features[j] < n_features(),
                "model_features must ascend and be features");
    if (!columns_.monotone) return;
    require(columns_.monotone->size() == static_cast<std::size_t>(n_features()) && n_outputs() == 1,
            "monotonic_cst needs one value per feature, and one output");
    for (const std::int8_t sign : *columns_.monotone)
        require(sign >= -1 && sign <= 1, "monotonic_cst has values other than -1, 0 and 1");
    slope_of_.assign(n_features(), -1);
    for (int j = 0; j < features.n; ++j) slope_of_[features[j]] = j;
}

void StoredForest::check_targets() const {
    if (!columns_.target_end) return;
    std::int32_t before = 0;
    for (const std::int32_t end : *columns_.target_end) {
        require(end > before, "target_end must ascend");
        before = end;
    }
    require(before == n_outputs(), "target_end must run to the number of outputs");
}

void StoredForest::check_nodes(std::int64_t tree, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t feature = columns_.feature[i], left = columns_.left[i];
        require(feature >= -1 && feature < n_features(), "splits on an unknown feature", tree);
        // Children come after their parent: no path can run in a circle.
        require(feature < 0 || (left > i - begin && left + std::int64_t{1} < end - begin), "has a child outside of it",
                tree);
        require(feature >= 0 || left == 0, "has a leaf with a child", tree);
    }
}

// Checks a tree whose parameters start at first_param; returns where they end, and sets where its exponents do.
std::int64_t StoredForest::add_tree(std::size_t t, std::int64_t first_param, std::int64_t& first_exponent) {
    const StoredColumns& c = columns_;
    const std::int64_t begin = c.tree_start[t], end = c.tree_start[t + 1];
    const auto tree = static_cast<std::int64_t>(t);
    require(begin >= 0 && begin < end && static_cast<std::size_t>(end) <= c.feature.size(), "has no nodes", tree);
    const auto kind = static_cast<ModelKind>(c.kind[t]);
    const bool python = kind == ModelKind::kPython;
    require(kind <= ModelKind::kHidden || python, "has an unknown node model", tree);
    const std::int64_t n_inputs = count_inputs(t, kind);
    require(!c.monotone || (!c.sum_path[t] && kind <= ModelKind::kLinear), "cannot keep constraints", tree);
    check_nodes(tree, begin, end);
    const bool at_leaves = !c.sum_path[t] && !c.monotone && !python;
    const std::int64_t n_models = python      ? 0
                                  : at_leaves ? number_leaves(begin, end)
                                              : end - begin - (end - begin > 1 ? 1 : 0);
    const std::int64_t per_model = n_outputs() * (1 + n_inputs),
                       n_params = static_cast<std::int64_t>(c.n_params) - first_param;
    require(n_models <= n_params / per_model, "has models without parameters", tree);
    const std::int64_t own_exponents = c.stored == Stored::kByte ? n_models * n_outputs() : 0;
    require(own_exponents <= static_cast<std::int64_t>(c.exponent.size()) - first_exponent,
            "has models without exponents", tree);
    trees_.push_back({.short_nodes = nullptr,
                      .params = value_at(c.params, first_param, stored_bytes(c.stored)),
                      .exponent = c.exponent.data() + first_exponent,
                      .n_params = n_params,
                      .n_exponents = static_cast<std::int64_t>(c.exponent.size()) - first_exponent,
                      .monotone = c.monotone ? c.monotone->data() : nullptr,
                      .n_outputs = n_outputs(),
                      .n_inputs = static_cast<std::int32_t>(n_inputs),
                      .stored = c.stored,
                      .kind = kind,
                      .sum_path = c.sum_path[t],
                      .feature = c.feature.data() + begin,
                      .threshold = c.threshold.data() + begin,
                      .missing_left = c.missing_left.data() + begin,
                      .left = c.left.data() + begin,
                      .lower = value_at(c.lower, begin, clip_range_bytes(c.stored)),
                      .upper = value_at(c.upper, begin, clip_range_bytes(c.stored)),
                      .leaf_number = at_leaves ? leaf_numbers_.back().data() : nullptr,
                      .n_nodes = end - begin,
                      .n_models = n_models,
                      .n_model_features = model_features().n,
                      .target_end = c.target_end ? c.target_end->data() : nullptr,
                      .hidden = c.hidden.data() + c.hidden_start[t],
                      .slope_of = slope_of_.data(),
                      .n_samples = c.n_samples.data() + begin});
    if (c.stored == Stored::kByte) trees_.back().short_nodes = shorten(trees_.back());
    first_exponent += own_exponents;
    return first_param + n_models * per_model;
}

// Numbers the leaves of a tree in the order of its nodes; returns how many there are.
std::int64_t StoredForest::number_leaves(std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t>& numbers = leaf_numbers_.emplace_back(end - begin);
    std::int32_t n = 0;
    for (std::int64_t i = begin; i < end; ++i) {
        numbers[i - begin] = n;
        n += columns_.feature[i] < 0 ? 1 : 0;
    }
    return n;
}

// Adds the short nodes of a tree; returns the first of them, null if one of them does not fit or nobody reads them. In
// large trees a row gets to few of the nodes, and forests of them are where memory counts.
const ShortNode* StoredForest::shorten(const TreeView& tree) {
    constexpr std::int64_t kMost = 1 << 12, kMostFeatures = 1 << ShortNode::kFeatureBits;
    const std::size_t begin = short_nodes_.size();
    const bool is_read = tree.monotone == nullptr && tree.kind != ModelKind::kPython;
    if (!is_read || tree.n_nodes > kMost || n_features() > kMostFeatures) return nullptr;
    const bool has_scores = only_constants(tree) && tree.n_outputs == 1;
    for (std::int64_t i = 0; i < tree.n_nodes; ++i) {
        const bool is_leaf = tree.feature[i] < 0;
        double value = tree.threshold[i];
        if (is_leaf) value = tree.leaf_number == nullptr ? 0 : tree.leaf_number[i];
        if (is_leaf && has_scores) {
            const std::int32_t model = tree.leaf_number[i];
            value = std::ldexp(static_cast<const Byte*>(tree.params)[model], tree.exponent[model]);
        }
        const bool fits = std::abs(value) <= std::numeric_limits<float>::max();
        if (!fits || static_cast<float>(value) != value) {
            short_nodes_.resize(begin);
            return nullptr;
        }
        const int missing_left = tree.missing_left[i] != 0 ? 1 : 0;
        short_nodes_.push_back({.threshold = static_cast<float>(value),
                                .left = static_cast<std::uint16_t>(tree.left[i]),
                                .feature = static_cast<std::uint16_t>(std::max(tree.feature[i], 0) |
                                                                      missing_left << ShortNode::kFeatureBits)});
    }
    return short_nodes_.data() + begin;  // they do not move: there is room for those of all trees
}

// Inputs of the tree's node models; its hidden layer must have a bias and a weight per feature that they see for each
// unit.
std::int64_t StoredForest::count_inputs(std::size_t t, ModelKind kind) const {
    const std::int64_t begin = columns_.hidden_start[t], end = columns_.hidden_start[t + 1],
                       per_unit = 1 + std::int64_t{model_features().n};
    const bool inside = begin >= 0 && begin <= end && static_cast<std::size_t>(end) <= columns_.hidden.size();
    const bool fits = kind == ModelKind::kHidden
                          ? end - begin >= per_unit && (end - begin) % per_unit == 0 && end - begin < 1LL << 31
                          : end == begin;
    require(inside && fits, "has no hidden layer that fits its node model", static_cast<std::int64_t>(t));
    if (kind == ModelKind::kHidden) return (end - begin) / per_unit;
    return kind == ModelKind::kLinear ? model_features().n : 0;
}

}  // namespace boostforest
