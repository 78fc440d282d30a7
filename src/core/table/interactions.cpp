#include "interactions.hpp"

#include <algorithm>
#include <utility>

namespace boostforest {

Interactions::Interactions(std::vector<std::int32_t> features, std::vector<std::int32_t> inputs, int most,
                           std::vector<std::vector<std::int32_t>> sets)
    : features_(std::move(features)), inputs_(std::move(inputs)), most_(most), sets_(std::move(sets)) {
    std::int32_t n_columns = 0;
    for (const std::int32_t column : features_) n_columns = std::max(n_columns, column + 1);
    for (const auto& set : sets_)
        for (const std::int32_t column : set) n_columns = std::max(n_columns, column + 1);
    allowed_.assign(n_columns, 0);
}

void Interactions::find_allowed(std::vector<std::int32_t> path) {
    std::ranges::sort(path);
    path.erase(std::unique(path.begin(), path.end()), path.end());
    const bool is_open = most_ > 0 && static_cast<int>(path.size()) < most_;
    std::ranges::fill(allowed_, is_open ? 1 : 0);
    if (most_ > 0) {
        for (const std::int32_t column : path) allowed_[column] = 1;
        return;
    }
    for (const auto& set : sets_)
        if (std::ranges::includes(set, path))
            for (const std::int32_t column : set) allowed_[column] = 1;
}

}  // namespace boostforest
