#include "partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

// Bit i of `left`: whether a test says so of row i.
template <class Test>
void mark_rows(const std::int32_t* rows, std::int64_t n, std::uint8_t* left, Test test) {
    for (std::int64_t i = 0; i < n; i += 8) {
        unsigned bits = 0;
        for (std::int64_t k = 0; k < std::min<std::int64_t>(n - i, 8); ++k) bits |= unsigned{test(rows[i + k])} << k;
        left[i / 8] = static_cast<std::uint8_t>(bits);
    }
}

}  // namespace

Partition::Partition(const Dataset& data, const Replica& replica)
    : data_(data), replica_(replica), width_(padded_width(data.n_features)) {}

Leaf Partition::start(bool moves_labels) {
    moves_labels_ = moves_labels;
    columns_.resize((moves_labels ? 2 : 1) + data_.loss.n_state());
    const std::int32_t* counts = replica_.counts();
    const double* weights = replica_.weights();
    std::int32_t* rows = rows_.get(data_.n_rows);
    Leaf root;
    root.end = kernels().take_nonzero(counts, data_.n_rows, rows);
    if (!replica_.weighs_by_counts())
        root.end = std::remove_if(rows, rows + root.end, [=](std::int32_t row) { return weights[row] == 0; }) - rows;
    for (std::int64_t i = 0; i < root.end; ++i) root.count += counts[rows[i]];
    root.weight = static_cast<double>(root.count);
    if (!replica_.weighs_by_counts()) {
        root.weight = 0;
        for (std::int64_t i = 0; i < root.end; ++i) root.weight += weights[rows[i]];
    }
    n_rows_ = root.end;
    w_.get(n_rows_);
    y_.get(n_rows_);
    state_.get(data_.loss.n_state() * n_rows_);
    return root;
}

void Partition::load(const Leaf& leaf) {
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
        const std::int32_t row = rows_.data()[i];
        w_.data()[i] = replica_.weights()[row];
        y_.data()[i] = data_.y[row];
    }
}

double Partition::value(std::int32_t row, int feature) const {
    return data_.x[static_cast<std::int64_t>(row) * width_ + feature];
}

// The side with more weight of the rows that have the feature: where rows without it go if none was seen.
bool Partition::left_is_larger(const Leaf& leaf, const Split& split) const {
    double balance = 0;
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
        const std::int32_t row = rows_.data()[i];
        if (data_.missing->test(row, split.feature)) continue;
        const double weight = replica_.weights()[row];
        balance += value(row, split.feature) <= split.threshold ? weight : -weight;
    }
    return balance >= 0;
}

// One bit per row of the leaf: whether it goes left. The values next to the threshold are found on the way.
const std::uint8_t* Partition::mark_left(const Leaf& leaf, const Split& split) {
    const std::int64_t n = leaf.n_rows();
    const std::int32_t* rows = rows_.data() + leaf.begin;
    std::uint8_t* left = goes_left_.get(n / 8 + 1);
    const auto mark_column = [&](const double* column, std::int64_t width) {
        kernels().mark_left(column, width, rows, n, split.threshold, left, nearest_.data());
    };
    const Indicators* lists = data_.indicators;
    if (lists != nullptr && lists->number[split.feature] >= 0) {  // bits stay in the cache where the table does not
        const int m = lists->number[split.feature];
        const std::uint64_t* words = lists->is_rare.data() + m * lists->n_words;
        mark_rows(rows, n, left, [words, rare_is_left = lists->rare[m] <= split.threshold](std::uint32_t row) {
            return ((words[row / 64] >> (row % 64) & 1) != 0) == rare_is_left;
        });
        const auto [low, high] = std::minmax(lists->rare[m], lists->frequent[m]);
        nearest_ = {low, high};
    } else if (data_.missing == nullptr && lists != nullptr) {
        mark_column(lists->x.data() - 1 - lists->number[split.feature], lists->width);
    } else if (data_.missing == nullptr) {
        mark_column(data_.x + split.feature, width_);
    } else {
        mark_with_missing(rows, n, split, left);
    }
    return left;
}

void Partition::mark_with_missing(const std::int32_t* rows, std::int64_t n, const Split& split, std::uint8_t* left) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    nearest_ = {-kInfinity, kInfinity};
    mark_rows(rows, n, left, [&](std::int32_t row) {
        if (data_.missing->test(row, split.feature)) return split.missing_left;
        const double x = value(row, split.feature);
        const bool is_left = x <= split.threshold;
        nearest_[is_left ? 0 : 1] = is_left ? std::max(nearest_[0], x) : std::min(nearest_[1], x);
        return is_left;
    });
}

// Returns how many rows go left.
std::int64_t Partition::move_rows(const Leaf& leaf, const Split& split) {
    const std::int64_t n = leaf.n_rows();
    const std::uint8_t* left = mark_left(leaf, split);
    std::int32_t* rows = rows_.data() + leaf.begin;
    std::int32_t* right_rows = right_rows_.get(n);
    if (leaf.uses_batch) return kernels().part_rows(rows, left, n, right_rows);
    const int n_columns = static_cast<int>(columns_.size());
    columns_[0] = w_.data() + leaf.begin;
    if (moves_labels_) columns_[1] = y_.data() + leaf.begin;
    double* state = state_.data() + leaf.begin;
    for (int k = moves_labels_ ? 2 : 1; k < n_columns; ++k, state += n_rows_) columns_[k] = state;
    return kernels().part_columns(rows, columns_.data(), n_columns, left, n, right_rows,
                                  right_.get(n_columns * (n + 8)));
}

void Partition::weigh(const Leaf& parent, Leaf& child) const {
    if (!parent.uses_batch) {  // the child needs no batch either: no need to count
        child.weight = kernels().sum(w_.data() + child.begin, child.n_rows());
        child.count = parent.count;
        return;
    }
    for (std::int64_t i = child.begin; i < child.end; ++i) {
        child.weight += replica_.weights()[rows_.data()[i]];
        child.count += replica_.counts()[rows_.data()[i]];
    }
}

std::array<Leaf, 2> Partition::part(const Leaf& leaf, Split& split) {
    if (data_.missing != nullptr && !split.saw_missing) split.missing_left = left_is_larger(leaf, split);
    const std::int64_t middle = leaf.begin + move_rows(leaf, split);
    std::array children{Leaf{.begin = leaf.begin, .end = middle}, Leaf{.begin = middle, .end = leaf.end}};
    if (replica_.weighs_by_counts() && !leaf.uses_batch) {  // the sums are exact, and the search had all rows
        children[0].weight = split.left_weight;
        children[1].weight = leaf.weight - split.left_weight;
        for (Leaf& child : children) child.count = leaf.count;
    } else if (replica_.weighs_by_counts()) {  // one child has what the other leaves
        const bool left_first = children[0].n_rows() <= children[1].n_rows();
        Leaf& small = children[left_first ? 0 : 1];
        Leaf& large = children[left_first ? 1 : 0];
        weigh(leaf, small);
        large.weight = leaf.weight - small.weight;
        large.count = leaf.count - small.count;
    } else {
        for (Leaf& child : children) weigh(leaf, child);
    }
    if (data_.missing == nullptr) split.missing_left = children[0].weight >= children[1].weight;
    return children;
}

// At least eight digits in base 2: fewer would draw the thresholds of different trees together.
double Partition::shorter_threshold(const Split& split) const {
    constexpr int kFewest = 8, kAll = 53;
    int power = 0;
    const double fraction = std::frexp(split.threshold, &power);
    for (int digits = kFewest; digits < kAll; ++digits) {
        const double shorter = std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), power - digits);
        if (nearest_[0] <= shorter && shorter < nearest_[1]) return shorter;
    }
    return split.threshold;
}

}  // namespace boostforest
