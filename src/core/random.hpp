// Counter-based random numbers: every draw is a pure function of a key and a counter.
//
// There is no generator state to carry around, so a draw does not depend on which thread makes it or on what was
// drawn before: the same seed gives the same forest for any number of threads and any order of work, and the slow
// NumPy twin in the tests can repeat any single draw. The function is the finaliser of SplitMix64.
//
//   tree seed s   bootstrap = child(s, kBootstrap)   root node = child(s, kRoot)   pools = child(s, 2), used in Python
//                 likewise in Python: columns and seeds of foreign members = child(s, 3 / 4)
//                 hidden layer = child(s, kHiddenLayer)
//   node key K    children = child(K, 0 / 1)         model batch = child(K, kModelBatch)
//                 attempt t to split = child(K, kFirstAttempt + t)
//   attempt key A split batch, feature order, cuts = child(A, kSplitBatch / kFeatureOrder / kCuts)
#pragma once

#include <cstdint>

namespace boostforest {

using Key = std::uint64_t;

enum TreeTag : std::uint64_t { kBootstrap = 0, kRoot = 1, kHiddenLayer = 5 };
enum NodeTag : std::uint64_t { kLeftChild = 0, kRightChild = 1, kModelBatch = 2, kFirstAttempt = 3 };
enum AttemptTag : std::uint64_t { kSplitBatch = 0, kFeatureOrder = 1, kCuts = 2 };

// The i-th 64-bit word under a key.
inline std::uint64_t word(Key key, std::uint64_t i) {
    std::uint64_t x = key + 0x9E3779B97F4A7C15ULL * (i + 1);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// A key of its own for everything that is named by `tag` under `key`.
inline Key child(Key key, std::uint64_t tag) {
    return word(key, tag);
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double uniform(Key key, std::uint64_t i) {
    return static_cast<double>(word(key, i) >> 11) * 0x1p-53;
}

// Uniform in {0, …, n - 1}: the high half of the 128-bit product; its bias of n / 2^64 cannot be seen.
inline std::uint64_t below(Key key, std::uint64_t i, std::uint64_t n) {
    const std::uint64_t x = word(key, i);
#if defined(__SIZEOF_INT128__)
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(x) * n) >> 64);
#else
    const std::uint64_t x_low = x & 0xFFFFFFFFULL, x_high = x >> 32, n_low = n & 0xFFFFFFFFULL, n_high = n >> 32;
    const std::uint64_t middle = x_high * n_low + ((x_low * n_low) >> 32);
    return x_high * n_high + (middle >> 32) + (((middle & 0xFFFFFFFFULL) + x_low * n_high) >> 32);
#endif
}

}  // namespace boostforest
