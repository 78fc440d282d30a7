#include "quantise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace boostforest {

namespace {

constexpr int kLeast = -126;  // exponent: what is smaller is nothing
constexpr float kMost = 127;
constexpr int kConstants = 3;  // bits that constants of middling size may lose

// The smallest exponent with which `size` is at most 127 units.
int exponent_for(float size) {
    int power = 0;
    const float fraction = std::frexp(size, &power);  // in [0.5, 1), or 0
    if (fraction == 0) return kLeast;
    return std::max(fraction <= kMost / 128 ? power - 7 : power - 6, kLeast);
}

}  // namespace

void quantise(const float* values, std::int64_t n_values, int group, bool are_summed, Byte* numbers,
              std::int8_t* exponents) {
    const std::int64_t n_groups = n_values / group;
    if (n_groups == 0) return;
    std::vector<int> smallest(n_groups);
    for (std::int64_t g = 0; g < n_groups; ++g) {
        float largest = 0;
        bool is_finite = true;
        for (int j = 0; j < group; ++j) {
            const float size = std::abs(values[g * group + j]);
            largest = std::max(largest, size);
            is_finite &= std::isfinite(size);
        }
        smallest[g] = is_finite ? exponent_for(largest) : kNoExponent;
    }
    std::vector<int> sorted = smallest;
    const auto shared = sorted.begin() + (are_summed ? (n_groups - 1) * 9 / 10 : (n_groups - 1) / 2);
    std::nth_element(sorted.begin(), shared, sorted.end());
    // Constants have no slopes to share a unit with: most of a tree's have the same, so that it need not be said.
    const int least = group > 1 ? *shared : std::min(*shared + kConstants, *std::max_element(shared, sorted.end()));
    for (std::int64_t g = 0; g < n_groups; ++g) {
        const int exponent = std::max(smallest[g], least);
        exponents[g] = static_cast<std::int8_t>(exponent);
        const double units = exponent == kNoExponent ? 0 : std::ldexp(1.0, -exponent);
        for (int j = 0; j < group; ++j) {
            const double value = exponent == kNoExponent ? 0 : values[g * group + j] * units;
            numbers[g * group + j] = static_cast<Byte>(std::nearbyint(value));
        }
    }
}

}  // namespace boostforest
