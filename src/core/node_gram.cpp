#include "node_gram.hpp"

#include <algorithm>

#include "linalg.hpp"

namespace boostforest {

namespace {

constexpr double kSafePenalty = 1e-8;  // of the largest of the diagonal: rounding does not count beside it

}  // namespace

bool worth_handing_down(const NodeGram& parent, std::int64_t n_small, std::int64_t n_large, int d, double lambda) {
    const RidgeWork small(n_small, d, 1), large(n_large, d, 1);
    const double extra = small.in_rows < small.in_features() ? small.gram : 0;
    return lambda >= kSafePenalty * parent.largest &&
           large.solution + extra + 2.0 * d * d < std::min(large.in_rows, large.in_features());
}

// With the means m and the weights W of parent and child: P - C - W_C W_P / (W_P - W_C) (m_P - m_C)(m_P - m_C)ᵀ.
void take_away(NodeGram& parent, double parent_weight, const NodeGram& child, double child_weight, int width, int d) {
    const double factor = child_weight * parent_weight / (parent_weight - child_weight);
    double* apart = parent.mean;
    for (int j = 0; j < d; ++j) apart[j] -= child.mean[j];
    for (int i = 0; i < d; ++i) {
        double* row = parent.values + static_cast<std::ptrdiff_t>(i) * width;
        const double* less = child.values + static_cast<std::ptrdiff_t>(i) * width;
        const double share = factor * apart[i];
        for (int j = i; j < d; ++j) row[j] -= less[j] + share * apart[j];
    }
}

}  // namespace boostforest
