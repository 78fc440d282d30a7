#include "tree.hpp"

#include <cstring>
#include <limits>

namespace boostforest {

void TreeBuilder::start(int n_params_per_node, PathForm form) {
    TreeColumns::for_each_node_column(columns_, [](const char*, auto& column) { column.clear(); });
    columns_.params.clear();
    parent_.clear();
    n_params_ = n_params_per_node;
    form_ = form;
    add_node(-1);
}

void TreeBuilder::add_node(std::int32_t parent) {
    TreeColumns::for_each_node_column(columns_, [](const char*, auto& column) { column.push_back(0); });
    columns_.feature.back() = -1;
    columns_.lower.back() = -std::numeric_limits<double>::infinity();
    columns_.upper.back() = std::numeric_limits<double>::infinity();
    columns_.param_start.back() = -1;
    parent_.push_back(parent);
}

std::int32_t TreeBuilder::add_children(std::int32_t parent, int feature, double threshold, bool missing_left,
                                       double gain) {
    const auto left = static_cast<std::int32_t>(n_nodes());
    columns_.feature[parent] = feature;
    columns_.threshold[parent] = threshold;
    columns_.missing_left[parent] = missing_left ? 1 : 0;
    columns_.gain[parent] = gain;
    columns_.left[parent] = left;
    add_node(parent);
    add_node(parent);
    return left;
}

double* TreeBuilder::add_model(std::int32_t node) {
    const std::size_t start = columns_.params.size();
    columns_.param_start[node] = static_cast<std::int64_t>(start);
    columns_.params.resize(start + n_params_);
    return columns_.params.data() + start;
}

void TreeBuilder::finish_model(std::int32_t node) {
    const double* above = parent_[node] < 0 ? nullptr : model(parent_[node]);
    if (form_ == PathForm::kOwnModels || above == nullptr) return;
    double* own = columns_.params.data() + columns_.param_start[node];
    for (int i = 0; i < n_params_; ++i) own[i] += above[i];
}

void TreeBuilder::set_node(std::int32_t node, double n_samples, double loss, double lower, double upper) {
    columns_.n_samples[node] = n_samples;
    columns_.loss[node] = loss;
    columns_.lower[node] = lower;
    columns_.upper[node] = upper;
}

const double* TreeBuilder::model(std::int32_t node) const {
    const std::int64_t start = columns_.param_start[node];
    return start < 0 ? nullptr : columns_.params.data() + start;
}

PackedTree TreeBuilder::finish() {
    const std::int64_t n_nodes = this->n_nodes();
    std::vector<double>& params = columns_.params;
    if (form_ == PathForm::kLeafSums) {  // close the gaps; a leaf's parameters may stand before those of a leaf with a
                                         // smaller number
        kept_params_.clear();
        for (std::int64_t node = 0; node < n_nodes; ++node) {
            std::int64_t& start = columns_.param_start[node];
            const bool leaf = columns_.feature[node] < 0;
            if (leaf)
                kept_params_.insert(kept_params_.end(), params.begin() + start, params.begin() + start + n_params_);
            start = leaf ? static_cast<std::int64_t>(kept_params_.size()) - n_params_ : -1;
        }
        params.swap(kept_params_);
    }
    std::size_t n_bytes = PackedTree::column_bytes(static_cast<std::int64_t>(params.size()), sizeof(double));
    TreeColumns::for_each_node_column(
        columns_, [&](const char*, auto& column) { n_bytes += PackedTree::column_bytes(n_nodes, sizeof(column[0])); });
    PackedTree tree{std::make_unique_for_overwrite<char[]>(n_bytes), n_nodes, static_cast<std::int64_t>(params.size())};
    char* to = tree.bytes.get();
    const auto put = [&to](const auto& column) {
        std::memcpy(to, column.data(), column.size() * sizeof(column[0]));
        to += PackedTree::column_bytes(static_cast<std::int64_t>(column.size()), sizeof(column[0]));
    };
    TreeColumns::for_each_node_column(columns_, [&](const char*, auto& column) { put(column); });
    put(params);
    return tree;
}

}  // namespace boostforest
