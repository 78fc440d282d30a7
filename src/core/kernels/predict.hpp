// Prediction: rows going down a tree. Part of kernels.cpp: compiled once per instruction set, so no standard library
// here.
#pragma once

#include "linalg.hpp"
#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Slopes are not padded in params: where a padded read would run past the end, they are copied first.
inline double linear_model(const TreeView& tree, Index start, const double* row, int width) {
    const double* p = tree.params + start;
    if (tree.n_inputs == 0) return p[0];
    if (start + 1 + width > tree.n_params) {
        double total = p[0];
        for (int j = 0; j < tree.n_inputs; ++j) total += p[1 + j] * row[j];
        return total;
    }
    return p[0] + dot(row, p + 1, width);
}

// Rows go down a tree together, one level at a time: the steps of different rows do not wait for each other, and
// rows that have arrived drop out without a branch that could be mispredicted.
constexpr Index kRowsAtOnce = 128;

// Calls visit(row, node) for every node on the paths of n <= kRowsAtOnce rows.
template <bool kGaps, class Visit>
inline void walk(const TreeView& tree, const double* x, Index n, Index width, Visit visit) {
    std::int32_t row[kRowsAtOnce], node[kRowsAtOnce];
    for (std::int32_t i = 0; i < n; ++i) {
        row[i] = i;
        node[i] = 0;
    }
    while (n > 0) {
        Index n_next = 0;
        for (Index k = 0; k < n; ++k) {
            const std::int32_t i = row[k], here = node[k];
            visit(i, here);
            const std::int32_t feature = tree.feature[here];
            const double value = x[i * width + (feature < 0 ? 0 : feature)];
            row[n_next] = i;
            bool left = value <= tree.threshold[here];
            if constexpr (kGaps) left = left | ((value != value) & (tree.missing_left[here] != 0));
            node[n_next] = tree.left[here] + (left ? 0 : 1);
            n_next += feature >= 0;
        }
        n = n_next;
    }
}

template <bool kGaps>
void block_scores(const TreeView& tree, const double* x, Index n, int width, const double* inputs, int input_width,
                  double* out, Index stride) {
    if (tree.sum_path) {
        for (Index i = 0; i < n; ++i) out[i] = 0;
        walk<kGaps>(tree, x, n, width, [&](std::int32_t i, std::int32_t node) {
            if (tree.param_start[node] < 0) return;  // the root
            const double* row = inputs + Index{i} * input_width;
            const double value = linear_model(tree, tree.param_start[node], row, input_width);
            const double low = tree.lower[node], high = tree.upper[node];
            const double above = value < low ? low : value;
            out[i] += above > high ? high : above;
        });
        return;
    }
    std::int32_t leaf[kRowsAtOnce];
    walk<kGaps>(tree, x, n, width, [&](std::int32_t i, std::int32_t node) { leaf[i] = node; });
    const Index step = 1 + tree.n_inputs;
    for (Index i = 0; i < n; ++i)
        for (int c = 0; c < tree.n_outputs; ++c)
            out[c * stride + i] =
                linear_model(tree, tree.param_start[leaf[i]] + c * step, inputs + i * input_width, input_width);
}

void tree_scores(const TreeView& tree, const double* x, bool has_gaps, Index n, int width, const double* inputs,
                 int input_width, double* out, Index stride) {
    const auto block = has_gaps ? block_scores<true> : block_scores<false>;
    for (Index i = 0; i < n; i += kRowsAtOnce)
        block(tree, x + i * width, n - i < kRowsAtOnce ? n - i : kRowsAtOnce, width, inputs + i * input_width,
              input_width, out + i, stride);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
