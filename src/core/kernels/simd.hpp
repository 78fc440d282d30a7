// Vectors of eight or four doubles, and what all kernels need of them. Part of kernels.cpp: compiled once per
// instruction set, so no standard library here.
#pragma once

#include "../kernels.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

using Index = std::int64_t;
typedef double V8 __attribute__((vector_size(64)));
typedef double V4 __attribute__((vector_size(32)));
typedef double V2 __attribute__((vector_size(16)));
typedef std::int64_t I8 __attribute__((vector_size(64)));
typedef double V8Memory __attribute__((vector_size(64), aligned(8), may_alias));
typedef double V4Memory __attribute__((vector_size(32), aligned(8), may_alias));
typedef double V2Memory __attribute__((vector_size(16), aligned(8), may_alias));

template <class V>
struct Traits;
template <>
struct Traits<V8> {
    using Memory = V8Memory;
    static constexpr int kSize = 8;
};
template <>
struct Traits<V4> {
    using Memory = V4Memory;
    static constexpr int kSize = 4;
};

template <>
struct Traits<V2> {
    using Memory = V2Memory;
    static constexpr int kSize = 2;
};

// Rows of the register tiles: what fits without spilling (32 registers of 8, 16 of 4, 16 or 32 of 2 doubles).
#if defined(__AVX512F__)
constexpr int kGramRows = 8, kProductRows = 4;
#elif defined(__AVX__)
constexpr int kGramRows = 4, kProductRows = 2;
#else
constexpr int kGramRows = 2, kProductRows = 2;
#endif

template <class V>
inline V load(const double* p) {
    return *reinterpret_cast<const typename Traits<V>::Memory*>(p);
}
template <class V>
inline void store(double* p, V v) {
    *reinterpret_cast<typename Traits<V>::Memory*>(p) = v;
}
template <class V>
inline V splat(double s) {
    return s - V{};
}
template <class V>
inline V places();
template <>
inline V4 places<V4>() {
    return V4{0, 1, 2, 3};
}
template <>
inline V8 places<V8>() {
    return V8{0, 1, 2, 3, 4, 5, 6, 7};
}
inline double sum(V4 v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
inline double sum(V8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// The sums of four vectors, in the order of sum(): (v0 + v2) + (v1 + v3) of four values, of eight the halves first.
inline V4 sums(V4 p, V4 q, V4 r, V4 s) {
    const V4 pq = __builtin_shufflevector(p, q, 0, 1, 4, 5) + __builtin_shufflevector(p, q, 2, 3, 6, 7);
    const V4 rs = __builtin_shufflevector(r, s, 0, 1, 4, 5) + __builtin_shufflevector(r, s, 2, 3, 6, 7);
    return __builtin_shufflevector(pq, rs, 0, 2, 4, 6) + __builtin_shufflevector(pq, rs, 1, 3, 5, 7);
}
inline V4 sums(V8 a, V8 b, V8 c, V8 d) {
    const auto folded = [](V8 v) {
        return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    };
    return sums(folded(a), folded(b), folded(c), folded(d));
}

// All ones in the first m of 8 places: what lies behind the end of an array may be anything.
inline I8 first(Index m) {
    return I8{0, 1, 2, 3, 4, 5, 6, 7} < m;
}

inline void store_first(double* p, V8 v, Index m) {
    if (m >= 8) return store(p, v);
    for (Index i = 0; i < m; ++i) p[i] = v[i];
}

// Calls body with the vector type and the first column of every vector. They are as long as a register: of longer ones
// GCC computes comparisons and selections one value at a time.
template <class Body>
inline void for_columns(int width, Body body) {
#if defined(__AVX512F__)
    if (width == 4) return body.template operator()<V4>(0);
    for (int j = 0; j < width; j += 8) body.template operator()<V8>(j);
#elif defined(__AVX__)
    for (int j = 0; j < width; j += 4) body.template operator()<V4>(j);
#else
    for (int j = 0; j < width; j += 2) body.template operator()<V2>(j);
#endif
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
