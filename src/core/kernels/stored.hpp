// Coefficients as a forest keeps them, read as doubles. Part of all.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "../forest/stored.hpp"
#include "simd.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

// Finite numbers of half precision without an instruction for it: their bits at the places of a double's, then the
// other bias of the exponent.
template <class V>
inline V widen_bits(const Half* p) {
    using Bits = decltype(V{} < V{});  // integers of the same size
    Bits bits;
    for (int j = 0; j < Traits<V>::kSize; ++j) bits[j] = p[j].bits;
    const V size = (V)((bits & 0x7fff) << 42) * 0x1p1008;
    return (V)((Bits)size | (bits & 0x8000) << 48);
}

inline double widen(double value) {
    return value;
}
inline double widen(float value) {
    return value;
}
inline double widen(Byte value) {
    return value;
}
inline double widen(Half value) {
#if defined(__F16C__)
    return _cvtsh_ss(value.bits);
#else
    const Half both[2] = {value, value};
    const double size = widen_bits<V2>(both)[0];
    return size >= 65536 ? __builtin_inf() : size <= -65536 ? -__builtin_inf() : size;
#endif
}

// With intrinsics: GCC converts vectors in halves of a register.
template <class V>
inline V load(const float* p) {
#if defined(__AVX512F__)
    if constexpr (Traits<V>::kSize == 8) return _mm512_cvtps_pd(_mm256_loadu_ps(p));
#endif
#if defined(__AVX__)
    if constexpr (Traits<V>::kSize == 4) return _mm256_cvtps_pd(_mm_loadu_ps(p));
#endif
    V values;
    for (int j = 0; j < Traits<V>::kSize; ++j) values[j] = p[j];
    return values;
}

template <class V>
inline V load(const Byte* p) {
#if defined(__AVX512F__)
    if constexpr (Traits<V>::kSize == 8)
        return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#endif
#if defined(__AVX2__)
    if constexpr (Traits<V>::kSize == 4) {
        int four;
        __builtin_memcpy(&four, p, sizeof(four));
        return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)));
    }
#endif
    V values;
    for (int j = 0; j < Traits<V>::kSize; ++j) values[j] = p[j];
    return values;
}

// Two to the power of every exponent of eight bits, from -128 on: looked up in fewer steps than it is made.
struct Powers {
    constexpr Powers() {
        value[128] = 1;
        for (int e = 1; e < 128; ++e) value[128 + e] = 2 * value[127 + e];
        for (int e = 1; e <= 128; ++e) value[128 - e] = value[129 - e] / 2;
    }
    double value[256] = {};
};
constexpr Powers kPowers;

inline double power_of_two(std::int8_t e) {
    return kPowers.value[128 + e];
}

// The same of several; made, since a vector of them takes no longer than one.
inline Vec powers_of_two(const std::int8_t* e) {
#if defined(__AVX512F__)
    const __m512i wide = _mm512_cvtepi8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(e)));
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_add_epi64(wide, _mm512_set1_epi64(1023)), 52));
#elif defined(__AVX2__)
    int four;
    __builtin_memcpy(&four, e, sizeof(four));
    const __m256i wide = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(wide, _mm256_set1_epi64x(1023)), 52));
#else
    Vec powers;
    for (int j = 0; j < kVec; ++j) powers[j] = power_of_two(e[j]);
    return powers;
#endif
}

template <class V>
inline V load(const Half* p) {
#if defined(__AVX512F__) && defined(__F16C__)
    if constexpr (Traits<V>::kSize == 8)
        return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#endif
#if defined(__F16C__)
    if constexpr (Traits<V>::kSize == 4)
        return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#endif
    return widen_bits<V>(p);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
