// Rows shared out among threads, a few at a time: they go through a tree one after another, before it has to be read
// again.
#pragma once

#include <algorithm>

#include "../base/parallel.hpp"
#include "prepared_rows.hpp"

namespace boostforest {

// Calls body(prepared rows, number of the first, worker) for at most so many rows at a time.
template <class Body>
void for_row_blocks(const RawRows& rows, std::int64_t most_rows, int n_threads, Control& control, Body body) {
    const std::int64_t size = std::clamp<std::int64_t>(rows.n_rows / std::max(n_threads, 1), 1, most_rows);
    parallel_for((rows.n_rows + size - 1) / size, n_threads, control, [&](std::int64_t number, Worker& worker) {
        const std::int64_t begin = number * size, end = std::min(begin + size, rows.n_rows);
        body(PreparedRows(rows, begin, end), begin, worker);
    });
}

}  // namespace boostforest
