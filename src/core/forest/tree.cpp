#include "tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "quantise.hpp"

namespace boostforest {

namespace {

template <class To, class From>
To round_to(From value) {
    if constexpr (std::is_same_v<To, Half>) {
        return to_half(value);
    } else {
        return static_cast<To>(value);
    }
}

// Calls body with the type that stands for `stored`.
template <class Body>
auto with_type(Stored stored, Body body) {
    switch (stored) {
        case Stored::kSingle: return body.template operator()<float>();
        case Stored::kHalf: return body.template operator()<Half>();
        case Stored::kByte: return body.template operator()<Byte>();
        default: return body.template operator()<double>();
    }
}

template <class To, class From>
To* copy_rounded(const From* from, std::int64_t n, To* to) {
    if constexpr (std::is_same_v<To, From>) {
        return std::copy_n(from, n, to);
    } else {
        return std::transform(from, from + n, to, [](From value) { return round_to<To>(value); });
    }
}

// Digits in base 2 of clip ranges, and of what is only looked at.
constexpr int kRangeDigits = 3, kShownDigits = 2;

template <class T>
T to_few_digits(T value, int digits) {
    int power = 0;
    const T fraction = std::frexp(value, &power);
    return std::isfinite(value) ? std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), power - digits) : value;
}

}  // namespace

void TreeBuilder::start(int n_outputs, int n_params_per_output, PathForm form, Stored stored) {
    TreeColumns::for_each_node_column([](const char*, auto& column) { column.clear(); }, columns_);
    columns_.params.clear();
    parent_.clear();
    param_start_.clear();
    rounded_.clear();
    n_outputs_ = n_outputs;
    n_params_ = n_outputs * n_params_per_output;
    form_ = form;
    stored_ = stored;
    add_node(-1);
}

void TreeBuilder::add_node(std::int32_t parent) {
    TreeColumns::for_each_node_column([](const char*, auto& column) { column.push_back(0); }, columns_);
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

void TreeBuilder::finish_model(std::int32_t node, bool is_read) {
    if (rounds_early()) {
        round(node);
        if (is_read) return;
        columns_.params.resize(param_start_[node]);  // it was the last one
        param_start_[node] = -1;
        return;
    }
    const double* above = parent_[node] < 0 ? nullptr : model(parent_[node]);
    if (form_ == PathForm::kOwnModels || above == nullptr) return;
    double* own = columns_.params.data() + param_start_[node];
    for (int i = 0; i < n_params_; ++i) own[i] += above[i];
}

void TreeBuilder::round(std::int32_t node) {
    const std::size_t size = n_params_ * stored_bytes(rounded_early());
    const std::size_t start = size * std::max(node - 1, 0);  // a root has a model only if it is alone
    rounded_.resize(std::max(rounded_.size(), start + size));
    with_type(rounded_early(),
              [&]<class C>() { copy_rounded(model(node), n_params_, reinterpret_cast<C*>(rounded_.data() + start)); });
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

void TreeBuilder::number_depth_first() {
    std::vector<std::int32_t> number(n_nodes(), 0), open{0};
    for (std::int32_t next = 1; !open.empty();) {
        const std::int32_t left = columns_.left[open.back()];
        open.pop_back();
        if (left == 0) continue;
        number[left] = next++;
        number[left + 1] = next++;
        open.push_back(left + 1);
        open.push_back(left);
    }
    const auto move = [&](auto& column) {
        auto moved = column;
        for (std::size_t i = 0; i < number.size(); ++i) moved[number[i]] = column[i];
        column = std::move(moved);
    };
    for (std::int32_t& left : columns_.left) left = number[left];  // 0 stays 0
    for (std::int32_t& parent : parent_) parent = parent < 0 ? parent : number[parent];
    TreeColumns::for_each_node_column([&](const char*, auto& column) { move(column); }, columns_);
    move(parent_);
    move(param_start_);
}

template <class C>
PackedTree TreeBuilder::pack(const std::int32_t* numbers, int n_slopes) const {
    const std::int64_t n_nodes = this->n_nodes(), n_kept = std::int64_t{n_outputs_} * (1 + n_slopes);
    const std::int64_t n_models = form_ == PathForm::kLeafSums ? (n_nodes + 1) / 2 : n_nodes - (n_nodes > 1 ? 1 : 0);
    constexpr bool kQuantised = std::is_same_v<C, Byte>;
    PackedTree tree = PackedTree::with_room<C>(n_nodes, n_models * n_kept, kQuantised ? n_models * n_outputs_ : 0);
    auto to = tree.columns<C>();
    TreeColumns::for_each_node_column(
        [&](const char*, const auto& column, auto* place) { copy_rounded(column.data(), n_nodes, place); }, columns_,
        to);
    if constexpr (kQuantised) {
        for (std::int64_t i = 0; i < n_nodes; ++i) {
            to.lower[i] = to_half(to_few_digits(columns_.lower[i], kRangeDigits));
            to.upper[i] = to_half(to_few_digits(columns_.upper[i], kRangeDigits));
            to.gain[i] = to_few_digits(to.gain[i], kShownDigits);
        }
        std::vector<float> params(tree.n_params);
        put_params(numbers, n_slopes, params.data());
        std::span<const std::int32_t> left;
        if (form_ == PathForm::kOwnModels) left = columns_.left;
        quantise(params.data(), tree.n_params, 1 + n_slopes, left, kLeastExponent, to.params, to.exponent);
    } else {
        put_params(numbers, n_slopes, to.params);
    }
    return tree;
}

// The models that are kept, in the order of their nodes.
template <class C>
void TreeBuilder::put_params(const std::int32_t* numbers, int n_slopes, C* to) const {
    const auto put = [&]<class From>(const From* from, std::int64_t n) {
        if (numbers == nullptr) {
            to = copy_rounded(from, n, to);
            return;
        }
        const std::int64_t n_own = n_params_ / n_outputs_;
        for (; n > 0; n -= n_own, from += n_own, to += 1 + n_slopes) {
            std::fill_n(to, 1 + n_slopes, C{});
            copy_rounded(from, 1, to);
            for (std::int64_t j = 1; j < n_own; ++j) copy_rounded(from + j, 1, to + 1 + numbers[j - 1]);
        }
    };
    if (rounds_early()) {
        put(reinterpret_cast<const C*>(rounded_.data()), static_cast<std::int64_t>(rounded_.size() / sizeof(C)));
        return;
    }
    for (std::int32_t node = 0; node < n_nodes(); ++node) {
        const double* own = model(node);
        if (own == nullptr || (form_ == PathForm::kLeafSums && columns_.feature[node] >= 0)) continue;
        put(own, n_params_);
    }
}

PackedTree TreeBuilder::finish(const std::int32_t* numbers, int n_slopes) const {
    return with_type(stored_, [&]<class C>() { return pack<C>(numbers, n_slopes); });
}

}  // namespace boostforest
