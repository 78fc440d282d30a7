#include "node_models.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/kernels.hpp"
#include "../models/hidden_layer.hpp"

namespace boostforest {

namespace {

int depth_of(const TreeView& tree) {
    std::vector<int> depth(tree.n_nodes);
    int deepest = 0;
    for (std::int64_t node = 0; node < tree.n_nodes; ++node) {
        deepest = std::max(deepest, depth[node]);
        if (tree.feature[node] >= 0) depth[tree.left[node]] = depth[tree.left[node] + 1] = depth[node] + 1;
    }
    return deepest;
}

}  // namespace

Shape shape_of(const TreeView& tree, Link link) {
    if (link == Link::kSigmoid) return Shape::kSigmoid;
    if (link == Link::kSoftmax) return Shape::kSoftmax;
    return tree.sum_path ? Shape::kClipped : Shape::kLinear;
}

bool is_sum_of_models(const TreeView& tree, Link link) {
    return link != Link::kLog && tree.monotone == nullptr && tree.kind <= ModelKind::kLinear;
}

bool is_walked(const TreeView& tree) {
    return depth_of(tree) <= kMostLevels;
}

NodeModels::NodeModels(const TreeView& tree, Link link, int input_width)
    : tree_(tree),
      shape_(shape_of(tree, link)),
      size_(1 + tree.n_inputs),
      width_(tree.kind == ModelKind::kHidden ? hidden_width(tree.n_inputs) : input_width),
      copy_(static_cast<std::size_t>(tree.n_outputs * size_ + width_)) {}

bool NodeModels::load(std::int32_t node) {
    const bool at_leaves = tree_.leaf_number != nullptr;
    if (at_leaves && tree_.feature[node] >= 0) return false;
    const std::int64_t number = at_leaves ? tree_.leaf_number[node] : node - (tree_.n_nodes > 1 ? 1 : 0);
    if (number < 0) return false;
    const std::int64_t n = tree_.n_outputs * size_, start = number * n;
    if (tree_.stored == Stored::kDouble && start + n + width_ <= tree_.n_params) {
        params_ = static_cast<const double*>(tree_.params) + start;
    } else {
        kernels().widen_values(tree_.params, tree_.stored, start, n, copy_.data());
        for (std::int64_t i = 0; tree_.stored == Stored::kByte && i < n; ++i)
            copy_.data()[i] = std::ldexp(copy_.data()[i], tree_.exponent[number * tree_.n_outputs + i / size_]);
        params_ = copy_.data();
    }
    if (shape_ == Shape::kClipped && tree_.stored == Stored::kDouble) {
        lower_ = static_cast<const double*>(tree_.lower)[node];
        upper_ = static_cast<const double*>(tree_.upper)[node];
    } else if (shape_ == Shape::kClipped) {
        const Stored ranges = tree_.stored == Stored::kByte ? Stored::kHalf : tree_.stored;
        kernels().widen_values(tree_.lower, ranges, node, 1, &lower_);
        kernels().widen_values(tree_.upper, ranges, node, 1, &upper_);
    }
    return true;
}

double NodeModels::score(int output, const double* inputs) const {
    const double* own = slopes(output);
    double sums[4] = {};  // the terms of one sum would wait for each other
    for (std::int64_t j = 0; j < width_; j += 4)
        for (int lane = 0; lane < 4; ++lane) sums[lane] += own[j + lane] * inputs[j + lane];
    return intercept(output) + ((sums[0] + sums[2]) + (sums[1] + sums[3]));
}

void NodeModels::finish(const double* scores, double* out) const {
    switch (shape_) {
        case Shape::kLinear: std::copy_n(scores, n_outputs(), out); return;
        case Shape::kClipped: out[0] = std::min(std::max(scores[0], lower_), upper_); return;
        case Shape::kSigmoid: {
            const double odds = std::exp(-std::abs(scores[0]));
            out[0] = (scores[0] < 0 ? odds : 1.0) / (1 + odds);
            return;
        }
        case Shape::kSoftmax: softmax_of(scores, n_outputs(), out); return;
    }
}

void softmax_of(const double* scores, int n, double* out) {
    const double top = *std::max_element(scores, scores + n);
    double total = 0;
    for (int k = 0; k < n; ++k) total += out[k] = std::exp(scores[k] - top);
    for (int k = 0; k < n; ++k) out[k] /= total;
}

}  // namespace boostforest
