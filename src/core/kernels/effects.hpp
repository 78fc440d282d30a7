// Effects of one number: see explain/effect_lines.hpp. Part of all.cpp: compiled once per instruction set, so no
// standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

// Adds the numbers of the lanes from `first` on that `bits` names.
inline Index list_numbers(Index first, std::uint32_t bits, std::int32_t* list) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
    const __m256i numbers =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i packed = _mm256_maskz_compress_epi32(static_cast<__mmask8>(bits), numbers);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(list), packed);
    return __builtin_popcount(bits);
#else
    Index n = 0;
    for (std::uint32_t l = 0; l < kVec; ++l) {
        list[n] = static_cast<std::int32_t>(first + l);
        n += bits >> l & 1;
    }
    return n;
#endif
}

Index line_sums(const RangeLine& line, const double* starts, const double* weights, Index n, LineSums& sums,
                std::int32_t* bent) {
    const Vec low = splat<Vec>(line.lower), high = splat<Vec>(line.upper), zero{};
    EightLanes weight{}, start{}, below{}, above{};
    Index n_bent = 0;
    for_lanes(n, [&]<int k>(Index i) {
        const VecMask here = first(n - i);
        const Vec own = here ? load<Vec>(starts + i) : zero, w = here ? load<Vec>(weights + i) : zero;
        const Vec least = own + line.least, most = own + line.most;
        const VecMask inside = (least >= low) & (most <= high);
        const VecMask is_below = ~inside & (most <= low), is_above = ~inside & ~is_below & (least >= high);
        const Vec taken = inside ? w : zero;
        weight.part[k] += taken;
        start.part[k] += taken * own;
        below.part[k] += is_below ? w : zero;
        above.part[k] += is_above ? w : zero;
        n_bent += list_numbers(i, lane_bits(here & ~inside & ~is_below & ~is_above), bent + n_bent);
    });
    sums = {.weight = sum(weight), .start = sum(start), .below = sum(below), .above = sum(above)};
    return n_bent;
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
