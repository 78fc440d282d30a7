#include <algorithm>
#include <cmath>
#include <memory>

#include "../core/forest/forest.hpp"
#include "../core/kernels/kernels.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

template <class T>
Array<T, 1> read_column(const nb::dict& columns, const char* name) {
    Array<T, 1> array;
    require(columns.contains(name) && nb::try_cast<Array<T, 1>>(columns[name], array, false),
            "params: a column is missing or has the wrong type");
    return array;
}

constexpr std::int64_t kMostInputs = (std::int64_t{1} << 31) - 16;  // of a node model, so that padded ones are counted

// Every tree parameter as one column over the trees, in the order of TreeParams.
std::vector<TreeParams> read_params(const nb::dict& columns) {
    const auto seeds = read_column<std::uint64_t>(columns, "seed");
    const auto column = [&](const char* name) {
        const auto values = read_column<double>(columns, name);
        require(values.shape(0) == seeds.shape(0), "params: all columns need one value per tree");
        return values;
    };
    const auto whole_below = [](double value, std::int64_t low, std::int64_t high) {
        return whole(value, low, high, "params: a whole number is out of range");
    };
    const auto require_number = [](double value, double low, bool strict) {
        require(std::isfinite(value) && value >= low && (!strict || value > low), "params: a number is out of range");
        return value;
    };
    constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
    const auto node_model = column("node_model"), node_reg_lambda = column("node_reg_lambda"),
               n_hidden = column("node_n_hidden"), cost = column("node_C"), epsilon = column("node_epsilon"),
               tolerance = column("node_tol"), max_iter = column("node_max_iter"),
               intercept_scaling = column("node_intercept_scaling"), criterion = column("criterion"),
               min_samples_leaf = column("min_samples_leaf"), reg_lambda = column("reg_lambda"),
               max_leaf_nodes = column("max_leaf_nodes"), max_depth = column("max_depth"),
               max_features = column("max_features"), n_cuts = column("n_cuts"), batch_size = column("batch_size"),
               clip = column("clip");
    std::vector<TreeParams> params(seeds.shape(0));
    for (std::size_t t = 0; t < params.size(); ++t) {
        TreeParams& p = params[t];
        p.seed = seeds(t);
        p.node.fit = static_cast<NodeFit>(whole_below(node_model(t), 0, static_cast<int>(NodeFit::kLinearSvr)));
        p.node.reg_lambda = require_number(node_reg_lambda(t), 0, false);
        if (p.node.fit == NodeFit::kElm) p.node.n_hidden = static_cast<int>(whole_below(n_hidden(t), 1, kMostInputs));
        if (p.node.fit == NodeFit::kLinearSvr) {
            const double scaling = require_number(intercept_scaling(t), 0, true);
            p.node.cost = require_number(cost(t), 0, true);
            p.node.epsilon = require_number(epsilon(t), 0, false);
            p.node.tolerance = require_number(tolerance(t), 0, true);
            p.node.max_iterations = static_cast<int>(whole_below(max_iter(t), 1, kMost));
            p.node.intercept_penalty = 1 / (scaling * scaling);
        }
        p.split.criterion = static_cast<Criterion>(whole_below(criterion(t), 0, static_cast<int>(Criterion::kC45)));
        p.split.min_samples_leaf = require_number(min_samples_leaf(t), 0, true);
        p.split.reg_lambda = require_number(reg_lambda(t), 0, false);
        p.split.max_features = static_cast<int>(whole_below(max_features(t), 1, kMost));
        p.split.n_cuts = static_cast<int>(whole_below(n_cuts(t), 1, kMost));
        p.max_leaf_nodes = whole_below(max_leaf_nodes(t), 0, kMost);
        p.max_depth = whole_below(max_depth(t), -1, kMost);
        p.batch_size = whole_below(batch_size(t), 0, kMost);
        p.clip = clip(t) != 0;
    }
    return params;
}

// A NumPy array that takes over the memory of a column.
template <class T>
auto to_numpy(GrowingArray<T>& column) {
    const std::size_t n = column.size();
    auto kept = std::make_unique<std::shared_ptr<T>>(column.release());
    T* data = kept->get();
    const nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::shared_ptr<T>*>(p); });
    static_cast<void>(kept.release());
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner);
}

template <class To, class From>
auto copy_to_numpy(const std::vector<From>& values) {
    auto array = new_array<To>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) array(i) = static_cast<To>(values[i]);
    return array;
}

Stored read_stored(const std::string& dtype) {
    require(dtype == "float64" || dtype == "float32" || dtype == "float16", "dtype must be a float");
    return dtype == "float64" ? Stored::kDouble : dtype == "float32" ? Stored::kSingle : Stored::kHalf;
}

nb::dict to_dict(JoinedTrees& trees) {
    nb::dict result;
    std::visit(
        [&](auto& columns) {
            columns.for_each_node_column([&](const char* name, auto& column) { result[name] = to_numpy(column); },
                                         columns);
            result["params"] = to_numpy(columns.params);
        },
        trees.columns);
    result["hidden"] = copy_to_numpy<double>(trees.hidden);
    result["hidden_start"] = copy_to_numpy<std::int64_t>(trees.hidden_start);
    result["n_unconverged"] = trees.n_unconverged;
    result["tree_start"] = copy_to_numpy<std::int64_t>(trees.tree_start);
    result["kind"] = copy_to_numpy<std::uint8_t>(trees.kind);
    result["sum_path"] = copy_to_numpy<bool>(trees.sum_path);
    return result;
}

nb::dict fit(const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
             const Array<double, 1>& y, int loss, int n_classes, const nb::dict& params, bool bootstrap,
             std::int64_t n_draws, const std::optional<Array<double, 1>>& cumulative,
             const std::optional<Array<double, 1>>& weight, bool balance_classes, int n_threads,
             const nb::object& progress, const Fill& fill, const FeatureNumbers& split_features,
             const FeatureNumbers& model_features, const std::optional<Array<std::int8_t, 1>>& monotone,
             const std::optional<Array<double, 2>>& start, const std::string& dtype) {
    const std::vector<TreeParams> tree_params = read_params(params);
    require(mean.shape(0) == x.shape(1) && scale.shape(0) == x.shape(1), "mean and scale need one value per feature");
    require(y.shape(0) == x.shape(0) && (!weight || weight->shape(0) == x.shape(0)) &&
                (!cumulative || cumulative->shape(0) == x.shape(0)),
            "y and the weights need one value per row");
    require(x.shape(0) > 0 && x.shape(0) < std::size_t{1} << 31 && x.shape(1) > 0,
            "1 to 2^31 - 1 rows, 1 feature or more");
    const std::unique_ptr<Loss> tree_loss = loss_of(loss, n_classes, y);
    require(!weight || are_weights(*weight), "weight must not be negative, nor all of it zero");
    require(!bootstrap || (n_draws > 0 && n_draws < std::int64_t{1} << 31), "1 to 2^31 - 1 draws");
    require(!cumulative || (all_finite(*cumulative) && (*cumulative)(x.shape(0) - 1) > 0), "cumulative must be finite");
    for (std::size_t j = 0; monotone && j < monotone->shape(0); ++j)
        require((*monotone)(j) >= -1 && (*monotone)(j) <= 1, "monotone has values other than -1, 0 and 1");
    const auto n_outputs = static_cast<std::size_t>(tree_loss->n_outputs());
    require(!start || (start->shape(0) == x.shape(0) && start->shape(1) == n_outputs),
            "start needs the scores of every row");
    require(!monotone || (monotone->shape(0) == x.shape(1) && n_classes <= 2),
            "monotone needs one value per feature, and no more than two classes");
    for (const TreeParams& p : tree_params) {
        require(!monotone || p.node.fit == NodeFit::kConstant || p.node.fit == NodeFit::kRidge,
                "monotone needs ridge or constant nodes");
        require(n_classes > 0 || p.split.criterion <= Criterion::kMse, "this criterion needs classes");
        const auto n_inputs = std::max<std::int64_t>(p.node.n_hidden, static_cast<std::int64_t>(x.shape(1)));
        require(static_cast<std::int64_t>(n_outputs) * (1 + n_inputs) <= kMostInputs,
                "too many features or hidden units for so many classes");
    }
    const FeatureList may_cut = feature_list(split_features, x.shape(1)),
                      seen = feature_list(model_features, x.shape(1));
    require(may_cut.n > 0, "some feature must be allowed to cut");
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows{.x = x.data(),
                       .n_rows = static_cast<std::int64_t>(x.shape(0)),
                       .n_features = static_cast<int>(x.shape(1)),
                       .mean = mean.data(),
                       .scale = scale.data(),
                       .normal = normal.get()};
    const Sampling sampling{.bootstrap = bootstrap,
                            .n_draws = n_draws,
                            .cumulative = cumulative ? cumulative->data() : nullptr,
                            .weight = weight ? weight->data() : nullptr,
                            .balance_classes = balance_classes};
    JoinedTrees trees(tree_params, read_stored(dtype));
    run_without_gil(progress, [&](Control& control) {
        Buffer<double> scaled, some;
        double* values = scaled.get(static_cast<std::size_t>(rows.n_rows) * padded_width(rows.n_features));
        MissingCells missing;
        const bool any_missing = scale_rows(rows, 0, rows.n_rows, values);
        if (any_missing) missing = take_missing(values, rows, n_threads, control);
        const auto indicators = find_indicators(values, rows.n_rows, rows.n_features, any_missing ? &missing : nullptr);
        Dataset data{
            .x = values,
            .n_rows = rows.n_rows,
            .n_features = rows.n_features,
            .split_features = may_cut,
            .model_x = values,
            .n_model_features = seen.n,
            .y = y.data(),
            .loss = *tree_loss,
            .n_classes = n_classes,
            .missing = any_missing ? &missing : nullptr,
            .indicators = indicators.get(),
            .model_indicators = indicators.get(),
            .start = start ? start->data() : nullptr,
        };
        std::unique_ptr<const Indicators> model_indicators;
        if (seen.numbers != nullptr) {
            double* model_x = some.get(static_cast<std::size_t>(rows.n_rows) * padded_width(seen.n));
            gather_features(values, rows.n_rows, padded_width(rows.n_features), seen, model_x);
            model_indicators = find_indicators(model_x, rows.n_rows, seen.n, nullptr);
            data.model_x = model_x;
            data.model_indicators = model_indicators.get();
        }
        std::vector<std::int8_t> model_monotone;
        if (monotone) {  // the regression with bounds reads no lists
            for (int j = 0; j < seen.n; ++j) model_monotone.push_back((*monotone)(seen[j]));
            data.monotone = monotone->data();
            data.model_monotone = model_monotone.data();
            data.model_indicators = nullptr;
        }
        grow_forest(data, sampling, tree_params, n_threads, control, trees);
    });
    return to_dict(trees);
}

}  // namespace

FeatureList feature_list(const FeatureNumbers& numbers, std::size_t n_features) {
    if (!numbers) return {nullptr, static_cast<int>(n_features)};
    for (std::size_t j = 0; j < numbers->shape(0); ++j)
        require(
            (*numbers)(j) > (j == 0 ? -1 : (*numbers)(j - 1)) && static_cast<std::size_t>((*numbers)(j)) < n_features,
            "a list of features must ascend and have no others");
    return {numbers->data(), static_cast<int>(numbers->shape(0))};
}

MissingCells take_missing(double* x, const RawRows& rows, int n_threads, Control& control) {
    const std::int64_t width = padded_width(rows.n_features);
    MissingCells missing(rows.n_rows, rows.n_features);
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
        for (int j = 0; j < rows.n_features; ++j)
            if (std::isnan(x[i * width + j])) missing.set(i, j);
    constexpr std::int64_t kRows = 256;     // of a block
    Control own([&control](std::int64_t) {  // blocks are no items that a progress bar counts
        control.poll();
        return !control.stopped();
    });
    parallel_for((rows.n_rows + kRows - 1) / kRows, n_threads, own, [&](std::int64_t block, Worker& worker) {
        worker.check(kRows * width * width);
        fill_missing(rows, std::min(kRows, rows.n_rows - block * kRows), x + block * kRows * width);
    });
    return missing;
}

void register_fit(nb::module_& module) {
    module.def(
        "fit", &fit, nb::arg("x").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
        nb::arg("y").noconvert(), nb::arg("loss"), nb::arg("n_classes"), nb::arg("params"), nb::arg("bootstrap"),
        nb::arg("n_draws"), nb::arg("cumulative").noconvert().none(), nb::arg("weight").noconvert().none(),
        nb::arg("balance_classes"), nb::arg("n_threads"), nb::arg("progress").none(),
        nb::arg("fill").noconvert().none() = nb::none(), nb::arg("split_features").noconvert().none() = nb::none(),
        nb::arg("model_features").noconvert().none() = nb::none(), nb::arg("monotone").noconvert().none() = nb::none(),
        nb::arg("start").noconvert().none() = nb::none(), nb::arg("dtype") = "float64",
        nb::sig("def fit(x: numpy.ndarray, mean: numpy.ndarray, scale: numpy.ndarray, y: numpy.ndarray, loss: int, "
                "n_classes: int, params: dict[str, numpy.ndarray], bootstrap: bool, n_draws: int, "
                "cumulative: numpy.ndarray | None, weight: numpy.ndarray | None, balance_classes: bool, "
                "n_threads: int, progress: object, fill: numpy.ndarray | None = None, "
                "split_features: numpy.ndarray | None = None, model_features: numpy.ndarray | None = None, "
                "monotone: numpy.ndarray | None = None, start: numpy.ndarray | None = None, dtype: str = 'float64') "
                "-> dict[str, typing.Any]"),
        "Grow one tree per entry of the parameter columns; return the forest's columns, coefficients as dtype.");
}

}  // namespace boostforest
