#include <limits>

#include "../core/model_trees/m5p.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

nb::dict m5p_fit(const Array<double, 2>& x, const Array<double, 1>& x_mean, const Array<double, 1>& x_scale,
                 const Array<double, 1>& y, double y_mean, double y_scale, const Array<double, 1>& weight,
                 double min_samples_leaf, bool prune, bool smooth, bool regression_tree) {
    require(x.shape(0) > 0 && x.shape(0) < std::size_t{1} << 31 && x.shape(1) > 0,
            "1 to 2^31 - 1 rows, 1 feature or more");
    require(x_mean.shape(0) == x.shape(1) && x_scale.shape(0) == x.shape(1), "mean and scale need a value per feature");
    require(y.shape(0) == x.shape(0) && weight.shape(0) == x.shape(0), "y and weight need a value per row");
    require(!has_nan(x), "x must have no NaN: it is sorted");
    for (std::size_t i = 0; i < weight.shape(0); ++i) require(weight(i) > 0, "weights must be above 0");
    const m5p::Table table{.x = x.data(),
                           .y = y.data(),
                           .weight = weight.data(),
                           .n_rows = static_cast<std::int64_t>(x.shape(0)),
                           .n_features = static_cast<int>(x.shape(1)),
                           .x_mean = x_mean.data(),
                           .x_scale = x_scale.data(),
                           .y_mean = y_mean,
                           .y_scale = y_scale};
    const m5p::Rules rules{
        .min_samples_leaf = min_samples_leaf, .prune = prune, .smooth = smooth, .regression_tree = regression_tree};
    m5p::Columns tree;
    run_without_gil(nb::none(), [&](Control& control) { tree = m5p::fit(table, rules, control); });
    nb::dict columns;
    columns["feature"] = to_numpy(tree.feature);
    columns["threshold"] = to_numpy(tree.threshold);
    columns["left"] = to_numpy(tree.left);
    columns["n_samples"] = to_numpy(tree.n_samples);
    columns["gain"] = to_numpy(tree.gain);
    columns["model"] = to_numpy(tree.model);
    columns["error"] = to_numpy(tree.error);
    columns["centre"] = to_numpy(tree.centre);
    columns["slopes"] = to_numpy(tree.slopes);
    return columns;
}

// The columns that prediction reads, checked: no index in them can lead outside, no path can run in a circle.
class M5PView {
   public:
    M5PView(const nb::dict& columns, const Array<double, 1>& x_mean)
        : feature_(model_column<std::int32_t>(columns, "feature")),
          left_(model_column<std::int32_t>(columns, "left")),
          model_(model_column<std::int32_t>(columns, "model")),
          threshold_(model_column<double>(columns, "threshold")),
          centre_(model_column<double>(columns, "centre")),
          slopes_(model_column<double, 2>(columns, "slopes")),
          view_{.feature = feature_.data(),
                .threshold = threshold_.data(),
                .left = left_.data(),
                .model = model_.data(),
                .centre = centre_.data(),
                .slopes = slopes_.data(),
                .x_mean = x_mean.data(),
                .n_features = static_cast<int>(x_mean.shape(0))} {
        const std::size_t n_nodes = feature_.shape(0), n_models = centre_.shape(0);
        bool good = n_nodes > 0 && left_.shape(0) == n_nodes && model_.shape(0) == n_nodes &&
                    threshold_.shape(0) == n_nodes && slopes_.shape(0) == n_models &&
                    slopes_.shape(1) == x_mean.shape(0);
        for (std::size_t i = 0; good && i < n_nodes; ++i) {
            const bool is_leaf = feature_(i) < 0;
            good = is_leaf ? model_(i) >= 0 && static_cast<std::size_t>(model_(i)) < n_models
                           : feature_(i) < view_.n_features && left_(i) > static_cast<std::int64_t>(i) &&
                                 static_cast<std::size_t>(left_(i)) + 1 < n_nodes;
        }
        require(good, "damaged model: the columns of the tree do not fit together");
    }

    const m5p::View& view() const { return view_; }

   private:
    Array<std::int32_t, 1> feature_, left_, model_;
    Array<double, 1> threshold_, centre_;
    Array<double, 2> slopes_;
    m5p::View view_;
};

template <class T, class Function>
auto for_rows(const nb::dict& columns, const Array<double, 1>& x_mean, const Array<double, 2>& x, Function function) {
    require(x.shape(1) == x_mean.shape(0), "x needs the model's features");
    const M5PView tree(columns, x_mean);
    auto out = new_array<T>(x.shape(0));
    const nb::gil_scoped_release no_gil;
    function(tree.view(), x.data(), static_cast<std::int64_t>(x.shape(0)), out.data());
    return out;
}

auto m5p_predict(const nb::dict& columns, const Array<double, 1>& x_mean, const Array<double, 2>& x) {
    return for_rows<double>(columns, x_mean, x, m5p::predict);
}

auto m5p_apply(const nb::dict& columns, const Array<double, 1>& x_mean, const Array<double, 2>& x) {
    return for_rows<std::int32_t>(columns, x_mean, x, m5p::apply);
}

}  // namespace

void register_model_trees(nb::module_& module) {
    module.def("m5p_fit", &m5p_fit, "x"_array, "x_mean"_array, "x_scale"_array, "y"_array, "y_mean"_a, "y_scale"_a,
               "weight"_array, "min_samples_leaf"_a, "prune"_a, "smooth"_a, "regression_tree"_a,
               nb::sig("def m5p_fit(x: numpy.ndarray, x_mean: numpy.ndarray, x_scale: numpy.ndarray, "
                       "y: numpy.ndarray, y_mean: float, y_scale: float, weight: numpy.ndarray, "
                       "min_samples_leaf: float, prune: bool, smooth: bool, "
                       "regression_tree: bool) -> dict[str, numpy.ndarray]"),
               "Grow an M5' tree; return its columns.");
    module.def("m5p_predict", &m5p_predict, "columns"_a, "x_mean"_array, "x"_array,
               "Predict with the columns of an M5' tree.");
    module.def("m5p_apply", &m5p_apply, "columns"_a, "x_mean"_array, "x"_array,
               "The leaf of every row in an M5' tree.");
}

}  // namespace boostforest
