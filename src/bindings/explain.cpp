#include "../core/explain/explain.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "../core/explain/effects.hpp"
#include "../core/explain/game.hpp"
#include "model.hpp"

namespace boostforest {

namespace {

using Out = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // flat: the core's order

// What every explanation reads, checked.
struct Inputs {
    Inputs(const Model& model, const Array<double, 2>& x, const Array<double, 2>& background,
           const Array<double, 1>& mean, const Array<double, 1>& scale, const Fill& fill,
           const Array<std::int32_t, 1>& column_of, int n_columns, int link, std::size_t first, std::size_t last,
           const Array<double, 1>& weights)
        : normal(normal_of(fill, x.shape(1))),
          rows(raw_rows(model, x, mean, scale, normal.get())),
          others(raw_rows(model, background, mean, scale, normal.get())),
          players(column_of_features(column_of, x.shape(1), n_columns), static_cast<int>(x.shape(1)), n_columns,
                  model.model_features()),
          forest{.trees = model.trees(first, last),
                 .weights = weights.data(),
                 .link = link_of(link, model.n_outputs()),
                 .first = static_cast<std::int64_t>(first)} {
        require(weights.shape(0) == last - first, "weights needs one value per tree");
        require(others.n_rows >= 1 && others.n_rows < std::numeric_limits<std::int32_t>::max(),
                "background needs 1 to 2^31 - 2 rows");
        for (const TreeView& tree : forest.trees)
            require(forest.link <= Link::kLog || !tree.sum_path,
                    "sums of clipped models are not scores of probabilities");
    }

    static const std::int32_t* column_of_features(const Array<std::int32_t, 1>& column_of, std::size_t n_features,
                                                  int n_columns) {
        require(column_of.shape(0) == n_features && n_columns >= 1 && static_cast<std::size_t>(n_columns) <= n_features,
                "column_of needs one value per feature, of no more columns");
        for (std::size_t j = 0; j < n_features; ++j)
            require(column_of(j) >= (j == 0 ? 0 : column_of(j - 1)) && column_of(j) < n_columns,
                    "column_of must ascend and hold numbers of columns");
        return column_of.data();
    }

    std::unique_ptr<const Normal> normal;
    RawRows rows, others;
    Players players;
    WeightedTrees forest;
};

void require_size(const Out& out, std::size_t size, const char* message) {
    require(out.shape(0) == size, message);
}

void explain_interventional_of(const Model& model, const Array<double, 2>& x, const Array<double, 2>& background,
                               const Array<double, 1>& mean, const Array<double, 1>& scale, const Fill& fill,
                               const Array<std::int32_t, 1>& column_of, int n_columns, int link, std::size_t first,
                               std::size_t last, const Array<double, 1>& weights, bool apart, int n_threads,
                               Out& values, Out& variance, std::optional<Out> pairs, const nb::object& progress) {
    const Inputs in(model, x, background, mean, scale, fill, column_of, n_columns, link, first, last, weights);
    const std::size_t size =
        x.shape(0) * (apart ? background.shape(0) : 1) * n_columns * static_cast<std::size_t>(model.n_outputs());
    require_size(values, size, "values has the wrong size");
    require_size(variance, size, "variance has the wrong size");
    if (pairs) require_size(*pairs, size * n_columns, "pairs has the wrong size");
    run_without_gil(progress, [&](Control& control) {
        explain_interventional(in.forest, in.rows, in.others, in.players, n_threads, control,
                               {.values = values.data(),
                                .variance = variance.data(),
                                .pairs = pairs ? pairs->data() : nullptr,
                                .apart = apart});
    });
}

void explain_path_of(const Model& model, const Array<double, 2>& x, const Array<double, 2>& background,
                     const Array<double, 1>& mean, const Array<double, 1>& scale, const Fill& fill,
                     const Array<std::int32_t, 1>& column_of, int n_columns, int link, std::size_t first,
                     std::size_t last, const Array<double, 1>& weights, int n_threads, Out& values, Out& base,
                     const nb::object& progress) {
    const Inputs in(model, x, background, mean, scale, fill, column_of, n_columns, link, first, last, weights);
    const auto n_outputs = static_cast<std::size_t>(model.n_outputs());
    require_size(values, x.shape(0) * n_columns * n_outputs, "values has the wrong size");
    require_size(base, n_outputs, "base has the wrong size");
    for (const TreeView& tree : in.forest.trees)
        require(has_paths(tree, in.forest.link), "a tree has no path-dependent contributions");
    run_without_gil(progress, [&](Control& control) {
        explain_path(in.forest, in.rows, in.others, in.players, n_threads, control, values.data(), base.data());
    });
}

void add_effects_of(const Model& model, const Array<double, 2>& x, const Array<double, 2>& grid,
                    const Array<bool, 1>& replaced, const Array<double, 1>& mean, const Array<double, 1>& scale,
                    const Fill& fill, int link, std::size_t first, std::size_t last, const Array<double, 1>& weights,
                    int n_threads, Out& out, std::optional<Array<double, 1>> row_weights) {
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows = raw_rows(model, x, mean, scale, normal.get());
    const RawRows values = raw_rows(model, grid, mean, scale, normal.get());
    require(replaced.shape(0) == x.shape(1), "replaced needs one value per feature");
    const WeightedTrees forest{.trees = model.trees(first, last),
                               .weights = weights.data(),
                               .link = link_of(link, model.n_outputs()),
                               .first = static_cast<std::int64_t>(first)};
    require(weights.shape(0) == last - first, "weights needs one value per tree");
    require(grid.shape(0) >= 1 && grid.shape(0) < std::numeric_limits<std::int32_t>::max(),
            "grid needs 1 to 2^31 - 2 rows");
    require(!row_weights || row_weights->shape(0) == x.shape(0), "row_weights needs one value per row");
    const std::size_t size = grid.shape(0) * static_cast<std::size_t>(model.n_outputs());
    require_size(out, (row_weights ? 1 : x.shape(0)) * size, "out has the wrong size");
    const Grid on_grid(values, replaced.data());
    for (const TreeView& tree : forest.trees)
        require(takes_all_values(tree, forest.link, on_grid.ascends()) &&
                    (forest.link == Link::kIdentity || !tree.sum_path),
                "a tree does not take all values at once");
    run_without_gil(nb::none(), [&](Control& control) {
        if (row_weights) {
            add_summed_effects(forest, rows, on_grid, row_weights->data(), n_threads, control, out.data());
        } else {
            add_effects(forest, rows, on_grid, n_threads, control, out.data());
        }
    });
}

bool closed_forms(const Model& model, int link, std::size_t first, std::size_t last) {
    const std::span<const TreeView> trees = model.trees(first, last);
    const Link as = link_of(link, model.n_outputs());
    return std::all_of(trees.begin(), trees.end(), [&](const TreeView& tree) { return has_closed_forms(tree, as); });
}

bool all_have_paths(const Model& model, int link, std::size_t first, std::size_t last) {
    const std::span<const TreeView> trees = model.trees(first, last);
    const Link as = link_of(link, model.n_outputs());
    return std::all_of(trees.begin(), trees.end(), [&](const TreeView& tree) { return has_paths(tree, as); });
}

bool all_take_values(const Model& model, int link, std::size_t first, std::size_t last, bool one_number) {
    const std::span<const TreeView> trees = model.trees(first, last);
    const Link as = link_of(link, model.n_outputs());
    return std::all_of(trees.begin(), trees.end(),
                       [&](const TreeView& tree) { return takes_all_values(tree, as, one_number); });
}

}  // namespace

void register_explain(nb::module_& module) {
    module.def("explain_interventional", &explain_interventional_of, nb::arg("model"), nb::arg("x").noconvert(),
               nb::arg("background").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
               nb::arg("fill").noconvert().none(), nb::arg("column_of").noconvert(), nb::arg("n_columns"),
               nb::arg("link"), nb::arg("first"), nb::arg("last"), nb::arg("weights").noconvert(), nb::arg("apart"),
               nb::arg("n_threads"), nb::arg("values").noconvert(), nb::arg("variance").noconvert(),
               nb::arg("pairs").noconvert().none() = nb::none(), nb::arg("progress") = nb::none(),
               "Add what each column contributes to the weighted outputs of the trees first … last - 1.");
    module.def("explain_path", &explain_path_of, nb::arg("model"), nb::arg("x").noconvert(),
               nb::arg("background").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
               nb::arg("fill").noconvert().none(), nb::arg("column_of").noconvert(), nb::arg("n_columns"),
               nb::arg("link"), nb::arg("first"), nb::arg("last"), nb::arg("weights").noconvert(), nb::arg("n_threads"),
               nb::arg("values").noconvert(), nb::arg("base").noconvert(), nb::arg("progress") = nb::none(),
               "The same along the paths of the trees, and their outputs without a row.");
    module.def("add_effects", &add_effects_of, nb::arg("model"), nb::arg("x").noconvert(), nb::arg("grid").noconvert(),
               nb::arg("replaced").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
               nb::arg("fill").noconvert().none(), nb::arg("link"), nb::arg("first"), nb::arg("last"),
               nb::arg("weights").noconvert(), nb::arg("n_threads"), nb::arg("out").noconvert(),
               nb::arg("row_weights").noconvert().none() = nb::none(),
               "Add the weighted outputs of the trees first … last - 1 for rows whose replaced features are a grid's: "
               "of each row, or their sum with row_weights.");
    module.def("has_closed_forms", &closed_forms, nb::arg("model"), nb::arg("link"), nb::arg("first"), nb::arg("last"),
               "Whether the contributions to the trees first … last - 1 are sums over their nodes.");
    module.def("has_paths", &all_have_paths, nb::arg("model"), nb::arg("link"), nb::arg("first"), nb::arg("last"),
               "Whether the trees first … last - 1 have path-dependent contributions.");
    module.def("takes_all_values", &all_take_values, nb::arg("model"), nb::arg("link"), nb::arg("first"),
               nb::arg("last"), nb::arg("one_number"),
               "Whether the trees first … last - 1 take all values of a grid at once; one_number: of one feature, in "
               "ascending order.");
    module.attr("MOST_PAIRED") = kMostPaired;
}

}  // namespace boostforest
