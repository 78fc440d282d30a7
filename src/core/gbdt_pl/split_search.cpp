#include "split_search.hpp"

#include <algorithm>

namespace boostforest::gbdt_pl {

namespace {

constexpr int kBlock = 16;                        // features at a time: their histograms stay in the cache
constexpr std::int64_t kWorkPerThread = 200'000;  // rows × features that are worth a thread of their own
constexpr int kStride = kMaxBins + 8;             // from one sum to the next
constexpr int kSearchSweeps = 50;                 // enough to rank splits
constexpr double kTinyPivot = 1e-10;              // of the sums over all rows

}  // namespace

bool SplitSearch::may_add(const NodeRows& node, int feature) const {
    return node.n_used < rules_.max_regressors &&
           std::find(node.used, node.used + node.n_used, feature) == node.used + node.n_used;
}

// Writes the running sums over the bins that have rows; returns how many there are.
int SplitSearch::add_up(const double* histogram, int feature, int step, bool adds, Workspace& work) {
    const double* mean = table_.bin_mean + static_cast<std::int64_t>(feature) * kMaxBins;
    double* sums = work.sums.get(kPieceSums * kStride);
    Sums s{};
    int n = 0;
    for (int bin = 0; bin < table_.n_bins[feature]; ++bin) {
        const double* cell = histogram + bin * step;
        if (cell[kPieceW] == 0) continue;
        const double g = cell[0], h = cell[1], x = adds ? mean[bin] : 0;
        s[kPieceG] += g;
        s[kPieceH] += h;
        s[kPieceW] += cell[2];
        s[kPieceGX] += g * x;
        s[kPieceHX] += h * x;
        s[kPieceHXX] += h * x * x;
        if (step == 8) {
            s[kPieceGP] += cell[4];
            s[kPieceHP] += cell[5];
            s[kPieceHPP] += cell[6];
            s[kPieceHPX] += cell[5] * x;
        }
        for (int m = 0; m < kPieceSums; ++m) sums[m * kStride + n] = s[m];
        work.position[n++] = static_cast<std::uint8_t>(bin);
    }
    return n;
}

Piece SplitSearch::piece(const Sums& sums, Workspace& work) {
    Quadratic& q = work.quadratic;
    q.reset(3);
    q.a(0, 0) = sums[kPieceH] + rules_.lambda;
    q.a(0, 1) = sums[kPieceHP];
    q.a(0, 2) = sums[kPieceHX];
    q.a(1, 1) = sums[kPieceHPP] + rules_.lambda;
    q.a(1, 2) = sums[kPieceHPX];
    q.a(2, 2) = sums[kPieceHXX] + rules_.lambda;
    q.b(0) = sums[kPieceG];
    q.b(1) = sums[kPieceGP];
    q.b(2) = sums[kPieceGX];
    for (int i = 0; i < 3; ++i) q.alpha(i) = rules_.alpha;
    const double value = q.minimise(kSearchSweeps);
    return {value, q.solution()[1], q.solution()[2]};
}

// The best of the n - 1 splits between n bins.
void SplitSearch::search_cuts(int n, Found& found, Workspace& work) {
    const double* sums = work.sums.data();
    const auto at = [sums](int m, int i) { return sums[m * kStride + i]; };
    const int n_cuts = n - 1;
    const Sums& total = found.total;
    double *left = work.values.get(2 * kStride), *right = left + kStride;
    const double tiny[3] = {kTinyPivot * total[kPieceH], kTinyPivot * total[kPieceHPP], kTinyPivot * total[kPieceHXX]};
    kernels().least_values(sums, kStride, nullptr, n_cuts, rules_.lambda, rules_.alpha, tiny, left);
    kernels().least_values(sums, kStride, total.data(), n_cuts, rules_.lambda, rules_.alpha, tiny, right);
    int best = -1;
    for (int i = 0; i < n_cuts; ++i) {
        const double h = at(kPieceH, i), w = at(kPieceW, i);
        if (h < rules_.min_child_weight || w < rules_.min_samples_leaf) continue;
        if (total[kPieceH] - h < rules_.min_child_weight || total[kPieceW] - w < rules_.min_samples_leaf) break;
        if (best < 0 || is_better(left[i] + right[i], found.value)) {
            best = i;
            found.value = left[i] + right[i];
        }
    }
    if (best < 0) return;
    found.bin = work.position[best];
    for (int m = 0; m < kPieceSums; ++m) found.left[m] = at(m, best);
}

// The best feature, whose sums are left in found_; whole: by its linear term over all rows, not by its splits.
Split SplitSearch::search_all(const NodeRows& node, bool whole, Control& control, Worker& caller) {
    const std::int64_t work_to_do = node.n * table_.n_features;
    const int n_threads =
        static_cast<int>(std::clamp<std::int64_t>(work_to_do / kWorkPerThread, 1, std::min(n_threads_, kMaxThreads)));
    const int block = std::min(kBlock, (table_.n_features + n_threads - 1) / n_threads);
    const auto search_block = [&](std::int64_t item, Worker& worker, int thread) {
        worker.check(node.n * block * 4);
        Workspace& work = work_[thread];
        const int first = static_cast<int>(item) * block, last = std::min(first + block, table_.n_features);
        const std::size_t size = static_cast<std::size_t>(kMaxBins) * node.step;
        double* histogram = work.histogram.get(size * (last - first));
        std::fill_n(histogram, size * (last - first), 0.0);
        kernels().add_to_bins(table_.bins, table_.n_features, first, last, node.rows, node.n, node.statistics,
                              node.step, histogram);
        for (int j = first; j < last; ++j) {
            Found& found = found_[j] = {};
            const bool adds = may_add(node, j);
            const int n = add_up(histogram + size * (j - first), j, node.step, adds, work);
            for (int m = 0; m < kPieceSums; ++m) found.total[m] = work.sums.data()[m * kStride + n - 1];
            if (!whole) {
                search_cuts(n, found, work);
            } else if (adds && n > 1) {
                found.value = piece(found.total, work).value;
                found.bin = 0;
            }
        }
    };
    const std::int64_t n_blocks = (table_.n_features + block - 1) / block;
    if (n_threads == 1) {
        for (std::int64_t item = 0; item < n_blocks; ++item) search_block(item, caller, 0);
    } else {
        parallel_for(n_blocks, n_threads, control,
                     [&](std::int64_t item, Worker& worker) { search_block(item, worker, worker.number()); });
    }
    Split best;
    for (int j = 0; j < table_.n_features; ++j)
        if (found_[j].bin >= 0 && (best.feature < 0 || is_better(found_[j].value, best.value)))
            best = {.feature = j, .bin = found_[j].bin, .adds = may_add(node, j), .value = found_[j].value};
    return best;
}

Split SplitSearch::best(const NodeRows& node, Control& control, Worker& worker) {
    Split split = search_all(node, false, control, worker);
    if (split.feature < 0) return split;
    const Found& found = found_[split.feature];
    Sums right;
    for (int m = 0; m < kPieceSums; ++m) right[m] = found.total[m] - found.left[m];
    split.left = piece(found.left, work_[0]);
    split.right = piece(right, work_[0]);
    return split;
}

Split SplitSearch::best_term(const NodeRows& node, Control& control, Worker& worker) {
    Split term = search_all(node, true, control, worker);
    if (term.feature >= 0) term.left = piece(found_[term.feature].total, work_[0]);
    return term;
}

}  // namespace boostforest::gbdt_pl
