#include "tree.hpp"

#include <cstring>
#include <limits>

namespace boostforest {

void TreeBuilder::start(int n_params_per_node, PathForm form) {
    TreeColumns::for_each_node_column(columns_, [](const char*, auto& column) { column.clear(); });
    columns_.params.clear();
    parent_.clear();
    param_start_.clear();
    n_params_ = n_params_per_node;
    form_ = form;
    add_node(-1);
}

void TreeBuilder::add_node(std::int32_t parent) {
    TreeColumns::for_each_node_column(columns_, [](const char*, auto& column) { column.push_back(0); });
    columns_.feature.back() = -1;
    columns_.lower.back() = -std::numeric_limits<double>::infinity();
    columns_.upper.back() = std::numeric_limits<double>::infinity();
    parent_.push_back(parent);
    param_start_.push_back(-1);
}

std::int32_t TreeBuilder::add_children(std::int32_t parent, int feature, double threshold, bool missing_left,
                                       double gain) {
    const auto left = static_cast<std::int32_t>(n_nodes());
    columns_.feature[parent] = feature;
    columns_.threshold[parent] = threshold;
    columns_.missing_left[parent] = missing_left ? 1 : 0;
    columns_.gain[parent] = static_cast<float>(gain);
    columns_.left[parent] = left;
    add_node(parent);
    add_node(parent);
    return left;
}

double* TreeBuilder::add_model(std::int32_t node) {
    const std::size_t start = columns_.params.size();
    param_start_[node] = static_cast<std::int64_t>(start);
    columns_.params.resize(start + n_params_);
    return columns_.params.data() + start;
}

void TreeBuilder::finish_model(std::int32_t node) {
    const double* above = parent_[node] < 0 ? nullptr : model(parent_[node]);
    if (form_ == PathForm::kOwnModels || above == nullptr) return;
    double* own = columns_.params.data() + param_start_[node];
    for (int i = 0; i < n_params_; ++i) own[i] += above[i];
}

void TreeBuilder::set_node(std::int32_t node, double n_samples, double loss, double lower, double upper) {
    columns_.n_samples[node] = static_cast<float>(n_samples);
    columns_.loss[node] = static_cast<float>(loss);
    columns_.lower[node] = lower;
    columns_.upper[node] = upper;
}

const double* TreeBuilder::model(std::int32_t node) const {
    const std::int64_t start = param_start_[node];
    return start < 0 ? nullptr : columns_.params.data() + start;
}

PackedTree TreeBuilder::finish() {
    const std::int64_t n_nodes = this->n_nodes();
    const std::int64_t n_models = form_ == PathForm::kLeafSums ? (n_nodes + 1) / 2 : n_nodes - (n_nodes > 1 ? 1 : 0);
    const std::int64_t n_params = n_models * n_params_;
    std::size_t n_bytes = PackedTree::column_bytes(n_params, sizeof(double));
    TreeColumns::for_each_node_column(
        columns_, [&](const char*, auto& column) { n_bytes += PackedTree::column_bytes(n_nodes, sizeof(column[0])); });
    PackedTree tree{std::make_unique_for_overwrite<char[]>(n_bytes), n_nodes, n_params};
    char* to = tree.bytes.get();
    TreeColumns::for_each_node_column(columns_, [&](const char*, auto& column) {
        std::memcpy(to, column.data(), column.size() * sizeof(column[0]));
        to += PackedTree::column_bytes(n_nodes, sizeof(column[0]));
    });
    for (std::int32_t node = 0; node < n_nodes; ++node) {
        const double* own = model(node);
        if (own == nullptr || (form_ == PathForm::kLeafSums && columns_.feature[node] >= 0)) continue;
        std::memcpy(to, own, n_params_ * sizeof(double));
        to += n_params_ * sizeof(double);
    }
    return tree;
}

}  // namespace boostforest
