#include "tree_grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The largest power of two times which values whose sizes add up to this are small enough to be added up.
double largest_unit(double sum, std::int64_t n) {
    constexpr double kMost = 0x1p31;
    return sum > 0 && sum < kInfinity ? std::exp2(std::floor(std::log2((kMost - static_cast<double>(n)) / sum))) : 0.0;
}

}  // namespace

BoostedTreeGrower::BoostedTreeGrower(const Bag& bag, const Bins& bins, const Loss& loss, const BoostRules& rules,
                                     Stored stored, const Interactions* interactions)
    : bag_(bag),
      bins_(bins),
      loss_(loss),
      rules_(rules),
      stored_(stored),
      cell_(loss.n_outputs(), loss.has_unit_curvature()),
      histograms_(bins, cell_, rules.max_leaves / 2),
      search_(bins, histograms_, cell_),
      places_(bag.n_rows()) {
    if (interactions != nullptr) interactions_ = std::make_unique<Interactions>(*interactions);
}

PackedTree BoostedTreeGrower::grow(const std::vector<const double*>& statistics, const std::vector<int>& features,
                                   Key key, Worker& worker, double* fitted_drawn, double* fitted_out) {
    statistics_ = &statistics;
    worker_ = &worker;
    builder_.start(cell_.n_outputs, 1, PathForm::kLeafSums, stored_);
    histograms_.start(features);
    choose_rows(key);
    open_root();
    leaf_at_.assign(1, 0);
    levels_.clear();
    if (g_unit_ > 0 && h_unit_ > 0) grow_levels();
    place_rows();
    finish_leaves(fitted_drawn, fitted_out);
    builder_.number_depth_first();
    return builder_.finish(nullptr, 0);
}

PackedTree BoostedTreeGrower::single_leaf(const double* scores) {
    builder_.start(cell_.n_outputs, 1, PathForm::kLeafSums, stored_);
    builder_.set_node(0, bag_.drawn.weight, 0, -kInfinity, kInfinity);
    std::copy_n(scores, cell_.n_outputs, builder_.add_model(0));
    return builder_.finish(nullptr, 0);
}

// Half of the share is the same for all rows, the other half goes by the size of their derivatives: a few rows may
// decide.
void BoostedTreeGrower::choose_rows(Key key) {
    const auto n_drawn = static_cast<std::int32_t>(bag_.drawn.n);
    words_ = &bag_.words();
    rows_.resize(n_drawn + 8);
    scratch_.resize(n_drawn + 8);
    sides_.resize(n_drawn / 8 + 8);
    if (rules_.row_share >= 1) {
        rows_.resize(n_drawn);
        std::iota(rows_.begin(), rows_.end(), 0);
        return pack_rows(*statistics_);
    }
    const int n_outputs = cell_.n_outputs;
    sizes_.assign(padded_rows(n_drawn), 0.0);
    for (int k = 0; k < n_outputs; ++k)
        for (std::int32_t row = 0; row < n_drawn; ++row) sizes_[row] += std::abs((*statistics_)[2 * k][row]);
    const double total = kernels().absolute_sum(sizes_.data(), n_drawn);
    constexpr double kWhole = 0x1p32;
    const double same = kWhole * rules_.row_share / 2, by_size = total > 0 ? same * n_drawn / total : 0.0;
    kernels().choose_bits(sizes_.data(), n_drawn, same, by_size, static_cast<std::uint32_t>(key), sides_.data());
    std::iota(scratch_.begin(), scratch_.end(), 0);
    const auto n =
        static_cast<std::int32_t>(kernels().part_rows(scratch_.data(), sides_.data(), n_drawn, rows_.data()));
    const std::int64_t stride = padded_rows(n);
    factors_.resize(n);
    for (std::int32_t i = 0; i < n; ++i) factors_[i] = kWhole / std::min(same + by_size * sizes_[scratch_[i]], kWhole);
    chosen_statistics_.resize(2 * n_outputs * stride + 8);
    std::vector<const double*> chosen;
    for (int k = 0; k < 2 * n_outputs; ++k) {
        double* to = chosen_statistics_.data() + k * stride;
        const double* from = (*statistics_)[k];
        for (std::int32_t i = 0; i < n; ++i) to[i] = factors_[i] * from[scratch_[i]];
        chosen.push_back(to);
    }
    const CodeWords& all = bag_.words();
    chosen_words_.n_rows = n;
    chosen_words_.words.resize(all.words.size() / std::max(n_drawn, 1) * n + 1);
    for (const Block& block : histograms_.blocks()) {
        const std::uint64_t* from = all.group(block.group);
        std::uint64_t* to = chosen_words_.words.data() + block.group * chosen_words_.n_rows;
        for (std::int32_t i = 0; i < n; ++i) to[i] = from[scratch_[i]];
    }
    words_ = &chosen_words_;
    rows_.resize(n);
    std::iota(rows_.begin(), rows_.end(), 0);
    pack_rows(chosen);
}

// The derivatives of the rows that splits are found by as whole numbers.
void BoostedTreeGrower::pack_rows(const std::vector<const double*>& statistics) {
    const auto n = static_cast<std::int64_t>(rows_.size());
    const int n_pairs = cell_.n_pairs();
    double g = 0, h = 0;
    for (int k = 0; k < cell_.n_outputs; ++k) {
        g = std::max(g, kernels().absolute_sum(statistics[2 * k], n));
        if (k == 0 || !cell_.one_h) h = std::max(h, kernels().absolute_sum(statistics[2 * k + 1], n));
    }
    g_unit_ = largest_unit(g, n);
    h_unit_ = largest_unit(h, n);
    cells_.resize(n * n_pairs);
    const auto place = [&](Cell::Value value) {
        return value.output < 0 ? nullptr : statistics[2 * value.output + (value.is_h ? 1 : 0)];
    };
    for (int pair = 0; pair < n_pairs; ++pair) {
        const Cell::Value first = cell_.first(pair), second = cell_.second(pair);
        kernels().pack_pairs(place(first), place(second), n, g_unit_, second.is_h ? h_unit_ : g_unit_,
                             cells_.data() + pair, n_pairs);
    }
}

void BoostedTreeGrower::open_root() {
    const auto n = static_cast<std::int64_t>(rows_.size());
    open_.clear();
    open_.push_back({.node = 0, .begin = 0, .end = n, .slot = 0, .totals = Totals(cell_.n_pairs(), 0)});
    n_slots_ = 1;
    const Block& block = histograms_.blocks()[0];
    histograms_.fill(0, *words_, cells_.data(), nullptr, n, keeps_one() ? &block : nullptr);
    for (int pair = 0; pair < cell_.n_pairs(); ++pair)
        for (int b = 0; b < block.width; ++b) open_[0].totals[pair] += histograms_.sum(0, block, pair, 0, b);
}

void BoostedTreeGrower::fill(int slot, const Open& open, const Block* only) {
    histograms_.fill(slot, *words_, cells_.data(), rows_.data() + open.begin, open.end - open.begin, only);
}

// The best split of the next level, among the features that may act together with those of the levels above.
BinSplit BoostedTreeGrower::best_split() {
    if (!interactions_) return search_.best(nullptr);
    std::vector<std::int32_t> path;
    for (const Level& level : levels_) path.push_back(interactions_->column(level.feature));
    interactions_->find_allowed(std::move(path));
    return search_.best([&](int feature) { return interactions_->allows_feature(feature); });
}

void BoostedTreeGrower::grow_levels() {
    const auto n_features = static_cast<std::int64_t>(kSideBySide * histograms_.blocks().size());
    for (int n_leaves = 1; n_leaves < rules_.max_leaves; n_leaves *= 2) {
        search_.start(lambda());
        for (const Open& open : open_) {
            worker_->check(n_features * (open.end - open.begin + 256));
            if (keeps_one()) fill(0, open, nullptr);
            search_.add_node(keeps_one() ? 0 : open.slot, open.totals);
        }
        const BinSplit best = best_split();
        if (best.feature < 0) return;
        const bool is_last = 2 * n_leaves >= rules_.max_leaves;
        const std::size_t n_open = open_.size();
        std::vector<std::int32_t> right_of(n_open);
        std::vector<char> missing_left(n_open, 1);
        for (std::size_t i = 0; i < n_open; ++i) {
            Open right;
            bool is_left = true;
            right_of[i] = static_cast<std::int32_t>(i);
            if (!split(open_[i], best, right, is_left)) continue;
            if (!is_last) fill_children(open_[i], right);
            right_of[i] = static_cast<std::int32_t>(open_.size());
            missing_left[i] = is_left ? 1 : 0;
            open_.push_back(std::move(right));
        }
        Level level{.feature = best.feature, .bin = best.bin, .missing_left = {}};
        std::vector<std::int32_t> leaf_at;
        for (const std::int32_t leaf : leaf_at_) {
            level.missing_left.push_back(missing_left[leaf]);
            leaf_at.push_back(leaf);
            leaf_at.push_back(right_of[leaf]);
        }
        levels_.push_back(std::move(level));
        leaf_at_ = std::move(leaf_at);
    }
}

void BoostedTreeGrower::place_rows() {
    std::fill(places_.begin(), places_.end(), 0);
    for (const Level& level : levels_) {
        const std::uint8_t* codes = bag_.codes(level.feature);
        kernels().append_side(places_.data(), codes, bag_.n_rows(), level.bin);
        if (!bins_.has_missing(level.feature)) continue;
        const int missing = bins_.n_bins(level.feature);
        for (std::int64_t i = 0; i < bag_.n_rows(); ++i)
            if (codes[i] == missing) places_[i] = places_[i] / 2 * 2 + (level.missing_left[places_[i] / 2] ? 0 : 1);
    }
}

// Parts the rows of a node, which becomes its left child; false if one child would have none.
bool BoostedTreeGrower::split(Open& open, const BinSplit& split, Open& right, bool& missing_left) {
    bool any_missing = false;
    const std::int64_t middle = part(open.begin, open.end, split, any_missing);
    if (middle == open.begin || middle == open.end) return false;
    const Block& block = histograms_.blocks()[split.block];
    const int slot = keeps_one() ? 0 : open.slot;
    if (keeps_one()) fill(0, open, &block);
    right = open;
    right.begin = middle;
    open.end = middle;
    for (int pair = 0; pair < cell_.n_pairs(); ++pair) {
        const int missing = bins_.n_bins(split.feature);
        std::int64_t left = split.missing_left ? histograms_.sum(slot, block, pair, split.place, missing) : 0;
        for (int b = 0; b <= split.bin; ++b) left += histograms_.sum(slot, block, pair, split.place, b);
        open.totals[pair] = left;
        right.totals[pair] -= left;
    }
    missing_left = split.missing_left;
    if (!any_missing) missing_left = open.end - open.begin >= right.end - right.begin;  // where more rows are
    const double threshold = bins_.border(split.feature, split.bin);
    const double gain = split.gain * h_unit_ / (g_unit_ * g_unit_);
    open.node = builder_.add_children(open.node, split.feature, threshold, missing_left, gain);
    right.node = open.node + 1;
    return true;
}

// Moves the rows that go left to the front, both sides in order; returns where the others begin.
std::int64_t BoostedTreeGrower::part(std::int64_t begin, std::int64_t end, const BinSplit& split, bool& any_missing) {
    const Block& block = histograms_.blocks()[split.block];
    const std::uint64_t* words = words_->group(block.group);
    std::int32_t* rows = rows_.data() + begin;
    const int byte = block.byte(split.place), missing = bins_.n_bins(split.feature);
    kernels().code_bits(rows, end - begin, words, byte, split.bin, split.missing_left ? missing : -1, sides_.data());
    any_missing = bins_.has_missing(split.feature) && std::any_of(rows, rows + (end - begin), [&](std::int32_t row) {
                      return static_cast<int>(words[row] >> 8 * byte & 255) == missing;
                  });
    return begin + kernels().part_rows(rows, sides_.data(), end - begin, scratch_.data());
}

// The child with fewer rows is added up, the other is what is left of the parent.
void BoostedTreeGrower::fill_children(Open& left, Open& right) {
    if (keeps_one()) return;
    const bool left_is_smaller = left.end - left.begin <= right.end - right.begin;
    Open &smaller = left_is_smaller ? left : right, &larger = left_is_smaller ? right : left;
    larger.slot = left.slot;  // the parent's
    smaller.slot = n_slots_++;
    fill(smaller.slot, smaller, nullptr);
    histograms_.subtract(larger.slot, smaller.slot);
}

// Gives the leaves their values, by all drawn rows.
void BoostedTreeGrower::finish_leaves(double* fitted_drawn, double* fitted_out) {
    const int n_outputs = cell_.n_outputs;
    const std::size_t n_places = leaf_at_.size(), n_leaves = open_.size();
    std::vector<double> sums;
    const auto sum_up =
        [&](const double* values) {  // per leaf; even and odd rows apart, which do not wait for each other
            sums.assign(2 * n_places, 0.0);
            for (std::int64_t i = 0; i < bag_.drawn.n; ++i) sums[2 * places_[i] + i % 2] += values[i];
            std::vector<double> of_leaves(n_leaves, 0.0);
            for (std::size_t place = 0; place < n_places; ++place)
                of_leaves[leaf_at_[place]] += sums[2 * place] + sums[2 * place + 1];
            return of_leaves;
        };
    const std::vector<double> weights = sum_up(bag_.drawn.w.data());
    std::vector<double> h, values(n_leaves * n_outputs), by_place(n_places);
    for (int k = 0; k < n_outputs; ++k) {
        const std::vector<double> g = sum_up((*statistics_)[2 * k]);
        const double* own_h = (*statistics_)[2 * k + 1];
        if (k == 0 || !cell_.one_h) h = own_h == bag_.drawn.w.data() ? weights : sum_up(own_h);
        const double longest = rules_.learning_rate * loss_.longest_step();
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const double value = -rules_.learning_rate * g[leaf] / (h[leaf] + rules_.lambda);
            values[leaf * n_outputs + k] = std::clamp(value, -longest, longest);
        }
    }
    std::vector<double> node_weights(builder_.n_nodes(), 0.0);
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
        double* own = values.data() + leaf * n_outputs;
        loss_.centre(own, 1, 1);
        for (int k = 0; k < n_outputs; ++k) own[k] = static_cast<float>(own[k]);  // as in single precision, too
        std::copy_n(own, n_outputs, builder_.add_model(open_[leaf].node));
        node_weights[open_[leaf].node] = weights[leaf];
    }
    for (int k = 0; k < n_outputs; ++k) {
        for (std::size_t place = 0; place < n_places; ++place)
            by_place[place] = values[leaf_at_[place] * n_outputs + k];
        double *drawn = fitted_drawn + k * bag_.drawn.stride, *out = fitted_out + k * bag_.out.stride;
        for (std::int64_t i = 0; i < bag_.drawn.n; ++i) drawn[i] = by_place[places_[i]];
        for (std::int64_t i = 0; i < bag_.out.n; ++i) out[i] = by_place[places_[bag_.drawn.n + i]];
    }
    for (auto node = static_cast<std::int32_t>(builder_.n_nodes()) - 1; node >= 0; --node) {
        builder_.set_node(node, node_weights[node], 0, -kInfinity, kInfinity);
        if (node > 0) node_weights[builder_.parent(node)] += node_weights[node];
    }
}

}  // namespace boostforest
