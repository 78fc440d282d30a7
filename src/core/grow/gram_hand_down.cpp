#include "gram_hand_down.hpp"

#include <algorithm>

namespace boostforest {

namespace {

// Sums and means are exact to some 1e-16 of Σ w x² around zero, on every level: a penalty of this share of it is a
// million times as much, and slopes change by less than they matter.
constexpr double kSafePenalty = 1e-8;

}  // namespace

void GramHandDown::start(bool is_on, int n_inputs, int width, double reg_lambda) {
    is_on_ = is_on;
    n_inputs_ = n_inputs;
    width_ = width;
    reg_lambda_ = reg_lambda;
    free_.clear();
    for (std::size_t i = 0; i < grams_.size(); ++i) free_.push_back(static_cast<std::int32_t>(i));
}

// Whether the larger child's is worth taking from its parent: less work than to do without, and exact beside the
// penalty.
bool GramHandDown::is_worth_it(const NodeGram& parent, std::int64_t n_small, std::int64_t n_large) const {
    const RidgeWork small(n_small, n_inputs_, 1), large(n_large, n_inputs_, 1);
    const double extra = small.in_rows < small.in_features() ? small.gram : 0;
    return reg_lambda_ >= kSafePenalty * parent.largest &&
           large.solution + extra + 2.0 * n_inputs_ * n_inputs_ < std::min(large.in_rows, large.in_features());
}

void GramHandDown::take(Leaf& leaf, bool is_wanted) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::int32_t>(grams_.size()));
        grams_.emplace_back();
    }
    leaf.gram = free_.back();
    free_.pop_back();
    grams_[leaf.gram].start(width_, is_wanted);
}

void GramHandDown::open_smaller(const Leaf& parent, Leaf& small, const Leaf& large) {
    is_handed_ = parent.gram >= 0 && is_worth_it(grams_[parent.gram], small.n_rows(), large.n_rows());
    if (is_handed_ || is_useful(small)) take(small, is_handed_);
}

void GramHandDown::open_larger(const Leaf& parent, const Leaf& small, Leaf& large) {
    if (is_handed_) {
        large.gram = parent.gram;
        subtract(parent, small, large);
        return;
    }
    release(parent);
    if (is_useful(large)) take(large, false);
}

// Turns the parent's into that of its other child. With the means m and the weights W of the parent P, the child C and
// the other O: P - C - W_C W_P / W_O (m_P - m_C)², the last a product of vectors.
void GramHandDown::subtract(const Leaf& parent, const Leaf& child, const Leaf& other) {
    NodeGram& from = grams_[parent.gram];
    const NodeGram& gram = grams_[child.gram];
    const double factor = child.weight / other.weight * parent.weight;
    double* apart = from.mean;
    for (int j = 0; j < n_inputs_; ++j) apart[j] -= gram.mean[j];
    for (int i = 0; i < n_inputs_; ++i) {
        double* row = from.values + static_cast<std::ptrdiff_t>(i) * width_;
        const double* less = gram.values + static_cast<std::ptrdiff_t>(i) * width_;
        const double share = factor * apart[i];
        for (int j = i; j < n_inputs_; ++j) row[j] -= less[j] + share * apart[j];
    }
}

void GramHandDown::close(Leaf& child) {
    if (child.gram < 0 || (is_useful(child) && grams_[child.gram].known)) return;
    release(child);
    child.gram = -1;
}

}  // namespace boostforest
