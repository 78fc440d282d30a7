#include "path_dependent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace boostforest {

namespace {

bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
}

constexpr double kNear = 1e-5;  // sums of units this near each other: their line has the slope in the middle

double sigmoid(double sum) {
    const double odds = std::exp(-std::abs(sum));
    return (sum < 0 ? odds : 1.0) / (1 + odds);
}

double secant(double from, double to, double at_from, double at_to) {
    if (std::abs(to - from) > kNear) return (at_to - at_from) / (to - from);
    const double middle = sigmoid(0.5 * (from + to));
    return middle * (1 - middle);
}

}  // namespace

PathTree::PathTree(const TreeView& tree, Link link, const PreparedRows& background, const Players& players)
    : tree_(&tree), link_(link), width_(background.input_width()), shares_(tree.n_nodes, 1.0), reach_(tree.n_nodes) {
    reach_[0] = 1;
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {  // parents come before their children
        if (tree.feature[node] < 0) continue;
        const std::int32_t left = tree.left[node];
        const double n_left = tree.n_samples[left], n = n_left + tree.n_samples[left + 1];
        shares_[left] = n > 0 ? n_left / n : 0.5;
        shares_[left + 1] = 1 - shares_[left];
        for (const std::int32_t next : {left, left + 1}) reach_[next] = reach_[node] * shares_[next];
    }
    find_paths(players);
    if (tree.n_inputs > 0) find_means(background);
    if (tree.kind == ModelKind::kHidden) find_units();
    find_outputs();
}

void PathTree::find_paths(const Players& players) {
    // Columns on the path, as bits. More than 64 would share them, so that steps are counted then.
    const bool has_bits = players.n <= 64;
    std::vector<std::uint64_t> columns(tree_->n_nodes);
    std::vector<std::int32_t> depth(tree_->n_nodes);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        deepest_ = std::max(deepest_, depth[node]);
        n_columns_ = std::max(n_columns_, has_bits ? std::popcount(columns[node]) : std::min(depth[node], players.n));
        if (tree_->feature[node] < 0) continue;
        const std::uint64_t bit = std::uint64_t{1} << (players.of_feature[tree_->feature[node]] % 64);
        for (const std::int32_t next : {tree_->left[node], tree_->left[node] + 1}) {
            columns[next] = columns[node] | bit;
            depth[next] = depth[node] + 1;
        }
    }
}

// Nodes that no background row gets to take the means further up: large trees have many of them.
void PathTree::find_means(const PreparedRows& background) {
    std::vector<std::int64_t> counts;
    mean_.assign(tree_->n_nodes, -1);
    for (std::int64_t i = 0; i < background.n(); ++i) {
        for (std::int32_t node = 0;;) {
            if (mean_[node] < 0) {
                mean_[node] = static_cast<std::int32_t>(counts.size());
                counts.push_back(0);
                means_.resize(means_.size() + width_);
            }
            ++counts[mean_[node]];
            double* sums = means_.data() + std::int64_t{mean_[node]} * width_;
            for (int j = 0; j < width_; ++j) sums[j] += background.inputs(i)[j];
            const std::int32_t feature = tree_->feature[node];
            if (feature < 0) break;
            node = tree_->left[node] + (goes_left(*tree_, node, background.routed(i)[feature]) ? 0 : 1);
        }
    }
    for (std::size_t k = 0; k < counts.size(); ++k)
        for (int j = 0; j < width_; ++j) means_[k * width_ + j] /= static_cast<double>(counts[k]);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        if (tree_->feature[node] < 0) continue;
        for (const std::int32_t next : {tree_->left[node], tree_->left[node] + 1})
            if (mean_[next] < 0) mean_[next] = mean_[node];
    }
}

void PathTree::find_units() {
    const std::int64_t n_means = static_cast<std::int64_t>(means_.size()) / width_;
    units_.resize(n_means * n_units());
    unit_sums_.resize(units_.size());
    for (std::int64_t i = 0; i < n_means; ++i)
        for (std::int32_t k = 0; k < tree_->n_inputs; ++k) {
            double sum = tree_->hidden[k];
            for (std::int64_t j = 0; j < tree_->n_model_features; ++j)
                sum += tree_->hidden[(1 + j) * tree_->n_inputs + k] * means_[i * width_ + j];
            unit_sums_[i * n_units() + k] = sum;
            units_[i * n_units() + k] = sigmoid(sum);
        }
}

void PathTree::find_outputs() {
    const int n_outputs = tree_->n_outputs;
    scores_.resize(tree_->n_nodes * n_outputs);
    outputs_.resize(scores_.size());
    NodeModels models(*tree_, link_, width_);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        if (!models.load(node)) continue;
        double* own = scores_.data() + std::int64_t{node} * n_outputs;
        for (int k = 0; k < n_outputs; ++k)
            own[k] =
                models.has_slopes() ? models.score(k, units_.empty() ? means(node) : units(node)) : models.intercept(k);
        models.finish(own, outputs_.data() + std::int64_t{node} * n_outputs);
    }
}

void PathTree::add_base(double weight, double* base) const {
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node)
        for (int k = 0; k < tree_->n_outputs; ++k) base[k] += weight * reach_[node] * outputs(node)[k];
}

PathDependent::PathDependent(const Players& players, int n_outputs, int input_width)
    : players_(players),
      n_outputs_(n_outputs),
      input_width_(input_width),
      place_(players.n, -1),
      off_path_(players.of_input.size()),
      off_place_(players.of_input.size()),
      to_(n_outputs),
      at_row_(n_outputs) {
    const std::int64_t n_inputs = input_width;
    values_.get(std::int64_t{players.n} * n_outputs * kPathRows);
    line_.get(n_outputs * n_inputs * kPathRows);
    change_.get(n_outputs * kPathRows);
    bend_.get(n_outputs * kPathRows);
    std::iota(off_path_.begin(), off_path_.end(), 0);
    std::iota(off_place_.begin(), off_place_.end(), 0);
    std::fill_n(change_.data(), n_outputs * kPathRows, 0.0);
    std::fill_n(bend_.data(), n_outputs * kPathRows, 0.0);
}

void PathDependent::take(const PreparedRows& rows, std::int64_t first) {
    n_rows_ = static_cast<int>(std::min<std::int64_t>(kPathRows, rows.n() - first));
    routed_.get(rows.width() * kPathRows);
    inputs_.get(rows.input_width() * kPathRows);
    for (int l = 0; l < kPathRows; ++l) {  // those that are missing: the first one again
        const std::int64_t i = first + (l < n_rows_ ? l : 0);
        for (int j = 0; j < rows.width(); ++j) routed_.data()[j * kPathRows + l] = rows.routed(i)[j];
        for (int j = 0; j < rows.input_width(); ++j) inputs_.data()[j * kPathRows + l] = rows.inputs(i)[j];
    }
    std::fill_n(values_.data(), std::int64_t{players_.n} * n_outputs_ * kPathRows, 0.0);
}

void PathDependent::give(double* values) const {
    const std::int64_t size = std::int64_t{players_.n} * n_outputs_;
    for (int l = 0; l < n_rows_; ++l)
        for (std::int64_t i = 0; i < size; ++i) values[l * size + i] += values_.data()[i * kPathRows + l];
}

// Exact for the products of so many u, times t.
const GaussLegendre& PathDependent::rule_of(int n_columns) {
    const int least = n_columns / 2 + 1, n = least <= 4 ? 4 : least <= 8 ? least : (least + 7) / 8 * 8;
    for (const GaussLegendre& rule : rules_)
        if (static_cast<int>(rule.points.size()) == n) return rule;
    return rules_.emplace_back(n);
}

// Level after level: product, below, and of the column met, change and inverse.
void PathDependent::make_room(int n_levels, int n_points) {
    const std::int64_t per_points = std::int64_t{n_points} * kPathRows;
    n_points_ = n_points;
    per_depth_ = per_points * (2 + n_outputs_) + 2 * kPathRows + (2 * n_points + kPathRows - 1) / kPathRows * kPathRows;
    at_depth_.get((n_levels + 1) * per_depth_);
    columns_.resize(n_levels + 1);
    for (int level = 0; level <= n_levels; ++level) {
        double* own = below(level) + n_outputs_ * per_points;
        columns_[level] = {.player = -1,
                           .first_input = 0,
                           .last_input = 0,
                           .any_met = true,
                           .share = 1,
                           .met = own,
                           .inverse = own + 2 * kPathRows,
                           .change = own + kPathRows};
    }
    std::fill_n(columns_[n_levels].met, kPathRows, 1.0);
    std::fill_n(columns_[n_levels].inverse, per_points + 2 * n_points, 1.0);
    std::fill_n(product(0), per_points, 1.0);
}

void PathDependent::add_tree(const PathTree& tree, double weight) {
    NodeModels models(tree.tree(), tree.link(), input_width_);
    const GaussLegendre& rule = rule_of(tree.n_columns());
    tree_ = &tree;
    models_ = &models;
    rule_ = {.points = rule.points.data(),
             .weights = rule.weights.data(),
             .n = static_cast<int>(rule.points.size()),
             .weight = weight,
             .n_rows = n_rows_ > 8 ? kPathRows : 8};
    make_room(tree.deepest() + 1, rule_.n);
    if (tree.tree().kind == ModelKind::kHidden) find_row_units(tree.tree());
    path_.clear();
    n_off_path_ = static_cast<int>(off_path_.size());
    visit(0, 0);
}

// Fills below(depth): sums over the nodes from here on of rule × product × output.
void PathDependent::visit(std::int32_t node, int depth) {
    if (models_->load(node)) {
        add_model(node, depth);
    } else {
        std::fill_n(below(depth), n_points_ * n_outputs_ * kPathRows, 0.0);
    }
    if (tree_->tree().feature[node] < 0) return;
    const std::int32_t left = tree_->tree().left[node];
    step(node, left, depth);
    step(node, left + 1, depth);
}

void PathDependent::step(std::int32_t node, std::int32_t next, int depth) {
    const TreeView& tree = tree_->tree();
    const std::int32_t feature = tree.feature[node], player = players_.of_feature[feature], place = place_[player];
    const PathColumn& before = place < 0 ? columns_.back() : *path_[place];
    PathColumn& after = columns_[depth + 1];
    after.player = player;
    after.first_input = players_.input_start[player];
    after.last_input = players_.input_start[player + 1];
    after.share = before.share * tree_->share(next);
    const PathSplit split{.threshold = tree.threshold[node],
                          .missing_left = tree.missing_left[node] != 0,
                          .is_left = next == tree.left[node]};
    after.any_met = kernels().path_step(rule_, routed_.data() + std::int64_t{feature} * kPathRows, split,
                                        product(depth), before, after, product(depth + 1));
    if (!after.any_met && after.share == 0) return;  // nothing gets there
    if (place < 0) {
        put_on_path(player);
        place_[player] = static_cast<std::int32_t>(path_.size());
        path_.push_back(&after);
    } else {
        path_[place] = &after;
    }
    visit(next, depth + 1);
    kernels().path_return(rule_, n_outputs_, below(depth + 1), before, after, below(depth),
                          values_.data() + std::int64_t{player} * n_outputs_ * kPathRows);
    if (place < 0) {
        path_.pop_back();
        place_[player] = -1;
        n_off_path_ += after.last_input - after.first_input;  // they lie behind the others
    } else {
        path_[place] = &before;
    }
}

// Its inputs change places with the last ones off the path.
void PathDependent::put_on_path(std::int32_t player) {
    for (std::int32_t j = players_.input_start[player]; j < players_.input_start[player + 1]; ++j) {
        const std::int32_t place = off_place_[j], last = off_path_[--n_off_path_];
        std::swap(off_path_[place], off_path_[n_off_path_]);
        std::swap(off_place_[j], off_place_[last]);
    }
}

void PathDependent::find_row_units(const TreeView& tree) {
    double *sums = unit_sums_.get(std::int64_t{tree.n_inputs} * kPathRows),
           *units = units_.get(std::int64_t{tree.n_inputs} * kPathRows);
    for (std::int32_t k = 0; k < tree.n_inputs; ++k, sums += kPathRows, units += kPathRows) {
        std::fill_n(sums, kPathRows, tree.hidden[k]);
        for (std::int64_t j = 0; j < tree.n_model_features; ++j) {
            const double weight = tree.hidden[(1 + j) * tree.n_inputs + k];
            for (int l = 0; l < kPathRows; ++l) sums[l] += weight * inputs_.data()[j * kPathRows + l];
        }
        for (int l = 0; l < kPathRows; ++l) units[l] = sigmoid(sums[l]);
    }
}

// What inputs change of the scores where every unit is the line between its values at the means and at the row.
void PathDependent::add_unit_lines(std::int32_t node) {
    const TreeView& tree = tree_->tree();
    const std::int64_t n_units = tree.n_inputs, n_inputs = tree.n_model_features;
    const double *means = tree_->means(node), *at_means = tree_->units(node), *sums = tree_->unit_sums(node);
    double* secants = secants_.get(n_units * kPathRows);
    for (std::int64_t k = 0; k < n_units; ++k)
        for (std::int64_t l = k * kPathRows; l < (k + 1) * kPathRows; ++l)
            secants[l] = secant(sums[k], unit_sums_.data()[l], at_means[k], units_.data()[l]);
    const bool is_clipped = models_->shape() == Shape::kClipped;
    for (int output = 0; output < n_outputs_; ++output) {
        const double* slopes = models_->slopes(output);
        double *line = line_.data() + output * std::int64_t{input_width_} * kPathRows,
               *change = change_.data() + output * kPathRows, *bend = bend_.data() + output * kPathRows;
        std::fill_n(change, kPathRows, 0.0);
        for (std::int64_t j = 0; j < n_inputs; ++j, line += kPathRows) {
            std::fill_n(line, kPathRows, 0.0);
            for (std::int64_t k = 0; k < n_units; ++k) {
                const double slope = slopes[k] * tree.hidden[(1 + j) * n_units + k];
                for (int l = 0; l < kPathRows; ++l) line[l] += slope * secants[k * kPathRows + l];
            }
            for (int l = 0; l < kPathRows; ++l) {
                line[l] *= inputs_.data()[j * kPathRows + l] - means[j];
                change[l] += line[l];
            }
        }
        const double score = tree_->scores(node)[output], from = tree_->outputs(node)[output];
        for (int l = 0; l < kPathRows; ++l) {
            double to = score + change[l];
            if (is_clipped) to = std::min(std::max(to, models_->lower()), models_->upper());
            bend[l] = change[l] != 0 ? (to - from) / change[l] : 0.0;
        }
    }
}

void PathDependent::add_model(std::int32_t node, int depth) {
    const bool has_slopes = models_->has_slopes(), is_clipped = models_->shape() == Shape::kClipped;
    const bool has_units = tree_->tree().kind == ModelKind::kHidden;
    const bool is_bent = has_slopes && (models_->shape() == Shape::kSigmoid || models_->shape() == Shape::kSoftmax);
    const int n = has_slopes ? static_cast<int>(players_.of_input.size()) : 0;
    PathModel model{.slopes = nullptr,
                    .means = has_slopes ? tree_->means(node) : nullptr,
                    .score = 0,
                    .output = 0,
                    .lower = is_clipped ? models_->lower() : -std::numeric_limits<double>::infinity(),
                    .upper = is_clipped ? models_->upper() : std::numeric_limits<double>::infinity(),
                    .product = product(depth),
                    .below = nullptr};
    const std::int64_t per_output = std::int64_t{input_width_} * kPathRows;
    if (has_units) add_unit_lines(node);
    for (int k = 0; k < n_outputs_ && is_bent && !has_units; ++k) {
        model.slopes = models_->slopes(k);
        model.score = model.output = tree_->scores(node)[k];
        kernels().path_line(model, inputs_.data(), n, line_.data() + k * per_output, change_.data() + k * kPathRows,
                            bend_.data() + k * kPathRows);
    }
    if (is_bent && models_->shape() == Shape::kSigmoid) bend_one(node);
    if (is_bent && models_->shape() == Shape::kSoftmax) bend_many(node);
    for (int k = 0; k < n_outputs_; ++k) {
        model.slopes = has_slopes ? models_->slopes(k) : nullptr;
        model.score = tree_->scores(node)[k];
        model.output = tree_->outputs(node)[k];
        model.below = below(depth) + k * n_points_ * kPathRows;
        kernels().path_model(rule_, model, path_.data(), has_slopes ? static_cast<int>(path_.size()) : 0,
                             has_slopes && !is_bent && !has_units ? inputs_.data() : nullptr, n,
                             line_.data() + k * per_output, change_.data() + k * kPathRows,
                             bend_.data() + k * kPathRows, off_path_.data(), has_slopes ? n_off_path_ : 0,
                             players_.of_input.data(), values_.data() + k * kPathRows,
                             std::int64_t{n_outputs_} * kPathRows);
    }
}

// The slope of the probability of the second class between the means and the row.
void PathDependent::bend_one(std::int32_t node) {
    for (int l = 0; l < kPathRows; ++l) {
        const double change = change_.data()[l];
        to_[0] = tree_->scores(node)[0] + change;
        models_->finish(to_.data(), at_row_.data());
        bend_.data()[l] = change != 0 ? (at_row_[0] - tree_->outputs(node)[0]) / change : 0.0;
    }
}

// log p = s - log Σ e^s: the latter moves by Σ w s, w near the mean of both probabilities, and p follows log p.
void PathDependent::bend_many(std::int32_t node) {
    const auto n = static_cast<std::int64_t>(players_.of_input.size());
    const std::int64_t per_output = std::int64_t{input_width_} * kPathRows;
    const double *from = tree_->scores(node), *at_means = tree_->outputs(node);
    for (int l = 0; l < kPathRows; ++l) {
        for (int k = 0; k < n_outputs_; ++k) to_[k] = from[k] + change_.data()[k * kPathRows + l];
        models_->finish(to_.data(), at_row_.data());
        double square = 0, error = to_[0] - from[0] - std::log(at_row_[0] / at_means[0]);
        for (int k = 0; k < n_outputs_; ++k) {
            square += (to_[k] - from[k]) * (to_[k] - from[k]);
            error -= 0.5 * (at_row_[k] + at_means[k]) * (to_[k] - from[k]);
        }
        for (int k = 0; k < n_outputs_; ++k) {
            const double put_right = square > 0 ? error * (to_[k] - from[k]) / square : 0.0;
            const double ratio = std::log(at_row_[k] / at_means[k]);
            to_[k] = 0.5 * (at_row_[k] + at_means[k]) + put_right;  // w from here on
            bend_.data()[k * kPathRows + l] = std::abs(ratio) > 1e-9 ? (at_row_[k] - at_means[k]) / ratio : at_means[k];
            change_.data()[k * kPathRows + l] = 0;
        }
        double* line = line_.data() + l;
        for (std::int64_t j = 0; j < n; ++j) {
            double mean = 0;
            for (int k = 0; k < n_outputs_; ++k) mean += to_[k] * line[k * per_output + j * kPathRows];
            for (int k = 0; k < n_outputs_; ++k)
                change_.data()[k * kPathRows + l] += line[k * per_output + j * kPathRows] -= mean;
        }
    }
}

}  // namespace boostforest
