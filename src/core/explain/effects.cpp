#include "effects.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../kernels/kernels.hpp"
#include "effect_curves.hpp"
#include "effect_lines.hpp"
#include "row_blocks.hpp"

namespace boostforest {

namespace {

constexpr std::int64_t kSummedRows = 4096;  // that are added up at a time
constexpr std::int64_t kMostRows = 1024;    // that one thread takes through a tree: they need little of it each

bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
}

// Whether the effects on a row are lines over the grid, what a sigmoid makes of them, or curves of a hidden layer.
bool are_lines(const WeightedTrees& forest, const Grid& grid) {
    return grid.ascends() && forest.trees[0].n_outputs == 1;
}

bool are_curves(const TreeView& tree, Link link) {
    return tree.kind == ModelKind::kHidden && tree.monotone == nullptr && tree.n_outputs == 1 &&
           link == Link::kIdentity && is_walked(tree);
}

}  // namespace

bool takes_all_values(const TreeView& tree, Link link, bool one_number) {
    return has_closed_forms(tree, link) || (one_number && are_curves(tree, link));
}

Grid::Grid(const RawRows& rows, const bool* replaced)
    : rows_(rows, 0, rows.n_rows), replaced_(replaced, replaced + rows.n_features) {
    std::int32_t feature = -1, n = 0;
    for (std::int32_t j = 0; j < rows.n_features; ++j)
        if (replaced_[j]) {
            feature = j;
            ++n;
        }
    const FeatureList& seen = rows.model_features;
    for (std::int32_t j = 0; j < (seen.numbers == nullptr ? rows.n_features : seen.n); ++j)
        if (replaced_[seen[j]]) inputs_.push_back(j);
    if (n != 1) return;
    for (std::int64_t i = 0; i < rows_.n(); ++i) values_.push_back(rows_.routed(i)[feature]);
    ascends_ = std::is_sorted(values_.begin(), values_.end()) &&
               std::none_of(values_.begin(), values_.end(), [](double value) { return std::isnan(value); });
    if (ascends_) find_cells();
}

void Grid::find_cells() {
    const double first = values_.front(), whole = values_.back() - first;
    cells_per_unit_ = whole > 0 && std::isfinite(kCells / whole) ? kCells / whole : 0;
    for (std::int32_t cell = 0; cell <= kCells; ++cell) {
        const double begin = first + (cells_per_unit_ > 0 ? cell / cells_per_unit_ : 0.0);
        cells_.push_back(
            static_cast<std::int32_t>(std::lower_bound(values_.begin(), values_.end(), begin) - values_.begin()));
    }
}

Effects::Effects(const Grid& grid, int n_outputs, int input_width)
    : grid_(grid), n_outputs_(n_outputs), input_width_(input_width), order_(grid.n()) {}

void Effects::add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, double weight,
                       double* out) {
    if (tree_ != &tree) models_.emplace(tree, link, input_width_);
    tree_ = &tree;
    routed_ = rows.routed(i);
    inputs_ = rows.inputs(i);
    weight_ = weight;
    out_ = out;
    std::iota(order_.begin(), order_.end(), 0);
    visit(0, 0, static_cast<std::int32_t>(grid_.n()));
}

// Some values of the grid get here.
void Effects::visit(std::int32_t node, std::int32_t begin, std::int32_t end) {
    if (begin == end) return;
    if (models_->load(node)) add_outputs(begin, end);
    const std::int32_t feature = tree_->feature[node];
    if (feature < 0) return;
    const std::int32_t left = tree_->left[node];
    if (!grid_.replaces(feature)) return visit(left + (goes_left(*tree_, node, routed_[feature]) ? 0 : 1), begin, end);
    const std::int32_t middle = part(node, begin, end);
    visit(left, begin, middle);
    visit(left + 1, middle, end);
}

// Puts the values that go left first; returns where the others begin.
std::int32_t Effects::part(std::int32_t node, std::int32_t begin, std::int32_t end) {
    const std::int32_t feature = tree_->feature[node];
    if (grid_.ascends()) {
        const double* values = grid_.values();
        const auto* middle = std::partition_point(values + begin, values + end,
                                                  [&](double value) { return value <= tree_->threshold[node]; });
        return static_cast<std::int32_t>(middle - values);
    }
    const auto middle = std::partition(order_.begin() + begin, order_.begin() + end, [&](std::int32_t i) {
        return goes_left(*tree_, node, grid_.routed(i, feature));
    });
    return static_cast<std::int32_t>(middle - order_.begin());
}

void Effects::add_outputs(std::int32_t begin, std::int32_t end) {
    const std::int64_t n = end - begin, stride = padded_rows(n);
    double* scores = scores_.get(n_outputs_ * stride);
    for (int k = 0; k < n_outputs_; ++k) {
        double* own = scores + k * stride;
        double start = models_->has_slopes() ? models_->score(k, inputs_) : models_->intercept(k);
        const double* slopes = models_->slopes(k);
        for (const std::int32_t j : grid_.inputs()) start -= models_->has_slopes() ? slopes[j] * inputs_[j] : 0.0;
        std::fill_n(own, n, start);
        for (const std::int32_t j : grid_.inputs()) {
            if (!models_->has_slopes()) break;
            if (grid_.ascends()) {
                for (std::int64_t i = 0; i < n; ++i) own[i] += slopes[j] * grid_.values()[begin + i];
            } else {
                for (std::int64_t i = 0; i < n; ++i) own[i] += slopes[j] * grid_.input(order_[begin + i], j);
            }
        }
    }
    const Shape shape = models_->shape();
    if (shape == Shape::kClipped) {
        const double lower = models_->lower(), upper = models_->upper();
        for (std::int64_t i = 0; i < n; ++i) scores[i] = std::min(std::max(scores[i], lower), upper);
    }
    if (shape == Shape::kSigmoid) kernels().sigmoid(scores, n, scores);
    if (shape == Shape::kSoftmax) kernels().softmax(scores, stride, n, n_outputs_, scores, stride);
    for (std::int64_t i = 0; i < n; ++i)
        for (int k = 0; k < n_outputs_; ++k)
            out_[std::int64_t{order_[begin + i]} * n_outputs_ + k] += weight_ * scores[k * stride + i];
}

namespace {

// Adds the effects on rows, each of its own or together, to `out`.
void add_block(const WeightedTrees& forest, const PreparedRows& rows, const Grid& grid, const double* row_weights,
               Worker& worker, double* out) {
    const int n_outputs = forest.trees[0].n_outputs;
    const std::int64_t size = grid.n() * n_outputs;
    if (are_lines(forest, grid)) {
        EffectLines lines(grid, rows, row_weights);
        EffectCurves curves(grid, rows, row_weights);
        for (std::size_t t = 0; t < forest.trees.size(); ++t) {
            worker.check(64 * rows.n());
            if (forest.trees[t].kind == ModelKind::kHidden) {
                curves.add_tree(forest.trees[t], forest.link, forest.weights[t], worker);
            } else {
                lines.add_tree(forest.trees[t], forest.link, forest.weights[t]);
            }
        }
        lines.give(out);
        return curves.give(out);
    }
    Effects effects(grid, n_outputs, rows.input_width());
    for (std::size_t t = 0; t < forest.trees.size(); ++t)
        for (std::int64_t i = 0; i < rows.n(); ++i) {
            worker.check(64 + size);
            const double weight = forest.weights[t] * (row_weights == nullptr ? 1.0 : row_weights[i]);
            effects.add_tree(forest.trees[t], forest.link, rows, i, weight,
                             out + (row_weights == nullptr ? i * size : 0));
        }
}

}  // namespace

void add_effects(const WeightedTrees& forest, const RawRows& rows, const Grid& grid, int n_threads, Control& control,
                 double* out) {
    if (forest.trees.empty()) return;
    const std::int64_t size = grid.n() * forest.trees[0].n_outputs;
    for_row_blocks(rows, kMostRows, n_threads, control,
                   [&](const PreparedRows& block, std::int64_t begin, Worker& worker) {
                       add_block(forest, block, grid, nullptr, worker, out + begin * size);
                   });
}

void add_summed_effects(const WeightedTrees& forest, const RawRows& rows, const Grid& grid, const double* row_weights,
                        int n_threads, Control& control, double* out) {
    if (forest.trees.empty()) return;
    const std::int64_t size = grid.n() * forest.trees[0].n_outputs;
    const std::int64_t n_blocks = (rows.n_rows + kSummedRows - 1) / kSummedRows;
    std::vector<double> sums(n_blocks * size);  // blocks and their order do not depend on the threads
    parallel_for(n_blocks, n_threads, control, [&](std::int64_t number, Worker& worker) {
        const std::int64_t begin = number * kSummedRows, end = std::min(begin + kSummedRows, rows.n_rows);
        add_block(forest, PreparedRows(rows, begin, end), grid, row_weights + begin, worker,
                  sums.data() + number * size);
    });
    for (std::int64_t i = 0; i < n_blocks * size; ++i) out[i % size] += sums[i];
}

}  // namespace boostforest
