#include "m5p.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "m5p_model.hpp"
#include "m5p_split.hpp"

namespace boostforest::m5p {

namespace {

// In units of the target's standard deviation at the root:
constexpr double kSmallDeviation = 0.05;  // a node whose target has a smaller standard deviation is a leaf
constexpr double kSmallError = 1e-5;      // a model with less error needs no subtree

constexpr double kPruningWeight = 2;  // how much a parameter counts in the adjusted error
constexpr double kSmoothing = 15;     // how many rows the model above is worth

// The error to expect on new rows grows with the number of parameters.
double adjusted(double squared_error, double n, double n_parameters) {
    const double factor = n <= n_parameters ? 10 : (n + kPruningWeight * n_parameters) / (n - n_parameters);
    return std::sqrt(squared_error / n) * factor;
}

struct Node {
    std::int64_t begin, end;           // its rows
    Totals totals;                     // the target in it
    Split split;                       // feature -1: a leaf
    std::int32_t left = 0, right = 0;  // children
    LinearModel model;
    double squared_error = 0;          // of the subtree
    int n_parameters = 1;              // of the subtree
    std::vector<std::int32_t> tested;  // features tested in the subtree before pruning, ascending
};

class Grower {
   public:
    Grower(const Table& table, const Rules& rules, Worker& worker)
        : table_(table), rules_(rules), worker_(worker), sorted_(table.x, table.n_rows, table.n_features, worker) {
        double* y = y_.get(table.n_rows);
        double* x = x_.get(static_cast<std::size_t>(table.n_rows) * table.n_features);
        for (std::int64_t i = 0, k = 0; i < table.n_rows; ++i) {
            y[i] = (table.y[i] - table.y_mean) / table.y_scale;
            for (int j = 0; j < table.n_features; ++j, ++k) x[k] = (table.x[k] - table.x_mean[j]) / table.x_scale[j];
        }
        add(0, table.n_rows);
    }

    Columns columns() const;

   private:
    std::int32_t add(std::int64_t begin, std::int64_t end);
    Split find_split(const Node& node);
    void add_model(Node& node);
    void prune(Node& node);
    void write_model(const Node& node, double share, const std::vector<double>& above, Columns& columns) const;

    const Table& table_;
    const Rules& rules_;
    Worker& worker_;
    SortedRows sorted_;
    ModelFitter fitter_;
    Buffer<double> x_, y_;  // scaled
    std::vector<Node> nodes_;
};

// Grows the subtree of some rows and returns its root. Recursion is not deep: every side gets a fifth of the weight.
std::int32_t Grower::add(std::int64_t begin, std::int64_t end) {
    worker_.check(1000 + end - begin);
    const auto number = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back({begin, end, sorted_.totals(begin, end, y_.data(), table_.weight), {}, 0, 0, {}, 0, 1, {}});
    const Split split = nodes_[number].split = find_split(nodes_[number]);
    if (split.feature >= 0) {
        const std::int64_t middle = sorted_.divide(begin, end, split);
        const std::int32_t left = add(begin, middle), right = add(middle, end);
        Node& node = nodes_[number];  // not before: the list of nodes has grown
        node.left = left;
        node.right = right;
        std::vector<std::int32_t>&l = nodes_[left].tested, &r = nodes_[right].tested, both, own{split.feature};
        std::set_union(l.begin(), l.end(), r.begin(), r.end(), std::back_inserter(both));
        std::set_union(both.begin(), both.end(), own.begin(), own.end(), std::back_inserter(node.tested));
        l = {};
        r = {};
    }
    add_model(nodes_[number]);
    return number;
}

Split Grower::find_split(const Node& node) {
    const Totals& t = node.totals;
    if (t.weight < rules_.min_samples_leaf || std::sqrt(t.squares / t.weight) < kSmallDeviation) return {};
    const double min_side = std::max(std::floor(t.weight / 5) + 1, 2.0);
    return sorted_.best_split(node.begin, node.end, y_.data(), table_.weight, t, min_side, worker_);
}

void Grower::add_model(Node& node) {
    const bool is_leaf = node.split.feature < 0;
    if (!is_leaf && !rules_.prune && !rules_.smooth) return;  // nobody would use it
    if (is_leaf || rules_.regression_tree) {
        node.model = {node.totals.mean, node.totals.squares, {}, {}};
    } else {
        const NodeRows rows{x_.data(),          table_.n_features, sorted_.rows(node.begin), node.end - node.begin,
                            y_.data(),          table_.weight,     node.totals.weight,       node.totals.mean,
                            node.totals.squares};
        node.model = fitter_.fit(rows, node.tested);
    }
    if (rules_.prune) prune(node);
}

// Makes the node a leaf if its model alone promises to be as good as the subtree.
void Grower::prune(Node& node) {
    const double n = node.totals.weight, own = adjusted(node.model.squared_error, n, node.model.n_parameters());
    if (node.split.feature >= 0) {
        const Node &left = nodes_[node.left], &right = nodes_[node.right];
        node.squared_error = left.squared_error + right.squared_error;
        node.n_parameters = left.n_parameters + right.n_parameters + 1;
        if (own > adjusted(node.squared_error, n, node.n_parameters) && own >= kSmallError) return;
        node.split.feature = -1;
    }
    node.squared_error = node.model.squared_error;
    node.n_parameters = node.model.n_parameters();
}

// Smoothing, from the leaf to the root: p ← (n p + 15 f) / (n + 15), n the rows of the node below and f the model of
// the node above. From the root down that is: share × own model + what the models above contribute.
struct Place {
    std::int32_t node;          // in the grown tree
    std::int32_t column;        // in the columns
    double share;               // of its own model
    std::vector<double> above;  // intercept and slopes that the models above contribute
};

void add_to(const LinearModel& model, double factor, std::vector<double>& sum) {
    sum[0] += factor * model.intercept;
    for (std::size_t k = 0; k < model.features.size(); ++k) sum[1 + model.features[k]] += factor * model.slopes[k];
}

void Grower::write_model(const Node& node, double share, const std::vector<double>& above, Columns& columns) const {
    std::vector<double> sum = above;
    add_to(node.model, share, sum);
    columns.error.push_back(std::sqrt(node.model.squared_error / node.totals.weight) * table_.y_scale);
    columns.centre.push_back(sum[0] * table_.y_scale + table_.y_mean);
    for (int j = 0; j < table_.n_features; ++j)
        columns.slopes.push_back(sum[1 + j] * (table_.y_scale / table_.x_scale[j]));
}

Columns Grower::columns() const {
    Columns columns;
    const auto add_column = [&columns](const Node& node) {
        columns.feature.push_back(-1);
        columns.threshold.push_back(0);
        columns.left.push_back(0);
        columns.n_samples.push_back(node.totals.weight);
        columns.gain.push_back(0);
        columns.model.push_back(-1);
        return static_cast<std::int32_t>(columns.feature.size() - 1);
    };
    std::vector<Place> stack;
    stack.push_back({0, add_column(nodes_[0]), 1, std::vector<double>(1 + table_.n_features, 0.0)});
    while (!stack.empty()) {
        const Place place = std::move(stack.back());
        stack.pop_back();
        const Node& node = nodes_[place.node];
        if (node.split.feature < 0) {
            columns.model[place.column] = static_cast<std::int32_t>(columns.centre.size());
            write_model(node, place.share, place.above, columns);
            continue;
        }
        columns.feature[place.column] = node.split.feature;
        columns.threshold[place.column] = node.split.threshold;
        columns.gain[place.column] = node.split.gain;
        const std::int32_t left = columns.left[place.column] = add_column(nodes_[node.left]);
        add_column(nodes_[node.right]);
        for (const int side : {1, 0}) {  // the left one is taken first: models are numbered from left to right
            const std::int32_t child = side == 0 ? node.left : node.right;
            Place below{child, left + side, place.share, place.above};
            if (rules_.smooth) {
                const double n = nodes_[child].totals.weight;
                add_to(node.model, place.share * kSmoothing / (n + kSmoothing), below.above);
                below.share *= n / (n + kSmoothing);
            }
            stack.push_back(std::move(below));
        }
    }
    return columns;
}

double value_of(const View& tree, const double* row, int feature) {
    return std::isnan(row[feature]) ? tree.x_mean[feature] : row[feature];
}

std::int32_t leaf_of(const View& tree, const double* row) {
    std::int32_t node = 0;
    while (tree.feature[node] >= 0)
        node = tree.left[node] + (value_of(tree, row, tree.feature[node]) <= tree.threshold[node] ? 0 : 1);
    return node;
}

}  // namespace

Columns fit(const Table& table, const Rules& rules, Control& control) {
    Columns columns;
    parallel_for(1, 1, control,
                 [&](std::int64_t, Worker& worker) { columns = Grower(table, rules, worker).columns(); });
    return columns;
}

void apply(const View& tree, const double* x, std::int64_t n_rows, std::int32_t* leaves) {
    for (std::int64_t i = 0; i < n_rows; ++i) leaves[i] = leaf_of(tree, x + i * tree.n_features);
}

void predict(const View& tree, const double* x, std::int64_t n_rows, double* out) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const double* row = x + i * tree.n_features;
        const std::int64_t model = tree.model[leaf_of(tree, row)];
        const double* slopes = tree.slopes + model * tree.n_features;
        double value = tree.centre[model];
        for (int j = 0; j < tree.n_features; ++j) value += slopes[j] * (value_of(tree, row, j) - tree.x_mean[j]);
        out[i] = value;
    }
}

}  // namespace boostforest::m5p
