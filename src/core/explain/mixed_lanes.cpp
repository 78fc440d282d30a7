#include "mixed_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Of the range of the output: 12 columns, 100 background rows and 250 trees have noise of less than a thousandth of the
// target's standard deviation with it. With less of these, games weigh more, and more of them count in full.
constexpr double kFullShare = 2e-5;

template <bool kMissingLeft>
bool goes_left(double value, double threshold) {
    return kMissingLeft ? !(value > threshold) : value <= threshold;
}

}  // namespace

bool fits_lanes(const TreeView& tree, Link link, const Players& players) {
    const Shape shape = shape_of(tree, link);
    return players.n > kMostExact && players.n <= kMostBits && players.of_input.size() <= kMostBits &&
           tree.n_outputs == 1 && tree.n_inputs > 0 && (shape == Shape::kClipped || shape == Shape::kLinear);
}

double full_rest(std::span<const TreeView> trees, const double* weights, Link link, int input_width) {
    double total = 0;
    for (std::size_t t = 0; t < trees.size(); ++t) {
        if (shape_of(trees[t], link) != Shape::kClipped) continue;
        NodeModels models(trees[t], link, input_width);
        double widest = 0;
        for (std::int32_t node = 0; node < std::min<std::int64_t>(trees[t].n_nodes, 3); ++node)  // the first models
            if (models.load(node) && std::isfinite(models.upper() - models.lower()))
                widest = std::max(widest, models.upper() - models.lower());
        total += std::abs(weights[t]) * widest;
    }
    return kFullShare * total;
}

void GameList::resize(std::int64_t n) {
    of_row.resize(n);
    of_other.resize(n);
    keys.resize(n);
}

MixedLanes::MixedLanes(const PreparedRows& background, const Players& players, const Weights& weights)
    : background_(background),
      players_(players),
      game_(weights, players.n, 1),
      shapes_(weights.beta, std::min(players.n, kMostBits)),
      at_(players, background.input_width()),
      others_by_feature_(background.width() * background.n()),
      stride_(static_cast<std::int64_t>(players.of_input.size() + 7) / 8 * 8),
      one_each_(players.of_input.size() == static_cast<std::size_t>(players.n) &&
                std::adjacent_find(players.of_input.begin(), players.of_input.end()) == players.of_input.end()),
      steps_(stride_ * background.n()),
      who_(players.n),
      differences_(players.n),
      line_(players.n),
      rest_(players.n),
      not_asked_for_(players.n) {
    lanes_.get(std::int64_t{kLanes} * players.n);
    for (int j = 0; j < background.width(); ++j)
        for (std::int64_t i = 0; i < background.n(); ++i)
            others_by_feature_[j * background.n() + i] = background.routed(i)[j];
}

void MixedLanes::take(const TreeView& tree, Link link, const PreparedRows& rows, double full) {
    tree_ = &tree;
    rows_ = &rows;
    full_ = full;
    loaded_.emplace(tree, link, static_cast<int>(stride_));
    read_models();
    find_scores();
}

void MixedLanes::read_models() {
    models_.resize(tree_->n_nodes);
    slopes_.resize(tree_->n_nodes * stride_);
    const bool is_clipped = loaded_->shape() == Shape::kClipped;
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node) {
        models_[node].is_there = loaded_->load(node);
        if (!models_[node].is_there) continue;
        models_[node] = {.intercept = loaded_->intercept(0),
                         .lower = is_clipped ? loaded_->lower() : -kInfinite,
                         .upper = is_clipped ? loaded_->upper() : kInfinite,
                         .is_there = true};
        std::copy_n(loaded_->slopes(0), stride_, slopes_.data() + node * stride_);
    }
}

// Of all nodes at all rows: kLanes rows at a time take less than those nodes that one row needs.
void MixedLanes::find_scores() {
    const auto n_inputs = static_cast<int>(players_.of_input.size());
    const double no_intercepts[kLanes] = {};
    std::vector<double> inputs(std::size_t{kLanes} * n_inputs);
    scores_.resize((rows_->n() + kLanes - 1) / kLanes * kLanes * tree_->n_nodes);
    for (std::int64_t first = 0; first < rows_->n(); first += kLanes) {
        for (int j = 0; j < n_inputs; ++j)
            for (int l = 0; l < kLanes; ++l)
                inputs[j * kLanes + l] = first + l < rows_->n() ? rows_->inputs(first + l)[j] : 0.0;
        kernels().rows_times_lanes(slopes_.data(), tree_->n_nodes, stride_, n_inputs, inputs.data(), no_intercepts,
                                   scores_.data() + first * tree_->n_nodes);
    }
}

void MixedLanes::add_row(std::int64_t i, Key key, const Sums& sums) {
    row_ = i;
    routed_ = rows_->routed(i);
    const double* inputs = rows_->inputs(i);
    for (std::int64_t other = 0; other < background_.n(); ++other)
        for (std::size_t j = 0; j < players_.of_input.size(); ++j)
            steps_[other * stride_ + j] = inputs[j] - background_.inputs(other)[j];
    sums_ = &sums;
    tree_key_ = key;
    std::fill_n(lanes_.data(), std::int64_t{kLanes} * players_.n, 0.0);
    const auto n = static_cast<std::int32_t>(background_.n());
    if (games_.size() < n) games_.resize(n);
    for (std::int32_t other = 0; other < n; ++other) {
        games_.of_row[other] = games_.of_other[other] = 0;
        games_.keys[other] = GameList::key(other, shapes_.shape(0, 0));
    }
    std::fill_n(batch_.weight, kLanes, sums.weight);
    visit(0, 0, n);
    flush();
    for (int player = 0; player < players_.n; ++player) {
        const double* own = lanes_.data() + std::int64_t{player} * kLanes;
        double total = 0;
        for (int l = 0; l < kLanes; ++l) total += own[l];
        sums.values[player] += total;
    }
}

// The games from `first` on are those of the node; those of the nodes below follow.
void MixedLanes::visit(std::int32_t node, std::int64_t first, std::int64_t n) {
    add_model(node, first, n);
    if (tree_->feature[node] < 0) return;
    const std::int64_t near = first + n, far = near + n + 1, end = far + n + 1;
    if (games_.size() < end) games_.resize(2 * end);
    std::int64_t n_near = 0, n_far = 0;
    const std::int32_t left = tree_->left[node];
    const double value = routed_[tree_->feature[node]], threshold = tree_->threshold[node];
    bool row_left = false;
    if (tree_->missing_left[node] != 0) {
        row_left = goes_left<true>(value, threshold);
        part<true>(node, first, n, near, far, n_near, n_far);
    } else {
        row_left = goes_left<false>(value, threshold);
        part<false>(node, first, n, near, far, n_near, n_far);
    }
    if (n_far > 0) visit(left + (row_left ? 1 : 0), far, n_far);
    if (n_near > 0) visit(left + (row_left ? 0 : 1), near, n_near);
}

// Without branches, which could not be foreseen.
template <bool kMissingLeft>
void MixedLanes::part(std::int32_t node, std::int64_t first, std::int64_t n, std::int64_t near, std::int64_t far,
                      std::int64_t& n_near, std::int64_t& n_far) {
    const std::int32_t feature = tree_->feature[node], player = players_.of_feature[feature];
    const double threshold = tree_->threshold[node];
    const bool row_left = goes_left<kMissingLeft>(routed_[feature], threshold);
    const double* others = others_by_feature_.data() + feature * background_.n();
    const std::uint64_t one_of_row = GameList::key(0, shapes_.shape(1, 0));
    const std::uint64_t one_of_other = GameList::key(0, shapes_.shape(0, 1));
    std::uint64_t *of_row = games_.of_row.data(), *of_other = games_.of_other.data(), *keys = games_.keys.data();
    std::int64_t to_near = near, to_far = far;
    for (std::int64_t i = first; i < first + n; ++i) {
        const std::uint64_t row = of_row[i], other = of_other[i], key = keys[i];
        const bool together = goes_left<kMissingLeft>(others[GameList::other(key)], threshold) == row_left;
        const std::uint64_t is_row = row >> player & 1, is_other = other >> player & 1, apart = together ? 0 : 1;
        const std::uint64_t parts = apart & ~(is_row | is_other);
        of_row[to_near] = row | parts << player;
        of_other[to_near] = other;
        keys[to_near] = key + (parts != 0 ? one_of_row : 0);
        of_row[to_far] = row;
        of_other[to_far] = other | parts << player;
        keys[to_far] = key + (parts != 0 ? one_of_other : 0);
        to_near += static_cast<std::int64_t>(1 - (apart & is_other));  // with is_row: of the row, wherever the other is
        to_far += static_cast<std::int64_t>(apart & ~is_row);
    }
    n_near = to_near - near;
    n_far = to_far - far;
}

void MixedLanes::add_model(std::int32_t node, std::int64_t first, std::int64_t n) {
    const Model& model = models_[node];
    if (!model.is_there) return;
    const double* slopes = slopes_.data() + node * stride_;
    const std::int64_t first_row = row_ / kLanes * kLanes;
    const double at_row = model.intercept + scores_[first_row * tree_->n_nodes + node * kLanes + (row_ - first_row)];
    const Key key = child(tree_key_, node);
    for (std::int64_t i = first; i < first + n; ++i) {
        const std::int32_t other = GameList::other(games_.keys[i]), shape = GameList::shape(games_.keys[i]);
        const int lane = n_batch_++;
        nodes_[lane] = node;
        others_[lane] = other;
        node_keys_[lane] = key;
        batch_.of_row[lane] = games_.of_row[i];
        batch_.of_other[lane] = games_.of_other[i];
        batch_.slopes[lane] = slopes;
        batch_.steps[lane] = steps_.data() + other * stride_;
        batch_.shares[lane] = shapes_.values() + 8 * std::int64_t{shape};
        batch_.at_row[lane] = at_row;
        batch_.lower[lane] = model.lower;
        batch_.upper[lane] = model.upper;
        if (n_batch_ == kLanes) flush();
    }
}

// Adds the games that wait.
void MixedLanes::flush() {
    if (n_batch_ == 0) return;
    for (int lane = n_batch_; lane < kLanes; ++lane) {  // the first one again, for nothing
        batch_.of_row[lane] = batch_.of_row[0];
        batch_.of_other[lane] = batch_.of_other[0];
        batch_.slopes[lane] = batch_.slopes[0];
        batch_.steps[lane] = batch_.steps[0];
        batch_.shares[lane] = batch_.shares[0];
        batch_.at_row[lane] = batch_.at_row[0];
        batch_.lower[lane] = batch_.lower[0];
        batch_.upper[lane] = batch_.upper[0];
        batch_.weight[lane] = 0;
    }
    const MixedColumns columns{
        .input_start = players_.input_start.data(), .n_players = players_.n, .one_each = one_each_};
    kernels().mixed_games(columns, batch_, lanes_.data(), open_);
    for (int lane = 0; lane < n_batch_; ++lane)
        if (open_.largest[lane] > 0) add_rest(lane, child(node_keys_[lane], others_[lane]));
    n_batch_ = 0;
}

// Draws whether the rest of an open game counts.
void MixedLanes::add_rest(int lane, Key key) {
    const double largest = open_.largest[lane];
    const bool is_sure = largest >= full_;
    if (!is_sure && uniform(key, 0) * full_ >= largest) return;
    loaded_->load(nodes_[lane]);
    at_.set_bits(batch_.of_row[lane], batch_.of_other[lane]);
    int n = 0;
    for (std::int32_t player = 0; player < players_.n; ++player) {
        who_[n] = player;
        differences_[n] = open_.differences[player * kLanes + lane];
        line_[n] = open_.slope[lane] * differences_[n];
        n += differences_[n] != 0 ? 1 : 0;
    }
    const double start = open_.start[lane], at_start = open_.at_start[lane];
    if (is_sure) return add_rest(n, start, at_start, key, *sums_);
    std::fill(rest_.begin(), rest_.end(), 0.0);
    add_rest(n, start, at_start, key,
             {.values = rest_.data(),
              .variance = not_asked_for_.data(),
              .pairs = nullptr,
              .weight = sums_->weight * (full_ / largest)});
    for (int player = 0; player < players_.n; ++player) {
        sums_->values[player] += rest_[player];
        sums_->variance[player] += rest_[player] * rest_[player];
    }
}

void MixedLanes::add_rest(int n, double start, double at_start, Key key, const Sums& sums) {
    if (n <= kMostClipped) {
        game_.add_clipped(at_, *loaded_, who_.data(), n, 1, &start, differences_.data(), n, sums);
    } else {
        game_.add_sampled(at_, *loaded_, who_.data(), n, &start, differences_.data(), n, child(key, 1), sums);
    }
    Sums line = sums;
    line.weight = -sums.weight;
    game_.add_linear(at_, who_.data(), n, &at_start, line_.data(), n, line);
}

}  // namespace boostforest
