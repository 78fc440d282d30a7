#include "model.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "../core/forest/forest.hpp"
#include "../core/forest/quantise.hpp"

namespace boostforest {

using Coefficients = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // see Stored

// Reads columns and keeps their arrays alive.
class ColumnReader {
   public:
    explicit ColumnReader(const nb::dict& columns) : columns_(columns) {}

    template <class T>
    std::span<const T> column(const char* name) {
        const auto array = read<Array<T, 1>>(name);
        return {array.data(), array.shape(0)};
    }

    template <class T>
    std::optional<std::span<const T>> optional_column(const char* name) {
        if (!columns_.contains(name)) return {};
        return column<T>(name);
    }

    Coefficients coefficients(const char* name) { return read<Coefficients>(name); }

    std::vector<nb::object> arrays;  // that were read

   private:
    template <class A>
    A read(const char* name) {
        A array;
        if (!columns_.contains(name) || !nb::try_cast<A>(columns_[name], array, false))
            throw std::invalid_argument(std::string("damaged model: ") + name + " is missing or has the wrong type");
        arrays.emplace_back(columns_[name]);
        return array;
    }

    const nb::dict& columns_;
};

namespace {

Stored stored_type(const Coefficients& column) {
    if (column.dtype() == nb::dtype<float>()) return Stored::kSingle;
    if (column.dtype() == nb::dtype<Half>()) return Stored::kHalf;
    if (column.dtype() == nb::dtype<Byte>()) return Stored::kByte;
    require(column.dtype() == nb::dtype<double>(), "damaged model: coefficients must be floats or bytes");
    return Stored::kDouble;
}

StoredColumns read_columns(ColumnReader& from, int n_features, int n_outputs) {
    const Coefficients lower = from.coefficients("lower"), upper = from.coefficients("upper"),
                       params = from.coefficients("params");
    const Stored stored = stored_type(params), clip_range = stored == Stored::kByte ? Stored::kHalf : stored;
    require(stored_type(lower) == clip_range && stored_type(upper) == clip_range,
            "damaged model: lower, upper and params must have the same type");
    return {.tree_start = from.column<std::int64_t>("tree_start"),
            .kind = from.column<std::uint8_t>("kind"),
            .sum_path = from.column<bool>("sum_path"),
            .feature = from.column<std::int32_t>("feature"),
            .threshold = from.column<double>("threshold"),
            .missing_left = from.column<std::uint8_t>("missing_left"),
            .left = from.column<std::int32_t>("left"),
            .n_samples = from.column<float>("n_samples"),
            .stored = stored,
            .lower = lower.data(),
            .upper = upper.data(),
            .params = params.data(),
            .exponent = from.optional_column<std::int8_t>("exponent").value_or(std::span<const std::int8_t>{}),
            .n_lower = lower.shape(0),
            .n_upper = upper.shape(0),
            .n_params = params.shape(0),
            .hidden_start = from.column<std::int64_t>("hidden_start"),
            .hidden = from.column<double>("hidden"),
            .model_features = from.optional_column<std::int32_t>("model_features"),
            .monotone = from.optional_column<std::int8_t>("monotonic_cst"),
            .target_end = from.optional_column<std::int32_t>("target_end"),
            .n_features = n_features,
            .n_outputs = n_outputs};
}

}  // namespace

Model::Model(const nb::dict& columns, int n_features, int n_outputs)
    : Model(ColumnReader(columns), n_features, n_outputs) {}

Model::Model(ColumnReader reader, int n_features, int n_outputs)
    : StoredForest(read_columns(reader, n_features, n_outputs)), arrays_(std::move(reader.arrays)) {}

RawRows raw_rows(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean,
                 const Array<double, 1>& scale, const Normal* normal) {
    const auto d = static_cast<std::size_t>(model.n_features());
    require(x.shape(1) == d && mean.shape(0) == d && scale.shape(0) == d,
            "x, mean and scale need the model's features");
    return {.x = x.data(),
            .n_rows = static_cast<std::int64_t>(x.shape(0)),
            .n_features = static_cast<int>(x.shape(1)),
            .mean = mean.data(),
            .scale = scale.data(),
            .normal = normal,
            .model_features = model.model_features()};
}

namespace {

template <class OutArray>
void require_shape(const OutArray& out, std::size_t n_rows, std::size_t n_columns) {
    require(out.shape(0) == n_rows && out.shape(1) == n_columns, "out has the wrong shape");
}

using Out = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Start = std::optional<Array<double, 2>>;  // scores that those of a tree are added to, rows × outputs

const double* scores_of(const Start& start, const Out& out) {
    require(!start || (start->shape(0) == out.shape(0) && start->shape(1) == out.shape(1)),
            "start has the wrong shape");
    return start ? start->data() : nullptr;
}

void predict(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
             int link, std::size_t first, std::size_t last, int n_threads, Out& out, const Fill& fill,
             const Start& start) {
    const std::span<const TreeView> trees = model.trees(first, last);
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows = raw_rows(model, x, mean, scale, normal.get());
    require_shape(out, x.shape(0), static_cast<std::size_t>(model.n_outputs()));
    const Link as = link_of(link, model.n_outputs());
    const double* from = scores_of(start, out);
    run_without_gil(nb::none(),
                    [&](Control& control) { predict_forest(trees, rows, as, from, n_threads, control, out.data()); });
}

void predict_oob(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean,
                 const Array<double, 1>& scale, int link, const Array<std::uint64_t, 1>& seeds, std::int64_t n_draws,
                 const std::optional<Array<double, 1>>& cumulative, int n_threads, Out& out, Out& n_trees,
                 const Fill& fill, std::optional<Out> squares, const Start& start,
                 const std::optional<Array<std::int64_t, 1>>& numbers, std::int64_t n_rows) {
    const std::span<const TreeView> trees = model.trees(0, seeds.shape(0));
    const std::vector<Key> keys(seeds.data(), seeds.data() + seeds.shape(0));
    TrainingPlaces places{.n_rows = static_cast<std::int64_t>(x.shape(0))};
    if (numbers) {
        require(numbers->shape(0) == x.shape(0), "numbers needs one value per row");
        require(n_rows >= 0 && n_rows < std::int64_t{1} << 31, "n_rows must be 0 to 2^31 - 1");
        for (std::size_t i = 0; i < numbers->shape(0); ++i)
            require(numbers->data()[i] >= 0 && numbers->data()[i] < n_rows,
                    "numbers must be rows of the training table");
        places = {.n_rows = n_rows, .numbers = numbers->data()};
    }
    require(!cumulative || static_cast<std::int64_t>(cumulative->shape(0)) == places.n_rows,
            "cumulative needs one value per row");
    require(n_draws >= 0 && n_draws < std::int64_t{1} << 31, "0 to 2^31 - 1 draws");
    require_shape(n_trees, x.shape(0), 1);
    const Sampling sampling{
        .bootstrap = true, .n_draws = n_draws, .cumulative = cumulative ? cumulative->data() : nullptr};
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows = raw_rows(model, x, mean, scale, normal.get());
    require_shape(out, x.shape(0), static_cast<std::size_t>(model.n_outputs()));
    if (squares) require_shape(*squares, out.shape(0), out.shape(1));
    const Link as = link_of(link, model.n_outputs());
    const double* from = scores_of(start, out);
    run_without_gil(nb::none(), [&](Control& control) {
        predict_out_of_bag(trees, keys, sampling, rows, places, as, from, n_threads, control, out.data(),
                           n_trees.data(), squares ? squares->data() : nullptr);
    });
}

void apply(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
           int n_threads, nb::ndarray<std::int32_t, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out,
           const std::optional<Array<std::int64_t, 1>>& numbers) {
    std::vector<TreeView> some;
    if (numbers) {
        for (std::size_t k = 0; k < numbers->shape(0); ++k) {
            const std::int64_t number = numbers->data()[k];
            require(number >= 0, "numbers of trees must not be negative");
            some.push_back(
                model.trees(static_cast<std::size_t>(number), static_cast<std::size_t>(number) + 1, false)[0]);
        }
    }
    const std::span<const TreeView> trees = numbers ? some : model.trees(0, out.shape(1), false);
    const RawRows rows = raw_rows(model, x, mean, scale);
    require_shape(out, x.shape(0), trees.size());
    run_without_gil(nb::none(), [&](Control& control) { apply_forest(trees, rows, n_threads, control, out.data()); });
}

void check_children(std::span<const std::int32_t> left, std::size_t n_outputs) {
    const std::size_t n_models = std::max<std::size_t>(left.size(), 2) - 1;
    require(left.size() % 2 == 1 && n_outputs % n_models == 0, "values must have a model for every node but the root");
    const auto n_nodes = static_cast<std::int64_t>(left.size());
    for (std::int64_t node = 0; node < n_nodes; ++node) {
        const std::int64_t child = left[node];
        require(child == 0 || (child > node && child + 1 < n_nodes),
                "left must have children that come after their parent");
    }
}

auto quantised(const Array<float, 1>& values, const Array<std::int64_t, 1>& sizes, const Array<std::int32_t, 1>& groups,
               const Array<std::int64_t, 1>& n_nodes, const Array<std::int32_t, 1>& left, int at_least) {
    require(at_least >= kLeastExponent && at_least <= kMostExponent, "at_least must be an exponent");
    const std::size_t n_trees = sizes.shape(0);
    require(groups.shape(0) == n_trees && n_nodes.shape(0) == n_trees,
            "groups and n_nodes must have a number per tree");
    std::size_t n_values = 0, n_children = 0, n_exponents = 0;
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        require(sizes(tree) >= 0 && groups(tree) > 0 && sizes(tree) % groups(tree) == 0,
                "values must be groups of so many");
        require(static_cast<std::size_t>(sizes(tree)) <= values.shape(0) - n_values, "values must have all sizes");
        require(n_nodes(tree) >= 0 && static_cast<std::size_t>(n_nodes(tree)) <= left.shape(0) - n_children,
                "left must have all nodes");
        const auto n_outputs = static_cast<std::size_t>(sizes(tree) / groups(tree));
        const auto n = static_cast<std::size_t>(n_nodes(tree));
        if (n > 0) check_children({left.data() + n_children, n}, n_outputs);
        n_values += static_cast<std::size_t>(sizes(tree));
        n_children += n;
        n_exponents += n_outputs;
    }
    require(n_values == values.shape(0) && n_children == left.shape(0), "values and left must end with the last tree");
    auto numbers = new_array<Byte>(n_values);
    auto exponents = new_array<std::int8_t>(n_exponents);
    const float* from = values.data();
    const std::int32_t* children = left.data();
    Byte* to = numbers.data();
    std::int8_t* exponent = exponents.data();
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        const std::int64_t size = sizes(tree), n = n_nodes(tree);
        quantise(from, size, groups(tree), {children, static_cast<std::size_t>(n)}, at_least, to, exponent);
        from += size;
        to += size;
        children += n;
        exponent += size / groups(tree);
    }
    return nb::make_tuple(numbers, exponents);
}

template <class T>
auto halves(const Array<T, 1>& values) {
    auto rounded = new_array<Half>(values.shape(0));
    std::transform(values.data(), values.data() + values.shape(0), rounded.data(),
                   [](T value) { return to_half(value); });
    return rounded;
}

}  // namespace

void register_model(nb::module_& module) {
    module.attr("NO_EXPONENT") = int{kNoExponent};
    module.attr("LEAST_EXPONENT") = kLeastExponent;
    module.def("quantise", &quantised, "values"_array, "sizes"_array, "groups"_array, "n_nodes"_array, "left"_array,
               "at_least"_a = kLeastExponent,
               "Round the parameters of trees, so many of each: whole numbers, and per group of values the exponent of "
               "their unit. Of trees whose scores are sums along a path, n_nodes is not 0 and left has the left "
               "children: a node makes up for its parent.");
    const char* of_halves = "The nearest numbers of half precision, which NumPy takes several times as long to find.";
    module.def("halves", &halves<float>, "values"_array, of_halves);
    module.def("halves", &halves<double>, "values"_array, of_halves);
    nb::class_<Model>(module, "Model", "Checked, read-only view of the columns of a forest.")
        .def(nb::init<const nb::dict&, int, int>(), "columns"_a, "n_features"_a, "n_outputs"_a)
        .def("predict", &predict, "x"_array, "mean"_array, "scale"_array, "link"_a, "first"_a, "last"_a, "n_threads"_a,
             "out"_array, "fill"_array.none() = nb::none(), "start"_array.none() = nb::none(),
             "Add what the link makes of the scores of the trees first … last - 1, each added to start, to out (rows × "
             "outputs).")
        .def("predict_oob", &predict_oob, "x"_array, "mean"_array, "scale"_array, "link"_a, "seeds"_array, "n_draws"_a,
             "cumulative"_array.none(), "n_threads"_a, "out"_array, "n_trees"_array, "fill"_array.none() = nb::none(),
             "squares"_array.none() = nb::none(), "start"_array.none() = nb::none(),
             "numbers"_array.none() = nb::none(), "n_rows"_a = 0,
             "Like predict, over the trees that were not grown on the row; squares gets the sums of squared outputs. "
             "The rows are the training table, or those of its n_rows rows that numbers names.")
        .def("apply", &apply, "x"_array, "mean"_array, "scale"_array, "n_threads"_a, "out"_array,
             "numbers"_array.none() = nb::none(),
             "Write the leaf of every row in every tree, or in those of these numbers, to out.");
}

}  // namespace boostforest
