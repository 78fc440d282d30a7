#include "split_search.hpp"

#include <algorithm>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kRounding = 1e-6;  // relative: gains of less beside the score before a split do not count

std::int64_t n_gains(const Block& block) {
    return std::int64_t{block.width} * kSideBySide;
}

}  // namespace

BinSplitSearch::BinSplitSearch(const Bins& bins, const Histograms& histograms, Cell cell)
    : bins_(bins), histograms_(histograms), cell_(cell) {
    constexpr int kMost = (Bins::kMost + 1) * kSideBySide;
    for (Buffer<float>* buffer : {&left_h_, &left_, &right_}) buffer->get(kMost);
}

void BinSplitSearch::start(double lambda) {
    lambda_ = lambda;
    before_ = 0;
    is_first_ = true;
    start_.clear();
    std::int64_t n = 0;
    for (const Block& block : histograms_.blocks()) {
        start_.push_back(n);
        n += 2 * n_gains(block);
    }
    gains_.get(n);
}

double BinSplitSearch::score(const Totals& totals) const {
    double score = 0, squares = 0;
    for (int i = 0; i < cell_.n_pairs(); ++i) {
        const Pair sums(totals[i]);
        const auto first = static_cast<double>(sums.first), second = static_cast<double>(sums.second);
        squares += first * first;
        if (cell_.second(i).is_h) {
            score += squares / (second + lambda_);
            squares = 0;
        } else {
            squares += second * second;
        }
    }
    return score;
}

bool BinSplitSearch::has_missing(const Block& block) const {
    return std::any_of(block.features.begin(), block.features.end(), [&](int j) { return bins_.has_missing(j); });
}

void BinSplitSearch::add_node(int slot, const Totals& totals) {
    before_ += score(totals);
    const std::vector<Block>& blocks = histograms_.blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        float* gains = gains_.data() + start_[i];
        add_block(slot, blocks[i], false, totals, gains);
        if (has_missing(blocks[i])) add_block(slot, blocks[i], true, totals, gains + n_gains(blocks[i]));
    }
    is_first_ = false;
}

void BinSplitSearch::add_block(int slot, const Block& block, bool missing_left, const Totals& totals, float* gains) {
    std::int64_t before[kSideBySide] = {};
    BinSums bins{.cells = nullptr, .before = missing_left ? before : nullptr, .width = block.width};
    const auto lambda = static_cast<float>(lambda_);
    for (int pair = 0; pair < cell_.n_pairs(); ++pair) {
        bins.cells = histograms_.sums(slot, block, pair);
        for (std::size_t k = 0; missing_left && k < block.features.size(); ++k)
            before[k] = bins.cells[bins_.n_bins(block.features[k]) * kSideBySide + k];
        const Pair sums(totals[pair]);
        const auto first = static_cast<float>(sums.first), second = static_cast<float>(sums.second);
        const bool has_h = cell_.second(pair).is_h;
        if (!cell_.one_h) {
            kernels().add_gains(bins, first, second, lambda, is_first_ && pair == 0, gains);
            continue;
        }
        kernels().add_squares(bins, first, second, !has_h, pair == 0, left_.data(), right_.data(), left_h_.data());
        if (has_h)
            kernels().add_shared_gains(static_cast<int>(n_gains(block)), left_.data(), right_.data(), left_h_.data(),
                                       second, lambda, is_first_, gains);
    }
}

BinSplit BinSplitSearch::best(const std::function<bool(int)>& is_allowed) const {
    BinSplit best;
    double most = before_ * (1 + kRounding) + std::numeric_limits<float>::min();
    const std::vector<Block>& blocks = histograms_.blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Block& block = blocks[i];
        for (int side = 0; side < (has_missing(block) ? 2 : 1); ++side) {
            std::int32_t n_borders[kSideBySide] = {}, bin[kSideBySide];
            float largest[kSideBySide];
            for (std::size_t k = 0; k < block.features.size(); ++k) {
                const int j = block.features[k];
                if (is_allowed && !is_allowed(j)) continue;
                // With missing values on the right, all others may stand on the left.
                const bool missing = bins_.has_missing(j);
                n_borders[k] = side == 0 ? bins_.n_bins(j) - (missing ? 0 : 1) : missing ? bins_.n_bins(j) - 1 : 0;
            }
            kernels().best_borders(gains_.data() + start_[i] + side * n_gains(block), block.width, n_borders, largest,
                                   bin);
            for (std::size_t k = 0; k < block.features.size(); ++k) {
                if (!(largest[k] > most)) continue;
                most = largest[k];
                best = {.feature = block.features[k],
                        .bin = bin[k],
                        .missing_left = side == 1,
                        .gain = most - before_,
                        .block = static_cast<int>(i),
                        .place = static_cast<int>(k)};
            }
        }
    }
    return best;
}

}  // namespace boostforest
