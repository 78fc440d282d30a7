#include "../core/gbdt_pl/gbdt_pl.hpp"

#include "bindings.hpp"

namespace boostforest {

namespace {

using gbdt_pl::kMaxBins;

nb::dict fit(const Array<double, 2>& x, const Array<std::uint8_t, 2>& bins, const Array<std::int32_t, 1>& n_bins,
             const Array<double, 2>& bin_mean, const Array<double, 2>& bin_end, const Array<double, 1>& y,
             const Array<double, 1>& weight, int n_classes, const Array<double, 1>& start, int n_rounds,
             double learning_rate, int max_leaves, int max_depth, int max_regressors, double reg_lambda,
             double reg_alpha, double min_child_weight, double min_samples_leaf, int n_threads) {
    const std::size_t d = x.shape(0), n = x.shape(1);
    require(n > 0 && n < std::size_t{1} << 31 && d > 0 && d < std::size_t{1} << 22,
            "1 to 2^31 - 1 rows, 1 to 2^22 - 1 features");
    require(bins.shape(0) == n && bins.shape(1) == d && n_bins.shape(0) == d, "bins must have the shape of x, turned");
    require(bin_mean.shape(0) == d && bin_mean.shape(1) == kMaxBins && bin_end.shape(0) == d &&
                bin_end.shape(1) == kMaxBins,
            "bin_mean and bin_end need 256 values per feature");
    require(y.shape(0) == n && weight.shape(0) == n, "y and weight need a value per row");
    require(
        n_classes >= 0 && n_classes != 1 && start.shape(0) == (n_classes > 2 ? static_cast<std::size_t>(n_classes) : 1),
        "start needs a value per output");
    require(n_classes < 1 << 24, "fewer than 2^24 classes");
    require(n_rounds >= 0 && max_leaves >= 1 && max_depth >= 0 && max_regressors >= 0,
            "no negative number of rounds, splits and regressors, and 1 leaf or more");
    for (std::size_t j = 0; j < d; ++j) require(n_bins(j) >= 1 && n_bins(j) <= kMaxBins, "1 to 256 bins per feature");
    for (std::size_t i = 0; i < n; ++i) {
        require(weight(i) > 0, "weights must be above 0");
        require(n_classes == 0 || (y(i) >= 0 && y(i) < n_classes), "y must hold numbers of classes");
        for (std::size_t j = 0; j < d; ++j) require(bins(i, j) < n_bins(j), "a bin that does not exist");
    }
    const gbdt_pl::Table table{.x = x.data(),
                               .bins = bins.data(),
                               .n_bins = n_bins.data(),
                               .bin_mean = bin_mean.data(),
                               .bin_end = bin_end.data(),
                               .y = y.data(),
                               .weight = weight.data(),
                               .n_rows = static_cast<std::int64_t>(n),
                               .n_features = static_cast<int>(d)};
    const gbdt_pl::Rules rules{.n_rounds = n_rounds,
                               .learning_rate = learning_rate,
                               .max_leaves = max_leaves,
                               .max_depth = max_depth,
                               .max_regressors = max_regressors,
                               .lambda = reg_lambda,
                               .alpha = reg_alpha,
                               .min_child_weight = min_child_weight,
                               .min_samples_leaf = min_samples_leaf};
    gbdt_pl::Columns trees;
    run_without_gil(nb::none(), [&](Control& control) {
        trees = gbdt_pl::fit(table, n_classes, start.data(), rules, n_threads, control);
    });
    nb::dict columns;
    columns["tree_start"] = to_numpy(trees.tree_start);
    columns["feature"] = to_numpy(trees.feature);
    columns["threshold"] = to_numpy(trees.threshold);
    columns["left"] = to_numpy(trees.left);
    columns["gain"] = to_numpy(trees.gain);
    columns["n_samples"] = to_numpy(trees.n_samples);
    columns["intercept"] = to_numpy(trees.intercept);
    columns["term_start"] = to_numpy(trees.term_start);
    columns["term_feature"] = to_numpy(trees.term_feature);
    columns["term_slope"] = to_numpy(trees.term_slope);
    return columns;
}

// The columns of a fitted ensemble, checked once so that nothing below has to: no index in them can lead outside.
class PiecewiseTrees {
   public:
    PiecewiseTrees(const nb::dict& columns, int n_features, int n_outputs)
        : tree_start_(model_column<std::int64_t>(columns, "tree_start")),
          feature_(model_column<std::int32_t>(columns, "feature")),
          threshold_(model_column<double>(columns, "threshold")),
          left_(model_column<std::int32_t>(columns, "left")),
          intercept_(model_column<double>(columns, "intercept")),
          term_start_(model_column<std::int64_t>(columns, "term_start")),
          term_feature_(model_column<std::int32_t>(columns, "term_feature")),
          term_slope_(model_column<double>(columns, "term_slope")),
          view_{.tree_start = tree_start_.data(),
                .feature = feature_.data(),
                .threshold = threshold_.data(),
                .left = left_.data(),
                .intercept = intercept_.data(),
                .term_start = term_start_.data(),
                .term_feature = term_feature_.data(),
                .term_slope = term_slope_.data(),
                .n_features = n_features,
                .n_outputs = n_outputs} {
        const std::size_t n_nodes = feature_.shape(0), n_terms = term_feature_.shape(0);
        require(n_features >= 1 && n_outputs >= 1 && threshold_.shape(0) == n_nodes && left_.shape(0) == n_nodes &&
                    intercept_.shape(0) == n_nodes && term_slope_.shape(0) == n_terms,
                "damaged model: columns of different lengths");
        require(is_partition(tree_start_, n_nodes, true) && (tree_start_.shape(0) - 1) % n_outputs == 0,
                "damaged model: the trees do not fill the nodes");
        require(is_partition(term_start_, n_terms, false) && term_start_.shape(0) == n_nodes + 1,
                "damaged model: the models do not fill the terms");
        for (std::size_t t = 0; t + 1 < tree_start_.shape(0); ++t) check_tree(tree_start_(t), tree_start_(t + 1));
        for (std::size_t k = 0; k < n_terms; ++k)
            require(term_feature_(k) >= 0 && term_feature_(k) < n_features, "damaged model: an unknown feature");
    }

    std::int64_t n_rounds() const { return static_cast<std::int64_t>(tree_start_.shape(0) - 1) / view_.n_outputs; }
    const gbdt_pl::View& view() const { return view_; }

   private:
    // From 0 to n, each step at least 1 where parts may not be empty.
    static bool is_partition(const Array<std::int64_t, 1>& start, std::size_t n, bool filled) {
        bool good = start.shape(0) >= 1 && start(0) == 0 && start(start.shape(0) - 1) == static_cast<std::int64_t>(n);
        for (std::size_t i = 0; good && i + 1 < start.shape(0); ++i) good = start(i) + (filled ? 1 : 0) <= start(i + 1);
        return good;
    }

    // Children come after their parent: no path can run in a circle.
    void check_tree(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t i = begin; i < end; ++i) {
            require(feature_(i) >= -1 && feature_(i) < view_.n_features, "damaged model: an unknown feature");
            require(feature_(i) < 0 || (left_(i) > i - begin && begin + left_(i) + 1 < end),
                    "damaged model: a child outside of its tree");
        }
    }

    Array<std::int64_t, 1> tree_start_;
    Array<std::int32_t, 1> feature_;
    Array<double, 1> threshold_;
    Array<std::int32_t, 1> left_;
    Array<double, 1> intercept_;
    Array<std::int64_t, 1> term_start_;
    Array<std::int32_t, 1> term_feature_;
    Array<double, 1> term_slope_;
    gbdt_pl::View view_;
};

using Out = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void add_scores(const PiecewiseTrees& trees, const Array<double, 2>& x, std::int64_t first, std::int64_t last, Out& out,
                int n_threads) {
    require(x.shape(1) == static_cast<std::size_t>(trees.view().n_features), "x needs the model's features");
    require(out.shape(0) == x.shape(0) && out.shape(1) == static_cast<std::size_t>(trees.view().n_outputs),
            "out needs a value per row and output");
    require(0 <= first && first <= last && last <= trees.n_rounds(), "rounds that do not exist");
    run_without_gil(nb::none(), [&](Control& control) {
        gbdt_pl::add_scores(trees.view(), first, last, x.data(), static_cast<std::int64_t>(x.shape(0)), out.data(),
                            n_threads, control);
    });
}

}  // namespace

void register_gbdt_pl(nb::module_& module) {
    module.def("gbdt_pl_fit", &fit, "x"_array, "bins"_array, "n_bins"_array, "bin_mean"_array, "bin_end"_array,
               "y"_array, "weight"_array, "n_classes"_a, "start"_array, nb::kw_only(), "n_rounds"_a, "learning_rate"_a,
               "max_leaves"_a, "max_depth"_a, "max_regressors"_a, "reg_lambda"_a, "reg_alpha"_a, "min_child_weight"_a,
               "min_samples_leaf"_a, "n_threads"_a,
               nb::sig("def gbdt_pl_fit(x: numpy.ndarray, bins: numpy.ndarray, n_bins: numpy.ndarray, "
                       "bin_mean: numpy.ndarray, bin_end: numpy.ndarray, y: numpy.ndarray, weight: numpy.ndarray, "
                       "n_classes: int, start: numpy.ndarray, *, n_rounds: int, learning_rate: float, "
                       "max_leaves: int, max_depth: int, max_regressors: int, reg_lambda: float, reg_alpha: float, "
                       "min_child_weight: float, min_samples_leaf: float, n_threads: int) -> dict[str, numpy.ndarray]"),
               "Boost piecewise linear trees on scaled features, column by column; return the trees' columns.");
    nb::class_<PiecewiseTrees>(module, "PiecewiseTrees", "Checked, read-only view of boosted piecewise linear trees.")
        .def(nb::init<const nb::dict&, int, int>(), "columns"_a, "n_features"_a, "n_outputs"_a)
        .def("add_scores", &add_scores, "x"_array, "first"_a, "last"_a, "out"_array, "n_threads"_a,
             "Add the scores of the rounds first to last - 1 to out (rows × outputs).");
}

}  // namespace boostforest
