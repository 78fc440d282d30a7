#include "interventional.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
}

}  // namespace

Sums Target::of(std::int64_t other, std::int64_t n_players, int n_outputs) const {
    if (!apart) return sums;
    const std::int64_t step = other * n_players * n_outputs;
    return {.values = sums.values + step,
            .variance = sums.variance + step,
            .pairs = sums.pairs == nullptr ? nullptr : sums.pairs + step * n_players,
            .weight = sums.weight};
}

Interventional::Interventional(const PreparedRows& background, const Players& players, const Weights& weights,
                               int n_outputs)
    : background_(background),
      players_(players),
      game_(weights, players.n, n_outputs),
      at_(players, background.input_width()),
      n_outputs_(n_outputs),
      width_(background.input_width()),
      one_input_each_(std::adjacent_find(players.of_input.begin(), players.of_input.end()) == players.of_input.end()),
      inputs_are_columns_(one_input_each_ && players.of_input.size() == static_cast<std::size_t>(players.n)),
      rows_(background.n()),
      start_(n_outputs),
      sums_(static_cast<std::size_t>(n_outputs) * width_),
      open_(background.n()),
      who_(players.of_input.size() + 1),
      free_inputs_(players.of_input.size() + 1),
      moves_(width_),
      open_start_(n_outputs),
      open_differences_(n_outputs * players.of_input.size()) {}

void Interventional::add_tree(const TreeView& tree, Link link, const PreparedRows& rows, std::int64_t i, Key key,
                              const Target& target) {
    NodeModels models(tree, link, width_);
    tree_ = &tree;
    models_ = &models;
    target_ = &target;
    routed_ = rows.routed(i);
    inputs_ = rows.inputs(i);
    tree_key_ = key;
    std::iota(rows_.begin(), rows_.end(), 0);
    visit(0, rows_.data(), rows_.data() + rows_.size());
}

// The columns of at_ lead here, from the row at work and from each of some background rows.
void Interventional::visit(std::int32_t node, std::int32_t* begin, std::int32_t* end) {
    if (begin == end) return;
    add_model(node, begin, end - begin);
    const std::int32_t feature = tree_->feature[node];
    if (feature < 0) return;
    const std::int32_t left = tree_->left[node], player = players_.of_feature[feature];
    const bool row_left = goes_left(*tree_, node, routed_[feature]);
    const std::int32_t near = left + (row_left ? 0 : 1), far = left + (row_left ? 1 : 0);
    if (at_.side(player) == Side::kRow) return visit(near, begin, end);
    std::int32_t* middle = std::partition(begin, end, [&](std::int32_t other) {
        return goes_left(*tree_, node, background_.routed(other)[feature]) == row_left;
    });
    if (at_.side(player) == Side::kOther) {
        visit(near, begin, middle);
        visit(far, middle, end);
        return;
    }
    visit(near, begin, middle);
    if (middle == end) return;
    at_.set(player, Side::kRow);
    visit(near, middle, end);
    at_.set(player, Side::kOther);
    visit(far, middle, end);
    at_.set(player, Side::kBoth);
}

void Interventional::add_model(std::int32_t node, const std::int32_t* rows, std::int64_t n) {
    if (!models_->load(node)) return;
    node_ = node;
    if (!target_->apart) return add_rows(rows, n, target_->sums);
    for (std::int64_t i = 0; i < n; ++i) add_rows(rows + i, 1, target_->of(rows[i], players_.n, n_outputs_));
}

void Interventional::add_rows(const std::int32_t* rows, std::int64_t n, const Sums& sums) {
    const Shape shape = models_->shape();
    if (!models_->has_slopes()) {
        for (int k = 0; k < n_outputs_; ++k) start_[k] = models_->intercept(k);
        models_->finish(start_.data(), start_.data());
        for (double& value : start_) value *= static_cast<double>(n);
        game_.add_linear(at_, nullptr, 0, start_.data(), nullptr, 0, sums);
        return;
    }
    differences_.get((n_outputs_ * n + 1) * width_);
    starts_.get(n_outputs_ * n);
    std::int64_t n_open = 0;
    for (int k = 0; k < n_outputs_; ++k) {
        const bool is_line = shape == Shape::kLinear, is_clipped = shape == Shape::kClipped;
        n_open = compare(k, rows, n,
                         is_line      ? -kInfinite
                         : is_clipped ? models_->lower()
                                      : kNone,
                         is_line      ? kInfinite
                         : is_clipped ? models_->upper()
                                      : kNone);
    }
    if (n_open < n) {
        const int n_inputs = static_cast<int>(players_.of_input.size());
        const std::int32_t* who = inputs_are_columns_ ? nullptr : players_.of_input.data();
        game_.add_linear(at_, who, n_inputs, start_.data(), sums_.data(), width_, sums);
    }
    if (shape == Shape::kClipped && sums.pairs == nullptr && add_clipped(n_open, sums)) return;
    for (std::int64_t i = 0; i < n_open; ++i) add_open(gather(i, n), open_[i], sums);
}

// Adds up the linear games of an output; returns how many others there are.
std::int64_t Interventional::compare(int output, const std::int32_t* rows, std::int64_t n, double lower, double upper) {
    const MixedModel model{.intercept = models_->intercept(output),
                           .slopes = models_->slopes(output),
                           .free = at_.free(),
                           .lost = at_.lost(),
                           .x = inputs_,
                           .lower = lower,
                           .upper = upper};
    return kernels().clipped_rows(model, background_.inputs(0), rows, n, width_,
                                  differences_.data() + output * n * width_, starts_.data() + output * n, open_.data(),
                                  sums_.data() + output * width_, start_[output]);
}

// All open rows of a clipped model at once, if few columns move them; false: nothing was done.
bool Interventional::add_clipped(std::int64_t n_open, const Sums& sums) {
    if (n_open == 0) return true;
    double* all = differences_.data();
    std::fill(moves_.begin(), moves_.end(), 0.0);
    for (std::int64_t i = 0; i < n_open; ++i)
        for (int j = 0; j < width_; ++j) moves_[j] += std::abs(all[i * width_ + j]);
    int n_free = 0;
    const auto n_inputs = static_cast<std::int32_t>(players_.of_input.size());
    for (std::int32_t j = 0, end = 0; j < n_inputs; j = end) {
        who_[n_free] = players_.of_input[j];
        free_inputs_[n_free] = j;
        end = one_input_each_ ? j + 1 : players_.input_start[who_[n_free] + 1];
        double moves = moves_[j];
        for (std::int32_t i = j + 1; i < end; ++i) moves += moves_[i];
        n_free += moves != 0 ? 1 : 0;  // no branch: it could not be foreseen
    }
    if (n_free > kMostClipped) return false;
    for (std::int64_t i = 0; i < n_open; ++i) {  // what columns add next to each other: there is room for it
        double* own = all + i * width_;
        if (one_input_each_) {
            for (int k = 0; k < n_free; ++k) own[k] = own[free_inputs_[k]];
        } else {
            for (int k = 0; k < n_free; ++k)
                own[k] = std::accumulate(own + free_inputs_[k], own + players_.input_start[who_[k] + 1], 0.0);
        }
    }
    game_.add_clipped(at_, *models_, who_.data(), n_free, n_open, starts_.data(), all, width_, sums);
    return true;
}

// Collects where open row i of n starts, and what free columns add; returns how many of these there are.
int Interventional::gather(std::int64_t i, std::int64_t n) {
    const auto n_inputs = static_cast<std::int64_t>(players_.of_input.size());
    for (int k = 0; k < n_outputs_; ++k) open_start_[k] = starts_.data()[k * n + i];
    int n_free = 0;
    if (n_outputs_ == 1 && one_input_each_) {
        const double* own = differences_.data() + i * width_;
        for (std::int64_t j = 0; j < n_inputs; ++j) {
            who_[n_free] = players_.of_input[j];
            open_differences_[n_free] = own[j];
            n_free += own[j] != 0 ? 1 : 0;
        }
        return n_free;
    }
    for (std::int64_t j = 0; j < n_inputs;) {
        const std::int32_t player = players_.of_input[j], end = players_.input_start[player + 1];
        bool moves = false;
        for (int k = 0; k < n_outputs_; ++k) {
            const double* own = differences_.data() + (k * n + i) * width_;
            const double whole = std::accumulate(own + j, own + end, 0.0);
            open_differences_[k * n_inputs + n_free] = whole;
            moves |= whole != 0;
        }
        who_[n_free] = player;
        n_free += moves ? 1 : 0;
        j = end;
    }
    return n_free;
}

void Interventional::add_open(int n, std::int32_t other, const Sums& sums) {
    const auto stride = static_cast<std::int64_t>(players_.of_input.size());
    if (n > (sums.pairs != nullptr ? kMostPaired : kMostEnumerated)) {
        const Key key = child(child(tree_key_, node_), other);
        game_.add_sampled(at_, *models_, who_.data(), n, open_start_.data(), open_differences_.data(), stride, key,
                          sums);
    } else if (n > 1) {
        add_coalitions(n, sums);
    } else {  // one point, or two on a line
        for (int k = 0; k < n_outputs_; ++k) start_[k] = open_start_[k] + (n > 0 ? open_differences_[k * stride] : 0.0);
        models_->finish(start_.data(), start_.data());
        models_->finish(open_start_.data(), open_start_.data());
        for (int k = 0; k < n_outputs_; ++k) open_differences_[k * stride] = start_[k] - open_start_[k];
        game_.add_linear(at_, who_.data(), n, open_start_.data(), open_differences_.data(), stride, sums);
    }
}

void Interventional::add_coalitions(int n, const Sums& sums) {
    const std::int64_t size = std::max<std::int64_t>(std::int64_t{1} << n, 8);
    const auto n_inputs = static_cast<std::int64_t>(players_.of_input.size());
    double* values = values_.get(n_outputs_ * size);
    for (int k = 0; k < n_outputs_; ++k)
        kernels().coalition_scores(open_start_[k], open_differences_.data() + k * n_inputs, n, values + k * size);
    const std::int64_t n_coalitions = std::int64_t{1} << n;
    if (models_->shape() == Shape::kClipped)
        for (std::int64_t s = 0; s < n_coalitions; ++s) models_->finish(values + s, values + s);
    if (models_->shape() == Shape::kSigmoid) kernels().sigmoid(values, n_coalitions, values);
    if (models_->shape() == Shape::kSoftmax) kernels().softmax(values, size, n_coalitions, n_outputs_, values, size);
    game_.add_enumerated(at_, who_.data(), n, values, size, sums);
}

}  // namespace boostforest
