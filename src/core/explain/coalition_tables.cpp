#include "coalition_tables.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kMostLayouts = 3;  // whichever two columns are not free, the lanes of one layout are

}  // namespace

bool fits_tables(const TreeView& tree, Link link) {
    const Shape shape = shape_of(tree, link);
    return tree.n_outputs == 1 && tree.n_inputs > 0 && (shape == Shape::kClipped || shape == Shape::kLinear);
}

CoalitionTables::CoalitionTables(const PreparedRows& background, const Players& players, const Weights& weights)
    : background_(background),
      players_(players),
      weights_(weights),
      n_players_(std::max(players.n, kernels().cube_lanes)),
      n_layouts_(std::min(kMostLayouts, n_players_ / kernels().cube_lanes)),
      one_each_(players.of_input.size() == static_cast<std::size_t>(players.n) &&
                std::adjacent_find(players.of_input.begin(), players.of_input.end()) == players.of_input.end()),
      width_(std::max<std::int64_t>(n_players_, static_cast<std::int64_t>(players.of_input.size()))),
      input_start_(players.input_start),
      order_(kCubeRows),
      others_(width_ * kCubeRows),
      conditions_(1),
      waiting_(std::make_unique<WaitingCubes>()) {
    if (players.n > kCubePlayers) return;
    prepare_columns();
    std::fill_n(steps_.get(width_ * kCubeRows), width_ * kCubeRows, 0.0);
    input_start_.resize(n_players_ + 1, input_start_.back());
    waiting_->input_start = input_start_.data();
    waiting_->n_columns = n_players_;
    waiting_->one_each = one_each_;
    waiting_->steps = steps_.data();
    waiting_->tables = {.columns = columns_.data(),
                        .places = places_.data(),
                        .lane_weights = lane_weights_.get(kLanes * kLanes * kLanes),
                        .values = nullptr,
                        .size = std::int64_t{1} << n_players_};
}

// In layout k the columns of the lanes are the k-th cube_lanes, and count as the first bits of a place.
void CoalitionTables::prepare_columns() {
    const int n_lanes = kernels().cube_lanes;
    const std::uint32_t n_sets = 1U << n_players_;
    const auto lanes_of = [&](int layout) { return ((1U << n_lanes) - 1) << (layout * n_lanes); };
    const auto bit_of = [&](int layout, int player) {
        const int first = layout * n_lanes;
        return player >= first && player < first + n_lanes ? player - first
               : player < first                            ? player + n_lanes
                                                           : player;
    };
    for (int layout = 0; layout < n_layouts_; ++layout)
        for (std::uint32_t set = 0; set < n_sets; ++set) {
            std::int32_t place = 0;
            for (int player = 0; player < n_players_; ++player)
                place |= static_cast<std::int32_t>(set >> player & 1) << bit_of(layout, player);
            places_.push_back(place);
        }
    for (std::uint32_t fixed = 0; fixed < n_sets; ++fixed) {
        CubeColumns& columns = columns_.emplace_back();
        for (int layout = 1; layout < n_layouts_; ++layout)
            if (std::popcount(fixed & lanes_of(layout)) < std::popcount(fixed & lanes_of(columns.layout)))
                columns.layout = layout;
        const std::uint32_t lanes = lanes_of(columns.layout);
        const auto add = [&](int player) {
            columns.differences[columns.n] = player << n_lanes;
            columns.stride[columns.n++] = 1 << bit_of(columns.layout, player);
        };
        for (int player = 0; player < n_players_; ++player)
            if ((lanes >> player & 1) != 0) add(player);
        for (int player = 0; player < n_players_; ++player)
            if (((lanes | fixed) >> player & 1) == 0) add(player);
    }
}

void CoalitionTables::take(const PreparedRows& rows) {
    rows_ = &rows;
    const std::int64_t n_values = rows.n() * (std::int64_t{n_layouts_} << n_players_);
    const std::int64_t n_sums = rows.n() * std::int64_t{kLanes} * n_players_;
    std::fill_n(tables_.get(n_values), n_values, 0.0);
    std::fill_n(sums_.get(n_sums), n_sums, 0.0);
}

void CoalitionTables::add_tree(const TreeView& tree, Link link, double weight, Worker& worker) {
    tree_ = &tree;
    waiting_->weight = weight;
    for (int fixed = 0; fixed < kLanes; ++fixed)
        for (int of_row = 0; of_row < kLanes; ++of_row)
            for (int l = 0; l < kLanes; ++l)
                lane_weights_.data()[(fixed * kLanes + of_row) * kLanes + l] = (l & fixed) == of_row ? weight : 0.0;
    read_models(tree, link);
    for (std::int64_t first = 0; first < background_.n(); first += kCubeRows) {
        read_background(first, std::min<std::int64_t>(kCubeRows, background_.n() - first));
        for (std::int64_t i = 0; i < rows_->n(); ++i) {
            worker.check(kCubeRows * 16 * background_.width());
            start_row(i);
            visit(0, 0, 0, 0);
            kernels().add_cubes(*waiting_);
        }
    }
}

void CoalitionTables::give(std::int64_t i, double* values) {
    const std::uint32_t n_sets = 1U << players_.n, size = 1U << n_players_;
    std::vector<double> all(n_sets);
    for (int layout = 0; layout < n_layouts_; ++layout)
        for (std::uint32_t set = 0; set < n_sets; ++set)
            all[set] += tables_.data()[(i * n_layouts_ + layout) * size + places_[layout * size + set]];
    for (int player = 0; player < players_.n; ++player) {
        const double* own = sums_.data() + (i * n_players_ + player) * kLanes;
        double total = std::accumulate(own, own + kLanes, 0.0);
        const std::uint32_t bit = 1U << player;
        for (std::uint32_t set = 0; set < n_sets; ++set) {  // differences: 0 for a column without effect
            if ((set & bit) != 0) continue;
            const int inside = std::popcount(set);
            total += weights_.beta(inside + 1, players_.n - inside) * (all[set | bit] - all[set]);
        }
        values[player] += total;
    }
}

void CoalitionTables::read_models(const TreeView& tree, Link link) {
    const std::size_t n_inputs = players_.of_input.size();
    NodeModels models(tree, link, background_.input_width());
    models_.resize(tree.n_nodes);
    slopes_.assign(tree.n_nodes * width_, 0.0);
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {
        models_[node].is_there = models.load(node);
        if (!models_[node].is_there) continue;
        const bool is_clipped = models.shape() == Shape::kClipped;
        models_[node] = {.intercept = models.intercept(0),
                         .lower = is_clipped ? models.lower() : -kInfinite,
                         .upper = is_clipped ? models.upper() : kInfinite,
                         .is_there = true};
        std::copy_n(models.slopes(0), n_inputs, slopes_.data() + node * width_);
    }
}

bool CoalitionTables::goes_left(std::int32_t node, double value) const {
    return std::isnan(value) ? tree_->missing_left[node] != 0 : value <= tree_->threshold[node];
}

void CoalitionTables::order_rows(std::int32_t node, std::int32_t* begin, std::int32_t* end) {
    const std::int32_t feature = tree_->feature[node];
    if (feature < 0 || end - begin < 2) return;
    std::int32_t* middle = std::stable_partition(
        begin, end, [&](std::int32_t other) { return goes_left(node, background_.routed(other)[feature]); });
    order_rows(tree_->left[node], begin, middle);
    order_rows(tree_->left[node] + 1, middle, end);
}

void CoalitionTables::read_background(std::int64_t first, std::int64_t n) {
    std::iota(order_.begin(), order_.begin() + n, static_cast<std::int32_t>(first));
    order_rows(0, order_.data(), order_.data() + n);
    const std::int64_t n_inputs = static_cast<std::int64_t>(players_.of_input.size());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n_inputs; ++j) others_[j * kCubeRows + i] = background_.inputs(order_[i])[j];
    left_.assign(std::int64_t{tree_->n_nodes} * kCubeRows, 0);
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node)
        for (std::int64_t i = 0; i < n && tree_->feature[node] >= 0; ++i)
            left_[node * std::int64_t{kCubeRows} + i] =
                goes_left(node, background_.routed(order_[i])[tree_->feature[node]]) ? 1 : 0;
    n_others_ = static_cast<int>((n + kLanes - 1) / kLanes * kLanes);
    conditions_[0][0].fill(kUnreached);
    std::fill_n(conditions_[0][0].begin(), n, 0);
}

void CoalitionTables::start_row(std::int64_t i) {
    const std::int64_t n_inputs = static_cast<std::int64_t>(players_.of_input.size());
    const double* inputs = rows_->inputs(i);
    routed_ = rows_->routed(i);
    for (std::int64_t j = 0; j < n_inputs; ++j)
        for (int k = 0; k < n_others_; ++k) steps_.data()[j * kCubeRows + k] = inputs[j] - others_[j * kCubeRows + k];
    at_row_.resize(models_.size());
    for (std::size_t node = 0; node < models_.size(); ++node)
        at_row_[node] =
            std::inner_product(inputs, inputs + n_inputs, slopes_.data() + node * width_, models_[node].intercept);
    waiting_->tables.values = tables_.data() + i * (std::int64_t{n_layouts_} << n_players_);
    waiting_->sums = sums_.data() + i * kLanes * n_players_;
}

void CoalitionTables::visit(std::int32_t node, std::size_t depth, int side, std::uint32_t split) {
    const std::int32_t* conditions = conditions_[depth][side].data();
    const Model& model = models_[node];
    if (model.is_there)
        kernels().compare_cubes({.slopes = slopes_.data() + node * width_,
                                 .at_row = at_row_[node],
                                 .lower = model.lower,
                                 .upper = model.upper,
                                 .split = split},
                                conditions, n_others_, *waiting_);
    const std::int32_t feature = tree_->feature[node];
    if (feature < 0) return;
    if (conditions_.size() == depth + 1) conditions_.emplace_back();
    const bool row_left = goes_left(node, routed_[feature]);
    const int column = players_.of_feature[feature];
    auto& [near, far] = conditions_[depth + 1];
    const int reached = kernels().meet_split(conditions, left_.data() + node * std::int64_t{kCubeRows}, n_others_,
                                             column, row_left, near.data(), far.data());
    const std::int32_t left = tree_->left[node];
    if ((reached & 1) != 0) visit(left + (row_left ? 0 : 1), depth + 1, 0, split | 1U << column);
    if ((reached & 2) != 0) visit(left + (row_left ? 1 : 0), depth + 1, 1, split | 1U << column);
}

}  // namespace boostforest
