// Ridge regression with bounds on some of the slopes: what keeps the node models of constrained features monotone.
#pragma once

#include <cstdint>
#include <vector>

#include "ridge.hpp"

namespace boostforest {

// sign[j] * (slope[j] - bound[j]) >= 0; sign 0: the slope is free.
struct SlopeBounds {
    const std::int8_t* sign;
    const double* bound;
};

// Scratch of one thread, beside that of the plain regression.
struct BoundsWorkspace {
    std::vector<std::uint8_t> held;  // slopes that stand on their bound
    std::vector<int> free, wrong;    // the other slopes; those on the wrong side
};

// The minimum of the problem of one output within the bounds. The slopes keep them exactly, whatever rounding does.
void fit_bounded_ridge(const RidgeProblem& problem, const SlopeBounds& bounds, RidgeWorkspace& ridge_work,
                       BoundsWorkspace& work);

}  // namespace boostforest
