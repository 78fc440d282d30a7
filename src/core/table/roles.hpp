// What features are for: some may be split on, some are seen by node models.
#pragma once

#include <algorithm>
#include <cstdint>

namespace boostforest {

struct FeatureList {
    const std::int32_t* numbers = nullptr;  // ascending; null: all features
    int n = 0;                              // how many they are

    int operator[](int j) const { return numbers == nullptr ? j : numbers[j]; }
    bool contains(int feature) const { return numbers == nullptr || std::binary_search(numbers, numbers + n, feature); }
};

}  // namespace boostforest
