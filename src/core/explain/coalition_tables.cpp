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
      input_start_(players.input_start),
      order_(kCubeRows),
      others_(players.of_input.size() * kCubeRows) {
    std::fill_n(steps_.get((players.of_input.size() + 1) * kCubeRows), (players.of_input.size() + 1) * kCubeRows, 0.0);
    lane_weights_.get(kLanes * kLanes * kLanes);
    waiting_.differences = differences_.get((kCubeVectors + kCubeRows) * kLanes * (kCubePlayers + 1));
    input_start_.push_back(input_start_.back());
    if (players.n <= kCubePlayers) prepare_columns();
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
        sizes_.push_back(std::popcount(fixed));
        CubeColumns& columns = columns_.emplace_back();
        for (int layout = 1; layout < n_layouts_; ++layout)
            if (std::popcount(fixed & lanes_of(layout)) < std::popcount(fixed & lanes_of(columns.layout)))
                columns.layout = layout;
        const std::uint32_t lanes = lanes_of(columns.layout);
        const auto add = [&](int player) {
            columns.player[columns.n] = (fixed >> player & 1) != 0 || player >= players_.n ? players_.n : player;
            columns.steps[columns.n] = columns.player[columns.n] * kCubeRows;
            columns.sums[columns.n] = columns.player[columns.n] * kLanes;
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
    const std::int64_t n_sums = rows.n() * std::int64_t{kLanes} * (players_.n + 1);
    std::fill_n(tables_.get(n_values), n_values, 0.0);
    std::fill_n(sums_.get(n_sums), n_sums, 0.0);
}

void CoalitionTables::add_tree(const TreeView& tree, Link link, double weight, Worker& worker) {
    tree_ = &tree;
    weigh(weight);
    read_models(tree, link);
    for (std::int64_t first = 0; first < background_.n(); first += kCubeRows) {
        read_background(first, std::min<std::int64_t>(kCubeRows, background_.n() - first));
        for (std::int64_t i = 0; i < rows_->n(); ++i) {
            worker.check(kCubeRows * 16 * background_.width());
            start_row(i);
            visit(0, all_, 0, 0);
        }
    }
    kernels().add_cubes(waiting_);
}

// All weights that games of the tree may need.
void CoalitionTables::weigh(double weight) {
    const BetaTable& beta = weights_.beta;
    for (int p = 0; p <= kCubePlayers; ++p)
        for (int q = 0; p + q <= players_.n; ++q) {
            double* own = shares_[p * (kCubePlayers + 1) + q].data();
            own[0] = weight * beta(p, q + 1);
            own[1] = weight * beta(p + 1, q + 1);
            own[2] = weight * beta(p + 1, q);
            own[3] = weight * beta(p + 2, q);
        }
    for (int fixed = 0; fixed < kLanes; ++fixed)
        for (int of_row = 0; of_row < kLanes; ++of_row)
            for (int l = 0; l < kLanes; ++l)
                lane_weights_.data()[(fixed * kLanes + of_row) * kLanes + l] = (l & fixed) == of_row ? weight : 0.0;
}

void CoalitionTables::give(std::int64_t i, double* values) {
    const std::uint32_t n_sets = 1U << players_.n, size = 1U << n_players_;
    std::vector<double> all(n_sets);
    for (int layout = 0; layout < n_layouts_; ++layout)
        for (std::uint32_t set = 0; set < n_sets; ++set)
            all[set] += tables_.data()[(i * n_layouts_ + layout) * size + places_[layout * size + set]];
    for (int player = 0; player < players_.n; ++player) {
        const double* own = sums_.data() + (i * (players_.n + 1) + player) * kLanes;
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
    const std::size_t n_inputs = players_.of_input.size(), stride = n_inputs + 1;
    NodeModels models(tree, link, background_.input_width());
    models_.resize(tree.n_nodes);
    slopes_.assign(tree.n_nodes * stride, 0.0);
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {
        models_[node].is_there = models.load(node);
        if (!models_[node].is_there) continue;
        const bool is_clipped = models.shape() == Shape::kClipped;
        models_[node] = {.intercept = models.intercept(0),
                         .lower = is_clipped ? models.lower() : -kInfinite,
                         .upper = is_clipped ? models.upper() : kInfinite,
                         .is_there = true};
        std::copy_n(models.slopes(0), n_inputs, slopes_.data() + node * stride);
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
    const auto add_to = [](RowSet& set, std::int64_t i) { set[i / 64] |= std::uint64_t{1} << (i % 64); };
    all_ = {};
    for (std::int64_t i = 0; i < n; ++i) {
        add_to(all_, i);
        const double* inputs = background_.inputs(order_[i]);
        for (std::size_t j = 0; j < players_.of_input.size(); ++j) others_[j * kCubeRows + i] = inputs[j];
    }
    left_.assign(tree_->n_nodes, RowSet{});
    for (std::int32_t node = 0; node < tree_->n_nodes; ++node)
        for (std::int64_t i = 0; i < n && tree_->feature[node] >= 0; ++i)
            if (goes_left(node, background_.routed(order_[i])[tree_->feature[node]])) add_to(left_[node], i);
}

void CoalitionTables::start_row(std::int64_t i) {
    const std::int64_t n_inputs = static_cast<std::int64_t>(players_.of_input.size());
    const double* inputs = rows_->inputs(i);
    routed_ = rows_->routed(i);
    table_ = tables_.data() + i * (std::int64_t{n_layouts_} << n_players_);
    for (std::int64_t j = 0; j < n_inputs; ++j)
        for (int k = 0; k < kCubeRows; ++k) steps_.data()[j * kCubeRows + k] = inputs[j] - others_[j * kCubeRows + k];
    at_row_.resize(models_.size());
    for (std::size_t node = 0; node < models_.size(); ++node)
        at_row_[node] = std::inner_product(inputs, inputs + n_inputs, slopes_.data() + node * (n_inputs + 1),
                                           models_[node].intercept);
    games_.steps = steps_.data();
    games_.input_start = input_start_.data();
    games_.one_each = one_each_;
    games_.sums = sums_.data() + i * kLanes * (players_.n + 1);
}

void CoalitionTables::visit(std::int32_t node, const RowSet& rows, std::uint32_t of_row, std::uint32_t of_other) {
    if ((rows[0] | rows[1]) == 0) return;
    if (models_[node].is_there) add_model(node, rows, of_row, of_other);
    const std::int32_t feature = tree_->feature[node];
    if (feature < 0) return;
    const bool row_left = goes_left(node, routed_[feature]);
    const std::int32_t near = tree_->left[node] + (row_left ? 0 : 1), far = tree_->left[node] + (row_left ? 1 : 0);
    const std::uint32_t bit = 1U << players_.of_feature[feature];
    if ((of_row & bit) != 0) return visit(near, rows, of_row, of_other);
    const RowSet& left = left_[node];
    const std::uint64_t flip = row_left ? 0 : ~std::uint64_t{0};
    const RowSet together{rows[0] & (left[0] ^ flip), rows[1] & (left[1] ^ flip)};
    const RowSet apart{rows[0] & ~together[0], rows[1] & ~together[1]};
    visit(near, together, of_row, of_other);
    if ((of_other & bit) != 0) return visit(far, apart, of_row, of_other);
    visit(near, apart, of_row | bit, of_other);
    visit(far, apart, of_row, of_other | bit);
}

void CoalitionTables::add_model(std::int32_t node, const RowSet& rows, std::uint32_t of_row, std::uint32_t of_other) {
    const Model& model = models_[node];
    const CubeColumns& columns = columns_[of_row | of_other];
    const int p = sizes_[of_row], q = sizes_[of_other], n_in_lanes = 1 << kernels().cube_lanes;
    const std::int32_t* places = places_.data() + (columns.layout << n_players_);
    const std::int32_t place = places[of_row], lanes_of_row = place & (n_in_lanes - 1);
    const std::int32_t fixed_lanes = places[of_row | of_other] & (n_in_lanes - 1);
    games_.columns = &columns;
    std::copy(rows.begin(), rows.end(), games_.rows);
    games_.slopes = slopes_.data() + node * (players_.of_input.size() + 1);
    games_.at_row = at_row_[node];
    games_.lower = model.lower;
    games_.upper = model.upper;
    games_.of_row = of_row;
    games_.of_other = of_other;
    games_.shares = shares_[p * (kCubePlayers + 1) + q].data();
    games_.lane_weights = lane_weights_.data() + (fixed_lanes * kLanes + lanes_of_row) * kLanes;
    games_.table = table_ + (columns.layout << n_players_) + (place - lanes_of_row);
    kernels().compare_cubes(games_, waiting_);
    if (waiting_.n_vectors >= kCubeVectors) kernels().add_cubes(waiting_);
}

}  // namespace boostforest
