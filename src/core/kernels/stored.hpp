// Coefficients as a forest keeps them, read as doubles. Part of kernels.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "../stored.hpp"
#include "simd.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace boostforest {
namespace BF_ISA {
namespace {

inline double widen(double value) {
    return value;
}
inline double widen(float value) {
    return value;
}
inline double widen(Half value) {
#if defined(__F16C__)
    return _cvtsh_ss(value.bits);
#else
    const std::uint32_t bits = (value.bits & 0x7fffu) << 13;  // as a float, but for the bias of the exponent
    float size;
    __builtin_memcpy(&size, &bits, sizeof(size));
    size *= 0x1p112f;
    if (size >= 65536) size = __builtin_inff();
    return (value.bits & 0x8000u) != 0 ? -size : size;
#endif
}

template <class V, class T>
inline V load_each(const T* p) {
    V values;
    for (int j = 0; j < Traits<V>::kSize; ++j) values[j] = widen(p[j]);
    return values;
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
    return load_each<V>(p);
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
    return load_each<V>(p);
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
