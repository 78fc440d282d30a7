#include <stdexcept>
#include <string>

#include "../core/forest/forest.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

// The columns of a forest, checked once so that nothing below has to: no index in them can lead outside.
class Model {
   public:
    Model(const nb::dict& columns, int n_features, int n_outputs)
        : tree_start_(column<std::int64_t>(columns, "tree_start")),
          kind_(column<std::uint8_t>(columns, "kind")),
          sum_path_(column<bool>(columns, "sum_path")),
          missing_left_(column<std::uint8_t>(columns, "missing_left")),
          feature_(column<std::int32_t>(columns, "feature")),
          left_(column<std::int32_t>(columns, "left")),
          threshold_(column<double>(columns, "threshold")),
          lower_(read<Coefficients>(columns, "lower")),
          upper_(read<Coefficients>(columns, "upper")),
          params_(read<Coefficients>(columns, "params")),
          stored_(stored_type(params_)),
          hidden_start_(column<std::int64_t>(columns, "hidden_start")),
          hidden_(column<double>(columns, "hidden")),
          n_samples_(column<float>(columns, "n_samples")),
          model_features_(optional_column<std::int32_t>(columns, "model_features")),
          monotone_(optional_column<std::int8_t>(columns, "monotonic_cst")),
          n_features_(n_features),
          n_outputs_(n_outputs) {
        const std::size_t n_nodes = feature_.shape(0);
        require(stored_type(lower_) == stored_ && stored_type(upper_) == stored_,
                "lower, upper and params must have the same type");
        require(n_features >= 1 && n_outputs >= 1, "a model needs at least one feature and one output");
        require(tree_start_.shape(0) >= 1 && tree_start_(0) == 0 &&
                    static_cast<std::size_t>(tree_start_(tree_start_.shape(0) - 1)) == n_nodes,
                "tree_start must run from 0 to the number of nodes");
        require(kind_.shape(0) + 1 == tree_start_.shape(0) && sum_path_.shape(0) == kind_.shape(0),
                "kind and sum_path must have one value per tree");
        require(left_.shape(0) == n_nodes && missing_left_.shape(0) == n_nodes && threshold_.shape(0) == n_nodes &&
                    lower_.shape(0) == n_nodes && upper_.shape(0) == n_nodes && n_samples_.shape(0) == n_nodes,
                "all node columns must have the same length");
        require(hidden_start_.shape(0) == tree_start_.shape(0) && hidden_start_(0) == 0 &&
                    static_cast<std::size_t>(hidden_start_(kind_.shape(0))) == hidden_.shape(0),
                "hidden_start must run from 0 to the number of values in hidden");
        check_roles();
        std::int64_t n_params = 0;  // up to the end of each tree
        for (std::size_t t = 0; t < kind_.shape(0); ++t) n_params = add_tree(t, n_params);
        require(static_cast<std::size_t>(n_params) == params_.shape(0), "there are parameters of no model");
    }

    int n_features() const { return n_features_; }
    int n_outputs() const { return n_outputs_; }
    FeatureList model_features() const {
        if (!model_features_) return {nullptr, n_features_};
        return {model_features_->data(), static_cast<int>(model_features_->shape(0))};
    }

    // The trees first … last - 1; those with models in Python can only be walked, not evaluated.
    std::vector<TreeView> trees(std::size_t first, std::size_t last, bool evaluated = true) const {
        if (first > last || last > trees_.size()) throw std::out_of_range("no such trees");
        for (std::size_t t = first; t < last && evaluated; ++t)
            require(trees_[t].kind != ModelKind::kPython, "has its models in Python", static_cast<std::int64_t>(t));
        return {trees_.begin() + static_cast<std::ptrdiff_t>(first),
                trees_.begin() + static_cast<std::ptrdiff_t>(last)};
    }

   private:
    using Coefficients = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // see Stored

    template <class A>
    static A read(const nb::dict& columns, const char* name) {
        A array;
        const bool good = columns.contains(name) && nb::try_cast<A>(columns[name], array, false);
        require(good, (std::string(name) + " is missing or has the wrong type").c_str());
        return array;
    }

    template <class T>
    static Array<T, 1> column(const nb::dict& columns, const char* name) {
        return read<Array<T, 1>>(columns, name);
    }

    template <class T>
    static std::optional<Array<T, 1>> optional_column(const nb::dict& columns, const char* name) {
        if (!columns.contains(name)) return {};
        return column<T>(columns, name);
    }

    // The message is made only when it is needed: this runs for every node.
    static void require(bool condition, const char* message, std::int64_t tree = -1) {
        if (condition) return;
        const std::string where = tree < 0 ? "" : "tree " + std::to_string(tree) + " ";
        throw std::invalid_argument("damaged model: " + where + message);
    }

    static Stored stored_type(const Coefficients& column) {
        const bool is_single = column.dtype() == nb::dtype<float>(), is_half = column.dtype() == nb::dtype<Half>();
        require(is_single || is_half || column.dtype() == nb::dtype<double>(), "coefficients must be floats");
        return is_single ? Stored::kSingle : is_half ? Stored::kHalf : Stored::kDouble;
    }

    const void* at(const Coefficients& column, std::int64_t i) const {
        return static_cast<const char*>(column.data()) + static_cast<std::size_t>(i) * stored_bytes(stored_);
    }

    void check_roles() {
        const FeatureList features = model_features();
        for (int j = 0; features.numbers != nullptr && j < features.n; ++j)
            require(features[j] > (j == 0 ? -1 : features[j - 1]) && features[j] < n_features_,
                    "model_features must ascend and be features");
        if (!monotone_) return;
        require(monotone_->shape(0) == static_cast<std::size_t>(n_features_) && n_outputs_ == 1,
                "monotonic_cst needs one value per feature, and one output");
        for (std::size_t j = 0; j < monotone_->shape(0); ++j)
            require((*monotone_)(j) >= -1 && (*monotone_)(j) <= 1, "monotonic_cst has values other than -1, 0 and 1");
        slope_of_.assign(n_features_, -1);
        for (int j = 0; j < features.n; ++j) slope_of_[features[j]] = j;
    }

    // Checks a tree whose parameters start at first_param; returns where they end.
    std::int64_t add_tree(std::size_t t, std::int64_t first_param) {
        const std::int64_t begin = tree_start_(t), end = tree_start_(t + 1);
        const auto tree = static_cast<std::int64_t>(t);
        require(begin >= 0 && begin < end && static_cast<std::size_t>(end) <= feature_.shape(0), "has no nodes", tree);
        const auto kind = static_cast<ModelKind>(kind_(t));
        const bool python = kind == ModelKind::kPython;
        require(kind <= ModelKind::kHidden || python, "has an unknown node model", tree);
        const std::int64_t n_inputs = count_inputs(t, kind);
        require(!sum_path_(t) || n_outputs_ == 1 || python, "clips more than one output", tree);
        require(!monotone_ || (!sum_path_(t) && kind <= ModelKind::kLinear), "cannot keep constraints", tree);
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t feature = feature_(i), left = left_(i);
            require(feature >= -1 && feature < n_features_, "splits on an unknown feature", tree);
            // Children come after their parent: no path can run in a circle.
            require(feature < 0 || (left > i - begin && left + std::int64_t{1} < end - begin),
                    "has a child outside of it", tree);
            require(feature >= 0 || left == 0, "has a leaf with a child", tree);
        }
        const bool at_leaves = !sum_path_(t) && !monotone_ && !python;
        const std::int64_t n_models = python      ? 0
                                      : at_leaves ? number_leaves(begin, end)
                                                  : end - begin - (end - begin > 1 ? 1 : 0);
        const std::int64_t per_model = n_outputs_ * (1 + n_inputs),
                           n_params = static_cast<std::int64_t>(params_.shape(0)) - first_param;
        require(n_models <= n_params / per_model, "has models without parameters", tree);
        trees_.push_back({feature_.data() + begin,
                          threshold_.data() + begin,
                          missing_left_.data() + begin,
                          left_.data() + begin,
                          stored_,
                          at(lower_, begin),
                          at(upper_, begin),
                          at(params_, first_param),
                          n_params,
                          at_leaves ? leaf_numbers_.back().data() : nullptr,
                          end - begin,
                          model_features().n,
                          n_outputs_,
                          static_cast<std::int32_t>(n_inputs),
                          hidden_.data() + hidden_start_(t),
                          kind,
                          sum_path_(t),
                          monotone_ ? monotone_->data() : nullptr,
                          slope_of_.data(),
                          n_samples_.data() + begin});
        return first_param + n_models * per_model;
    }

    // Numbers the leaves of a tree in the order of its nodes; returns how many there are.
    std::int64_t number_leaves(std::int64_t begin, std::int64_t end) {
        std::vector<std::int32_t>& numbers = leaf_numbers_.emplace_back(end - begin);
        std::int32_t n = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            numbers[i - begin] = n;
            n += feature_(i) < 0 ? 1 : 0;
        }
        return n;
    }

    // Inputs of the tree's node models; its hidden layer must have a bias and a weight per feature that they see for
    // each unit.
    std::int64_t count_inputs(std::size_t t, ModelKind kind) const {
        const std::int64_t begin = hidden_start_(t), end = hidden_start_(t + 1),
                           per_unit = 1 + std::int64_t{model_features().n};
        const bool inside = begin >= 0 && begin <= end && static_cast<std::size_t>(end) <= hidden_.shape(0);
        const bool fits = kind == ModelKind::kHidden
                              ? end - begin >= per_unit && (end - begin) % per_unit == 0 && end - begin < 1LL << 31
                              : end == begin;
        require(inside && fits, "has no hidden layer that fits its node model", static_cast<std::int64_t>(t));
        if (kind == ModelKind::kHidden) return (end - begin) / per_unit;
        return kind == ModelKind::kLinear ? model_features().n : 0;
    }

    Array<std::int64_t, 1> tree_start_;
    Array<std::uint8_t, 1> kind_;
    Array<bool, 1> sum_path_;
    Array<std::uint8_t, 1> missing_left_;
    Array<std::int32_t, 1> feature_, left_;
    Array<double, 1> threshold_;
    Coefficients lower_, upper_, params_;
    Stored stored_;  // what these hold
    Array<std::int64_t, 1> hidden_start_;
    Array<double, 1> hidden_;
    Array<float, 1> n_samples_;
    std::optional<Array<std::int32_t, 1>> model_features_;
    std::optional<Array<std::int8_t, 1>> monotone_;
    std::vector<std::int32_t> slope_of_;                   // see TreeView
    std::vector<std::vector<std::int32_t>> leaf_numbers_;  // of the trees that have models at their leaves alone
    int n_features_, n_outputs_;
    std::vector<TreeView> trees_;
};

template <class OutArray>
void require_shape(const OutArray& out, std::size_t n_rows, std::size_t n_columns) {
    require(out.shape(0) == n_rows && out.shape(1) == n_columns, "out has the wrong shape");
}

using Out = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

RawRows raw_rows(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean,
                 const Array<double, 1>& scale, const Normal* normal = nullptr) {
    const auto d = static_cast<std::size_t>(model.n_features());
    require(x.shape(1) == d && mean.shape(0) == d && scale.shape(0) == d,
            "x, mean and scale need the model's features");
    RawRows rows{
        x.data(), static_cast<std::int64_t>(x.shape(0)), static_cast<int>(x.shape(1)), mean.data(), scale.data(),
        normal};
    rows.model_features = model.model_features();
    return rows;
}

void predict(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
             bool probability, std::size_t first, std::size_t last, int n_threads, Out& out, const Fill& fill) {
    const std::vector<TreeView> trees = model.trees(first, last);
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows = raw_rows(model, x, mean, scale, normal.get());
    require_shape(out, x.shape(0), static_cast<std::size_t>(model.n_outputs()));
    const Output output = probability ? Output::kProbability : Output::kScore;
    run_without_gil(nb::none(),
                    [&](Control& control) { predict_forest(trees, rows, output, n_threads, control, out.data()); });
}

void predict_oob(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean,
                 const Array<double, 1>& scale, bool probability, const Array<std::uint64_t, 1>& seeds,
                 std::int64_t n_draws, const std::optional<Array<double, 1>>& cumulative, int n_threads, Out& out,
                 Out& n_trees, const Fill& fill, std::optional<Out> squares) {
    const std::vector<TreeView> trees = model.trees(0, seeds.shape(0));
    const std::vector<Key> keys(seeds.data(), seeds.data() + seeds.shape(0));
    require(!cumulative || cumulative->shape(0) == x.shape(0), "cumulative needs one value per row");
    require(n_draws >= 0 && n_draws < std::int64_t{1} << 31, "0 to 2^31 - 1 draws");
    require_shape(n_trees, x.shape(0), 1);
    const Sampling sampling{true, n_draws, cumulative ? cumulative->data() : nullptr, nullptr, false};
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows = raw_rows(model, x, mean, scale, normal.get());
    require_shape(out, x.shape(0), static_cast<std::size_t>(model.n_outputs()));
    if (squares) require_shape(*squares, out.shape(0), out.shape(1));
    const Output output = probability ? Output::kProbability : Output::kScore;
    run_without_gil(nb::none(), [&](Control& control) {
        predict_out_of_bag(trees, keys, sampling, rows, output, n_threads, control, out.data(), n_trees.data(),
                           squares ? squares->data() : nullptr);
    });
}

void apply(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
           int n_threads, nb::ndarray<std::int32_t, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out) {
    const std::vector<TreeView> trees = model.trees(0, out.shape(1), false);
    const RawRows rows = raw_rows(model, x, mean, scale);
    require_shape(out, x.shape(0), trees.size());
    run_without_gil(nb::none(), [&](Control& control) { apply_forest(trees, rows, n_threads, control, out.data()); });
}

}  // namespace

void register_model(nb::module_& module) {
    nb::class_<Model>(module, "Model", "Checked, read-only view of the columns of a forest.")
        .def(nb::init<const nb::dict&, int, int>(), nb::arg("columns"), nb::arg("n_features"), nb::arg("n_outputs"))
        .def("predict", &predict, nb::arg("x").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
             nb::arg("probability"), nb::arg("first"), nb::arg("last"), nb::arg("n_threads"),
             nb::arg("out").noconvert(), nb::arg("fill").noconvert().none() = nb::none(),
             "Add the scores or probabilities of the trees first … last - 1 to out (rows × outputs).")
        .def("predict_oob", &predict_oob, nb::arg("x").noconvert(), nb::arg("mean").noconvert(),
             nb::arg("scale").noconvert(), nb::arg("probability"), nb::arg("seeds").noconvert(), nb::arg("n_draws"),
             nb::arg("cumulative").noconvert().none(), nb::arg("n_threads"), nb::arg("out").noconvert(),
             nb::arg("n_trees").noconvert(), nb::arg("fill").noconvert().none() = nb::none(),
             nb::arg("squares").noconvert().none() = nb::none(),
             "Like predict, over the trees that were not grown on the row; squares gets the sums of squared outputs.")
        .def("apply", &apply, nb::arg("x").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
             nb::arg("n_threads"), nb::arg("out").noconvert(), "Write the leaf of every row in every tree to out.");
}

}  // namespace boostforest
