#include "quantise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace boostforest {

namespace {

constexpr float kMost = 127;
constexpr int kConstants = 3;  // bits that constants of middling size may lose

// The nearest whole number, ties to even, of sizes up to 2^51: without a call of the library.
double nearest(double value) {
    constexpr double kShift = 0x1.8p52;  // from here on doubles are whole numbers
    return value + kShift - kShift;
}

double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// The smallest exponent with which `size` is at most 127 units.
int exponent_for(float size) {
    constexpr std::uint32_t kDigits = 23, kMostDigits = 0x7e0000;  // after the first one; those of 127
    const auto bits = std::bit_cast<std::uint32_t>(size);
    const int power = static_cast<int>(bits >> kDigits) - 127;  // -127: 0, or almost
    const bool is_more = (bits & ((1U << kDigits) - 1)) > kMostDigits;
    return std::max(is_more ? power - 5 : power - 6, kLeastExponent);
}

std::vector<int> smallest_exponents(const float* values, std::int64_t n_groups, int group) {
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
    return smallest;
}

// The exponent that the models of a tree share.
int shared_exponent(const std::vector<int>& smallest, int group, bool are_summed) {
    std::vector<int> sorted = smallest;
    const auto n = static_cast<std::int64_t>(sorted.size());
    const auto shared = sorted.begin() + (are_summed ? (n - 1) * 9 / 10 : (n - 1) / 2);
    std::nth_element(sorted.begin(), shared, sorted.end());
    // Constants have no slopes to share a unit with: most of a tree's have the same, so that it need not be said.
    return group > 1 ? *shared : std::min(*shared + kConstants, *std::max_element(shared, sorted.end()));
}

// Rounds a group of values; they become what is left over.
int round_group(double* values, int group, int least, Byte* numbers) {
    double largest = 0;
    for (int j = 0; j < group; ++j) largest = std::max(largest, std::abs(values[j]));
    const int exponent = std::max(exponent_for(static_cast<float>(largest)), least);
    const double unit = power_of_two(exponent), units = power_of_two(-exponent);
    for (int j = 0; j < group; ++j) {
        const double number = nearest(std::clamp<double>(values[j] * units, -kMost, kMost));
        numbers[j] = static_cast<Byte>(number);
        values[j] -= number * unit;
    }
    return exponent;
}

// The model of each node's parent, -1 for those of the root's children; models are those of all nodes but the root.
std::vector<std::int64_t> models_above(std::span<const std::int32_t> left, std::int64_t n_models) {
    std::vector<std::int64_t> above(n_models, -1);
    for (std::size_t node = 1; node < left.size(); ++node) {
        if (left[node] <= 0) continue;
        above[left[node] - 1] = above[left[node]] = static_cast<std::int64_t>(node) - 1;
    }
    return above;
}

}  // namespace

Half to_half(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double size = std::abs(value);
    std::uint64_t bits = 0;
    if (std::isnan(value)) {
        bits = 0x7e00;
    } else if (size >= 65520) {
        bits = 0x7c00;
    } else if (size < 0x1p-14) {  // in units of the smallest
        bits = static_cast<std::uint64_t>(nearest(size * 0x1p24));
    } else {  // ten digits behind the first, another bias of the exponent
        const auto exact = std::bit_cast<std::uint64_t>(size);
        const std::uint64_t half_a_unit = (std::uint64_t{1} << 41) - 1 + (exact >> 42 & 1);
        bits = ((exact + half_a_unit) >> 42) - ((1023 - 15) << 10);
    }
    return {static_cast<std::uint16_t>(sign | bits)};
}

void quantise(const float* values, std::int64_t n_values, int group, std::span<const std::int32_t> left, int at_least,
              Byte* numbers, std::int8_t* exponents) {
    const std::int64_t n_groups = n_values / group;
    if (n_groups == 0) return;
    const std::vector<int> smallest = smallest_exponents(values, n_groups, group);
    const int least = std::max(std::min(shared_exponent(smallest, group, !left.empty()), kMostExponent), at_least);
    const std::int64_t n_models = std::max<std::int64_t>(static_cast<std::int64_t>(left.size()) - 1, 1);
    const std::int64_t n_outputs = left.empty() ? 1 : n_groups / n_models;
    std::vector<std::int64_t> above;
    if (left.size() > 1) above = models_above(left, n_models);
    std::vector<double> rest(above.empty() ? group : n_values);  // of all groups, or of one
    for (std::int64_t g = 0; g < n_groups; ++g) {
        double* own = rest.data() + (above.empty() ? 0 : g * group);
        const std::int64_t parent = above.empty() ? -1 : above[g / n_outputs];
        const double* before = parent < 0 ? nullptr : rest.data() + (parent * n_outputs + g % n_outputs) * group;
        if (smallest[g] == kNoExponent) {
            exponents[g] = kNoExponent;
            std::fill_n(numbers + g * group, group, Byte{0});
            std::fill_n(own, group, 0.0);
            continue;
        }
        for (int j = 0; j < group; ++j) own[j] = values[g * group + j] + (before == nullptr ? 0.0 : before[j]);
        exponents[g] = static_cast<std::int8_t>(round_group(own, group, least, numbers + g * group));
    }
}

}  // namespace boostforest
