#include "whole_tree.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr int kOrders = 2;  // that are sampled: one, and the same backwards

bool same_bits(const double* a, const double* b, std::int64_t n) {
    return std::memcmp(a, b, n * sizeof(double)) == 0;
}

}  // namespace

WholeTree::WholeTree(const PreparedRows& background, const Players& players, const Weights& weights, int n_outputs)
    : background_(background),
      players_(players),
      game_(weights, players.n, n_outputs),
      nothing_(players, background.input_width()),
      n_outputs_(n_outputs) {}

void WholeTree::find_used(const TreeView& tree) {
    std::vector<bool> used(players_.n, false);
    for (std::int64_t node = 0; node < tree.n_nodes; ++node)
        if (tree.feature[node] >= 0) used[players_.of_feature[tree.feature[node]]] = true;
    for (const std::int32_t player : players_.of_input)
        if (tree.n_inputs > 0) used[player] = true;
    used_.clear();
    for (std::int32_t player = 0; player < players_.n; ++player)
        if (used[player]) used_.push_back(player);
}

void WholeTree::find_different(const PreparedRows& rows, std::int64_t i, std::int64_t other) {
    who_.clear();
    for (const std::int32_t player : used_) {
        const auto feature = players_.feature_start[player], input = players_.input_start[player];
        const bool same = same_bits(rows.routed(i) + feature, background_.routed(other) + feature,
                                    players_.feature_start[player + 1] - feature) &&
                          same_bits(rows.inputs(i) + input, background_.inputs(other) + input,
                                    players_.input_start[player + 1] - input);
        if (!same) who_.push_back(player);
    }
}

void WholeTree::copy(std::int64_t from, std::int64_t to) {
    const int width = background_.width(), input_width = background_.input_width();
    std::copy_n(routed_.data() + from * width, width, routed_.data() + to * width);
    std::copy_n(inputs_.data() + from * input_width, input_width, inputs_.data() + to * input_width);
}

void WholeTree::start_mixtures(std::int64_t n) {
    routed_.get(n * background_.width());
    inputs_.get(n * background_.input_width());
    values_.get(n_outputs_ * ((n + 15) / 8 * 8));
}

// Puts a column of the explained row into a mixture.
void WholeTree::take(std::int64_t mixture, std::int32_t player, const PreparedRows& rows, std::int64_t i) {
    const auto feature = players_.feature_start[player], input = players_.input_start[player];
    std::copy_n(rows.routed(i) + feature, players_.feature_start[player + 1] - feature,
                routed_.data() + mixture * background_.width() + feature);
    std::copy_n(rows.inputs(i) + input, players_.input_start[player + 1] - input,
                inputs_.data() + mixture * background_.input_width() + input);
}

void WholeTree::evaluate(const TreeView& tree, Link link, std::int64_t n, Worker& worker) {
    evaluate_tree(tree, routed_.data(), routed_.data(), inputs_.data(), n, background_.width(),
                  background_.input_width(), link, worker, values_.data());
}

void WholeTree::add_enumerated(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i,
                               std::int64_t other, Worker& worker, const Sums& sums) {
    const int n = static_cast<int>(who_.size());
    const std::int64_t n_coalitions = std::int64_t{1} << n;
    start_mixtures(n_coalitions);
    std::copy_n(background_.routed(other), background_.width(), routed_.data());
    std::copy_n(background_.inputs(other), background_.input_width(), inputs_.data());
    for (int j = 0; j < n; ++j)
        for (std::int64_t s = 0; s < std::int64_t{1} << j; ++s) {
            const std::int64_t with = s + (std::int64_t{1} << j);
            copy(s, with);
            take(with, who_[j], rows, i);
        }
    evaluate(tree, link, n_coalitions, worker);
    game_.add_enumerated(nothing_, who_.data(), n, values_.data(), padded_rows(n_coalitions), sums);
}

void WholeTree::add_sampled(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i,
                            std::int64_t other, Key key, Worker& worker, const Sums& sums) {
    const auto n = static_cast<std::int64_t>(who_.size());
    std::vector<double> arrival(players_.n);
    for (std::int64_t j = 0; j < n; ++j) arrival[who_[j]] = uniform(key, j);
    order_ = who_;
    std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return arrival[a] < arrival[b]; });
    start_mixtures(kOrders * (n + 1));
    for (std::int64_t turn = 0; turn < kOrders; ++turn) {
        const std::int64_t first = turn * (n + 1);
        std::copy_n(background_.routed(other), background_.width(), routed_.data() + first * background_.width());
        std::copy_n(background_.inputs(other), background_.input_width(),
                    inputs_.data() + first * background_.input_width());
        for (std::int64_t j = 0; j < n; ++j) {
            copy(first + j, first + j + 1);
            take(first + j + 1, order_[turn == 0 ? j : n - 1 - j], rows, i);
        }
    }
    evaluate(tree, link, kOrders * (n + 1), worker);
    for (int k = 0; k < n_outputs_; ++k) {
        const double* own = values_.data() + k * padded_rows(kOrders * (n + 1));
        const double* back = own + n + 1;
        for (std::int64_t j = 0; j < n; ++j) {
            const double forward = own[j + 1] - own[j], backward = back[n - j] - back[n - 1 - j];
            const std::int64_t place = order_[j] * static_cast<std::int64_t>(n_outputs_) + k;
            const double apart = 0.5 * sums.weight * (forward - backward);
            sums.values[place] += 0.5 * sums.weight * (forward + backward);
            sums.variance[place] += apart * apart;
        }
    }
}

void WholeTree::add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, Key key,
                         Worker& worker, const Target& target) {
    find_used(tree);
    for (std::int64_t other = 0; other < background_.n(); ++other) {
        worker.check(tree.n_nodes);
        find_different(rows, i, other);
        const Sums sums = target.of(other, players_.n, n_outputs_);
        if (static_cast<int>(who_.size()) <= (sums.pairs == nullptr ? kMostEnumerated : kMostPaired)) {
            add_enumerated(tree, link, rows, i, other, worker, sums);
        } else {
            add_sampled(tree, link, rows, i, other, child(key, other), worker, sums);
        }
    }
}

}  // namespace boostforest
