#include "forest.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "../kernels/kernels.hpp"
#include "../models/hidden_layer.hpp"

namespace boostforest {

// The size of a tree goes with the number of its leaves.
JoinedTrees::JoinedTrees(const std::vector<TreeParams>& params, Stored stored, bool short_thresholds)
    : short_thresholds_(short_thresholds || stored == Stored::kByte), waiting_(params.size()) {
    if (stored == Stored::kSingle) columns.emplace<1>();
    if (stored == Stored::kHalf) columns.emplace<2>();
    if (stored == Stored::kByte) columns.emplace<3>();
    double total = 0;
    for (const TreeParams& tree : params) share_.push_back(total += 1 / tree.split.min_samples_leaf);
    for (double& share : share_) share /= total;
}

// One block for all columns, unless they are so small that a large page costs more than a few small ones, or so large
// that each has large pages enough for itself.
template <class C>
void JoinedTrees::set_aside(JoinedColumns<C>& joined, const PackedTree& first, double share) {
    constexpr double kSmallest = 3 << 18, kLargest = 1 << 28;
    const double factor = 1.25 / share;  // what is never touched costs nothing
    double n_bytes = factor * static_cast<double>(first.n_params * sizeof(C));
    const auto n_nodes = static_cast<std::size_t>(factor * static_cast<double>(first.n_nodes));
    joined.for_each_node_column(
        [&](const char*, auto& column) { n_bytes += static_cast<double>(n_nodes * sizeof(*column.data())); }, joined);
    if (waiting_.size() == 1 || n_bytes < kSmallest || n_bytes > kLargest) return;
    const auto block = std::make_shared<ColumnBlock>(static_cast<std::size_t>(n_bytes));
    joined.for_each_node_column([&](const char*, auto& column) { column.start_in(block, n_nodes); }, joined);
    joined.params.start_in(block, static_cast<std::size_t>(factor * static_cast<double>(first.n_params)));
}

void JoinedTrees::append(const GrownTree& grown) {
    const PackedTree& tree = grown.tree;
    const double share = share_[kind.size()];
    std::visit(
        [&]<class C>(JoinedColumns<C>& joined) {
            if (kind.empty()) set_aside(joined, tree, share);
            const auto from = tree.columns<C>();
            joined.for_each_node_column(
                [&](const char*, auto& column, const auto* place) { column.append(place, tree.n_nodes, share); },
                joined, from);
            joined.params.append(from.params, tree.n_params, share);
            if constexpr (std::is_same_v<C, Byte>) joined.exponent.append(from.exponent, tree.n_exponents, share);
        },
        columns);
    tree_start.push_back(tree_start.back() + tree.n_nodes);
    kind.push_back(static_cast<std::uint8_t>(grown.kind));
    sum_path.push_back(grown.sum_path ? 1 : 0);
    hidden.insert(hidden.end(), grown.hidden.begin(), grown.hidden.end());
    hidden_start.push_back(static_cast<std::int64_t>(hidden.size()));
    n_unconverged += grown.n_unconverged;
}

void JoinedTrees::add(std::size_t t, GrownTree tree) {
    const std::scoped_lock lock(mutex_);
    waiting_[t] = std::move(tree);
    for (std::size_t next = kind.size(); next < waiting_.size() && waiting_[next]; ++next) {
        append(*waiting_[next]);
        waiting_[next].reset();
    }
}

void grow_forest(const Dataset& data, const Sampling& sampling, const std::vector<TreeParams>& params, int n_threads,
                 Control& control, JoinedTrees& trees) {
    std::vector<std::unique_ptr<Grower>> growers(kMaxThreads);
    parallel_for(static_cast<std::int64_t>(params.size()), n_threads, control, [&](std::int64_t t, Worker& worker) {
        auto& grower = growers[worker.number()];
        if (!grower) grower = std::make_unique<Grower>(data, sampling, trees.stored(), trees.short_thresholds());
        trees.add(t, grower->grow(params[t], worker));
    });
}

namespace {

constexpr int kBlockValues = 32768;            // 256 kB
constexpr std::size_t kKeptBytes = 4'000'000;  // of a buffer, from one call to the next
constexpr std::int64_t kFewRows = 8;           // so many go down trees row by row, each down several at once;
constexpr std::int64_t kFewOfConstants = 16;   //   down those of constants, in which little is done for a row

// Scratch of one thread. The calling thread's stays for the next call: one row is predicted without new memory.
struct Workspace {
    Buffer<double> scaled, gaps, some;            // of a block
    Buffer<double> some_x, some_gaps, some_seen;  // of those of its rows that a tree has not drawn,
    Buffer<std::int64_t> numbers;                 //   and their numbers
    Buffer<double> scores, units;                 // of a tree, and what its hidden layer makes of some rows
    Buffer<double> room;                          // kernels need for a tree
    HiddenLayer layer;
};

Workspace& workspace() {
    thread_local Workspace own;
    return own;
}

// At the end of a call, however it ends, frees what is too large to be kept.
struct FreeLargeBuffers {
    FreeLargeBuffers() = default;
    FreeLargeBuffers(const FreeLargeBuffers&) = delete;
    FreeLargeBuffers& operator=(const FreeLargeBuffers&) = delete;
    ~FreeLargeBuffers() {
        Workspace& own = workspace();
        for (Buffer<double>* buffer :
             {&own.scaled, &own.gaps, &own.some, &own.some_x, &own.some_gaps, &own.some_seen, &own.scores, &own.units})
            buffer->keep_at_most(kKeptBytes);
        own.numbers.keep_at_most(kKeptBytes);
        own.layer.keep_at_most(kKeptBytes);
    }
};

// Rows that go through all trees together: as many as stay in the cache beside a tree, since every block reads the
// whole forest, but few enough to give each thread a share.
std::int64_t rows_per_block(const RawRows& rows, int n_threads) {
    const std::int64_t in_cache = std::clamp(kBlockValues / padded_width(rows.n_features), 128, 4096);
    const std::int64_t share = (rows.n_rows + n_threads - 1) / std::max(n_threads, 1);
    return std::clamp<std::int64_t>(share, 128, in_cache);
}

// A block of rows as the trees see it.
struct Block {
    std::int64_t begin, end;            // row numbers
    const double* x = nullptr;          // scaled, missing values filled
    const double* with_gaps = nullptr;  // the same with NaN for missing values; null if there are none
    const double* model_x = nullptr;    // what node models see of x: x itself, or some of its features
    std::int64_t n() const { return end - begin; }
};

// Doubles per row of Block::model_x.
int model_width(const RawRows& rows) {
    return padded_width(rows.model_features.numbers == nullptr ? rows.n_features : rows.model_features.n);
}

// Copies rows of `width` doubles (see padded_width) by their numbers, of which `first` is the first row's.
void copy_rows(const double* from, const std::int64_t* numbers, std::int64_t first, std::int64_t n, std::int64_t width,
               double* to) {
    constexpr int kPart = 4;
    for (std::int64_t i = 0; i < n; ++i, to += width) {
        const double* row = from + (numbers[i] - first) * width;
        for (std::int64_t j = 0; j < width; j += kPart) std::copy_n(row + j, kPart, to + j);  // calls no function
    }
}

// Calls body(block, worker) for blocks of rows on threads; one block takes no thread.
template <class Body>
void for_each_block(const RawRows& rows, int n_threads, Control& control, Body body) {
    const FreeLargeBuffers afterwards;
    const std::int64_t per_block = rows_per_block(rows, n_threads);
    const std::int64_t n_blocks = (rows.n_rows + per_block - 1) / per_block;
    parallel_for(n_blocks, n_threads, control, [&](std::int64_t number, Worker& worker) {
        Workspace& own = workspace();
        Block block{.begin = number * per_block, .end = std::min((number + 1) * per_block, rows.n_rows)};
        const std::int64_t n_values = block.n() * padded_width(rows.n_features);
        double* x = own.scaled.get(n_values);
        if (scale_rows(rows, block.begin, block.end, x)) {
            block.with_gaps = own.gaps.get(n_values);
            std::copy_n(x, n_values, own.gaps.data());
            fill_missing(rows, block.n(), x);
        }
        block.x = block.model_x = x;
        if (rows.model_features.numbers != nullptr) {
            block.model_x = own.some.get(block.n() * model_width(rows));
            gather_features(x, block.n(), padded_width(rows.n_features), rows.model_features, own.some.data());
        }
        body(block, worker);
    });
}

}  // namespace

void evaluate_tree(const TreeView& tree, const double* x, const double* with_gaps, const double* model_x,
                   std::int64_t n, int width, int model_width, Link link, Worker& worker, double* f) {
    const std::int64_t stride = padded_rows(n);
    const bool has_gaps = with_gaps != nullptr;
    const double* routed = has_gaps ? with_gaps : x;
    double* room = tree.stored == Stored::kByte ? workspace().room.get(kUnpackedRoom) : nullptr;
    if (tree.kind != ModelKind::kHidden) {
        kernels().tree_scores(tree, routed, has_gaps, n, width, model_x, model_width, f, stride, room);
    } else {  // some rows at a time: each has as many values as the layer has units
        Workspace& own = workspace();
        own.layer.load(tree.hidden, tree.n_inputs, tree.n_model_features);
        const int units_width = hidden_width(tree.n_inputs);
        const std::int64_t at_once = std::max<std::int64_t>(kBlockValues / units_width / 8 * 8, 8);
        double* units = own.units.get(std::min(at_once, n) * units_width);
        for (std::int64_t i = 0; i < n; i += at_once) {
            const std::int64_t n_here = std::min(at_once, n - i);
            own.layer.evaluate(model_x + i * model_width, nullptr, n_here, model_width, worker, units);
            kernels().tree_scores(tree, routed + i * width, has_gaps, n_here, width, units, units_width, f + i, stride,
                                  room);
        }
    }
    apply_link(link, f, stride, n, tree.n_outputs, tree.target_end);
}

namespace {

// Adds what the link makes of the scores of row i of a block by trees that go together, tree after tree. f: room for
// kTreesAtOnce scores of every output.
void add_row(const TreeView* trees, int n_trees, const Block& block, std::int64_t i, int width, int model_width,
             Link link, double* f, double* out) {
    const int n_outputs = trees[0].n_outputs;
    const bool has_gaps = block.with_gaps != nullptr;
    const double* x = (has_gaps ? block.with_gaps : block.x) + i * width;
    if (link == Link::kIdentity && only_constants(trees[0])) {
        std::copy_n(out, n_outputs, f);
        kernels().constants_of_row(trees, n_trees, x, has_gaps, f);
        std::copy_n(f, n_outputs, out);
        return;
    }
    kernels().scores_of_row(trees, n_trees, x, has_gaps, block.model_x + i * model_width, model_width, f, kTreesAtOnce);
    apply_link(link, f, kTreesAtOnce, n_trees, n_outputs, trees[0].target_end);
    for (int t = 0; t < n_trees; ++t)
        for (int c = 0; c < n_outputs; ++c) out[c] += f[c * kTreesAtOnce + t];
}

}  // namespace

void predict_forest(std::span<const TreeView> trees, const RawRows& rows, Link link, const double* start, int n_threads,
                    Control& control, double* out) {
    if (trees.empty()) return;
    const int n_outputs = trees[0].n_outputs, width = padded_width(rows.n_features);
    for_each_block(rows, n_threads, control, [&](const Block& block, Worker& worker) {
        const std::int64_t n = block.n(), stride = padded_rows(n);
        double* f = workspace().scores.get(n_outputs * std::max<std::int64_t>(stride, kTreesAtOnce));
        for (std::size_t t = 0; t < trees.size(); ++t) {
            const TreeView& tree = trees[t];
            worker.check(n * width);
            if (n <= (only_constants(tree) ? kFewOfConstants : kFewRows) && start == nullptr && goes_together(tree)) {
                int together = 1;
                while (together < kTreesAtOnce && t + together < trees.size() && go_together(tree, trees[t + together]))
                    ++together;
                for (std::int64_t i = 0; i < n; ++i)
                    add_row(&tree, together, block, i, width, model_width(rows), link, f,
                            out + (block.begin + i) * n_outputs);
                t += together - 1;
                continue;
            }
            evaluate_tree(tree, block.x, block.with_gaps, block.model_x, n, width, model_width(rows),
                          start == nullptr ? link : Link::kIdentity, worker, f);
            if (start != nullptr) {
                for (std::int64_t i = 0; i < n; ++i)
                    for (int c = 0; c < n_outputs; ++c) f[c * stride + i] += start[(block.begin + i) * n_outputs + c];
                apply_link(link, f, stride, n, n_outputs, tree.target_end);
            }
            for (std::int64_t i = 0; i < n; ++i)
                for (int c = 0; c < n_outputs; ++c) out[(block.begin + i) * n_outputs + c] += f[c * stride + i];
        }
    });
}

void predict_out_of_bag(std::span<const TreeView> trees, const std::vector<Key>& seeds, const Sampling& sampling,
                        const RawRows& rows, const TrainingPlaces& places, Link link, const double* start,
                        int n_threads, Control& control, double* out, double* n_trees, double* squares) {
    if (trees.empty()) return;
    constexpr std::size_t kDrawsAtOnce = 64;  // are kept, so that threads can share the rows, not the trees
    const int n_outputs = trees[0].n_outputs, width = padded_width(rows.n_features), seen_width = model_width(rows);
    std::vector<std::int32_t> counts(std::min(kDrawsAtOnce, trees.size()) * static_cast<std::size_t>(places.n_rows));
    std::vector<Key> drawn_by;      // seeds of the draws that are kept
    std::vector<std::size_t> draw;  // of each of the trees that have them: all trees of a boosted bag have the same
    for (std::size_t first = 0; first < trees.size(); first += draw.size()) {
        drawn_by.clear();
        draw.clear();
        for (std::size_t t = first; t < trees.size(); ++t) {
            const bool is_new = drawn_by.empty() || seeds[t] != drawn_by.back();
            if (is_new && drawn_by.size() == kDrawsAtOnce) break;
            if (is_new) drawn_by.push_back(seeds[t]);
            draw.push_back(drawn_by.size() - 1);
        }
        const auto n_draws = static_cast<std::int64_t>(drawn_by.size());
        parallel_for(n_draws, n_threads, control, [&](std::int64_t d, Worker& worker) {
            draw_bootstrap(drawn_by[d], places.n_rows, sampling, worker, counts.data() + d * places.n_rows);
        });
        for_each_block(rows, n_threads, control, [&](const Block& block, Worker& worker) {
            Workspace& own = workspace();
            double* x = own.some_x.get(block.n() * width);
            double* gaps = block.with_gaps == nullptr ? nullptr : own.some_gaps.get(block.n() * width);
            double* seen = block.model_x == block.x ? x : own.some_seen.get(block.n() * seen_width);
            double* f = own.scores.get(n_outputs * padded_rows(block.n()));
            std::int64_t* number = own.numbers.get(block.n() + 1);
            std::int64_t n = 0;  // rows that a tree has not drawn
            for (std::size_t t = 0; t < draw.size(); ++t) {
                worker.check(block.n() * width);
                const std::int32_t* drawn = counts.data() + draw[t] * places.n_rows;
                const bool is_new = t == 0 || draw[t] != draw[t - 1];
                if (is_new) {
                    n = 0;
                    for (std::int64_t i = block.begin; i < block.end; ++i) {  // no branch: it could not be foreseen
                        number[n] = i;
                        n += drawn[places.numbers == nullptr ? i : places.numbers[i]] == 0 ? 1 : 0;
                    }
                    copy_rows(block.x, number, block.begin, n, width, x);
                    if (gaps != nullptr) copy_rows(block.with_gaps, number, block.begin, n, width, gaps);
                    if (seen != x) copy_rows(block.model_x, number, block.begin, n, seen_width, seen);
                }
                evaluate_tree(trees[first + t], x, gaps, seen, n, width, seen_width,
                              start == nullptr ? link : Link::kIdentity, worker, f);
                if (start != nullptr) {
                    for (std::int64_t i = 0; i < n; ++i)
                        for (int c = 0; c < n_outputs; ++c)
                            f[c * padded_rows(n) + i] += start[number[i] * n_outputs + c];
                    apply_link(link, f, padded_rows(n), n, n_outputs, trees[0].target_end);
                }
                for (std::int64_t i = 0; i < n; ++i) {
                    for (int c = 0; c < n_outputs; ++c) {
                        const double value = f[c * padded_rows(n) + i];
                        out[number[i] * n_outputs + c] += value;
                        if (squares != nullptr) squares[number[i] * n_outputs + c] += value * value;
                    }
                    n_trees[number[i]] += 1;
                }
            }
        });
    }
}

void apply_forest(std::span<const TreeView> trees, const RawRows& rows, int n_threads, Control& control,
                  std::int32_t* out) {
    const int width = padded_width(rows.n_features);
    const auto n_trees = static_cast<std::int64_t>(trees.size());
    for_each_block(rows, n_threads, control, [&](const Block& block, Worker& worker) {
        const double* x = block.with_gaps == nullptr ? block.x : block.with_gaps;
        for (std::int64_t t = 0; t < n_trees; ++t) {
            worker.check(block.n() * 16);
            const TreeView& tree = trees[t];
            for (std::int64_t i = 0; i < block.n(); ++i) {
                std::int32_t node = 0;
                while (tree.feature[node] >= 0) {
                    const double value = x[i * width + tree.feature[node]];
                    const bool left = std::isnan(value) ? tree.missing_left[node] != 0 : value <= tree.threshold[node];
                    node = tree.left[node] + (left ? 0 : 1);
                }
                out[(block.begin + i) * n_trees + t] = node;
            }
        }
    });
}

}  // namespace boostforest
