// Vectors of eight, four or two doubles, and what all kernels need of them. Part of all.cpp: compiled once per
// instruction set, so no standard library here.
#pragma once

#include "kernels.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

using Index = std::int64_t;
typedef double V8 __attribute__((vector_size(64)));
typedef double V4 __attribute__((vector_size(32)));
typedef double V2 __attribute__((vector_size(16)));
typedef std::int64_t I8 __attribute__((vector_size(64)));
typedef std::int64_t I4 __attribute__((vector_size(32)));
typedef std::int64_t I2 __attribute__((vector_size(16)));
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

// Vec is as long as a register: of longer vectors GCC computes comparisons one value at a time and keeps arrays in
// memory. The rows of the register tiles are what fits without spilling (32 registers of 8, 16 of 4, 16 or 32 of 2
// doubles).
#if defined(__AVX512F__)
using Vec = V8;
using VecMask = I8;
constexpr VecMask kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr int kGramRows = 8, kProductRows = 4;
#elif defined(__AVX__)
using Vec = V4;
using VecMask = I4;
constexpr VecMask kPlaces = {0, 1, 2, 3};
constexpr int kGramRows = 4, kProductRows = 2;
#else
using Vec = V2;
using VecMask = I2;
constexpr VecMask kPlaces = {0, 1};
constexpr int kGramRows = 2, kProductRows = 2;
#endif
constexpr int kVec = Traits<Vec>::kSize;

template <class V>
inline V load(const double* p) {
    return *reinterpret_cast<const typename Traits<V>::Memory*>(p);
}
template <class V>
inline V load(const float* p);  // these three: stored.hpp
template <class V>
inline V load(const Byte* p);
template <class V>
inline V load(const Half* p);
template <class V>
inline void store(double* p, V v) {
    *reinterpret_cast<typename Traits<V>::Memory*>(p) = v;
}
template <class V>
inline V splat(double s) {
    return s - V{};
}
// Eight lanes (four, where rows have four values) in as many registers as it takes. Sums over lanes are taken in these,
// so that they come out the same with AVX2 and AVX-512.
template <class V, int kParts>
struct Lanes {
    static constexpr int kSize = kParts * Traits<V>::kSize;
    V part[kParts];

    friend Lanes operator*(const Lanes& a, const Lanes& b) {
        Lanes c;
        for (int k = 0; k < kParts; ++k) c.part[k] = a.part[k] * b.part[k];
        return c;
    }
    Lanes& operator+=(const Lanes& other) {
        for (int k = 0; k < kParts; ++k) part[k] += other.part[k];
        return *this;
    }
};
using EightLanes = Lanes<Vec, 8 / kVec>;

template <class L, class T>
inline L load_lanes(const T* p) {
    L lanes;
    constexpr int kParts = sizeof(lanes.part) / sizeof(lanes.part[0]);
    for (int k = 0; k < kParts; ++k) lanes.part[k] = load<decltype(+lanes.part[0])>(p + k * L::kSize / kParts);
    return lanes;
}

// A value that is rounded here: products are not fused with what they are added to next.
template <class V>
inline V rounded(V v) {
#if defined(__AVX__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    if constexpr (sizeof(V) == sizeof(V2)) {
        asm("" : "+w"(v));
    } else {  // in several registers
        struct Parts {
            V2 part[sizeof(V) / sizeof(V2)];
        };
        Parts parts = __builtin_bit_cast(Parts, v);
        for (V2& part : parts.part) asm("" : "+w"(part));
        v = __builtin_bit_cast(V, parts);
    }
#endif
    return v;
}

// The halves are added first, then theirs: (v0 + v2) + (v1 + v3) of four.
inline V2 folded(const Lanes<V2, 2>& v) {
    return v.part[0] + v.part[1];
}
inline V2 folded(const Lanes<V2, 4>& v) {
    return (rounded(v.part[0]) + rounded(v.part[2])) + (rounded(v.part[1]) + rounded(v.part[3]));
}
inline V4 folded(const Lanes<V4, 1>& v) {
    return v.part[0];
}
inline V4 folded(const Lanes<V4, 2>& v) {
    return rounded(v.part[0]) + rounded(v.part[1]);
}
inline V4 folded(V8 v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
inline V4 folded(const Lanes<V8, 1>& v) {
    return folded(v.part[0]);
}
inline double sum(V2 v) {
    return v[0] + v[1];
}
inline double sum(V4 v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
inline double sum(V8 v) {
    return sum(folded(v));
}
template <class V, int kParts>
inline double sum(const Lanes<V, kParts>& v) {
    return sum(folded(v));
}

// The smallest and the largest of the lanes, by halves: one lane after another would wait for each comparison.
inline double smallest(V2 v) {
    return v[1] < v[0] ? v[1] : v[0];
}
inline double largest(V2 v) {
    return v[1] > v[0] ? v[1] : v[0];
}
inline double smallest(V4 v) {
    const V2 a = __builtin_shufflevector(v, v, 0, 1), b = __builtin_shufflevector(v, v, 2, 3);
    return smallest(b < a ? b : a);
}
inline double largest(V4 v) {
    const V2 a = __builtin_shufflevector(v, v, 0, 1), b = __builtin_shufflevector(v, v, 2, 3);
    return largest(b > a ? b : a);
}
inline double smallest(V8 v) {
    const V4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3), b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return smallest(b < a ? b : a);
}
inline double largest(V8 v) {
    const V4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3), b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return largest(b > a ? b : a);
}

// out[i] = shift + sum of v[i].
template <class L>
inline void store_sums(double* out, double shift, const L (&v)[4]) {
    const auto a = folded(v[0]), b = folded(v[1]), c = folded(v[2]), d = folded(v[3]);
    if constexpr (sizeof(a) == sizeof(V2)) {
        store<V2>(out, shift + V2{sum(a), sum(b)});
        store<V2>(out + 2, shift + V2{sum(c), sum(d)});
    } else {
        const V4 ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
        const V4 cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
        store<V4>(out,
                  shift + (__builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7)));
    }
}

// |v|, without a comparison that has to be waited for.
inline Vec magnitude(Vec v) {
    VecMask bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    bits &= 0x7FFFFFFFFFFFFFFFLL;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

// All ones in the first m places: what lies behind the end of an array may be anything.
inline VecMask first(Index m) {
    return kPlaces < m;
}

// Bits of the lanes that are all ones.
inline std::uint32_t lane_bits(VecMask mask) {
#if defined(__AVX512F__)
    return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask));
#elif defined(__AVX__)
    return static_cast<std::uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
#else
    return static_cast<std::uint32_t>((mask[0] & 1) | (mask[1] & 2));
#endif
}

inline void store_first(double* p, Vec v, Index m) {
    if (m >= kVec) return store(p, v);
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(p, _mm512_cmplt_epi64_mask(reinterpret_cast<__m512i>(kPlaces), _mm512_set1_epi64(m)), v);
#elif defined(__AVX__)
    _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(first(m)), v);
#else
    if (m == 1) p[0] = v[0];
#endif
}

// The first m of four values, without branches.
inline void store_first_of_four(double* p, const double (&values)[4], Index m) {
#if defined(__AVX__)
    const I4 here = I4{0, 1, 2, 3} < m;
    _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(here), _mm256_loadu_pd(values));
#else
    for (Index k = 0; k < m; ++k) p[k] = values[k];
#endif
}

// body<kFrom>() … body<kTo - 1>(): arrays of vectors stay in registers only where every index is a constant.
template <int kFrom, int kTo, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
    if constexpr (kFrom < kTo) {
        body.template operator()<kFrom>();
        unrolled<kFrom + 1, kTo>(body);
    }
}

// Calls body<k>(i) for every vector of n values, eight values at a time: i is its first value, k its part of eight
// lanes.
template <class Body>
[[gnu::always_inline]] inline void for_lanes(Index n, Body body) {
    for (Index i = 0; i < n; i += 8) unrolled<0, 8 / kVec>([&]<int k>() { body.template operator()<k>(i + k * kVec); });
}

// Calls body with the longest vector type that rows of `width` doubles, 4 or a multiple of 8, are made of.
template <class Body>
inline auto with_vector([[maybe_unused]] Index width, Body body) {
#if defined(__AVX512F__)
    if (width % 8 != 0) return body.template operator()<V4>();
#endif
    return body.template operator()<Vec>();
}

// Calls body with the vector type, how many vectors of columns to take together (4, 2 or 1), and the first column.
template <class Body>
inline void for_tiles(int width, Body body) {
    with_vector(width, [&]<class V>() {
        constexpr int kSize = Traits<V>::kSize;
        int j = 0;
        for (; j + 4 * kSize <= width; j += 4 * kSize) body.template operator()<V, 4>(j);
        for (; j + 2 * kSize <= width; j += 2 * kSize) body.template operator()<V, 2>(j);
        for (; j < width; j += kSize) body.template operator()<V, 1>(j);
    });
}

// Calls body with the lanes that sums over rows of `width` doubles are taken in.
template <class Body>
inline auto with_lanes(Index width, Body body) {
    if (width % 8 == 0) return body.template operator()<EightLanes>();
#if defined(__AVX__)
    return body.template operator()<Lanes<V4, 1>>();
#else
    return body.template operator()<Lanes<V2, 2>>();
#endif
}

// Calls body with the vector type and the first column of every vector.
template <class Body>
inline void for_columns(int width, Body body) {
    with_vector(width, [&]<class V>() {
        for (int j = 0; j < width; j += Traits<V>::kSize) body.template operator()<V>(j);
    });
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
