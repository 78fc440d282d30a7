#include "histograms.hpp"

#include <algorithm>
#include <numeric>

namespace boostforest {

namespace {

constexpr std::int64_t kMostNumbers = 1 << 25;  // of all slots: 256 MB

}  // namespace

Histograms::Histograms(const Bins& bins, Cell cell, int n_slots) : bins_(bins), cell_(cell) {
    std::vector<int> all(bins.n_features());
    std::iota(all.begin(), all.end(), 0);
    start(all);
    slots_.resize(size_ * n_slots > kMostNumbers ? 1 : n_slots);
    for (Buffer<std::int64_t>& slot : slots_) slot.get(size_);
}

void Histograms::start(const std::vector<int>& features) {
    is_taken_.assign(bins_.n_features(), 0);
    for (const int j : features) is_taken_[j] = 1;
    blocks_.clear();
    size_ = 0;
    for (int first = 0; first < bins_.n_features(); first += kSideBySide) {
        Block block{.group = first / kSideBySide, .mask = 0, .width = 0, .start = size_, .features = {}};
        for (int k = 0; k < std::min(kSideBySide, bins_.n_features() - first); ++k) {
            const int j = bins_.by_width()[first + k];
            if (!is_taken_[j]) continue;
            block.mask |= std::uint64_t{255} << 8 * k;
            block.width = std::max(block.width, bins_.n_bins(j) + 1);
            block.features.push_back(j);
        }
        if (block.features.empty()) continue;
        size_ += std::int64_t{cell_.n_pairs()} * block.width * kSideBySide;
        blocks_.push_back(std::move(block));
    }
}

void Histograms::fill(int slot, const CodeWords& words, const std::int64_t* cells, const std::int32_t* rows,
                      std::int64_t n, const Block* only) {
    const int n_pairs = cell_.n_pairs();
    for (const Block& block : blocks_) {
        if (only != nullptr && only != &block) continue;
        std::int64_t* sums = slots_[slot].data() + block.start;
        const std::int64_t n_plane = std::int64_t{block.width} * kSideBySide;
        std::fill_n(sums, n_pairs * n_plane, 0);
        for (int pair = 0; pair < n_pairs; ++pair)
            kernels().add_cells(words.group(block.group), block.mask, rows, n, cells + pair, n_pairs,
                                sums + pair * n_plane);
    }
}

void Histograms::subtract(int from, int what) {
    kernels().take_away(slots_[from].data(), slots_[what].data(), size_);
}

}  // namespace boostforest
