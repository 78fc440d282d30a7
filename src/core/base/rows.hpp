// What splits of sorted rows have in common.
#pragma once

#include <algorithm>
#include <cstdint>

namespace boostforest {

// Puts the rows for which goes_left holds first, both sides in their order; returns how many these are. right: room
// for n rows.
template <class GoesLeft>
std::int64_t partition_rows(std::int32_t* rows, std::int64_t n, std::int32_t* right, const GoesLeft& goes_left) {
    std::int64_t n_left = 0, n_right = 0;
    for (std::int64_t i = 0; i < n; ++i) {  // both are written, one of the counts grows: no branch
        const std::int32_t row = rows[i];
        const bool left = goes_left(row);
        rows[n_left] = row;
        right[n_right] = row;
        n_left += left;
        n_right += !left;
    }
    std::copy_n(right, n_right, rows + n_left);
    return n_left;
}

// Midway between two values, low < high; neighbours among the floats have nothing between them.
inline double midway(double low, double high) {
    const double middle = low / 2 + high / 2;
    return middle < high && middle >= low ? middle : low;
}

}  // namespace boostforest
