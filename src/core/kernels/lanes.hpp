// Several small systems side by side: the values of one lie kLanes apart, and V is a part of the lanes or all of them.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

template <class V, Index kLanes>
void solve_lanes_of(double* a, Index d, double* b, double* inverse_pivots) {
    const auto at = [=](Index i, Index j) { return a + (i * d + j) * kLanes; };
    V largest{};
    for (Index k = 0; k < d; ++k) {
        const V pivot = load<V>(at(k, k));
        largest = pivot > largest ? pivot : largest;
    }
    const V tiny = largest * (d * 8 * 2.220446049250313e-16);
    for (Index k = 0; k < d; ++k) {
        const V pivot = load<V>(at(k, k)), right = load<V>(b + k * kLanes);
        const V inverse = pivot > tiny ? 1 / pivot : V{};
        store<V>(inverse_pivots + k * kLanes, inverse);
        for (Index i = k + 1; i < d; ++i) {
            const V share = load<V>(at(k, i)) * inverse;
            for (Index j = i; j < d; ++j) store<V>(at(i, j), load<V>(at(i, j)) - share * load<V>(at(k, j)));
            store<V>(b + i * kLanes, load<V>(b + i * kLanes) - share * right);
        }
    }
    for (Index k = d - 1; k >= 0; --k) {
        V rest = load<V>(b + k * kLanes);
        for (Index j = k + 1; j < d; ++j) rest -= load<V>(at(k, j)) * load<V>(b + j * kLanes);
        store<V>(b + k * kLanes, rest * load<V>(inverse_pivots + k * kLanes));
    }
}

void solve_lanes(double* a, int d, double* b, double* inverse_pivots, int lanes) {
    for_columns(lanes, [=]<class V>(int l) {
        (lanes == 4 ? solve_lanes_of<V, 4> : solve_lanes_of<V, 8>)(a + l, d, b + l, inverse_pivots + l);
    });
}

template <class V, Index kLanes>
void dual_lanes_of(const double* products, Index ld, Index n, const double* v, const double* z, double lambda,
                   double* a, double* rhs, double* root, double* m, double* z_mean, double* total) {
    V sum_v{}, sum_vz{};
    for (Index i = 0; i < n; ++i) {
        const V weight = load<V>(v + i * kLanes);
        sum_v += weight;
        sum_vz += weight * load<V>(z + i * kLanes);
    }
    const V mean = sum_vz / sum_v;
    store<V>(total, sum_v);
    store<V>(z_mean, mean);
    for (Index i = 0; i < n; ++i)
        for (int k = 0; k < Traits<V>::kSize; ++k) root[i * kLanes + k] = __builtin_sqrt(v[i * kLanes + k]);
    V s{};
    for (Index i = 0; i < n; ++i) {
        V product{};
        for (Index j = 0; j < n; ++j) product += products[i * ld + j] * load<V>(v + j * kLanes);
        product = product / sum_v;
        store<V>(m + i * kLanes, product);
        s += load<V>(v + i * kLanes) * product;
    }
    s = s / sum_v;
    for (Index i = 0; i < n; ++i) {
        const V own = load<V>(root + i * kLanes), shift = s - load<V>(m + i * kLanes);
        store<V>(rhs + i * kLanes, own * (load<V>(z + i * kLanes) - mean));
        for (Index j = i; j < n; ++j) {
            const V centred = products[i * ld + j] - load<V>(m + j * kLanes) + shift;
            store<V>(a + (i * n + j) * kLanes, own * load<V>(root + j * kLanes) * centred);
        }
        double* diagonal = a + (i * n + i) * kLanes;
        store<V>(diagonal, load<V>(diagonal) + lambda);
    }
}

void dual_lanes(const double* products, Index ld, int n, const double* v, const double* z, double lambda, double* a,
                double* rhs, double* root, double* m, double* z_mean, double* total, int lanes) {
    for_columns(lanes, [=]<class V>(int l) {
        (lanes == 4 ? dual_lanes_of<V, 4> : dual_lanes_of<V, 8>)(products, ld, n, v + l, z + l, lambda, a + l, rhs + l,
                                                                 root + l, m + l, z_mean + l, total + l);
    });
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
