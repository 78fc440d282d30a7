// The coding of model files' columns (core/coding).
#include <span>
#include <vector>

#include "../core/coding/entropy.hpp"
#include "../core/coding/models.hpp"
#include "../core/coding/structure.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

using Bytes = Array<std::uint8_t, 1>;
using Contexts = std::optional<Bytes>;

template <class T>
std::span<const T> span_of(const Array<T, 1>& array) {
    return {array.data(), array.shape(0)};
}

void require_contexts(const Contexts& contexts, std::size_t n, int n_contexts) {
    require(n_contexts >= 1 && n_contexts <= kMaxContexts, "too many contexts, or none");
    if (!contexts) return;
    bool good = contexts->shape(0) == n;
    for (std::size_t i = 0; good && i < n; ++i) good = (*contexts)(i) < n_contexts;
    require(good, "contexts need a number below n_contexts for every symbol");
}

auto encode_bytes(const Bytes& symbols, const Contexts& contexts, int n_contexts) {
    require_contexts(contexts, symbols.shape(0), n_contexts);
    return to_numpy(encode_symbols(span_of(symbols), contexts ? contexts->data() : nullptr, n_contexts));
}

auto decode_bytes(const Bytes& stream, std::size_t n, const Contexts& contexts, int n_contexts) {
    require_contexts(contexts, n, n_contexts);
    SymbolReader reader(span_of(stream), n_contexts);
    auto symbols = new_array<std::uint8_t>(n);
    for (std::size_t i = 0; i < n; ++i) symbols.data()[i] = reader.next(contexts ? contexts->data()[i] : 0);
    reader.finish();
    return symbols;
}

// Checks the shapes, and sets how many parameters there are.
ModelShapes model_shapes(const Array<std::int64_t, 1>& n_models, const Array<std::int64_t, 1>& group, int n_outputs,
                         const Array<std::int64_t, 1>& order, const Array<std::int8_t, 1>& exponent, bool differences,
                         std::size_t n_params) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const char* message = "the shapes of the models do not fit";
    require(n_models.shape(0) == group.shape(0) && n_outputs >= 1, message);
    std::int64_t first = 0, params = 0;
    const auto all = static_cast<std::int64_t>(order.shape(0)), most = static_cast<std::int64_t>(n_params);
    for (std::size_t t = 0; t < n_models.shape(0); ++t) {
        const std::int64_t n = n_models(t);
        require(n >= 0 && n <= all - first && group(t) >= 1 && group(t) < kMost, message);
        const std::int64_t per_model = group(t) * n_outputs;
        require(n == 0 || n <= (most - params) / per_model, message);
        for (std::int64_t i = first; i < first + n; ++i) require(order(i) >= 0 && order(i) < n, message);
        first += n;
        params += n * per_model;
    }
    require(first == all && params == most && exponent.shape(0) == order.shape(0) * static_cast<std::size_t>(n_outputs),
            message);
    return {span_of(n_models), span_of(group), n_outputs, span_of(order), span_of(exponent), differences};
}

auto encode_params(const Array<std::int8_t, 1>& params, const Array<std::int64_t, 1>& n_models,
                   const Array<std::int64_t, 1>& group, int n_outputs, const Array<std::int64_t, 1>& order,
                   const Array<std::int8_t, 1>& exponent, bool differences) {
    return to_numpy(encode_models(
        model_shapes(n_models, group, n_outputs, order, exponent, differences, params.shape(0)), params.data()));
}

auto decode_params(const Bytes& stream, std::size_t n_params, const Array<std::int64_t, 1>& n_models,
                   const Array<std::int64_t, 1>& group, int n_outputs, const Array<std::int64_t, 1>& order,
                   const Array<std::int8_t, 1>& exponent, bool differences) {
    const ModelShapes shapes = model_shapes(n_models, group, n_outputs, order, exponent, differences, n_params);
    auto params = new_array<Byte>(n_params);
    std::fill_n(params.data(), n_params, Byte{0});
    decode_models(shapes, span_of(stream), params.data());
    return params;
}

void require_trees(const Array<std::int64_t, 1>& tree_start, std::size_t n_nodes) {
    bool good = tree_start.shape(0) >= 1 && tree_start(0) == 0;
    for (std::size_t t = 0; good && t + 1 < tree_start.shape(0); ++t) good = tree_start(t) < tree_start(t + 1);
    require(good && static_cast<std::size_t>(tree_start(tree_start.shape(0) - 1)) == n_nodes,
            "damaged model: tree_start must run from 0 to the number of nodes");
}

auto depth_first_nodes(const Array<std::int64_t, 1>& tree_start, const Array<std::int32_t, 1>& left) {
    require_trees(tree_start, left.shape(0));
    auto order = new_array<std::int64_t>(left.shape(0));
    depth_first(span_of(tree_start), left.data(), order.data());
    return order;
}

auto left_children(const Array<std::int64_t, 1>& tree_start, const Bytes& is_split) {
    require_trees(tree_start, is_split.shape(0));
    auto left = new_array<std::int32_t>(is_split.shape(0));
    grown_depth_first(span_of(tree_start), is_split.data(), left.data());
    return left;
}

auto depths(const Array<std::int64_t, 1>& tree_start, const Array<std::int32_t, 1>& left) {
    require_trees(tree_start, left.shape(0));
    auto depth = new_array<std::int32_t>(left.shape(0));
    node_depths(span_of(tree_start), left.data(), depth.data());
    return depth;
}

auto whole_weights(const Array<std::int64_t, 1>& tree_start, const Array<std::int32_t, 1>& left,
                   const Array<float, 1>& weight) {
    require_trees(tree_start, left.shape(0));
    require(weight.shape(0) == left.shape(0), "damaged model: every node needs a weight");
    auto all = new_array<float>(left.shape(0));
    std::copy_n(weight.data(), weight.shape(0), all.data());
    complete_weights(span_of(tree_start), left.data(), all.data());
    return all;
}

}  // namespace

void register_coding(nb::module_& module) {
    module.attr("MAX_CONTEXTS") = kMaxContexts;
    module.def("encode_bytes", &encode_bytes, "symbols"_array, "contexts"_array.none(), "n_contexts"_a,
               "Code bytes by how often each occurs in its context.");
    module.def("decode_bytes", &decode_bytes, "stream"_array, "n"_a, "contexts"_array.none(), "n_contexts"_a,
               "Read what encode_bytes has written.");
    module.def("encode_params", &encode_params, "params"_array, "n_models"_array, "group"_array, "n_outputs"_a,
               "order"_array, "exponent"_array, "differences"_a, "Code the parameters of a forest in int8.");
    module.def("decode_params", &decode_params, "stream"_array, "n_params"_a, "n_models"_array, "group"_array,
               "n_outputs"_a, "order"_array, "exponent"_array, "differences"_a, "Read what encode_params has written.");
    module.def("depth_first_nodes", &depth_first_nodes, "tree_start"_array, "left"_array,
               "The nodes of every tree depth first, counted from its root.");
    module.def("left_children", &left_children, "tree_start"_array, "is_split"_array,
               "The left children of trees that were grown depth first, given in that order which nodes are split.");
    module.def("node_depths", &depths, "tree_start"_array, "left"_array, "The depth of every node, 0 for roots.");
    module.def("complete_weights", &whole_weights, "tree_start"_array, "left"_array, "weight"_array,
               "Weights of nodes, those of right children being what the left ones leave.");
}

}  // namespace boostforest
