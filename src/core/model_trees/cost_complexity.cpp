#include "cost_complexity.hpp"

#include <cmath>
#include <limits>

namespace boostforest {

namespace {

constexpr double kRounding = 1e10;  // links whose alphas agree to ten decimals are equally weak

}  // namespace

Pruner::Pruner(const PrunableTree& tree) : tree_(tree), saves_(tree.nodes.size()), subtrees_(tree.nodes.size()) {
    for (std::size_t i = 0; i < saves_.size(); ++i) saves_[i] = tree.nodes[i].left > 0;
    is_inner_ = saves_;
    find_weakest();
}

// Adds up the subtrees, then looks at the links from the root down. A split that does not lower the training error is
// cut for good; as in Weka, the nodes above it learn of that the next time.
void Pruner::find_weakest() {
    for (std::size_t i = subtrees_.size(); i-- > 0;) {
        const PrunableTree::Node& node = tree_.nodes[i];
        subtrees_[i] = {1, node.wrong};
        if (!is_inner_[i]) continue;
        const Subtree &left = subtrees_[node.left], &right = subtrees_[node.left + 1];
        subtrees_[i] = {left.n_leaves + right.n_leaves, left.wrong + right.wrong};
    }
    weakest_ = -1;
    std::vector<std::int32_t> stack{0};
    while (!stack.empty()) {
        const std::int32_t i = stack.back();
        stack.pop_back();
        if (!is_inner_[i]) continue;
        const double saved = (tree_.nodes[i].wrong - subtrees_[i].wrong) / tree_.weight;
        if (!(saved > 0)) {
            is_inner_[i] = saves_[i] = false;
            continue;
        }
        const double alpha = std::round(saved / (subtrees_[i].n_leaves - 1) * kRounding) / kRounding;
        if (weakest_ < 0 || alpha < weakest_alpha_) {
            weakest_ = i;
            weakest_alpha_ = alpha;
        }
        stack.push_back(tree_.nodes[i].left + 1);
        stack.push_back(tree_.nodes[i].left);
    }
}

double Pruner::held_out_wrong() const {
    double total = 0;
    std::vector<std::int32_t> stack{0};
    while (!stack.empty()) {
        const std::int32_t i = stack.back();
        stack.pop_back();
        if (is_inner_[i]) {
            stack.push_back(tree_.nodes[i].left);
            stack.push_back(tree_.nodes[i].left + 1);
        } else {
            total += tree_.nodes[i].held_out_wrong;
        }
    }
    return total;
}

std::vector<PruningStage> Pruner::all_stages() {
    std::vector<PruningStage> stages{{0, held_out_wrong()}};
    for (; weakest_ >= 0; find_weakest()) {
        is_inner_[weakest_] = false;
        stages.push_back({weakest_alpha_, held_out_wrong()});
    }
    return stages;
}

std::vector<bool> Pruner::prune(double alpha) {
    is_inner_ = saves_;
    find_weakest();
    for (; weakest_ >= 0 && weakest_alpha_ <= alpha; find_weakest()) is_inner_[weakest_] = false;
    return is_inner_;
}

double best_alpha(const std::vector<PruningStage>& stages, const std::vector<std::vector<PruningStage>>& folds) {
    double least = std::numeric_limits<double>::infinity(), best = 0;
    for (std::size_t i = stages.size(); i-- > 0;) {
        // Between this stage and the next, which is the geometric mean of their alphas; no alpha exceeds 1.
        const double alpha = std::sqrt(stages[i].alpha * (i + 1 < stages.size() ? stages[i + 1].alpha : 1.0));
        double error = 0;
        for (const std::vector<PruningStage>& fold : folds) {
            std::size_t k = 0;
            while (k + 1 < fold.size() && fold[k + 1].alpha <= alpha) ++k;
            error += fold[k].held_out_wrong;
        }
        if (error < least) {
            least = error;
            best = alpha;
        }
    }
    return best;
}

}  // namespace boostforest
