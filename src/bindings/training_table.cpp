// The training table: built once per fit, then grown on, in the core or node by node in Python.
#include "../core/table/training_table.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>

#include "../core/boost/booster.hpp"
#include "../core/forest/forest.hpp"
#include "../core/grow/single_nodes.hpp"
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

// A parameter from the number that Python has for it.
template <class Field>
void read_field(Field& field, double value, double low, double high, const char* message) {
    require(value >= low && value <= high, message);
    if constexpr (!std::is_same_v<Field, double>) require(value == std::floor(value), message);
    field = static_cast<Field>(value);
}

// Every tree parameter as one column over the trees.
std::vector<TreeParams> read_params(const nb::dict& columns) {
    const char* message = "params: a number is out of range";
    const auto seeds = read_column<std::uint64_t>(columns, "seed");
    const auto column = [&](const char* name) {
        const auto values = read_column<double>(columns, name);
        require(values.shape(0) == seeds.shape(0), "params: all columns need one value per tree");
        return values;
    };
    const auto node_model = column("node_model"), node_reg_lambda = column("node_reg_lambda"),
               max_features = column("node_max_features"), n_hidden = column("node_n_hidden"), cost = column("node_C"),
               epsilon = column("node_epsilon"), tolerance = column("node_tol"), max_iter = column("node_max_iter"),
               intercept_scaling = column("node_intercept_scaling");
    std::vector<Array<double, 1>> fields;
    TreeParams{}.for_each_field([&](const char* name, auto&&...) { fields.push_back(column(name)); });
    std::vector<TreeParams> params(seeds.shape(0));
    for (std::size_t t = 0; t < params.size(); ++t) {
        TreeParams& p = params[t];
        p.seed = seeds(t);
        read_field(p.node.fit, node_model(t), 0, static_cast<double>(NodeFit::kLinearSvr), message);
        read_field(p.node.reg_lambda, node_reg_lambda(t), 0, kFinite, message);
        if (p.node.fit == NodeFit::kRidge && !std::isnan(max_features(t)))
            read_field(p.node.max_features, max_features(t), 1, kMostInt, message);
        if (p.node.fit == NodeFit::kElm)
            read_field(p.node.n_hidden, n_hidden(t), 1, static_cast<double>(kMostInputs), message);
        if (p.node.fit == NodeFit::kLinearSvr) {
            double scaling = 0;
            read_field(scaling, intercept_scaling(t), kAboveZero, kFinite, message);
            read_field(p.node.cost, cost(t), kAboveZero, kFinite, message);
            read_field(p.node.epsilon, epsilon(t), 0, kFinite, message);
            read_field(p.node.tolerance, tolerance(t), kAboveZero, kFinite, message);
            read_field(p.node.max_iterations, max_iter(t), 1, kMostInt, message);
            p.node.intercept_penalty = 1 / (scaling * scaling);
        }
        auto values = fields.begin();
        p.for_each_field([&](const char*, auto& field, double low, double high) {
            read_field(field, (*values++)(t), low, high, message);
        });
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
    if (dtype == "float32") return Stored::kSingle;
    if (dtype == "float16") return Stored::kHalf;
    if (dtype == "int8") return Stored::kByte;
    require(dtype == "float64", "dtype must be a float or int8");
    return Stored::kDouble;
}

nb::dict to_dict(JoinedTrees& trees) {
    nb::dict result;
    std::visit(
        [&]<class C>(JoinedTrees::JoinedColumns<C>& columns) {
            columns.for_each_node_column([&](const char* name, auto& column) { result[name] = to_numpy(column); },
                                         columns);
            result["params"] = to_numpy(columns.params);
            if constexpr (std::is_same_v<C, Byte>) result["exponent"] = to_numpy(columns.exponent);
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

using Doubles = std::optional<Array<double, 1>>;
using Signs = std::optional<Array<std::int8_t, 1>>;

void build(TrainingTable* place, const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
           const Array<double, 1>& y, int loss, int n_classes, const Fill& fill, const FeatureNumbers& model_features,
           const Signs& monotone, int n_threads, const std::vector<double>& loss_numbers, const Targets& targets) {
    require(x.shape(0) > 0 && x.shape(0) < std::size_t{1} << 31 && x.shape(1) > 0 && x.shape(1) < std::size_t{1} << 30,
            "1 to 2^31 - 1 rows, 1 to 2^30 - 1 features");
    require(mean.shape(0) == x.shape(1) && scale.shape(0) == x.shape(1), "mean and scale need one value per feature");
    require(y.shape(0) == x.shape(0), "y needs one value per row");
    auto of_trees = loss_of(loss, n_classes, loss_numbers, y, targets);
    require(!monotone || (monotone->shape(0) == x.shape(1) && of_trees->n_outputs() == 1),
            "monotone needs one value per feature, and no more than two classes");
    for (std::size_t j = 0; monotone && j < monotone->shape(0); ++j)
        require((*monotone)(j) >= -1 && (*monotone)(j) <= 1, "monotone has values other than -1, 0 and 1");
    const auto normal = normal_of(fill, x.shape(1));
    const RawRows rows{.x = x.data(),
                       .n_rows = static_cast<std::int64_t>(x.shape(0)),
                       .n_features = static_cast<int>(x.shape(1)),
                       .mean = mean.data(),
                       .scale = scale.data(),
                       .normal = normal.get(),
                       .model_features = feature_list(model_features, x.shape(1))};
    run_without_gil(nb::none(), [&](Control& control) {
        new (place) TrainingTable(rows, y.data(), std::move(of_trees), n_classes, monotone ? monotone->data() : nullptr,
                                  n_threads, control);
    });
}

FeatureList split_list(const TrainingTable& table, const FeatureNumbers& numbers) {
    const FeatureList list = feature_list(numbers, static_cast<std::size_t>(table.n_features()));
    require(list.n > 0, "it must be possible to split on some feature");
    return list;
}

void check_params(const TrainingTable& table, const std::vector<TreeParams>& params) {
    for (const TreeParams& p : params) {
        require(!table.is_monotone() || p.node.fit == NodeFit::kConstant || p.node.fit == NodeFit::kRidge,
                "monotone needs ridge or constant nodes");
        require(!table.is_monotone() || p.node.max_features == 0, "monotone needs models of all features");
        require(table.n_classes() > 0 || p.split.criterion <= Criterion::kMse, "this criterion needs classes");
        const std::int64_t n_inputs = std::max(p.node.n_hidden, table.n_features());
        require(table.loss().n_outputs() * (1 + n_inputs) <= kMostInputs,
                "too many features or hidden units for so many classes");
    }
}

using Counts = std::optional<Array<std::int32_t, 1>>;

bool are_counts(const Array<std::int32_t, 1>& counts, std::int64_t total) {
    const std::int32_t *first = counts.data(), *last = first + counts.shape(0);
    return std::all_of(first, last, [](std::int32_t n) { return n > 0; }) &&
           std::accumulate(first, last, std::int64_t{0}) == total;
}

void check_interactions(const TrainingTable& table, const Interactions& interactions,
                        const std::vector<TreeParams>& params, Dataset& data) {
    require(interactions.n_features() == data.n_features && interactions.n_inputs() == data.n_model_features,
            "interactions need the column of every feature");
    require(!table.is_monotone(), "interactions and monotone do not go together");
    for (const TreeParams& p : params)
        require(p.node.fit != NodeFit::kElm && p.node.max_features == 0 && (!p.clip || !table.loss().clips()),
                "hidden units and clipped models mix all columns, drawn features are not all");
    data.interactions = &interactions;
    data.model_indicators = nullptr;  // a regression on some of the features reads no lists
}

// Columns are numbers from 0. members, ends: the columns of each set, ascending, and where they end.
void build_interactions(Interactions* place, const Array<std::int32_t, 1>& features,
                        const Array<std::int32_t, 1>& inputs, int most, const Array<std::int32_t, 1>& members,
                        const Array<std::int64_t, 1>& ends) {
    constexpr std::int32_t kMostColumns = 1 << 24;
    const auto read = [](const Array<std::int32_t, 1>& columns) {
        std::vector<std::int32_t> numbers(columns.data(), columns.data() + columns.shape(0));
        for (const std::int32_t column : numbers)
            require(column >= 0 && column < kMostColumns, "a column has a number from 0 on, below 2^24");
        return numbers;
    };
    std::vector<std::int32_t> of_features = read(features), of_inputs = read(inputs), of_sets = read(members);
    for (const std::int32_t column : of_inputs)
        require(std::ranges::find(of_features, column) != of_features.end(), "an input needs the column of a feature");
    require(most >= 0 && (most > 0) == (ends.shape(0) == 0), "any so many columns act together, or those of a set");
    std::vector<std::vector<std::int32_t>> sets;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ends.shape(0); ++i) {
        require(ends(i) >= begin && ends(i) <= static_cast<std::int64_t>(of_sets.size()),
                "the ends of sets must ascend");
        sets.emplace_back(of_sets.begin() + begin, of_sets.begin() + ends(i));
        require(std::ranges::is_sorted(sets.back()), "the columns of a set must ascend");
        begin = ends(i);
    }
    require(begin == static_cast<std::int64_t>(of_sets.size()), "every column of a set needs its set");
    new (place) Interactions(std::move(of_features), std::move(of_inputs), most, std::move(sets));
}

using Scores = std::optional<Array<double, 2>>;

// What has a value for every row.
void check_rows(const TrainingTable& table, const Doubles& weight, const Doubles& cumulative, const Scores& start) {
    const auto n_rows = static_cast<std::size_t>(table.n_rows());
    require((!weight || weight->shape(0) == n_rows) && (!cumulative || cumulative->shape(0) == n_rows),
            "the weights need one value per row");
    require(!weight || are_weights(*weight), "weight must not be negative, nor all of it zero");
    require(!cumulative || (all_finite(*cumulative) && (*cumulative)(n_rows - 1) > 0), "cumulative must be finite");
    require(
        !start || (start->shape(0) == n_rows && start->shape(1) == static_cast<std::size_t>(table.loss().n_outputs())),
        "start needs the scores of every row");
}

nb::dict grow(const TrainingTable& table, const nb::dict& params, bool bootstrap, std::int64_t n_draws,
              const Doubles& cumulative, const Doubles& weight, bool balance_classes, int n_threads,
              const nb::object& progress, const FeatureNumbers& split_features, const Scores& start,
              const std::string& dtype, bool short_thresholds, const Counts& drawn, const Interactions* interactions) {
    const std::vector<TreeParams> tree_params = read_params(params);
    check_params(table, tree_params);
    const auto n_rows = static_cast<std::size_t>(table.n_rows());
    check_rows(table, weight, cumulative, start);
    require(!bootstrap || (n_draws > 0 && n_draws < std::int64_t{1} << 31), "1 to 2^31 - 1 draws");
    require(!drawn || (bootstrap && drawn->shape(0) == n_rows && are_counts(*drawn, n_draws)),
            "drawn needs a count of every row, n_draws in all");
    Dataset data = table.dataset(split_list(table, split_features), start ? start->data() : nullptr);
    if (interactions != nullptr) check_interactions(table, *interactions, tree_params, data);
    const Sampling sampling{.bootstrap = bootstrap,
                            .n_draws = n_draws,
                            .cumulative = cumulative ? cumulative->data() : nullptr,
                            .weight = weight ? weight->data() : nullptr,
                            .balance_classes = balance_classes,
                            .drawn = drawn ? drawn->data() : nullptr};
    JoinedTrees trees(tree_params, read_stored(dtype), short_thresholds);
    run_without_gil(progress,
                    [&](Control& control) { grow_forest(data, sampling, tree_params, n_threads, control, trees); });
    return to_dict(trees);
}

BoostRules read_boost_rules(const nb::dict& values) {
    const auto number = [&](const char* name, double low, double high) {
        double value = 0;
        require(values.contains(name) && nb::try_cast<double>(values[name], value) && value >= low && value <= high,
                "rules: a number is missing or out of range");
        return value;
    };
    const auto count = [&](const char* name, std::int64_t low, std::int64_t high) {
        const auto least = static_cast<double>(low), most = static_cast<double>(high);
        return static_cast<int>(whole(number(name, least, most), low, high, "rules: a whole number is needed"));
    };
    BoostRules rules{.max_leaves = count("max_leaves", 2, 1 << 10),
                     .lambda = number("reg_lambda", 1e-6, 1e12),
                     .learning_rate = number("learning_rate", 1e-6, 1),
                     .feature_share = number("feature_share", 0, 1),
                     .max_rounds = count("max_rounds", 1, 1 << 20),
                     .patience = count("patience", 1, 1 << 20),
                     .overshoot = number("overshoot", 0, 10),
                     .most_bins = count("most_bins", 2, Bins::kMost),
                     .row_share = number("row_share", 0.01, 1)};
    require((rules.max_leaves & (rules.max_leaves - 1)) == 0, "leaves must be a power of two");
    return rules;
}

// The trees of all bags joined, and what they give for the rows that they have not drawn.
nb::dict bags_to_dict(std::vector<BoostedBag>& bags, Stored stored, const TrainingTable& table) {
    std::size_t n_trees = 0;
    for (const BoostedBag& bag : bags) n_trees += bag.trees.size();
    const auto n_rows = static_cast<std::size_t>(table.n_rows());
    const auto n_outputs = static_cast<std::size_t>(table.loss().n_outputs());
    std::vector<double> total(n_rows * n_outputs), squares(n_rows * n_outputs), n_bags(n_rows), before, after;
    std::vector<std::int64_t> ends, rounds;
    nb::list history;
    TreeParams any;
    any.split.min_samples_leaf = 1;
    JoinedTrees trees(std::vector<TreeParams>(n_trees, any), stored);
    std::size_t t = 0;
    for (BoostedBag& bag : bags) {
        for (PackedTree& tree : bag.trees)
            trees.add(t++, {.tree = std::move(tree), .kind = ModelKind::kConstant, .sum_path = false});
        for (std::size_t i = 0; i < bag.number.size(); ++i) {
            const auto row = static_cast<std::size_t>(bag.number[i]);
            n_bags[row] += 1;
            for (std::size_t k = 0; k < n_outputs; ++k) {
                const double value = bag.scores[i * n_outputs + k];
                total[row * n_outputs + k] += value;
                squares[row * n_outputs + k] += value * value;
            }
        }
        nb::list of_bag;
        for (const BagScores& part : bag.history)
            of_bag.append(nb::make_tuple(part.n_trees, copy_to_numpy<double>(part.scores)));
        history.append(nb::make_tuple(copy_to_numpy<std::int64_t>(bag.number), of_bag));
        ends.push_back(static_cast<std::int64_t>(t));
        rounds.push_back(bag.n_rounds);
        before.push_back(bag.loss_before);
        after.push_back(bag.loss_after);
    }
    nb::dict result = to_dict(trees);
    result["oob_total"] = copy_to_numpy<double>(total);
    result["oob_squares"] = copy_to_numpy<double>(squares);
    result["oob_bags"] = copy_to_numpy<double>(n_bags);
    result["history"] = history;  // of each bag: rows that were not drawn, and their scores after so many trees
    result["bag_end"] = copy_to_numpy<std::int64_t>(ends);
    result["n_rounds"] = copy_to_numpy<std::int64_t>(rounds);
    result["loss_before"] = copy_to_numpy<double>(before);
    result["loss_after"] = copy_to_numpy<double>(after);
    return result;
}

// Bags that may have more rounds, with all that they point to.
struct PausedBags {
    std::unique_ptr<BagBoosters> bags;  // null: they have gone on
    Stored stored;
    nb::object table, interactions;
    FeatureNumbers split_features;
};

nb::dict go_on(PausedBags& paused, int max_rounds, int n_threads) {
    require(paused.bags != nullptr, "bags go on once");
    require(max_rounds >= 1, "at least one round");
    const std::unique_ptr<BagBoosters> boosters = std::move(paused.bags);
    std::vector<BoostedBag> bags;
    run_without_gil(nb::none(),
                    [&](Control& control) { bags = boosters->boost(max_rounds, false, n_threads, control); });
    return bags_to_dict(bags, paused.stored, nb::cast<const TrainingTable&>(paused.table));
}

nb::dict boost(TrainingTable& table, const nb::dict& rules, const Array<std::uint64_t, 1>& seeds, std::int64_t n_draws,
               const Doubles& cumulative, const Doubles& row_weight, bool balance_classes, int n_threads,
               const FeatureNumbers& split_features, const Scores& start, const std::string& dtype,
               const Interactions* interactions, bool goes_on) {
    const BoostRules own = read_boost_rules(rules);
    check_rows(table, row_weight, cumulative, start);
    require(n_draws > 0 && n_draws < std::int64_t{1} << 31, "1 to 2^31 - 1 draws");
    require(!balance_classes || table.n_classes() > 0, "only classes can be balanced");
    Dataset data = table.dataset(split_list(table, split_features), start ? start->data() : nullptr);
    if (interactions != nullptr) check_interactions(table, *interactions, {}, data);
    const Sampling sampling{.bootstrap = true,
                            .n_draws = n_draws,
                            .cumulative = cumulative ? cumulative->data() : nullptr,
                            .weight = nullptr,
                            .balance_classes = balance_classes};
    const std::vector<Key> keys(seeds.data(), seeds.data() + seeds.shape(0));
    const double* weight = row_weight ? row_weight->data() : nullptr;
    const Stored stored = read_stored(dtype);
    std::vector<BoostedBag> bags;
    std::unique_ptr<BagBoosters> boosters;
    run_without_gil(nb::none(), [&](Control& control) {
        const Bins& bins = table.bins(weight, own.most_bins, n_threads, control);
        boosters = std::make_unique<BagBoosters>(data, bins, sampling, weight, own, keys, stored);
        bags = boosters->boost(own.max_rounds, goes_on, n_threads, control);
    });
    nb::dict result = bags_to_dict(bags, stored, table);
    if (goes_on)
        result["paused"] = nb::cast(PausedBags{.bags = std::move(boosters),
                                               .stored = stored,
                                               .table = nb::find(table),
                                               .interactions = interactions ? nb::find(*interactions) : nb::none(),
                                               .split_features = split_features});
    return result;
}

// Rows × features, read only; keeps the table alive (see its definition below).
nb::ndarray<nb::numpy, const double, nb::ndim<2>> values(const TrainingTable& table) {
    return {table.values(),
            {static_cast<std::size_t>(table.n_rows()), static_cast<std::size_t>(table.n_features())},
            nb::handle(),
            {padded_width(table.n_features()), 1}};
}

void require_rows(const TrainingTable& table, const Array<std::int32_t, 1>& rows) {
    bool good = true;
    for (std::size_t i = 0; i < rows.shape(0); ++i) good &= rows(i) >= 0 && rows(i) < table.n_rows();
    require(good, "no such row");
}

auto is_missing(const TrainingTable& table, const Array<std::int32_t, 1>& rows, int feature) {
    require_rows(table, rows);
    require(feature >= 0 && feature < table.n_features(), "no such feature");
    auto result = new_array<bool>(rows.shape(0));
    for (std::size_t i = 0; i < rows.shape(0); ++i) result(i) = table.is_missing(rows(i), feature);
    return result;
}

// Nodes as Python has them; keeps their arrays.
class Nodes {
   public:
    Nodes(const TrainingTable& table, const nb::list& list) {
        for (const nb::handle item : list) {
            Array<std::int32_t, 1> rows;
            Array<double, 1> weights;
            Array<double, 2> scores;
            const bool is_node = nb::isinstance<nb::tuple>(item) && nb::len(item) == 3 && nb::try_cast(item[0], rows) &&
                                 nb::try_cast(item[1], weights) && nb::try_cast(item[2], scores);
            require(is_node, "a node is a tuple of three arrays");
            const std::size_t n = rows.shape(0);
            require(n > 0 && weights.shape(0) == n && scores.shape(1) == n &&
                        scores.shape(0) == static_cast<std::size_t>(table.loss().n_outputs()),
                    "a node is its rows, their weights and their scores (outputs × rows)");
            require_rows(table, rows);
            require(are_weights(weights), "weights must not be negative, nor all of them zero");
            views.push_back({.rows = rows.data(),
                             .n = static_cast<std::int64_t>(n),
                             .weights = weights.data(),
                             .scores = scores.data()});
            kept_.emplace_back(std::move(rows), std::move(weights), std::move(scores));
        }
    }

    std::vector<NodeRows> views;

   private:
    std::vector<std::tuple<Array<std::int32_t, 1>, Array<double, 1>, Array<double, 2>>> kept_;
};

SplitRules read_rules(const double* values) {
    SplitRules rules;
    rules.for_each_field([&](const char*, auto& field, double low, double high) {
        read_field(field, *values++, low, high, "rules: a number is out of range");
    });
    return rules;
}

// The names of the rules, in their order.
nb::tuple rule_names() {
    nb::list names;
    SplitRules{}.for_each_field([&](const char* name, auto&&...) { names.append(name); });
    return nb::tuple(names);
}

// Calls work(nodes) without the GIL.
template <class Work>
void with_nodes(const Dataset& data, const Nodes& nodes, int n_threads, Work work) {
    run_without_gil(nb::none(), [&](Control& control) { work(SingleNodes(data, nodes.views, n_threads, control)); });
}

// Per node (feature, threshold, gain, saw_missing, missing_left, possible); see Split. rules: per node the values of
// SPLIT_RULES. keys: per node that of the attempt.
nb::list find_splits(const TrainingTable& table, const nb::list& list, const Array<double, 2>& rules,
                     const Array<std::uint64_t, 1>& keys, int n_threads, const FeatureNumbers& split_features) {
    const Nodes nodes(table, list);
    const std::size_t n = nodes.views.size();
    require(rules.shape(0) == n && rules.shape(1) == nb::len(rule_names()) && keys.shape(0) == n,
            "rules and keys need one entry per node");
    std::vector<SplitRules> own;
    own.reserve(n);
    for (std::size_t i = 0; i < n; ++i) own.push_back(read_rules(&rules(i, 0)));
    const Dataset data = table.dataset(split_list(table, split_features));
    std::vector<Split> splits;
    with_nodes(data, nodes, n_threads,
               [&](const SingleNodes& single) { splits = single.find_splits(own, keys.data()); });
    nb::list result;
    for (const Split& s : splits)
        result.append(nb::make_tuple(s.feature, s.threshold, s.gain, s.saw_missing, s.missing_left, s.possible));
    return result;
}

// Per node (z, v, range): outputs × rows each, in one row after another, and the clip range of a model's output.
nb::list pseudo_labels(const TrainingTable& table, const nb::list& list, int n_threads) {
    const Nodes nodes(table, list);
    nb::list result;
    std::vector<LabelsOut> targets;
    for (const NodeRows& node : nodes.views) {
        const auto n_values = static_cast<std::size_t>(node.n * table.loss().n_outputs());
        auto z = new_array<double>(n_values), v = new_array<double>(n_values), range = new_array<double>(2);
        targets.push_back({.z = z.data(), .v = v.data(), .range = range.data()});
        result.append(nb::make_tuple(z, v, range));
    }
    const Dataset data = table.dataset(split_list(table, {}));
    with_nodes(data, nodes, n_threads, [&](const SingleNodes& single) { single.pseudo_labels(targets); });
    return result;
}

std::vector<double> losses(const TrainingTable& table, const nb::list& list, int n_threads) {
    const Nodes nodes(table, list);
    const Dataset data = table.dataset(split_list(table, {}));
    std::vector<double> values;
    with_nodes(data, nodes, n_threads, [&](const SingleNodes& single) { values = single.losses(); });
    return values;
}

}  // namespace

FeatureList feature_list(const FeatureNumbers& numbers, std::size_t n_features) {
    if (!numbers) return {.numbers = nullptr, .n = static_cast<int>(n_features)};
    for (std::size_t j = 0; j < numbers->shape(0); ++j)
        require(
            (*numbers)(j) > (j == 0 ? -1 : (*numbers)(j - 1)) && static_cast<std::size_t>((*numbers)(j)) < n_features,
            "a list of features must ascend and have no others");
    return {.numbers = numbers->data(), .n = static_cast<int>(numbers->shape(0))};
}

void register_training_table(nb::module_& module) {
    module.attr("SPLIT_RULES") = rule_names();
    nb::class_<Interactions>(module, "Interactions", "Which columns may act together.")
        .def("__init__", &build_interactions, "features"_array, "inputs"_array, "most"_a, "members"_array,
             "ends"_array);
    nb::class_<PausedBags>(module, "PausedBags", "Bags of boosted trees that may have more rounds.")
        .def("go_on", &go_on, "max_rounds"_a, "n_threads"_a,
             nb::sig("def go_on(self, max_rounds: int, n_threads: int) -> dict[str, typing.Any]"),
             "Boost them up to so many rounds in all, once; return what `boost` would have with as many.");
    nb::class_<TrainingTable>(module, "TrainingTable", "The training table of a fit: scaled, missing values filled.")
        .def("__init__", &build, "x"_array, "mean"_array, "scale"_array, "y"_array, "loss"_a, "n_classes"_a,
             "fill"_array.none() = nb::none(), "model_features"_array.none() = nb::none(),
             "monotone"_array.none() = nb::none(), "n_threads"_a = 1, "loss_numbers"_a = std::vector<double>(),
             "targets"_array.none() = nb::none(), nb::keep_alive<1, 5>(),
             nb::keep_alive<1, 13>())  // reads y and targets, and copies all else
        .def("grow", &grow, "params"_a, "bootstrap"_a, "n_draws"_a, "cumulative"_array.none(), "weight"_array.none(),
             "balance_classes"_a, "n_threads"_a, "progress"_a.none(), "split_features"_array.none() = nb::none(),
             "start"_array.none() = nb::none(), "dtype"_a = "float64", "short_thresholds"_a = false,
             "drawn"_array.none() = nb::none(), "interactions"_a.none() = nb::none(),
             nb::sig("def grow(self, params: dict[str, numpy.ndarray], bootstrap: bool, n_draws: int, "
                     "cumulative: numpy.ndarray | None, weight: numpy.ndarray | None, balance_classes: bool, "
                     "n_threads: int, progress: object, split_features: numpy.ndarray | None = None, "
                     "start: numpy.ndarray | None = None, dtype: str = 'float64', short_thresholds: bool = False, "
                     "drawn: numpy.ndarray | None = None, interactions: Interactions | None = None) "
                     "-> dict[str, typing.Any]"),
             "Grow one tree per entry of the parameter columns; return the forest's columns, coefficients as dtype.")
        .def("boost", &boost, "rules"_a, "seeds"_array, "n_draws"_a, "cumulative"_array.none(),
             "row_weight"_array.none(), "balance_classes"_a, "n_threads"_a, "split_features"_array.none() = nb::none(),
             "start"_array.none() = nb::none(), "dtype"_a = "float64", "interactions"_a.none() = nb::none(),
             "goes_on"_a = false,
             nb::sig("def boost(self, rules: dict[str, float], seeds: numpy.ndarray, n_draws: int, "
                     "cumulative: numpy.ndarray | None, row_weight: numpy.ndarray | None, balance_classes: bool, "
                     "n_threads: int, split_features: numpy.ndarray | None = None, "
                     "start: numpy.ndarray | None = None, dtype: str = 'float64', "
                     "interactions: Interactions | None = None, goes_on: bool = False) -> dict[str, typing.Any]"),
             "Boost one bag of trees per seed; return their columns and sums over the rows they have not drawn, and "
             "`paused` bags if there may be more rounds.")
        .def_prop_ro("values", &values, nb::rv_policy::reference_internal, "Rows × features as node models see them.")
        .def("is_missing", &is_missing, "rows"_array, "feature"_a, "Which of the rows miss the feature.")
        .def("find_splits", &find_splits, "nodes"_a, "rules"_array, "keys"_array, "n_threads"_a,
             "split_features"_array.none() = nb::none(),
             "How to split each of the nodes: feature, threshold, gain, saw_missing, missing_left, possible.")
        .def("pseudo_labels", &pseudo_labels, "nodes"_a, "n_threads"_a,
             "What the models of the nodes are to be fitted to, and with which weights.")
        .def("losses", &losses, "nodes"_a, "n_threads"_a, "The nodes' loss at their scores.");
}

}  // namespace boostforest
