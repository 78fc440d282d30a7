// Prediction: rows going down a tree. Part of all.cpp: compiled once per instruction set, so no standard library
// here.
#pragma once

#include "linalg.hpp"
#include "simd.hpp"
#include "stored.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Where all nodes have models, but for a root that is split: the number of a node's; below 0: none.
inline Index model_of(const TreeView& tree, std::int32_t node) {
    return Index{node} - (tree.n_nodes > 1);
}

// A tree of bytes that was unpacked: doubles, slopes in whole vectors with the intercept behind the last of them.
struct Unpacked {};

// Values from one of its models to the next.
inline Index unpacked_stride(Index n_inputs, Index width) {
    return n_inputs == 0 ? 1 : n_inputs < width ? width : width + (width < 8 ? 4 : 8);
}

// What is read of a tree that stores T (see Stored), or of one that is Unpacked.
template <class T>
struct Numbers {
    using Type = T;
    using Range = typename ClipRange<T>::Type;
};
template <>
struct Numbers<Unpacked> : Numbers<double> {};
template <class T>
constexpr bool kInUnits = false;
template <>
constexpr bool kInUnits<Byte> = true;
template <class T>
constexpr bool kShortNodes = kInUnits<T>;  // there may be
template <>
constexpr bool kShortNodes<Unpacked> = true;

template <class T>
inline double lower(const TreeView& tree, std::int32_t node) {
    return widen(static_cast<const typename Numbers<T>::Range*>(tree.lower)[node]);
}
template <class T>
inline double upper(const TreeView& tree, std::int32_t node) {
    return widen(static_cast<const typename Numbers<T>::Range*>(tree.upper)[node]);
}

// What a sum of a model's parameters is to be multiplied with. Models of several outputs have a number for each.
template <class T>
inline double unit(const TreeView& tree, Index model) {
    if constexpr (kInUnits<T>) return power_of_two(tree.exponent[model]);
    return 1;
}

// The products with slopes that are the last values of params, which are not padded: the same as dot with padded ones.
template <class T>
inline double dot_at_end(const double* row, const T* slopes, int n, int width) {
    return with_lanes(width, [=]<class L>() {
        T tail[L::kSize] = {};
        const int whole = width - L::kSize;
        for (int j = whole; j < n; ++j) tail[j - whole] = slopes[j];
        L total{};
        for (int j = 0; j < whole; j += L::kSize) total += load_lanes<L>(row + j) * load_lanes<L>(slopes + j);
        total += load_lanes<L>(row + whole) * load_lanes<L>(tail);
        return sum(total);
    });
}

// Slopes are not padded in params: where a padded read would run past the end, they are read one by one (those of bytes
// as where their tree is unpacked). The models of all outputs of a node, `last` among them, are read alike: equal ones
// give equal scores.
template <class T>
inline double linear_model(const TreeView& tree, Index model, Index last, const double* row, int width) {
    const Index start = model * (1 + tree.n_inputs);
    const T* p = static_cast<const T*>(tree.params) + start;
    double total = widen(p[0]);
    if (tree.n_inputs == 0) return total * unit<T>(tree, model);
    if (last * (1 + tree.n_inputs) + 1 + width > tree.n_params) {
        if constexpr (kInUnits<T>) return (total + dot_at_end(row, p + 1, tree.n_inputs, width)) * unit<T>(tree, model);
        for (int j = 0; j < tree.n_inputs; ++j) total += widen(p[1 + j]) * row[j];
        return total;
    }
    return (total + dot(row, p + 1, width)) * unit<T>(tree, model);
}
template <>
inline double linear_model<Unpacked>(const TreeView& tree, Index model, Index, const double* row, int width) {
    const double* p = static_cast<const double*>(tree.params) + model * unpacked_stride(tree.n_inputs, width);
    return tree.n_inputs == 0 ? *p : p[tree.n_inputs] + dot(row, p, width);
}

// Rows go down a tree together, or one row down several trees, one level at a time: the steps of different walks do not
// wait for each other, and those that have arrived drop out without a branch that could be mispredicted.
constexpr Index kRowsAtOnce = 128;

// Walks of rows, one after another, down a tree.
struct RowsOfTree {
    const TreeView& own_tree;
    const double *x, *x_of_models;
    Index width, input_width;
    const TreeView& tree(Index) const { return own_tree; }
    const double* row(Index i) const { return x + i * width; }
    const double* inputs(Index i) const { return x_of_models + i * input_width; }
};

// Walks of a row down trees that are alike (go_together).
struct TreesOfRow {
    const TreeView* trees;
    const double *x, *x_of_models;
    const TreeView& tree(Index t) const { return trees[t]; }
    const double* row(Index) const { return x; }
    const double* inputs(Index) const { return x_of_models; }
};

// Whether a row goes on from a node, and where to then.
template <bool kGaps, bool kShort>
inline bool goes_on(const TreeView& tree, std::int32_t node, const double* row, std::int32_t& next) {
    if constexpr (kShort) {
        const ShortNode& here = tree.short_nodes[node];
        const double value = row[here.feature & ((1 << ShortNode::kFeatureBits) - 1)];
        bool left = value <= here.threshold;
        if constexpr (kGaps) left = left | ((value != value) & (here.feature >> ShortNode::kFeatureBits != 0));
        next = here.left + (left ? 0 : 1);
        return here.left != 0;
    }
    const std::int32_t feature = tree.feature[node];
    const double value = row[feature < 0 ? 0 : feature];
    bool left = value <= tree.threshold[node];
    if constexpr (kGaps) left = left | ((value != value) & (tree.missing_left[node] != 0));
    next = tree.left[node] + (left ? 0 : 1);
    return feature >= 0;
}

template <bool kShort>
inline Index number_of_leaf(const TreeView& tree, std::int32_t leaf) {
    if constexpr (kShort) return static_cast<Index>(tree.short_nodes[leaf].threshold);
    return tree.leaf_number[leaf];
}

// Calls visit(i, node) for every node on the paths of n <= kRowsAtOnce walks, and before, as soon as a walk's next node
// is known, ahead(i, node) (after a leaf, of any node).
template <bool kGaps, bool kShort, class Walks, class Visit, class Ahead>
inline void walk(const Walks& walks, Index n, Visit visit, Ahead ahead) {
    std::int32_t number[kRowsAtOnce], node[kRowsAtOnce];
    for (std::int32_t i = 0; i < n; ++i) {
        number[i] = i;
        node[i] = 0;
    }
    while (n > 0) {
        Index n_next = 0;
        for (Index k = 0; k < n; ++k) {
            const std::int32_t i = number[k], here = node[k];
            visit(i, here);
            number[n_next] = i;
            const bool goes = goes_on<kGaps, kShort>(walks.tree(i), here, walks.row(i), node[n_next]);
            ahead(i, node[n_next]);
            n_next += goes;
        }
        n = n_next;
    }
}
template <bool kGaps, bool kShort, class Walks, class Visit>
inline void walk(const Walks& walks, Index n, Visit visit) {
    walk<kGaps, kShort>(walks, n, visit, [](std::int32_t, std::int32_t) {});
}

constexpr Index kFirstCache = 8192;  // numbers

// Has the parameters of a node's models read before they are asked for: in a large tree they are far from each other.
template <class T>
inline void prefetch_models(const TreeView& tree, std::int32_t node) {
    const Index n_values = tree.n_outputs * (1 + tree.n_inputs);
    const auto* p = static_cast<const T*>(tree.params) + model_of(tree, node) * n_values;
    __builtin_prefetch(p);
    __builtin_prefetch(p + n_values - 1);
}
template <>
inline void prefetch_models<Unpacked>(const TreeView&, std::int32_t) {}  // in a cache already

inline double within(double value, double low, double high) {
    const double above = value < low ? low : value;
    return above > high ? high : above;
}

inline bool goes_left(const TreeView& tree, std::int32_t node, double value) {
    return (value <= tree.threshold[node]) | ((value != value) & (tree.missing_left[node] != 0));
}

// linear_model with `value` in place of the row's own value in one column (-1: none).
template <class V, class T>
double model_at(const TreeView& tree, Index model, const double* row, int width, int column, double value) {
    constexpr int kSize = Traits<V>::kSize;
    const Index start = model * (1 + tree.n_inputs);
    const T* p = static_cast<const T*>(tree.params) + start;
    if (tree.n_inputs == 0) return widen(p[0]) * unit<T>(tree, model);
    if (start + 1 + width > tree.n_params) {
        double total = widen(p[0]);
        for (int j = 0; j < tree.n_inputs; ++j) total += widen(p[1 + j]) * (j == column ? value : row[j]);
        return total * unit<T>(tree, model);
    }
    V total{};
    for (int j = 0; j < width; j += kSize) {
        V x = load<V>(row + j);
        if (column >= j && column < j + kSize) x[column - j] = value;
        total += x * load<V>(p + 1 + j);
    }
    return (widen(p[0]) + sum(total)) * unit<T>(tree, model);
}

// Fewer rows than this do not decide where a boundary is.
constexpr double kBoundaryRows = 80;

// Steps to boundaries that a row may take in a tree, per node. Below a split, thresholds on its feature lie on the
// row's side of it, so few of the ways to boundaries go the same way: in a tree that was grown they take less than five
// steps per node together. In one that was made up all of them may go down the same chain.
constexpr Index kStepsPerNode = 8;

// Where a side of a split on a constrained feature ends at the threshold: the node that a row reaches with the
// threshold as the feature's value. It depends on free features alone, so the way ends at splits on other constrained
// ones.
inline std::int32_t node_at_cut(const TreeView& tree, const double* row, std::int32_t node, std::int32_t feature,
                                double cut, Index& steps_left) {
    for (; steps_left > 0; --steps_left) {
        const std::int32_t here = tree.feature[node];
        if (here < 0 || (here != feature && tree.monotone[here] != 0)) return node;
        const std::int32_t next = tree.left[node] + (goes_left(tree, node, here == feature ? cut : row[here]) ? 0 : 1);
        if (tree.n_samples[next] < kBoundaryRows) return node;
        node = next;
    }
    return node;
}

// What scores on the lower side of a split on a constrained feature do not exceed, nor scores on the upper side
// undercut: the mean of what both sides give at the threshold, no further from the node's own score than they may go.
template <class T>
inline double boundary(const TreeView& tree, const double* row, const double* inputs, int input_width,
                       std::int32_t node, double score, Index& steps_left) {
    const std::int32_t feature = tree.feature[node], left = tree.left[node];
    const double cut = tree.threshold[node];
    double least = lower<T>(tree, left), most = upper<T>(tree, left), total = 0;
    for (std::int32_t side = left; side <= left + 1; ++side) {
        const double low = lower<T>(tree, side), high = upper<T>(tree, side);
        least = low < least ? low : least;
        most = high > most ? high : most;
        const Index model = model_of(tree, node_at_cut(tree, row, side, feature, cut, steps_left));
        const auto score_of = input_width == 4 ? model_at<V4, T> : model_at<V8, T>;
        total += 0.5 * score_of(tree, model, inputs, input_width, tree.slope_of[feature], cut);
    }
    return within(total, score + least, score + most);
}

// Under constraints a node's parameters are the sum of the models on its path, with slopes of the right sign, and a
// score is no further from the parent's than the clip range, nor on the wrong side of a boundary on the path. All of
// these rise (or fall) with a constrained feature, so the score does: to the last bit, since rounding keeps the order.
template <class T>
void monotone_scores(const TreeView& tree, const double* x, Index n, int width, const double* inputs, int input_width,
                     double* out) {
    double low[kRowsAtOnce], high[kRowsAtOnce];
    Index steps_left[kRowsAtOnce];
    for (Index i = 0; i < n; ++i) {
        steps_left[i] = kStepsPerNode * tree.n_nodes;
        out[i] = 0;
        low[i] = -__builtin_inf();
        high[i] = __builtin_inf();
    }
    const RowsOfTree walks{tree, x, inputs, width, input_width};
    walk<true, false>(walks, n, [&](std::int32_t i, std::int32_t node) {
        const std::int32_t feature = tree.feature[node];
        const double* row = x + Index{i} * width;
        const double* own_inputs = inputs + Index{i} * input_width;
        if (const Index model = model_of(tree, node); model >= 0) {
            const double value = linear_model<T>(tree, model, model, own_inputs, input_width);
            out[i] = within(value, out[i] + lower<T>(tree, node), out[i] + upper<T>(tree, node));
        }
        if (feature < 0) {
            out[i] = within(out[i], low[i], high[i]);
        } else if (tree.monotone[feature] != 0) {
            const bool left = goes_left(tree, node, row[feature]);
            const double at_cut = boundary<T>(tree, row, own_inputs, input_width, node, out[i], steps_left[i]);
            const double value = within(at_cut, low[i], high[i]);
            (left == (tree.monotone[feature] > 0) ? high[i] : low[i]) = value;  // those further up count more
        }
    });
}

// Scores at the ends of n walks down trees without constraints.
template <class T, bool kGaps, bool kShort, class Walks>
void walk_scores(const Walks& walks, Index n, int input_width, double* out, Index stride) {
    const TreeView& any = walks.tree(0);
    const int n_outputs = any.n_outputs;
    if (any.sum_path && n_outputs > 1) {
        for (int c = 0; c < n_outputs; ++c)
            for (Index i = 0; i < n; ++i) out[c * stride + i] = 0;
        walk<kGaps, kShort>(walks, n, [&](std::int32_t i, std::int32_t node) {
            const TreeView& tree = walks.tree(i);
            const Index model = model_of(tree, node) * n_outputs, last = model + n_outputs - 1;
            if (model < 0) return;  // the root
            const double low = lower<T>(tree, node), high = upper<T>(tree, node);
            for (int c = 0; c < n_outputs; ++c) {
                const double value = linear_model<T>(tree, model + c, last, walks.inputs(i), input_width);
                out[c * stride + i] += within(value, low, high);
            }
        });
        return;
    }
    if (any.sum_path) {
        for (Index i = 0; i < n; ++i) out[i] = 0;
        const auto add = [&](std::int32_t i, std::int32_t node) {
            const TreeView& tree = walks.tree(i);
            const Index model = model_of(tree, node);
            if (model < 0) return;  // the root
            const double value = linear_model<T>(tree, model, model, walks.inputs(i), input_width);
            const double low = lower<T>(tree, node), high = upper<T>(tree, node);
            const double above = value < low ? low : value;
            out[i] += above > high ? high : above;
        };
        if (any.n_models * (1 + any.n_inputs) <= kFirstCache) {  // many rows have it there soon
            walk<kGaps, kShort>(walks, n, add);
        } else {
            walk<kGaps, kShort>(walks, n, add,
                                [&](std::int32_t i, std::int32_t node) { prefetch_models<T>(walks.tree(i), node); });
        }
        return;
    }
    std::int32_t leaf[kRowsAtOnce];
    walk<kGaps, kShort>(walks, n, [&](std::int32_t i, std::int32_t node) { leaf[i] = node; });
    if (kShort && has_short_scores(any)) {
        for (Index i = 0; i < n; ++i) out[i] = walks.tree(i).short_nodes[leaf[i]].threshold;
        return;
    }
    if (any.n_inputs == 0) {
        for (Index i = 0; i < n; ++i) {
            const TreeView& tree = walks.tree(i);
            const auto* constants = static_cast<const typename Numbers<T>::Type*>(tree.params);
            const Index model = number_of_leaf<kShort>(tree, leaf[i]) * n_outputs;
            for (int c = 0; c < n_outputs; ++c)
                out[c * stride + i] = widen(constants[model + c]) * unit<T>(tree, model + c);
        }
        return;
    }
    for (Index i = 0; i < n; ++i) {
        const TreeView& tree = walks.tree(i);
        const Index model = number_of_leaf<kShort>(tree, leaf[i]) * n_outputs;
        for (int c = 0; c < n_outputs; ++c) {
            const Index last = model + (tree.target_end == nullptr ? c : n_outputs - 1);
            out[c * stride + i] = linear_model<T>(tree, model + c, last, walks.inputs(i), input_width);
        }
    }
}

template <class T, class Walks>
inline auto walk_scores_of(const TreeView& any, bool has_gaps) {
    if constexpr (kShortNodes<T>) {
        if (any.short_nodes != nullptr)
            return has_gaps ? walk_scores<T, true, true, Walks> : walk_scores<T, false, true, Walks>;
    }
    return has_gaps ? walk_scores<T, true, false, Walks> : walk_scores<T, false, false, Walks>;
}

// Scores of a tree without constraints.
template <class T>
void free_scores(const TreeView& tree, const double* x, bool has_gaps, Index n, int width, const double* inputs,
                 int input_width, double* out, Index stride) {
    const auto scores = walk_scores_of<T, RowsOfTree>(tree, has_gaps);
    for (Index i = 0; i < n; i += kRowsAtOnce) {
        const Index n_rows = n - i < kRowsAtOnce ? n - i : kRowsAtOnce;
        const RowsOfTree walks{tree, x + i * width, inputs + i * input_width, width, input_width};
        scores(walks, n_rows, input_width, out + i, stride);
    }
}

template <class T>
void stored_scores(const TreeView& tree, const double* x, bool has_gaps, Index n, int width, const double* inputs,
                   int input_width, double* out, Index stride) {
    if (tree.monotone == nullptr) return free_scores<T>(tree, x, has_gaps, n, width, inputs, input_width, out, stride);
    for (Index i = 0; i < n; i += kRowsAtOnce) {
        const Index n_rows = n - i < kRowsAtOnce ? n - i : kRowsAtOnce;
        monotone_scores<T>(tree, x + i * width, n_rows, width, inputs + i * input_width, input_width, out + i);
    }
}

// A tree of few coefficients of eight bits is unpacked once for a block of rows: they then stay in a cache, and are
// read as they are, from the start of a line on. Units are powers of two, so scores are the same to the bit.
constexpr Index kSlack = 8;  // that the last vector may be written over

// Whether that takes less time than it saves. From the second cache, wide models are read faster as bytes.
inline bool is_unpacked(const TreeView& tree, Index n, int width) {
    constexpr Index kPerRow = 64;  // numbers
    constexpr int kNarrow = 16;
    const Index n_values =
        tree.n_models * tree.n_outputs * unpacked_stride(tree.n_inputs, width) + (tree.sum_path ? 2 * tree.n_nodes : 0);
    return tree.monotone == nullptr && !has_short_scores(tree) && n_values <= kPerRow * (n - 1) &&
           n_values <= (width <= kNarrow ? kUnpackedRoom - kSlack : kFirstCache);
}

// to[j] = from[j] · unit for n numbers, of which n_readable may be read; then anything finite up to `width`.
inline void unpack(const Byte* from, Index n, Index width, Index n_readable, double unit, double* to) {
    Index j = 0;
    for (; j < width && j + kVec <= n_readable; j += kVec) store(to + j, load<Vec>(from + j) * unit);
    for (; j < width; ++j) to[j] = j < n ? from[j] * unit : 0;
}

inline void unpack(const Half* from, Index n, double* to) {
    Index j = 0;
#if defined(__F16C__)  // otherwise not all numbers, infinite ones among them, are read by vectors
    for (; j + kVec <= n; j += kVec) store(to + j, load<Vec>(from + j));
#endif
    for (; j < n; ++j) to[j] = widen(from[j]);
}

// Writes the tree's models and clip ranges to `room`; returns the view of them.
inline TreeView unpacked(const TreeView& tree, int width, double* room) {
    const Index n_models = tree.n_models * tree.n_outputs, stride = unpacked_stride(tree.n_inputs, width);
    const Byte* from = static_cast<const Byte*>(tree.params);
    if (tree.n_inputs == 0) {
        Index m = 0;
        for (; m + kVec <= n_models; m += kVec) store(room + m, load<Vec>(from + m) * powers_of_two(tree.exponent + m));
        for (; m < n_models; ++m) room[m] = from[m] * unit<Byte>(tree, m);
    } else {
        for (Index m = 0; m < n_models; ++m) {
            const Index start = m * (1 + tree.n_inputs);
            const double own = unit<Byte>(tree, m);
            double* to = room + m * stride;
            unpack(from + start + 1, tree.n_inputs, width, tree.n_params - start - 1, own, to);
            to[tree.n_inputs] = from[start] * own;
        }
    }
    TreeView view = tree;
    view.params = room;
    if (tree.sum_path) {
        double* lowest = room + n_models * stride + kSlack;
        double* highest = lowest + tree.n_nodes;
        unpack(static_cast<const Half*>(tree.lower), tree.n_nodes, lowest);
        unpack(static_cast<const Half*>(tree.upper), tree.n_nodes, highest);
        view.lower = lowest;
        view.upper = highest;
    }
    return view;
}

void tree_scores(const TreeView& tree, const double* x, bool has_gaps, Index n, int width, const double* inputs,
                 int input_width, double* out, Index stride, double* room) {
    if (tree.stored == Stored::kByte && is_unpacked(tree, n, input_width)) {
        const TreeView view = unpacked(tree, input_width, room);
        return free_scores<Unpacked>(view, x, has_gaps, n, width, inputs, input_width, out, stride);
    }
    const auto scores = tree.stored == Stored::kDouble   ? stored_scores<double>
                        : tree.stored == Stored::kSingle ? stored_scores<float>
                        : tree.stored == Stored::kHalf   ? stored_scores<Half>
                                                         : stored_scores<Byte>;
    scores(tree, x, has_gaps, n, width, inputs, input_width, out, stride);
}

// Constants of which whole vectors may be read, from that of a model's first output on.
template <class T>
inline Index readable_constants(const TreeView& tree, Index model) {
    const bool fewer = kInUnits<T> && tree.n_exponents < tree.n_params;
    return (fewer ? tree.n_exponents : tree.n_params) - model;
}

template <class T>
inline Vec constants_at(const TreeView& tree, Index model) {
    Vec values = load<Vec>(static_cast<const T*>(tree.params) + model);
    if constexpr (kInUnits<T>) values *= powers_of_two(tree.exponent + model);
    return values;
}

// Adds the constants of a leaf, model … model + n_outputs - 1, to the outputs. Whole vectors are added: `out` has room
// for them.
template <class T>
inline void add_constants(const TreeView& tree, Index model, double* out) {
    const Index n_readable = readable_constants<T>(tree, model);
    int c = 0;
    for (; c < tree.n_outputs && c + kVec <= n_readable; c += kVec)
        store(out + c, load<Vec>(out + c) + constants_at<T>(tree, model + c));
    const T* from = static_cast<const T*>(tree.params) + model;
    for (; c < tree.n_outputs; ++c) out[c] += widen(from[c]) * unit<T>(tree, model + c);
}

// The same for the leaves of several trees, tree after tree: of few outputs the sums stay in registers.
template <class T, int kParts, class Model>
inline void add_few_constants(const TreeView* trees, int n_trees, Model model_of_tree, double* out) {
    Vec total[kParts];
    unrolled<0, kParts>([&]<int k>() { total[k] = load<Vec>(out + k * kVec); });
    int t = 0;
    for (; t < n_trees && readable_constants<T>(trees[t], model_of_tree(t)) >= kParts * kVec; ++t) {
        const Index model = model_of_tree(t);
        unrolled<0, kParts>([&]<int k>() { total[k] += constants_at<T>(trees[t], model + k * kVec); });
    }
    unrolled<0, kParts>([&]<int k>() { store(out + k * kVec, total[k]); });
    for (; t < n_trees; ++t) add_constants<T>(trees[t], model_of_tree(t), out);
}

// A row goes down several trees together, as rows go down one.
template <class T, bool kGaps, bool kShort>
void stored_constants(const TreeView* trees, int n_trees, const double* x, double* out) {
    std::int32_t tree[kTreesAtOnce], node[kTreesAtOnce], leaf[kTreesAtOnce];
    for (int t = 0; t < n_trees; ++t) {
        tree[t] = t;
        node[t] = 0;
    }
    for (int n = n_trees; n > 0;) {
        int n_next = 0;
        for (int k = 0; k < n; ++k) {
            const std::int32_t t = tree[k], here = node[k];
            leaf[t] = here;
            tree[n_next] = t;
            n_next += goes_on<kGaps, kShort>(trees[t], here, x, node[n_next]);
        }
        n = n_next;
    }
    if (trees[0].n_outputs > 1) {
        const int n_outputs = trees[0].n_outputs;
        const auto model = [&](int t) { return number_of_leaf<kShort>(trees[t], leaf[t]) * n_outputs; };
        if (n_outputs <= kVec) return add_few_constants<T, 1>(trees, n_trees, model, out);
        if (n_outputs <= 2 * kVec) return add_few_constants<T, 2>(trees, n_trees, model, out);
        if (n_outputs <= 3 * kVec) return add_few_constants<T, 3>(trees, n_trees, model, out);
        if (n_outputs <= 4 * kVec) return add_few_constants<T, 4>(trees, n_trees, model, out);
        for (int t = 0; t < n_trees; ++t) add_constants<T>(trees[t], model(t), out);
        return;
    }
    if constexpr (kShort) {
        for (int t = 0; t < n_trees; ++t) *out += trees[t].short_nodes[leaf[t]].threshold;
        return;
    }
    T values[kTreesAtOnce] = {};  // side by side, to be widened together
    std::int8_t exponents[kTreesAtOnce] = {};
    for (int t = 0; t < n_trees; ++t) {
        const Index model = trees[t].leaf_number[leaf[t]];
        values[t] = static_cast<const T*>(trees[t].params)[model];
        if constexpr (kInUnits<T>) exponents[t] = trees[t].exponent[model];
    }
    double wide[kTreesAtOnce];
    for (int t = 0; t < kTreesAtOnce; t += kVec) {
        Vec some = load<Vec>(values + t);
        if constexpr (kInUnits<T>) some *= powers_of_two(exponents + t);
        store(wide + t, some);
    }
    for (int t = 0; t < n_trees; ++t) *out += wide[t];
}

void scores_of_row(const TreeView* trees, int n_trees, const double* x, bool has_gaps, const double* inputs,
                   int input_width, double* out, Index stride) {
    const Stored stored = trees[0].stored;
    const auto scores = stored == Stored::kDouble   ? walk_scores_of<double, TreesOfRow>(trees[0], has_gaps)
                        : stored == Stored::kSingle ? walk_scores_of<float, TreesOfRow>(trees[0], has_gaps)
                        : stored == Stored::kHalf   ? walk_scores_of<Half, TreesOfRow>(trees[0], has_gaps)
                                                    : walk_scores_of<Byte, TreesOfRow>(trees[0], has_gaps);
    scores({trees, x, inputs}, n_trees, input_width, out, stride);
}

void constants_of_row(const TreeView* trees, int n_trees, const double* x, bool has_gaps, double* out) {
    const auto constants_of = [=]<bool kGaps>() {
        const Stored stored = trees[0].stored;
        if (trees[0].short_nodes != nullptr) return stored_constants<Byte, kGaps, true>;
        return stored == Stored::kDouble   ? stored_constants<double, kGaps, false>
               : stored == Stored::kSingle ? stored_constants<float, kGaps, false>
               : stored == Stored::kHalf   ? stored_constants<Half, kGaps, false>
                                           : stored_constants<Byte, kGaps, false>;
    };
    const auto constants = has_gaps ? constants_of.operator()<true>() : constants_of.operator()<false>();
    constants(trees, n_trees, x, out);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
