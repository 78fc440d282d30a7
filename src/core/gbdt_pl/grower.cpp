#include "grower.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../base/rows.hpp"

namespace boostforest::gbdt_pl {

namespace {

constexpr double kRounding = 1e-12;  // a gain below this part of the loss is none

}  // namespace

NodeRows Grower::rows_of(const Node& node) {
    const std::int64_t n = node.end - node.begin;
    const std::int32_t* rows = rows_.data() + node.begin;
    const int step = node.features.empty() ? 4 : 8;
    double* values = statistics_.get(n * step);
    for (std::int64_t i = 0; i < n; ++i, values += step) {
        const std::int32_t row = rows[i];
        const double g = derivatives_.g[row], h = derivatives_.h[row], p = p_.data()[row];
        values[0] = g;
        values[1] = h;
        values[2] = table_.weight[row];
        values[3] = 0;
        if (step == 4) continue;
        values[4] = g * p;
        values[5] = h * p;
        values[6] = h * p * p;
        values[7] = 0;
    }
    return {.rows = rows,
            .n = n,
            .statistics = statistics_.data(),
            .step = step,
            .used = node.features.data(),
            .n_used = static_cast<int>(node.features.size())};
}

void Grower::find_split(Node& node, Control& control, Worker& worker) {
    if (node.depth >= rules_.max_depth || node.end - node.begin < 2) return;
    node.split = search_.best(rows_of(node), control, worker);
    if (node.split.feature < 0) return;
    const double gain = node.value - node.split.left.value - node.split.right.value;
    if (gain > kRounding * std::abs(node.value)) node.gain = gain;
}

void Grower::add_child(const Node& parent, std::int64_t begin, std::int64_t end, const Piece& piece) {
    Node child{.begin = begin,
               .end = end,
               .depth = parent.depth + 1,
               .weight = 0,
               .value = piece.value,
               .features = parent.features};
    if (parent.split.adds) child.features.push_back(parent.split.feature);
    const double* mean = table_.bin_mean + static_cast<std::int64_t>(parent.split.feature) * kMaxBins;
    const std::uint8_t* bins = table_.bins + parent.split.feature;
    double* p = p_.data();
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = rows_.data()[i];
        child.weight += table_.weight[row];
        if (parent.split.adds) p[row] = piece.of_p * p[row] + piece.of_x * mean[bins[row * table_.n_features]];
    }
    nodes_.push_back(std::move(child));
}

// Splits the rows of a node, both sides in order, and adds its children.
void Grower::split(std::int32_t number) {
    const Node parent = nodes_[number];  // a copy: the list grows
    const std::uint8_t* bins = table_.bins + parent.split.feature;
    const auto goes_left = [&](std::int64_t row) { return bins[row * table_.n_features] <= parent.split.bin; };
    std::int32_t* rows = rows_.data() + parent.begin;
    const std::int64_t middle =
        parent.begin + partition_rows(rows, parent.end - parent.begin, scratch_.data(), goes_left);
    nodes_[number].left = static_cast<std::int32_t>(nodes_.size());
    add_child(parent, parent.begin, middle, parent.split.left);
    add_child(parent, middle, parent.end, parent.split.right);
}

// A tree without a split is a linear model: one feature after another comes in, the best one first.
void Grower::choose_terms(Node& root, Control& control, Worker& worker) {
    double* p = p_.data();
    while (static_cast<int>(root.features.size()) < rules_.max_regressors) {
        const Split term = search_.best_term(rows_of(root), control, worker);
        if (term.feature < 0 || !(root.value - term.left.value > kRounding * std::abs(root.value))) return;
        const double* mean = table_.bin_mean + static_cast<std::int64_t>(term.feature) * kMaxBins;
        for (std::int64_t row = 0; row < table_.n_rows; ++row)
            p[row] =
                term.left.of_p * p[row] + term.left.of_x * mean[table_.bins[row * table_.n_features + term.feature]];
        root.features.push_back(term.feature);
        root.value = term.left.value;
    }
}

void Grower::grow(const Derivatives& derivatives, double* scores, Columns& columns, Control& control, Worker& worker) {
    worker.check(table_.n_rows * 16);
    derivatives_ = derivatives;
    std::int32_t* rows = rows_.get(table_.n_rows);
    scratch_.get(table_.n_rows);
    std::iota(rows, rows + table_.n_rows, 0);
    std::fill_n(p_.get(table_.n_rows), table_.n_rows, 0.0);
    const double g = std::accumulate(derivatives.g, derivatives.g + table_.n_rows, 0.0);
    const double h = std::accumulate(derivatives.h, derivatives.h + table_.n_rows, 0.0);
    const double weight = std::accumulate(table_.weight, table_.weight + table_.n_rows, 0.0);
    const double excess = std::max(std::abs(g) - rules_.alpha, 0.0), curvature = h + rules_.lambda;
    nodes_.clear();
    nodes_.push_back({.begin = 0,
                      .end = table_.n_rows,
                      .depth = 0,
                      .weight = weight,
                      .value = curvature > 0 ? -0.5 * excess * excess / curvature : 0,
                      .features = {}});
    if (rules_.max_leaves > 1) find_split(nodes_[0], control, worker);
    for (int n_leaves = 1; n_leaves < rules_.max_leaves; ++n_leaves) {
        std::int32_t best = -1;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(nodes_.size()); ++i)
            if (nodes_[i].left < 0 && is_better(-nodes_[i].gain, best < 0 ? 0 : -nodes_[best].gain)) best = i;
        if (best < 0) break;
        const auto first = static_cast<std::int32_t>(nodes_.size());
        split(best);
        if (n_leaves + 1 == rules_.max_leaves) break;
        for (const std::int32_t child : {first, first + 1}) find_split(nodes_[child], control, worker);
    }
    if (nodes_.size() == 1) choose_terms(nodes_[0], control, worker);
    write(scores, columns);
}

// Fits the models of the leaves, all their coefficients at once, and writes everything down.
void Grower::write(double* scores, Columns& columns) {
    for (const Node& node : nodes_) {
        const bool is_leaf = node.left < 0;
        const std::int64_t cut = static_cast<std::int64_t>(std::max(node.split.feature, 0)) * kMaxBins + node.split.bin;
        columns.feature.push_back(is_leaf ? -1 : node.split.feature);
        columns.threshold.push_back(is_leaf ? 0 : table_.bin_end[cut]);
        columns.left.push_back(is_leaf ? 0 : node.left);
        columns.gain.push_back(is_leaf ? 0 : node.gain);
        columns.n_samples.push_back(node.weight);
        columns.intercept.push_back(0);
        if (is_leaf) {
            const std::int32_t* rows = rows_.data() + node.begin;
            const std::int64_t n = node.end - node.begin;
            const double intercept =
                fitter_.fit(table_, derivatives_, rows, n, node.features, rules_.lambda, rules_.alpha, slopes_);
            columns.intercept.back() = rules_.learning_rate * intercept;
            for (std::size_t k = 0; k < slopes_.size(); ++k) {
                if (slopes_[k] == 0) continue;
                columns.term_feature.push_back(node.features[k]);
                columns.term_slope.push_back(rules_.learning_rate * slopes_[k]);
            }
            for (std::int64_t i = 0; i < n; ++i) scores[rows[i]] += rules_.learning_rate * fitter_.fitted()[i];
        }
        columns.term_start.push_back(static_cast<std::int64_t>(columns.term_feature.size()));
    }
    columns.tree_start.push_back(static_cast<std::int64_t>(columns.feature.size()));
}

}  // namespace boostforest::gbdt_pl
