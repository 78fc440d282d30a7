#include "../core/model_trees/lmt.hpp"

#include "bindings.hpp"

namespace boostforest {

namespace {

nb::dict fit(const Array<double, 2>& columns, const Array<double, 2>& scaled, const Array<double, 1>& y,
             const Array<double, 1>& weight, int n_classes, std::int64_t n_iter, std::int64_t max_iter,
             std::int64_t patience, bool use_aic, bool error_on_probabilities, bool choose_at_every_node, bool split,
             bool prune, double min_split, double min_leaf) {
    const std::size_t n_features = columns.shape(0), n_rows = columns.shape(1);
    require(n_rows > 0 && n_rows < std::size_t{1} << 31 && n_features > 0, "1 to 2^31 - 1 rows, 1 feature or more");
    require(scaled.shape(0) == n_features && scaled.shape(1) == n_rows, "scaled needs the shape of columns");
    require(y.shape(0) == n_rows && weight.shape(0) == n_rows, "y and weight need one value per row");
    require(n_classes >= 2 && n_classes < 1 << 24, "2 to 2^24 - 1 classes");
    require(n_iter >= -1 && patience >= 0 && max_iter >= 0 && std::max(n_iter, max_iter) < std::int64_t{1} << 31,
            "no negative number of iterations, and fewer than 2^31");
    require(!has_nan(columns), "columns must have no NaN: they are sorted");
    for (std::size_t i = 0; i < n_rows; ++i)
        require(y(i) >= 0 && y(i) < n_classes && weight(i) > 0, "y must be a class number and weight above 0");
    const LogisticTable table{.x = columns.data(),
                              .scaled = scaled.data(),
                              .n_rows = static_cast<std::int64_t>(n_rows),
                              .n_features = static_cast<int>(n_features),
                              .y = y.data(),
                              .weight = weight.data(),
                              .n_classes = n_classes};
    const LmtRules rules{.iterations = {.fixed = n_iter,
                                        .maximum = max_iter,
                                        .patience = patience,
                                        .use_aic = use_aic,
                                        .error_on_probabilities = error_on_probabilities},
                         .choose_at_every_node = choose_at_every_node,
                         .split = split,
                         .prune = prune,
                         .min_split = min_split,
                         .min_leaf = min_leaf};
    LmtColumns tree;
    run_without_gil(nb::none(), [&](Control& control) {
        parallel_for(1, 1, control, [&](std::int64_t, Worker& worker) { tree = fit_lmt(table, rules, worker); });
    });
    nb::dict result;
    result["feature"] = to_numpy(tree.feature);
    result["threshold"] = to_numpy(tree.threshold);
    result["left"] = to_numpy(tree.left);
    result["n_samples"] = to_numpy(tree.n_samples);
    result["wrong"] = to_numpy(tree.wrong);
    result["gain"] = to_numpy(tree.gain);
    result["n_iter"] = to_numpy(tree.n_iter);
    result["model"] = to_numpy(tree.model);
    result["params"] = to_numpy(tree.params);
    return result;
}

// The columns of a fitted tree, checked once so that nothing below has to: no index in them can lead outside.
class LogisticTree {
   public:
    LogisticTree(const Array<std::int32_t, 1>& feature, const Array<double, 1>& threshold,
                 const Array<std::int32_t, 1>& left, const Array<std::int32_t, 1>& model,
                 const Array<double, 1>& params, const Array<double, 1>& mean, const Array<double, 1>& scale,
                 int n_outputs)
        : feature_(feature),
          threshold_(threshold),
          left_(left),
          model_(model),
          params_(params),
          mean_(mean),
          scale_(scale),
          n_outputs_(n_outputs) {
        const auto n_nodes = static_cast<std::int64_t>(feature.shape(0));
        const auto n_features = static_cast<std::int64_t>(mean.shape(0));
        require(n_nodes >= 1 && threshold.shape(0) == feature.shape(0) && left.shape(0) == feature.shape(0) &&
                    model.shape(0) == feature.shape(0),
                "damaged tree: all node columns must have the same length");
        require(scale.shape(0) == mean.shape(0) && n_features >= 1 && n_outputs >= 1,
                "damaged tree: mean and scale need one value per feature");
        const auto n_params = static_cast<std::int64_t>(params.shape(0));
        const std::int64_t n_models = n_params / (n_outputs * (1 + n_features));
        require(n_models * n_outputs * (1 + n_features) == n_params, "damaged tree: parameters of no model");
        for (std::int64_t i = 0; i < n_nodes; ++i) {
            require(feature(i) >= -1 && feature(i) < n_features, "damaged tree: a split on an unknown feature");
            // Children come after their parent: no path can run in a circle.
            require(feature(i) < 0 || (left(i) > i && left(i) + std::int64_t{1} < n_nodes),
                    "damaged tree: a child outside of it");
            require(feature(i) >= 0 || (model(i) >= 0 && model(i) < n_models), "damaged tree: a leaf without a model");
        }
    }

    LmtView view(const Array<double, 2>& x) const {
        require(x.shape(1) == mean_.shape(0), "x needs the tree's features");
        return {.feature = feature_.data(),
                .threshold = threshold_.data(),
                .left = left_.data(),
                .model = model_.data(),
                .params = params_.data(),
                .mean = mean_.data(),
                .scale = scale_.data(),
                .n_features = static_cast<int>(mean_.shape(0)),
                .n_outputs = n_outputs_};
    }
    int n_outputs() const { return n_outputs_; }

   private:
    Array<std::int32_t, 1> feature_;
    Array<double, 1> threshold_;
    Array<std::int32_t, 1> left_, model_;
    Array<double, 1> params_, mean_, scale_;
    int n_outputs_;
};

template <class T, int kDimensions>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;

void predict(const LogisticTree& tree, const Array<double, 2>& x, const Out<double, 2>& out) {
    const LmtView view = tree.view(x);
    require(out.shape(0) == x.shape(0) && out.shape(1) == static_cast<std::size_t>(tree.n_outputs()),
            "out has the wrong shape");
    const nb::gil_scoped_release no_gil;
    predict_lmt(view, x.data(), static_cast<std::int64_t>(x.shape(0)), out.data());
}

void apply(const LogisticTree& tree, const Array<double, 2>& x, const Out<std::int32_t, 1>& out) {
    const LmtView view = tree.view(x);
    require(out.shape(0) == x.shape(0), "out has the wrong shape");
    const nb::gil_scoped_release no_gil;
    apply_lmt(view, x.data(), static_cast<std::int64_t>(x.shape(0)), out.data());
}

}  // namespace

void register_lmt(nb::module_& module) {
    module.def("lmt_fit", &fit, "columns"_array, "scaled"_array, "y"_array, "weight"_array, "n_classes"_a,
               nb::kw_only(), "n_iter"_a, "max_iter"_a, "patience"_a, "use_aic"_a, "error_on_probabilities"_a,
               "choose_at_every_node"_a, "split"_a, "prune"_a, "min_split"_a, "min_leaf"_a,
               nb::sig("def lmt_fit(columns: numpy.ndarray, scaled: numpy.ndarray, y: numpy.ndarray, "
                       "weight: numpy.ndarray, n_classes: int, *, n_iter: int, max_iter: int, patience: int, "
                       "use_aic: bool, error_on_probabilities: bool, choose_at_every_node: bool, split: bool, "
                       "prune: bool, min_split: float, min_leaf: float) -> dict[str, numpy.ndarray]"),
               "Grow a logistic model tree on a table given column by column; return the tree's columns.");
    nb::class_<LogisticTree>(module, "LogisticTree", "Checked, read-only view of a logistic model tree.")
        .def(nb::init<const Array<std::int32_t, 1>&, const Array<double, 1>&, const Array<std::int32_t, 1>&,
                      const Array<std::int32_t, 1>&, const Array<double, 1>&, const Array<double, 1>&,
                      const Array<double, 1>&, int>(),
             "feature"_array, "threshold"_array, "left"_array, "model"_array, "params"_array, "mean"_array,
             "scale"_array, "n_outputs"_a)
        .def("predict", &predict, "x"_array, "out"_array, "Write the outputs of every row to out (rows × outputs).")
        .def("apply", &apply, "x"_array, "out"_array, "Write the leaf of every row to out.");
}

}  // namespace boostforest
