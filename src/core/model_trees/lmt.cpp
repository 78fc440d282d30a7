#include "lmt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../base/rows.hpp"

namespace boostforest {

namespace {

using Rows = std::vector<std::int32_t>;

constexpr double kSmallestModel = kFolds;  // nodes of less weight keep the model of their parent

Rows all_rows(const LogisticTable& table) {
    Rows all(table.n_rows);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// The rows of the table by each feature in turn: n_rows entries per feature.
Rows sort_columns(const LogisticTable& table, Worker& worker) {
    Rows sorted(table.n_features * table.n_rows);
    for (int j = 0; j < table.n_features; ++j) {
        worker.check(table.n_rows * 64);
        const auto begin = sorted.begin() + j * table.n_rows;
        const double* x = table.x + j * table.n_rows;
        std::iota(begin, begin + table.n_rows, 0);
        std::sort(begin, begin + table.n_rows,
                  [x](std::int32_t a, std::int32_t b) { return x[a] < x[b] || (x[a] == x[b] && a < b); });
    }
    return sorted;
}

struct Node {
    std::int32_t feature = -1, left = 0, n_iter = 0;
    double threshold = 0, gain = 0, weight = 0, wrong = 0, held_out_wrong = 0;
    std::vector<double> params;  // for scaled features
};

// Grows one tree after another on rows of the same table.
class Grower {
   public:
    Grower(const LogisticTable& table, const LmtRules& rules, const Rows& sorted)
        : table_(table), rules_(rules), sorted_table_(sorted), boost_(table), finder_(table) {}

    // A tree on some rows; the models are judged on others. n_iter: iterations at every node, -1: as the rules say.
    std::vector<Node> grow(const Rows& rows, const Rows& held_out, std::int64_t n_iter, Worker& worker);

    // The number of iterations for all rows.
    std::int64_t choose_iterations(Worker& worker);

   private:
    struct Open {  // a node whose rows are in place
        std::int32_t node;
        std::int64_t begin, end;            // of rows_ and of every feature's part of sorted_
        std::int64_t held_begin, held_end;  // of held_out_
    };
    void fit_model(const Open& open, const IterationRules& iterations, Worker& worker);
    bool split(const Open& open, Open (&children)[2], Worker& worker);

    const LogisticTable& table_;
    const LmtRules& rules_;
    const Rows& sorted_table_;
    LogitBoost boost_;
    GainRatioFinder finder_;
    ScoredRows judged_;
    std::vector<Node> nodes_;
    Rows rows_, sorted_, held_out_, right_;
    std::int64_t n_rows_ = 0;              // of the tree
    std::vector<double> scores_;           // of every row of the table by the models on its path so far
    std::vector<std::uint8_t> goes_left_;  // of every row of the table, at the present split
    std::vector<double> origin_;           // zeros: held-out rows are not centred
};

std::int64_t Grower::choose_iterations(Worker& worker) {
    const Rows all = all_rows(table_);
    scores_.assign(table_.n_outputs() * table_.n_rows, 0.0);
    return boost_.choose(all.data(), table_.n_rows, rules_.iterations, worker, scores_.data());
}

std::vector<Node> Grower::grow(const Rows& rows, const Rows& held_out, std::int64_t n_iter, Worker& worker) {
    rows_ = rows;
    held_out_ = held_out;
    n_rows_ = static_cast<std::int64_t>(rows.size());
    scores_.assign(table_.n_outputs() * table_.n_rows, 0.0);
    origin_.assign(table_.n_features, 0.0);
    goes_left_.assign(table_.n_rows, 0);
    if (rules_.split) {
        for (const std::int32_t row : rows) goes_left_[row] = 1;  // a mark, for once
        sorted_.clear();
        std::copy_if(sorted_table_.begin(), sorted_table_.end(), std::back_inserter(sorted_),
                     [this](std::int32_t row) { return goes_left_[row] != 0; });
    }
    IterationRules iterations = rules_.iterations;
    if (n_iter >= 0) iterations.fixed = n_iter;

    nodes_.assign(1, Node{});
    nodes_[0].params.assign(table_.n_params(), 0.0);
    std::vector<Open> open{{0, 0, n_rows_, 0, static_cast<std::int64_t>(held_out_.size())}};
    while (!open.empty()) {
        const Open here = open.back();
        open.pop_back();
        fit_model(here, iterations, worker);
        Open children[2];
        if (!rules_.split || !split(here, children, worker)) continue;
        open.push_back(children[1]);
        open.push_back(children[0]);
    }
    return std::move(nodes_);
}

void Grower::fit_model(const Open& open, const IterationRules& iterations, Worker& worker) {
    Node& node = nodes_[open.node];
    const std::int32_t* rows = rows_.data() + open.begin;
    const std::int64_t n = open.end - open.begin, n_held_out = open.held_end - open.held_begin;
    node.weight = 0;
    for (std::int64_t i = 0; i < n; ++i) node.weight += table_.weight[rows[i]];
    const std::vector<double> before = node.params;
    IterationRules here = iterations;
    if (open.node > 0 && node.weight < kSmallestModel) here.fixed = 0;
    node.n_iter = static_cast<std::int32_t>(boost_.fit(rows, n, here, worker, scores_.data(), node.params.data()));
    node.wrong = boost_.fitted_rows().wrong();
    if (n_held_out == 0) return;
    std::vector<double> step(before.size());
    for (std::size_t k = 0; k < step.size(); ++k) step[k] = node.params[k] - before[k];
    const std::int32_t* held_out = held_out_.data() + open.held_begin;
    judged_.gather(table_, held_out, n_held_out, origin_.data(), scores_.data());
    judged_.add_model(step.data());
    judged_.scatter_scores(held_out, scores_.data());
    node.held_out_wrong = judged_.wrong();
}

bool Grower::split(const Open& open, Open (&children)[2], Worker& worker) {
    const std::int64_t n = open.end - open.begin;
    if (nodes_[open.node].weight < rules_.min_split) return false;
    const GainRatioSplit split = finder_.find(sorted_.data() + open.begin, n_rows_, n, rules_.min_leaf, worker);
    if (split.feature < 0) return false;
    const auto left = static_cast<std::int32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    Node& node = nodes_[open.node];
    node.feature = split.feature;
    node.threshold = split.threshold;
    node.gain = split.gain * node.weight;
    node.left = left;
    nodes_[left].params = nodes_[left + 1].params = node.params;

    const double* x = table_.x + split.feature * table_.n_rows;
    const auto mark = [&](const std::int32_t* rows, std::int64_t n_marked) {
        for (std::int64_t i = 0; i < n_marked; ++i) goes_left_[rows[i]] = x[rows[i]] <= split.threshold;
    };
    const std::int64_t n_held_out = open.held_end - open.held_begin;
    right_.resize(std::max(n, n_held_out));
    const auto partition = [&](std::int32_t* rows, std::int64_t n_parted) {
        return partition_rows(rows, n_parted, right_.data(), [this](std::int32_t row) { return goes_left_[row] != 0; });
    };
    mark(rows_.data() + open.begin, n);
    mark(held_out_.data() + open.held_begin, n_held_out);
    const std::int64_t middle = open.begin + partition(rows_.data() + open.begin, n);
    const std::int64_t held_middle = open.held_begin + partition(held_out_.data() + open.held_begin, n_held_out);
    for (int j = 0; j < table_.n_features; ++j) partition(sorted_.data() + j * n_rows_ + open.begin, n);
    children[0] = {left, open.begin, middle, open.held_begin, held_middle};
    children[1] = {left + 1, middle, open.end, held_middle, open.held_end};
    return true;
}

PrunableTree prunable(const std::vector<Node>& nodes) {
    PrunableTree tree;
    tree.weight = nodes[0].weight;
    for (const Node& node : nodes) tree.nodes.push_back({node.left, node.wrong, node.held_out_wrong});
    return tree;
}

// Stages of five trees grown on four fifths of the rows; their errors are shares of the rest.
std::vector<std::vector<PruningStage>> stages_of_folds(const LogisticTable& table, Grower& grower, std::int64_t n_iter,
                                                       Worker& worker) {
    const Rows all = all_rows(table);
    const Rows fold = deal_folds(table, all.data(), table.n_rows);
    std::vector<std::vector<PruningStage>> folds;
    for (int f = 0; f < kFolds && table.n_rows >= kFolds; ++f) {
        Rows in, out;
        double weight = 0;
        for (const std::int32_t row : all) {
            (fold[row] == f ? out : in).push_back(row);
            weight += fold[row] == f ? table.weight[row] : 0;
        }
        const PrunableTree tree = prunable(grower.grow(in, out, n_iter, worker));
        folds.push_back(Pruner(tree).all_stages());
        for (PruningStage& stage : folds.back()) stage.held_out_wrong /= weight;
    }
    return folds;
}

// The columns of the nodes that are left, level by level.
LmtColumns to_columns(const LogisticTable& table, const Rows& sorted, std::vector<Node>& nodes,
                      const std::vector<bool>& is_inner) {
    LmtColumns columns;
    Rows queue{0};
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const Node& node = nodes[queue[i]];
        const bool inner = is_inner[queue[i]];
        columns.feature.push_back(inner ? node.feature : -1);
        columns.left.push_back(inner ? static_cast<std::int32_t>(queue.size()) : 0);
        columns.gain.push_back(inner ? node.gain : 0);
        columns.n_samples.push_back(node.weight);
        columns.wrong.push_back(node.wrong);
        columns.n_iter.push_back(node.n_iter);
        columns.model.push_back(-1);
        columns.threshold.push_back(0);
        if (inner) {
            // The largest value of the table that goes left, as C4.5 has it.
            const std::int32_t* order = sorted.data() + node.feature * table.n_rows;
            const double* x = table.x + node.feature * table.n_rows;
            const auto last = std::upper_bound(order, order + table.n_rows, node.threshold,
                                               [x](double value, std::int32_t row) { return value < x[row]; });
            columns.threshold.back() = x[last[-1]];
            queue.push_back(node.left);
            queue.push_back(node.left + 1);
            continue;
        }
        columns.model.back() = static_cast<std::int32_t>(columns.params.size() / table.n_params());
        columns.params.insert(columns.params.end(), node.params.begin(), node.params.end());
    }
    return columns;
}

}  // namespace

LmtColumns fit_lmt(const LogisticTable& table, const LmtRules& rules, Worker& worker) {
    const Rows sorted = rules.split ? sort_columns(table, worker) : Rows{};
    Grower grower(table, rules, sorted);
    const std::int64_t n_iter = rules.choose_at_every_node ? -1 : grower.choose_iterations(worker);
    std::vector<Node> nodes = grower.grow(all_rows(table), {}, n_iter, worker);
    std::vector<bool> is_inner(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) is_inner[i] = nodes[i].feature >= 0;
    if (rules.split && rules.prune && nodes.size() > 1) {
        const PrunableTree tree = prunable(nodes);
        Pruner pruner(tree);
        const double alpha = best_alpha(pruner.all_stages(), stages_of_folds(table, grower, n_iter, worker));
        is_inner = pruner.prune(alpha);
    }
    return to_columns(table, sorted, nodes, is_inner);
}

// ---------------------------------------------------------------------------------------------------------- prediction

void apply_lmt(const LmtView& tree, const double* x, std::int64_t n, std::int32_t* leaves) {
    for (std::int64_t i = 0; i < n; ++i, x += tree.n_features) {
        std::int32_t node = 0;
        while (tree.feature[node] >= 0) {
            const int j = tree.feature[node];
            const double value = std::isnan(x[j]) ? tree.mean[j] : x[j];
            node = tree.left[node] + (value <= tree.threshold[node] ? 0 : 1);
        }
        leaves[i] = node;
    }
}

void predict_lmt(const LmtView& tree, const double* x, std::int64_t n, double* out) {
    const int d = tree.n_features;
    std::vector<double> scaled(d);
    for (std::int64_t i = 0; i < n; ++i, x += d) {
        std::int32_t leaf = 0;
        apply_lmt(tree, x, 1, &leaf);
        for (int j = 0; j < d; ++j) scaled[j] = std::isnan(x[j]) ? 0.0 : (x[j] - tree.mean[j]) / tree.scale[j];
        const double* params = tree.params + static_cast<std::int64_t>(tree.model[leaf]) * tree.n_outputs * (1 + d);
        for (int c = 0; c < tree.n_outputs; ++c, params += 1 + d) {
            double total = params[0];
            for (int j = 0; j < d; ++j) total += params[1 + j] * scaled[j];
            *out++ = total;
        }
    }
}

}  // namespace boostforest
