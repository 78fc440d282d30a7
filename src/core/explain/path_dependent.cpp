#include "path_dependent.hpp"

#include <algorithm>
#include <cmath>

namespace boostforest {

namespace {

bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
}

}  // namespace

PathTree::PathTree(const TreeView& tree, Output output, const PreparedRows& background)
    : tree_(&tree), output_(output), width_(background.input_width()), shares_(tree.n_nodes, 1.0), reach_(tree.n_nodes) {
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

void PathTree::add_base(double weight, double* base) const {
    NodeModels models(*tree_, output_, width_);
    std::vector<double> scores(tree_->n_outputs);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        if (!models.load(node)) continue;
        for (int k = 0; k < tree_->n_outputs; ++k)
            scores[k] = models.has_slopes() ? models.score(k, means(node)) : models.intercept(k);
        models.finish(scores.data(), scores.data());
        for (int k = 0; k < tree_->n_outputs; ++k) base[k] += weight * reach_[node] * scores[k];
    }
}

template <int kPoints>
PathDependent<kPoints>::PathDependent(const Players& players, int n_outputs)
    : players_(players),
      rule_(kPoints),
      n_outputs_(n_outputs),
      at_means_(n_outputs),
      at_row_(n_outputs),
      scores_(2 * static_cast<std::size_t>(n_outputs)),
      line_(n_outputs * std::max<std::size_t>(players.of_input.size(), 1)) {}

template <int kPoints>
void PathDependent<kPoints>::add_tree(const PathTree& tree, const double* routed, const double* inputs, double weight,
                                      double* values) {
    NodeModels models(tree.tree(), tree.output(), static_cast<int>((players_.of_input.size() + 7) / 8 * 8));
    tree_ = &tree;
    models_ = &models;
    routed_ = routed;
    inputs_ = inputs;
    weight_ = weight;
    values_ = values;
    path_.clear();
    depth_ = 0;
    while (below_.size() <= static_cast<std::size_t>(tree.deepest()) + 1) below_.emplace_back(n_outputs_);
    Points one;
    one.fill(1.0);
    std::vector<Points> below(n_outputs_);
    visit(0, one, below);
}

template <int kPoints>
typename PathDependent<kPoints>::OnPath* PathDependent<kPoints>::find(std::int32_t player) {
    for (OnPath& own : path_)
        if (own.player == player) return &own;
    return nullptr;
}

// product: of u over the path; below[k]: gets the sums over the nodes from here on of rule × product × output.
template <int kPoints>
void PathDependent<kPoints>::visit(std::int32_t node, const Points& product, std::vector<Points>& below) {
    for (Points& own : below) own.fill(0.0);
    if (models_->load(node)) add_model(node, product, below);
    if (tree_->tree().feature[node] < 0) return;
    const std::int32_t left = tree_->tree().left[node];
    step(node, left, product, below);
    step(node, left + 1, product, below);
}

template <int kPoints>
void PathDependent<kPoints>::step(std::int32_t node, std::int32_t next, const Points& product,
                                  std::vector<Points>& below) {
    const TreeView& tree = tree_->tree();
    const std::int32_t feature = tree.feature[node], player = players_.of_feature[feature];
    const bool met = goes_left(tree, node, routed_[feature]) == (next == tree.left[node]);
    OnPath* known = find(player);
    const bool is_new = known == nullptr;
    OnPath before{player, true, 1.0, {}};
    before.u.fill(1.0);
    if (is_new) {
        path_.push_back(before);
        known = &path_.back();
    }
    before = *known;
    const auto place = known - path_.data();
    OnPath after{player, before.met && met, before.share * tree_->share(next), {}};
    if (after.met || after.share > 0) {  // else nothing gets there
        Points own;
        for (int t = 0; t < kPoints; ++t) {
            const double point = rule_.points[t];
            after.u[t] = (after.met ? point : 0.0) + (1 - point) * after.share;
            own[t] = product[t] / before.u[t] * after.u[t];
        }
        *known = after;
        std::vector<Points>& under = below_[++depth_];
        visit(next, own, under);
        --depth_;
        path_[place] = before;
        const double gain = (after.met ? 1.0 : 0.0) - after.share, gain_before = (before.met ? 1.0 : 0.0) - before.share;
        for (int k = 0; k < n_outputs_; ++k) {
            double total = 0;
            for (int t = 0; t < kPoints; ++t) {
                total += under[k][t] * (gain / after.u[t] - gain_before / before.u[t]);
                below[k][t] += under[k][t];
            }
            values_[player * n_outputs_ + k] += weight_ * total;
        }
    }
    if (is_new) path_.pop_back();
}

// What each input adds to the outputs of the node's model between the means and the row.
template <int kPoints>
void PathDependent<kPoints>::find_line(std::int32_t node) {
    const auto n = static_cast<std::int64_t>(players_.of_input.size());
    const double* means = tree_->means(node);
    double* from = scores_.data();
    double* to = scores_.data() + n_outputs_;
    for (int k = 0; k < n_outputs_; ++k) {
        const double* slopes = models_->slopes(k);
        from[k] = to[k] = models_->intercept(k);
        for (std::int64_t j = 0; j < n; ++j) {
            line_[k * n + j] = slopes[j] * (inputs_[j] - means[j]);
            from[k] += slopes[j] * means[j];
            to[k] += slopes[j] * inputs_[j];
        }
    }
    models_->finish(from, at_means_.data());
    if (models_->shape() == Shape::kLinear) return;
    models_->finish(to, at_row_.data());
    if (models_->shape() != Shape::kSoftmax) {
        const double change = to[0] - from[0];
        const double slope = change != 0 ? (at_row_[0] - at_means_[0]) / change : 0.0;
        for (std::int64_t j = 0; j < n; ++j) line_[j] *= slope;
        return;
    }
    // log p_k = s_k - log Σ e^s: the latter moves by Σ w s, w near the mean of both probabilities; then p follows log p.
    double square = 0, error = 0;
    for (int k = 0; k < n_outputs_; ++k) {
        const double change = to[k] - from[k], w = 0.5 * (at_row_[k] + at_means_[k]);
        square += change * change;
        error -= w * change;
    }
    const double log_change = std::log(at_row_[0] / at_means_[0]);  // of any class
    error += (to[0] - from[0]) - log_change;
    for (std::int64_t j = 0; j < n; ++j) {
        double mean = 0;
        for (int k = 0; k < n_outputs_; ++k) {
            const double w = 0.5 * (at_row_[k] + at_means_[k]) + (square > 0 ? error * (to[k] - from[k]) / square : 0.0);
            mean += w * line_[k * n + j];
        }
        for (int k = 0; k < n_outputs_; ++k) line_[k * n + j] -= mean;
    }
    for (int k = 0; k < n_outputs_; ++k) {
        const double ratio = std::log(at_row_[k] / at_means_[k]);
        const double slope = std::abs(ratio) > 1e-9 ? (at_row_[k] - at_means_[k]) / ratio : at_means_[k];
        for (std::int64_t j = 0; j < n; ++j) line_[k * n + j] *= slope;
    }
}

template <int kPoints>
void PathDependent<kPoints>::add_model(std::int32_t node, const Points& product, std::vector<Points>& below) {
    if (!models_->has_slopes()) {
        for (int k = 0; k < n_outputs_; ++k) scores_[k] = models_->intercept(k);
        models_->finish(scores_.data(), at_means_.data());
    } else {
        find_line(node);
    }
    Points weighted;
    double whole = 0;
    for (int t = 0; t < kPoints; ++t) whole += weighted[t] = rule_.weights[t] * product[t];
    const auto n = static_cast<std::int64_t>(models_->has_slopes() ? players_.of_input.size() : 0);
    for (int k = 0; k < n_outputs_; ++k) {
        Points output;
        output.fill(at_means_[k]);
        double off_path = 0;
        const double* line = line_.data() + k * n;
        for (std::int64_t j = 0; j < n; ++j) {
            off_path += line[j];
            values_[players_.of_input[j] * n_outputs_ + k] += weight_ * whole * line[j];  // as if off the path
        }
        for (const OnPath& own : path_) {
            double change = 0;
            for (std::int32_t j = players_.input_start[own.player]; n > 0 && j < players_.input_start[own.player + 1]; ++j)
                change += line[j];
            if (change == 0) continue;
            off_path -= change;
            double total = -whole;
            for (int t = 0; t < kPoints && own.met; ++t) {
                output[t] += change * rule_.points[t] / own.u[t];
                total += weighted[t] * own.share / (own.u[t] * own.u[t]);
            }
            values_[own.player * n_outputs_ + k] += weight_ * change * total;
        }
        for (int t = 0; t < kPoints; ++t) below[k][t] += weighted[t] * (output[t] + rule_.points[t] * off_path);
    }
}

template class PathDependent<8>;
template class PathDependent<32>;

}  // namespace boostforest
