#include "tree_grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

BoostedTreeGrower::BoostedTreeGrower(const Bag& bag, const Bins& bins, const Loss& loss, const BoostRules& rules,
                                     Stored stored, const Interactions* interactions)
    : bag_(bag),
      bins_(bins),
      loss_(loss),
      rules_(rules),
      stored_(stored),
      cell_(loss.n_outputs(), loss.has_unit_curvature()),
      histograms_(bag, bins, cell_, rules.oblivious ? rules.max_leaves / 2 : rules.max_leaves - 1),
      search_(bins, cell_, rules.lambda),
      rows_(bag.n_rows()),
      scratch_(bag.n_rows() + 1) {
    if (interactions != nullptr) interactions_ = std::make_unique<Interactions>(*interactions);
}

PackedTree BoostedTreeGrower::grow(const Derivatives& derivatives, const std::vector<int>& features, Key key,
                                   Worker& worker, double* fitted_drawn, double* fitted_out) {
    derivatives_ = &derivatives;
    features_ = &features;
    worker_ = &worker;
    builder_.start(cell_.n_outputs, 1, PathForm::kLeafSums, stored_);
    open_.clear();
    open_.push_back(root(key));
    if (rules_.oblivious) {
        grow_oblivious();
    } else {
        grow_leaf_wise();
    }
    weights_.assign(builder_.n_nodes(), 0.0);
    for (Open& open : open_) finish_leaf(open, fitted_drawn, fitted_out);
    for (auto node = static_cast<std::int32_t>(builder_.n_nodes()) - 1; node >= 0; --node) {
        builder_.set_node(node, weights_[node], 0, -kInfinity, kInfinity);
        if (node > 0) weights_[builder_.parent(node)] += weights_[node];
    }
    builder_.number_depth_first();
    return builder_.finish(nullptr, 0);
}

PackedTree BoostedTreeGrower::single_leaf(const double* scores) {
    builder_.start(cell_.n_outputs, 1, PathForm::kLeafSums, stored_);
    builder_.set_node(0, bag_.drawn.weight, 0, -kInfinity, kInfinity);
    std::copy_n(scores, cell_.n_outputs, builder_.add_model(0));
    return builder_.finish(nullptr, 0);
}

BoostedTreeGrower::Open BoostedTreeGrower::root(Key key) {
    const std::int64_t n = choose_rows(key);
    Open root{.node = 0,
              .begin = 0,
              .end = n,
              .out_begin = n,
              .out_end = bag_.n_rows(),
              .slot = 0,
              .weight = 0,
              .totals = Totals(cell_.size()),
              .split = {}};
    sum_up(root.begin, root.end, *chosen_, *chosen_w_, root.totals, root.weight);
    n_slots_ = 1;
    if (!keeps_one()) histograms_.fill(0, *features_, n == bag_.drawn.n ? nullptr : rows_.data(), n, *chosen_);
    return root;
}

// Puts the rows that splits are found by first, all in order; returns how many they are. Half of the share is the same
// for all rows, the other half goes by the size of their derivatives: a few rows may decide.
std::int64_t BoostedTreeGrower::choose_rows(Key key) {
    const auto n_drawn = static_cast<std::int32_t>(bag_.drawn.n);
    std::iota(rows_.begin(), rows_.end(), 0);
    chosen_ = derivatives_;
    chosen_w_ = &bag_.drawn.w;
    if (rules_.row_share >= 1) return n_drawn;
    const int size = cell_.size();
    scaled_.resize(derivatives_->size());
    scaled_w_.resize(bag_.drawn.w.size());
    double total = 0;
    sizes_.resize(n_drawn);
    for (std::int32_t row = 0; row < n_drawn; ++row) {
        const float* cell = derivatives_->data() + static_cast<std::size_t>(row) * size;
        float of_row = 0;
        for (int k = 0; k < cell_.n_outputs; ++k) of_row += std::abs(cell[cell_.g(k)]);
        total += sizes_[row] = of_row;
    }
    const auto same = static_cast<float>(rules_.row_share / 2);
    const auto by_size = static_cast<float>(total > 0 ? same * n_drawn / total : 0.0);
    const auto chance = [&](std::int32_t row) { return std::min(same + by_size * sizes_[row], 1.0F); };
    std::int32_t *taken = rows_.data(), *other = scratch_.data();
    std::uint64_t bits = 0;
    for (std::int32_t row = 0; row < n_drawn; ++row, bits >>= 16) {
        if (row % 4 == 0) bits = word(key, row);
        const std::int32_t is_taken = static_cast<float>(bits & 0xFFFF) < 65536 * chance(row) ? 1 : 0;
        *taken = *other = row;
        taken += is_taken;
        other += 1 - is_taken;
    }
    for (const std::int32_t* row = rows_.data(); row != taken; ++row) {
        const float factor = 1 / chance(*row);
        const std::size_t at = static_cast<std::size_t>(*row) * size;
        for (int k = 0; k < size; ++k) scaled_[at + k] = factor * (*derivatives_)[at + k];
        scaled_w_[*row] = factor * bag_.drawn.w[*row];
    }
    std::copy(scratch_.data(), other, taken);
    chosen_ = &scaled_;
    chosen_w_ = &scaled_w_;
    return taken - rows_.data();
}

void BoostedTreeGrower::grow_leaf_wise() {
    find_split(open_[0]);
    while (static_cast<int>(open_.size()) < rules_.max_leaves) {
        const auto best = std::max_element(open_.begin(), open_.end(),
                                           [](const Open& a, const Open& b) { return a.split.gain < b.split.gain; });
        if (best->split.feature < 0) return;
        Open right;
        split(*best, best->split, right);
        if (static_cast<int>(open_.size()) + 1 < rules_.max_leaves) {
            fill_children(*best, right);
            find_split(*best);
            find_split(right);
        }
        open_.push_back(std::move(right));
    }
}

void BoostedTreeGrower::find_split(Open& open) {
    worker_->check(static_cast<std::int64_t>(features_->size()) * (open.end - open.begin + 256));
    if (keeps_one()) histograms_.fill(0, *features_, rows_.data() + open.begin, open.end - open.begin, *chosen_);
    double h = 0;
    for (int k = 0; k < cell_.n_h(); ++k) h += open.totals[cell_.h(k)];
    search_.start(allowed(open.node));
    // Rows are counted by their second derivatives, which the histograms have.
    search_.add_node(histograms_, keeps_one() ? 0 : open.slot, open.totals,
                     std::max(rules_.min_rows * h / open.weight, std::numeric_limits<double>::min()));
    open.split = search_.best();
    if (open.split.feature < 0) return;
    // Of the borders between which there are no rows of this node, the one in the middle.
    const int j = open.split.feature, n_bins = bins_.n_bins(j);
    const double* sums = histograms_.of(keeps_one() ? 0 : open.slot, j);
    const auto is_empty = [&](int b) {
        for (int k = 0; k < cell_.n_h(); ++k)
            if (sums[b * cell_.size() + cell_.h(k)] > 1e-9 * h) return false;
        return true;
    };
    int last = open.split.bin;
    while (last + 1 < n_bins - 1 && is_empty(last + 1)) ++last;
    if (last + 1 < n_bins) open.split.bin += (last - open.split.bin) / 2;
}

// The features that may be split on together with those above a node; -1: with all that the tree is split on.
const std::vector<int>& BoostedTreeGrower::allowed(std::int32_t node) {
    if (!interactions_) return *features_;
    std::vector<std::int32_t> path;
    for (std::int32_t other = 0; node < 0 && other < builder_.n_nodes(); ++other)
        if (builder_.feature(other) >= 0) path.push_back(interactions_->column(builder_.feature(other)));
    for (; node >= 0 && builder_.parent(node) >= 0; node = builder_.parent(node))
        path.push_back(interactions_->column(builder_.feature(builder_.parent(node))));
    interactions_->find_allowed(std::move(path));
    allowed_.clear();
    for (const int j : *features_)
        if (interactions_->allows_feature(j)) allowed_.push_back(j);
    return allowed_;
}

void BoostedTreeGrower::grow_oblivious() {
    for (int n_leaves = 1; n_leaves < rules_.max_leaves; n_leaves *= 2) {
        search_.start(allowed(-1));
        for (const Open& open : open_) {
            worker_->check(static_cast<std::int64_t>(features_->size()) * (open.end - open.begin + 256));
            if (keeps_one())
                histograms_.fill(0, *features_, rows_.data() + open.begin, open.end - open.begin, *chosen_);
            search_.add_node(histograms_, keeps_one() ? 0 : open.slot, open.totals, 0);
        }
        const BinSplit best = search_.best();
        if (best.feature < 0) return;
        const bool is_last = 2 * n_leaves >= rules_.max_leaves;
        const std::size_t n_open = open_.size();
        for (std::size_t i = 0; i < n_open; ++i) {
            Open right;
            if (!split(open_[i], best, right)) continue;
            if (!is_last) fill_children(open_[i], right);
            open_.push_back(std::move(right));
        }
    }
}

// Parts the rows of a node, which becomes its left child; false if one child would have no drawn rows.
bool BoostedTreeGrower::split(Open& open, const BinSplit& split, Open& right) {
    const int n_bins = bins_.n_bins(split.feature);
    bool goes_left[256];
    for (int code = 0; code < 256; ++code) goes_left[code] = code <= split.bin;
    goes_left[n_bins] = split.missing_left;
    const std::uint8_t* codes = bag_.codes(split.feature);
    const std::int64_t middle = part(open.begin, open.end, codes, goes_left);
    if (middle == open.begin || middle == open.end) return false;
    right = open;
    right.begin = middle;
    sum_up(open.begin, middle, *chosen_, *chosen_w_, open.totals, open.weight);
    for (int k = 0; k < cell_.size(); ++k) right.totals[k] -= open.totals[k];
    right.weight -= open.weight;

    bool missing_left = split.missing_left;
    const auto misses = [&](std::int64_t i) { return codes[rows_[i]] == n_bins; };
    const std::int64_t first = missing_left ? open.begin : middle, last = missing_left ? middle : open.end;
    bool any_missing = false;
    for (std::int64_t i = first; bins_.has_missing(split.feature) && i < last && !any_missing; ++i)
        any_missing = misses(i);
    if (!any_missing) missing_left = open.weight >= right.weight;  // later ones go where more rows are
    goes_left[n_bins] = missing_left;
    open.end = middle;
    right.out_begin = part(open.out_begin, open.out_end, codes, goes_left);
    open.out_end = right.out_begin;

    const double threshold = bins_.border(split.feature, split.bin);
    open.node = builder_.add_children(open.node, split.feature, threshold, missing_left, split.gain);
    right.node = open.node + 1;
    return true;
}

// Moves the rows that go left to the front, both sides in order; returns where the others begin.
std::int64_t BoostedTreeGrower::part(std::int64_t begin, std::int64_t end, const std::uint8_t* codes,
                                     const bool* goes_left) {
    std::int32_t *left = rows_.data() + begin, *right = scratch_.data();
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t row = rows_[i];
        const int is_left = goes_left[codes[row]];
        *left = row;
        *right = row;
        left += is_left;
        right += 1 - is_left;
    }
    std::copy(scratch_.data(), right, left);
    return left - rows_.data();
}

void BoostedTreeGrower::sum_up(std::int64_t begin, std::int64_t end, const Derivatives& derivatives,
                               const std::vector<double>& w, Totals& totals, double& weight) const {
    std::fill(totals.begin(), totals.end(), 0.0);
    weight = 0;
    const int size = cell_.size();
    if (size == 2) {  // the usual case, in registers
        double g = 0, h = 0, total = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t row = rows_[i];
            total += w[row];
            g += derivatives[2 * static_cast<std::size_t>(row)];
            h += derivatives[2 * static_cast<std::size_t>(row) + 1];
        }
        totals[0] = g;
        totals[1] = h;
        weight = total;
        return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t row = rows_[i];
        weight += w[row];
        for (int k = 0; k < size; ++k) totals[k] += derivatives[static_cast<std::size_t>(row) * size + k];
    }
}

// The child with fewer rows is added up, the other is what is left of the parent.
void BoostedTreeGrower::fill_children(Open& left, Open& right) {
    if (keeps_one()) return;
    const bool left_is_smaller = left.end - left.begin <= right.end - right.begin;
    Open &smaller = left_is_smaller ? left : right, &larger = left_is_smaller ? right : left;
    larger.slot = left.slot;  // the parent's
    smaller.slot = n_slots_++;
    histograms_.fill(smaller.slot, *features_, rows_.data() + smaller.begin, smaller.end - smaller.begin, *chosen_);
    histograms_.subtract(larger.slot, smaller.slot, *features_);
}

void BoostedTreeGrower::finish_leaf(Open& open, double* fitted_drawn, double* fitted_out) {
    const auto n_drawn = static_cast<std::int32_t>(bag_.drawn.n);
    const std::int64_t first_out =
        std::lower_bound(rows_.begin() + open.out_begin, rows_.begin() + open.out_end, n_drawn) - rows_.begin();
    if (chosen_ != derivatives_) {  // all drawn rows tell what a leaf's value is
        Totals others(open.totals.size());
        double weight;
        sum_up(open.begin, open.end, *derivatives_, bag_.drawn.w, open.totals, open.weight);
        sum_up(open.out_begin, first_out, *derivatives_, bag_.drawn.w, others, weight);
        for (std::size_t k = 0; k < others.size(); ++k) open.totals[k] += others[k];
        open.weight += weight;
    }
    weights_[open.node] = open.weight;
    double* values = builder_.add_model(open.node);
    const double longest = rules_.learning_rate * loss_.longest_step();
    for (int k = 0; k < cell_.n_outputs; ++k) {
        values[k] = -rules_.learning_rate * open.totals[cell_.g(k)] / (open.totals[cell_.h(k)] + rules_.lambda);
        values[k] = std::clamp(values[k], -longest, longest);
    }
    loss_.centre(values, 1, 1);
    for (int k = 0; k < cell_.n_outputs; ++k) {
        values[k] = static_cast<float>(values[k]);  // as it is stored in single precision, too
        double* drawn = fitted_drawn + k * bag_.drawn.stride;
        double* out = fitted_out + k * bag_.out.stride - bag_.drawn.n;
        for (std::int64_t i = open.begin; i < open.end; ++i) drawn[rows_[i]] = values[k];
        for (std::int64_t i = open.out_begin; i < first_out; ++i) drawn[rows_[i]] = values[k];
        for (std::int64_t i = first_out; i < open.out_end; ++i) out[rows_[i]] = values[k];
    }
}

}  // namespace boostforest
