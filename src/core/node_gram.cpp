#include "node_gram.hpp"

#include <algorithm>

#include "linalg.hpp"

namespace boostforest {

namespace {

// Sums and means are exact to some 1e-16 of Σ w x² around zero, on every level: a penalty of this share of it is a
// million times as much, and slopes change by less than they matter.
constexpr double kSafePenalty = 1e-8;

}  // namespace

bool worth_handing_down(const NodeGram& parent, std::int64_t n_small, std::int64_t n_large, int d, double lambda) {
    const RidgeWork small(n_small, d, 1), large(n_large, d, 1);
    const double extra = small.in_rows < small.in_features() ? small.gram : 0;
    return lambda >= kSafePenalty * parent.largest &&
           large.solution + extra + 2.0 * d * d < std::min(large.in_rows, large.in_features());
}

// With the means m and the weights W of the parent P, the child C and the other O: P - C - W_C W_P / W_O (m_P - m_C)²,
// the last a product of vectors.
void take_away(NodeGram& parent, const NodeGram& child, const double (&weights)[3], int width, int d) {
    const double factor = weights[1] / weights[2] * weights[0];
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
