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

bool goes_left(double value, double threshold, bool missing_left) {
    return std::isnan(value) ? missing_left : value <= threshold;
}

}  // namespace

bool fits_lanes(const TreeView& tree, Link link, const Players& players) {
    const Shape shape = shape_of(tree, link);
    return players.n > kMostExact && players.n <= kMostBits && players.of_input.size() <= kMostBits &&
           tree.n_outputs == 1 && tree.n_inputs > 0 && (shape == Shape::kClipped || shape == Shape::kLinear);
}

double full_rest(const std::vector<TreeView>& trees, const double* weights, Link link, int input_width) {
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

MixedLanes::MixedLanes(const PreparedRows& background, const Players& players, const Weights& weights)
    : background_(background),
      players_(players),
      game_(weights, players.n, 1),
      shapes_(weights.beta, std::min(players.n, kMostBits)),
      at_(players, background.input_width()),
      stride_(static_cast<std::int64_t>(players.of_input.size() + 7) / 8 * 8),
      one_each_(players.of_input.size() == static_cast<std::size_t>(players.n) &&
                std::adjacent_find(players.of_input.begin(), players.of_input.end()) == players.of_input.end()),
      inputs_(stride_),
      steps_(stride_ * background.n()),
      who_(players.n),
      differences_(players.n),
      line_(players.n),
      rest_(players.n),
      not_asked_for_(players.n) {
    lanes_.get(std::int64_t{kLanes} * players.n);
}

void MixedLanes::take(const PreparedRows& rows, std::int64_t i) {
    routed_ = rows.routed(i);
    const std::size_t n = players_.of_input.size();
    std::copy_n(rows.inputs(i), n, inputs_.data());
    for (std::int64_t other = 0; other < background_.n(); ++other)
        for (std::size_t j = 0; j < n; ++j) steps_[other * stride_ + j] = inputs_[j] - background_.inputs(other)[j];
}

void MixedLanes::add_tree(const TreeView& tree, Link link, Key key, double full, const Sums& sums) {
    NodeModels models(tree, link, static_cast<int>(stride_));
    tree_ = &tree;
    models_ = &models;
    sums_ = &sums;
    tree_key_ = key;
    full_ = full;
    std::fill_n(lanes_.data(), std::int64_t{kLanes} * players_.n, 0.0);
    games_.resize(std::max<std::size_t>(games_.size(), background_.n() + kLanes));
    const auto n = static_cast<std::int32_t>(background_.n());
    for (std::int32_t other = 0; other < n; ++other) games_[other] = {0, 0, other, shapes_.shape(0, 0)};
    visit(0, 0, n);
    for (int player = 0; player < players_.n; ++player) {
        const double* own = lanes_.data() + std::int64_t{player} * kLanes;
        double total = 0;
        for (int l = 0; l < kLanes; ++l) total += own[l];
        sums.values[player] += total;
    }
}

// games_[first] and the next ones are the games of the node; those of the nodes below follow.
void MixedLanes::visit(std::int32_t node, std::int64_t first, std::int64_t n) {
    add_model(node, first, n);
    if (tree_->feature[node] < 0) return;
    const std::int64_t near = first + n + kLanes, far = near + n + kLanes, end = far + n + kLanes;
    if (static_cast<std::int64_t>(games_.size()) < end) games_.resize(2 * end);
    std::int64_t n_near = 0, n_far = 0;
    part(node, games_.data() + first, n, games_.data() + near, games_.data() + far, n_near, n_far);
    const std::int32_t left = tree_->left[node], feature = tree_->feature[node];
    const bool row_left = goes_left(routed_[feature], tree_->threshold[node], tree_->missing_left[node] != 0);
    if (n_far > 0) visit(left + (row_left ? 1 : 0), far, n_far);
    if (n_near > 0) visit(left + (row_left ? 0 : 1), near, n_near);
}

// Without branches, which could not be foreseen.
void MixedLanes::part(std::int32_t node, const MixedGame* games, std::int64_t n, MixedGame* near, MixedGame* far,
                      std::int64_t& n_near, std::int64_t& n_far) const {
    const std::int32_t feature = tree_->feature[node], player = players_.of_feature[feature];
    const double threshold = tree_->threshold[node];
    const bool missing_left = tree_->missing_left[node] != 0;
    const bool row_left = goes_left(routed_[feature], threshold, missing_left);
    const std::uint64_t bit = std::uint64_t{1} << player;
    const std::int32_t one_of_row = shapes_.shape(1, 0), one_of_other = shapes_.shape(0, 1);
    for (std::int64_t i = 0; i < n; ++i) {
        const MixedGame game = games[i];
        const bool together = goes_left(background_.routed(game.other)[feature], threshold, missing_left) == row_left;
        const bool of_row = (game.of_row & bit) != 0, of_other = (game.of_other & bit) != 0;
        const bool parts = !together & !of_row & !of_other;
        const std::uint64_t new_bit = parts ? bit : 0;
        near[n_near] = {game.of_row | new_bit, game.of_other, game.other, game.shape + (parts ? one_of_row : 0)};
        far[n_far] = {game.of_row, game.of_other | new_bit, game.other, game.shape + (parts ? one_of_other : 0)};
        n_near += static_cast<std::int64_t>(of_row | together | !of_other);
        n_far += static_cast<std::int64_t>(!of_row & !together);
    }
}

void MixedLanes::add_model(std::int32_t node, std::int64_t first, std::int64_t n) {
    if (!models_->load(node)) return;
    const bool is_clipped = models_->shape() == Shape::kClipped;
    const MixedNode mixed{.at_row = models_->score(0, inputs_.data()),
                          .slopes = models_->slopes(0),
                          .steps = steps_.data(),
                          .stride = stride_,
                          .input_start = players_.input_start.data(),
                          .n_players = players_.n,
                          .one_each = one_each_,
                          .lower = is_clipped ? models_->lower() : -kInfinite,
                          .upper = is_clipped ? models_->upper() : kInfinite,
                          .shares = shapes_.values(),
                          .weight = sums_->weight};
    const Key key = child(tree_key_, node);
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const MixedGame* games = games_.data() + first + i;
        const int n_games = static_cast<int>(std::min<std::int64_t>(kLanes, n - i));
        kernels().mixed_games(mixed, games, n_games, lanes_.data(), open_);
        for (int lane = 0; lane < n_games; ++lane)
            if (open_.largest[lane] > 0) add_rest(games[lane], lane, child(key, games[lane].other));
    }
}

// Draws whether the rest of an open game counts.
void MixedLanes::add_rest(const MixedGame& game, int lane, Key key) {
    const double largest = open_.largest[lane];
    const bool is_sure = largest >= full_;
    if (!is_sure && uniform(key, 0) * full_ >= largest) return;
    at_.set_bits(game.of_row, game.of_other);
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
        game_.add_clipped(at_, *models_, who_.data(), n, 1, &start, differences_.data(), n, sums);
    } else {
        game_.add_sampled(at_, *models_, who_.data(), n, &start, differences_.data(), n, child(key, 1), sums);
    }
    Sums line = sums;
    line.weight = -sums.weight;
    game_.add_linear(at_, who_.data(), n, &at_start, line_.data(), n, line);
}

}  // namespace boostforest
