#include "path_dependent.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
}

}  // namespace

PathTree::PathTree(const TreeView& tree, Link link, const PreparedRows& background)
    : tree_(&tree), link_(link), width_(background.input_width()), shares_(tree.n_nodes, 1.0), reach_(tree.n_nodes) {
    std::vector<int> depth(tree.n_nodes);
    reach_[0] = 1;
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {  // parents come before their children
        deepest_ = std::max(deepest_, depth[node]);
        if (tree.feature[node] < 0) continue;
        const std::int32_t left = tree.left[node];
        const double n_left = tree.n_samples[left], n = n_left + tree.n_samples[left + 1];
        shares_[left] = n > 0 ? n_left / n : 0.5;
        shares_[left + 1] = 1 - shares_[left];
        for (const std::int32_t next : {left, left + 1}) {
            reach_[next] = reach_[node] * shares_[next];
            depth[next] = depth[node] + 1;
        }
    }
    if (tree.n_inputs > 0) find_means(background);
    find_outputs();
}

void PathTree::find_means(const PreparedRows& background) {
    means_.resize(tree_->n_nodes * width_);
    std::vector<std::int64_t> counts(tree_->n_nodes);
    for (std::int64_t i = 0; i < background.n(); ++i) {
        for (std::int32_t node = 0;;) {
            ++counts[node];
            double* sums = means_.data() + static_cast<std::int64_t>(node) * width_;
            for (int j = 0; j < width_; ++j) sums[j] += background.inputs(i)[j];
            const std::int32_t feature = tree_->feature[node];
            if (feature < 0) break;
            node = tree_->left[node] + (goes_left(*tree_, node, background.routed(i)[feature]) ? 0 : 1);
        }
    }
    const auto finish = [&](std::int32_t node, std::int32_t parent) {
        double* own = means_.data() + static_cast<std::int64_t>(node) * width_;
        if (counts[node] == 0) std::copy_n(means(parent), width_, own);
        for (int j = 0; j < width_ && counts[node] > 0; ++j) own[j] /= static_cast<double>(counts[node]);
    };
    finish(0, 0);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        if (tree_->feature[node] < 0) continue;
        finish(tree_->left[node], node);
        finish(tree_->left[node] + 1, node);
    }
}

void PathTree::find_outputs() {
    const int n_outputs = tree_->n_outputs;
    scores_.resize(tree_->n_nodes * n_outputs);
    outputs_.resize(scores_.size());
    NodeModels models(*tree_, link_, width_);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        if (!models.load(node)) continue;
        double* own = scores_.data() + std::int64_t{node} * n_outputs;
        for (int k = 0; k < n_outputs; ++k)
            own[k] = models.has_slopes() ? models.score(k, means(node)) : models.intercept(k);
        models.finish(own, outputs_.data() + std::int64_t{node} * n_outputs);
    }
}

void PathTree::add_base(double weight, double* base) const {
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node)
        for (int k = 0; k < tree_->n_outputs; ++k) base[k] += weight * reach_[node] * outputs(node)[k];
}

PathDependent::PathDependent(const Players& players, int n_columns, int n_outputs, int input_width)
    : players_(players),
      n_points_(n_columns < 2 * kFew ? kFew : kMany),
      n_outputs_(n_outputs),
      input_width_(input_width),
      inputs_are_columns_(std::adjacent_find(players.of_input.begin(), players.of_input.end()) ==
                              players.of_input.end() &&
                          players.of_input.size() == static_cast<std::size_t>(players.n)),
      place_(players.n, -1),
      per_depth_(n_points_ * (2 + n_outputs)),
      line_(static_cast<std::size_t>(n_outputs) * input_width),
      scores_(2 * static_cast<std::size_t>(n_outputs)),
      inverses_(n_columns + 1),
      path_changes_(n_columns + 1),
      met_shares_(n_columns + 1),
      changes_(n_columns + 1),
      totals_(n_columns + 1),
      changing_(n_columns + 1) {
    const GaussLegendre rule(n_points_);
    rule_ = rule.points;
    rule_.insert(rule_.end(), rule.weights.begin(), rule.weights.end());
}

void PathDependent::add_tree(const PathTree& tree, const double* routed, const double* inputs, double weight,
                             double* values) {
    NodeModels models(tree.tree(), tree.link(), input_width_);
    tree_ = &tree;
    models_ = &models;
    routed_ = routed;
    inputs_ = inputs;
    weight_ = weight;
    values_ = values;
    const std::int64_t n_levels = tree.deepest() + 2;  // the last one: nothing but ones
    if (static_cast<std::int64_t>(at_depth_.size()) < n_levels * per_depth_) at_depth_.resize(n_levels * per_depth_);
    std::fill_n(inverse_u(tree.deepest() + 1), n_points_, 1.0);
    std::fill_n(product(0), n_points_, 1.0);
    path_.clear();
    visit(0, 0);
}

// Fills below(depth): sums over the nodes from here on of rule × product × output.
void PathDependent::visit(std::int32_t node, int depth) {
    std::fill_n(below(depth), n_points_ * n_outputs_, 0.0);
    if (models_->load(node)) add_model(node, depth);
    if (tree_->tree().feature[node] < 0) return;
    const std::int32_t left = tree_->tree().left[node];
    step(node, left, depth);
    step(node, left + 1, depth);
}

void PathDependent::step(std::int32_t node, std::int32_t next, int depth) {
    const TreeView& tree = tree_->tree();
    const std::int32_t feature = tree.feature[node], player = players_.of_feature[feature];
    const bool goes = goes_left(tree, node, routed_[feature]) == (next == tree.left[node]);
    const bool is_new = place_[player] < 0;
    if (is_new) {
        place_[player] = static_cast<std::int32_t>(path_.size());
        path_.push_back({player, true, 1.0, inverse_u(tree_->deepest() + 1) - at_depth_.data()});
    }
    OnPath& own = path_[place_[player]];
    const OnPath before = own;
    own = {player, before.met && goes, before.share * tree_->share(next), inverse_u(depth + 1) - at_depth_.data()};
    if (own.met || own.share > 0) {  // else nothing gets there
        const OnPath after = own;
        const double* u_before = at_depth_.data() + before.inverse_u;
        kernels().path_step(rule_.data(), n_points_, product(depth), u_before, after.met, after.share,
                            inverse_u(depth + 1), product(depth + 1));
        visit(next, depth + 1);
        const double gain = (after.met ? 1.0 : 0.0) - after.share,
                     gain_before = (before.met ? 1.0 : 0.0) - before.share;
        for (int k = 0; k < n_outputs_; ++k)
            values_[player * n_outputs_ + k] +=
                weight_ * kernels().path_return(n_points_, below(depth + 1) + k * n_points_, u_before, gain_before,
                                                inverse_u(depth + 1), gain, below(depth) + k * n_points_);
    }
    path_[place_[player]] = before;
    if (is_new) {
        path_.pop_back();
        place_[player] = -1;
    }
}

// What each input changes of the outputs of the node's model between the means and the row.
void PathDependent::find_line(std::int32_t node) {
    const auto n = static_cast<std::int64_t>(players_.of_input.size());
    const double* means = tree_->means(node);
    for (int k = 0; k < n_outputs_; ++k) {
        const double* slopes = models_->slopes(k);
        double* line = line_.data() + static_cast<std::int64_t>(k) * input_width_;
        double change = 0;
        for (std::int64_t j = 0; j < n; ++j) change += line[j] = slopes[j] * (inputs_[j] - means[j]);
        scores_[k] = tree_->scores(node)[k] + change;
    }
    if (models_->shape() != Shape::kLinear) bend_line(node, scores_.data());
}

// The same where outputs are not linear in scores: to, those of the row.
void PathDependent::bend_line(std::int32_t node, const double* to) {
    const auto n = static_cast<std::int64_t>(players_.of_input.size());
    const double *from = tree_->scores(node), *at_means = tree_->outputs(node);
    double* at_row = scores_.data() + n_outputs_;
    models_->finish(to, at_row);
    if (n_outputs_ == 1) {
        const double change = to[0] - from[0], slope = change != 0 ? (at_row[0] - at_means[0]) / change : 0.0;
        for (std::int64_t j = 0; j < n; ++j) line_[j] *= slope;
        return;
    }
    // log p = s - log Σ e^s: the latter moves by Σ w s, w near the mean of both probabilities, and p follows log p.
    double square = 0, error = to[0] - from[0] - std::log(at_row[0] / at_means[0]);
    for (int k = 0; k < n_outputs_; ++k) {
        square += (to[k] - from[k]) * (to[k] - from[k]);
        error -= 0.5 * (at_row[k] + at_means[k]) * (to[k] - from[k]);
    }
    for (std::int64_t j = 0; j < n; ++j) {
        double mean = 0;
        for (int k = 0; k < n_outputs_; ++k) {
            const double put_right = square > 0 ? error * (to[k] - from[k]) / square : 0.0;
            mean += (0.5 * (at_row[k] + at_means[k]) + put_right) * line_[k * input_width_ + j];
        }
        for (int k = 0; k < n_outputs_; ++k) line_[k * input_width_ + j] -= mean;
    }
    for (int k = 0; k < n_outputs_; ++k) {
        const double ratio = std::log(at_row[k] / at_means[k]);
        const double slope = std::abs(ratio) > 1e-9 ? (at_row[k] - at_means[k]) / ratio : at_means[k];
        for (std::int64_t j = 0; j < n; ++j) line_[k * input_width_ + j] *= slope;
    }
}

void PathDependent::add_model(std::int32_t node, int depth) {
    const bool has_slopes = models_->has_slopes();
    if (has_slopes) find_line(node);
    const auto n = static_cast<std::int64_t>(has_slopes ? players_.of_input.size() : 0);
    for (int k = 0; k < n_outputs_; ++k) {
        const double* line = line_.data() + static_cast<std::int64_t>(k) * input_width_;
        double off_path = 0;
        for (std::int64_t j = 0; j < n; ++j) off_path += line[j];
        int n_met = 0;
        for (std::size_t i = 0; has_slopes && i < path_.size(); ++i) {
            const OnPath& own = path_[i];
            double change = 0;
            for (std::int32_t j = players_.input_start[own.player]; j < players_.input_start[own.player + 1]; ++j)
                change += line[j];
            off_path -= change;
            path_changes_[i] = change;
            inverses_[n_met] = at_depth_.data() + own.inverse_u;
            met_shares_[n_met] = own.share;
            changes_[n_met] = change;
            changing_[n_met] = own.player;
            n_met += own.met && change != 0 ? 1 : 0;
        }
        const double whole =
            weight_ * kernels().path_model(rule_.data(), n_points_, product(depth), tree_->outputs(node)[k], off_path,
                                           n_met, inverses_.data(), met_shares_.data(), changes_.data(), totals_.data(),
                                           below(depth) + k * n_points_);
        if (!has_slopes) continue;
        double* values = values_ + k;
        if (inputs_are_columns_ && n_outputs_ == 1) {  // as if all were off the path; the others are put right then
            for (std::int64_t j = 0; j < n; ++j) values[j] += whole * line[j];
        } else {
            for (std::int64_t j = 0; j < n; ++j) values[players_.of_input[j] * n_outputs_] += whole * line[j];
        }
        for (std::size_t i = 0; i < path_.size(); ++i) values[path_[i].player * n_outputs_] -= whole * path_changes_[i];
        for (int i = 0; i < n_met; ++i) values[changing_[i] * n_outputs_] += weight_ * changes_[i] * totals_[i];
    }
}

}  // namespace boostforest
