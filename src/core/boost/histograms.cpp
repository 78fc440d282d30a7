#include "histograms.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr std::int64_t kMostValues = 1 << 25;  // of all slots: 256 MB
constexpr int kColumnsAtOnce = 4;

}  // namespace

Histograms::Histograms(const Bag& bag, const Bins& bins, Cell cell, int n_slots) : bag_(bag), cell_(cell), start_{0} {
    for (int j = 0; j < bins.n_features(); ++j)
        start_.push_back(start_.back() + std::int64_t{cell.size()} * (bins.n_bins(j) + 1));
    slots_.resize(start_.back() * n_slots > kMostValues ? 1 : n_slots);
    for (Buffer<double>& slot : slots_) slot.get(start_.back());
}

void Histograms::fill(int slot, const std::vector<int>& features, const std::int32_t* rows, std::int64_t n,
                      const Derivatives& derivatives) {
    const std::uint8_t* codes[kColumnsAtOnce];
    double* sums[kColumnsAtOnce];
    for (std::size_t first = 0; first < features.size(); first += kColumnsAtOnce) {
        const int n_columns = static_cast<int>(std::min<std::size_t>(kColumnsAtOnce, features.size() - first));
        for (int k = 0; k < n_columns; ++k) {
            const int j = features[first + k];
            codes[k] = bag_.codes(j);
            sums[k] = of(slot, j);
            std::fill_n(sums[k], start_[j + 1] - start_[j], 0.0);
        }
        kernels().add_cells(codes, n_columns, rows, n, derivatives.data(), cell_.size(), sums);
    }
}

void Histograms::subtract(int from, int what, const std::vector<int>& features) {
    for (const int j : features) {
        double* total = of(from, j);
        const double* part = of(what, j);
        const std::int64_t n = start_[j + 1] - start_[j];
        for (std::int64_t i = 0; i < n; ++i) total[i] -= part[i];
    }
}

}  // namespace boostforest
