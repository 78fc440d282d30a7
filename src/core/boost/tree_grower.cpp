#include "tree_grower.hpp"

#include <algorithm>
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
      n_outputs_(loss.n_outputs()),
      histograms_(bag, bins, loss.n_outputs(), rules.oblivious ? rules.max_leaves / 2 : rules.max_leaves - 1),
      search_(bins, loss.n_outputs(), rules.lambda),
      rows_(bag.n_rows()),
      scratch_(bag.n_rows() + 1) {
    if (interactions != nullptr) interactions_ = std::make_unique<Interactions>(*interactions);
}

PackedTree BoostedTreeGrower::grow(const Pairs& pairs, const std::vector<int>& features, Worker& worker,
                                   double* fitted_drawn, double* fitted_out) {
    pairs_ = &pairs;
    features_ = &features;
    worker_ = &worker;
    builder_.start(n_outputs_, 1, PathForm::kLeafSums, stored_);
    open_.clear();
    open_.push_back(root());
    if (rules_.oblivious) {
        grow_oblivious();
    } else {
        grow_leaf_wise();
    }
    for (const Open& open : open_) finish_leaf(open, fitted_drawn, fitted_out);
    builder_.number_depth_first();
    return builder_.finish();
}

PackedTree BoostedTreeGrower::single_leaf(const double* scores) {
    builder_.start(n_outputs_, 1, PathForm::kLeafSums, stored_);
    builder_.set_node(0, bag_.drawn.weight, 0, -kInfinity, kInfinity);
    std::copy_n(scores, n_outputs_, builder_.add_model(0));
    return builder_.finish();
}

BoostedTreeGrower::Open BoostedTreeGrower::root() {
    std::iota(rows_.begin(), rows_.end(), 0);
    Open root{.node = 0,
              .begin = 0,
              .end = bag_.drawn.n,
              .out_begin = bag_.drawn.n,
              .out_end = bag_.n_rows(),
              .slot = 0,
              .weight = 0,
              .totals = Totals(2 * n_outputs_),
              .split = {}};
    sum_up(root.begin, root.end, root.totals, root.weight);
    n_slots_ = 1;
    if (!keeps_one()) histograms_.fill(0, *features_, nullptr, root.end, *pairs_);
    return root;
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
    if (keeps_one()) histograms_.fill(0, *features_, rows_.data() + open.begin, open.end - open.begin, *pairs_);
    double h = 0;
    for (int k = 0; k < n_outputs_; ++k) h += open.totals[2 * k + 1];
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
        for (int k = 0; k < n_outputs_; ++k)
            if (sums[2 * (b * n_outputs_ + k) + 1] > 1e-9 * h) return false;
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
            if (keeps_one()) histograms_.fill(0, *features_, rows_.data() + open.begin, open.end - open.begin, *pairs_);
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
    sum_up(open.begin, middle, open.totals, open.weight);
    for (int k = 0; k < 2 * n_outputs_; ++k) right.totals[k] -= open.totals[k];
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

    builder_.set_node(open.node, open.weight + right.weight, 0, -kInfinity, kInfinity);
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

void BoostedTreeGrower::sum_up(std::int64_t begin, std::int64_t end, Totals& totals, double& weight) const {
    std::fill(totals.begin(), totals.end(), 0.0);
    weight = 0;
    const int size = 2 * n_outputs_;
    if (n_outputs_ == 1) {  // the usual case, in registers
        double g = 0, h = 0, w = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int32_t row = rows_[i];
            w += bag_.drawn.w[row];
            g += (*pairs_)[2 * static_cast<std::size_t>(row)];
            h += (*pairs_)[2 * static_cast<std::size_t>(row) + 1];
        }
        totals[0] = g;
        totals[1] = h;
        weight = w;
        return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int32_t row = rows_[i];
        weight += bag_.drawn.w[row];
        for (int k = 0; k < size; ++k) totals[k] += (*pairs_)[static_cast<std::size_t>(row) * size + k];
    }
}

// The child with fewer rows is added up, the other is what is left of the parent.
void BoostedTreeGrower::fill_children(Open& left, Open& right) {
    if (keeps_one()) return;
    const bool left_is_smaller = left.end - left.begin <= right.end - right.begin;
    Open &smaller = left_is_smaller ? left : right, &larger = left_is_smaller ? right : left;
    larger.slot = left.slot;  // the parent's
    smaller.slot = n_slots_++;
    histograms_.fill(smaller.slot, *features_, rows_.data() + smaller.begin, smaller.end - smaller.begin, *pairs_);
    histograms_.subtract(larger.slot, smaller.slot, *features_);
}

void BoostedTreeGrower::finish_leaf(const Open& open, double* fitted_drawn, double* fitted_out) {
    builder_.set_node(open.node, open.weight, 0, -kInfinity, kInfinity);
    double* values = builder_.add_model(open.node);
    const double longest = rules_.learning_rate * loss_.longest_step();
    for (int k = 0; k < n_outputs_; ++k) {
        values[k] = -rules_.learning_rate * open.totals[2 * k] / (open.totals[2 * k + 1] + rules_.lambda);
        values[k] = std::clamp(values[k], -longest, longest);
    }
    loss_.centre(values, 1, 1);
    for (int k = 0; k < n_outputs_; ++k) {
        values[k] = static_cast<float>(values[k]);  // as it is stored in single precision, too
        double* drawn = fitted_drawn + k * bag_.drawn.stride;
        double* out = fitted_out + k * bag_.out.stride - bag_.drawn.n;
        for (std::int64_t i = open.begin; i < open.end; ++i) drawn[rows_[i]] = values[k];
        for (std::int64_t i = open.out_begin; i < open.out_end; ++i) out[rows_[i]] = values[k];
    }
}

}  // namespace boostforest
