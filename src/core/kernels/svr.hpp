// The interior point method of the linear SVR, row by row; src/core/models/linear_svr.cpp explains the quantities.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Rows, one per lane, at one side of the tube: a + rest = the cost.
struct TubeSide {
    Vec a, rest, slack, excess;
    Vec inverse_a, inverse_rest, inverse_slack, inverse_excess, inverse_theta, rho;

    TubeSide(const double* state, Index stride)
        : a(load<Vec>(state)),
          rest(load<Vec>(state + stride)),
          slack(load<Vec>(state + 2 * stride)),
          excess(load<Vec>(state + 3 * stride)) {}

    // Two divisions instead of four: the products are near mu, neither large nor small.
    void prepare(double epsilon, double mu) {
        const Vec inner = 1 / (a * slack), outer = 1 / (rest * excess);
        inverse_a = slack * inner;
        inverse_slack = a * inner;
        inverse_rest = excess * outer;
        inverse_excess = rest * outer;
        inverse_theta = 1 / (slack * inverse_a + excess * inverse_rest);
        rho = mu * (inverse_a - inverse_rest) - epsilon;
    }

    // Writes the changes of a, slack and excess for a prediction that ends `error` above the label (below, on the other
    // side); returns the largest decrease of any of the four as a part of itself.
    Vec direct(Vec error, double mu, double* direction, Index stride) const {
        const Vec da = (error + rho) * inverse_theta;
        const Vec a_part = da * inverse_a, rest_part = da * inverse_rest;
        const Vec ds = mu * inverse_a - slack - slack * a_part;
        const Vec dx = mu * inverse_rest - excess + excess * rest_part;
        store(direction, da);
        store(direction + stride, ds);
        store(direction + 2 * stride, dx);
        const Vec s_part = -ds * inverse_slack, x_part = -dx * inverse_excess;
        const Vec inner = -a_part > s_part ? -a_part : s_part, outer = rest_part > x_part ? rest_part : x_part;
        return inner > outer ? inner : outer;
    }
};

void svr_start(const double* z, double cost, double epsilon, double width, Index n, Index stride, double* state) {
    for (Index i = 0; i < n; i += kVec) {
        const Vec label = load<Vec>(z + i);
        Vec share = splat<Vec>(1);
        for (int side = 0; side < 2; ++side) {
            // slack - excess is the distance to the edge of the tube, and slack · excess = width² / 4.
            const Vec distance = side == 0 ? epsilon + label : epsilon - label;
            Vec root = distance * distance + width * width;
            for (int k = 0; k < kVec; ++k) root[k] = __builtin_sqrt(root[k]);
            const Vec slack = 0.5 * (root + distance), excess = 0.5 * (root - distance);
            store(state + (4 * side + 2) * stride + i, slack);
            store(state + (4 * side + 3) * stride + i, excess);
            share *= excess / root;
        }
        for (int k = 0; k < kVec; ++k) share[k] = __builtin_sqrt(share[k]);
        for (int side = 0; side < 2; ++side) {
            store(state + 4 * side * stride + i, cost * share);
            store(state + (4 * side + 1) * stride + i, cost * (1 - share));
        }
        store(state + 8 * stride + i, Vec{});
    }
}

void svr_system(const double* z, const double* v, double epsilon, double mu, Index n, Index stride, const double* state,
                double* weight, double* target) {
    for (Index i = 0; i < n; i += kVec) {
        TubeSide above(state + i, stride), below(state + 4 * stride + i, stride);
        above.prepare(epsilon, mu);
        below.prepare(epsilon, mu);
        const Vec sum = above.inverse_theta + below.inverse_theta;
        const Vec pull = above.a - below.a + above.rho * above.inverse_theta - below.rho * below.inverse_theta;
        store_first(weight + i, load<Vec>(v + i) * sum, n - i);
        store_first(target + i, load<Vec>(z + i) - pull / sum, n - i);
    }
}

double svr_direction(const double* z, double epsilon, double mu, Index n, Index stride, const double* state,
                     const double* fitted, double* direction) {
    Vec largest = splat<Vec>(0);
    for (Index i = 0; i < n; i += kVec) {
        TubeSide above(state + i, stride), below(state + 4 * stride + i, stride);
        above.prepare(epsilon, mu);
        below.prepare(epsilon, mu);
        const Vec error = load<Vec>(fitted + i) - load<Vec>(z + i);
        Vec part = above.direct(error, mu, direction + i, stride);
        const Vec other = below.direct(-error, mu, direction + 3 * stride + i, stride);
        part = other > part ? other : part;
        largest = (first(n - i) & (part > largest)) ? part : largest;
    }
    double result = 0;
    for (int k = 0; k < kVec; ++k) result = largest[k] > result ? largest[k] : result;
    return result;
}

void svr_move(const double* z, const double* v, double cost, double epsilon, double step, Index n, Index stride,
              const double* direction, const double* fitted, double* state, double& gap, double& loss) {
    EightLanes total_gap{}, total_loss{};
    for_lanes(n, [&]<int k>(Index i) {
        const VecMask here = first(n - i);
        for (int side = 0; side < 2; ++side) {
            double* own = state + 4 * side * stride + i;
            const double* change = direction + 3 * side * stride + i;
            const Vec da = step * load<Vec>(change);
            const Vec a = load<Vec>(own) + da, rest = load<Vec>(own + stride) - da;
            const Vec slack = load<Vec>(own + 2 * stride) + step * load<Vec>(change + stride);
            const Vec excess = load<Vec>(own + 3 * stride) + step * load<Vec>(change + 2 * stride);
            store(own, a);
            store(own + stride, rest);
            store(own + 2 * stride, slack);
            store(own + 3 * stride, excess);
            total_gap.part[k] += here ? load<Vec>(v + i) * (a * slack + rest * excess) : Vec{};
        }
        double* score = state + 8 * stride + i;
        const Vec now = load<Vec>(score) + step * (load<Vec>(fitted + i) - load<Vec>(score));
        store(score, now);
        const Vec error = now - load<Vec>(z + i);
        const Vec beyond = (error < 0 ? -error : error) - epsilon;
        total_loss.part[k] += (here & (beyond > 0)) ? cost * load<Vec>(v + i) * beyond : Vec{};
    });
    gap = sum(total_gap);
    loss = sum(total_loss);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
