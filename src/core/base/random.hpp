// Counter-based random numbers: every draw is a pure function of a key and a counter.
//
// There is no generator state to carry around, so a draw does not depend on which thread makes it or on what was
// drawn before: the same seed gives the same forest for any number of threads and any order of work, and the slow
// NumPy twin in the tests can repeat any single draw. The function is the finaliser of SplitMix64.
//
// Everything that is drawn has a key of its own, child(key, tag): see the tags below. Python has them as _core.TreeTag,
// _core.NodeTag and _core.AttemptTag.
#pragma once

#include <cstdint>

namespace boostforest {

using Key = std::uint64_t;

// Under the seed of a tree, or of another member of a forest.
enum TreeTag : std::uint64_t {
    kBootstrap = 0,      // rows
    kRoot = 1,           // the root's key
    kPools = 2,          // the tree's parameters
    kMemberColumns = 3,  // columns of a member that is not a BoostTree
    kMemberSeeds = 4,    // its random_state
    kTreeModels = 3,     // what the node models of a tree share, if they are Python's,
    kHiddenLayer = 5,    //   or ELMs
    kBoosting = 6,       // features of the trees of a boosted bag, by round
    kModelFeatures = 7,  // features that the node models of a tree are fitted to
};

// Under the key of a round of boosting, whose first words belong to the features.
enum RoundTag : std::uint64_t {
    kRowChoice = std::uint64_t{1} << 32,  // rows that splits are found by
};

// Under the key of a node.
enum NodeTag : std::uint64_t {
    kLeftChild = 0,  // the children's keys
    kRightChild = 1,
    kModelBatch = 2,                      // rows that a model is fitted to
    kFirstAttempt = 3,                    // key of attempt t to split: kFirstAttempt + t
    kModelSeed = std::uint64_t{1} << 32,  // random_state of a model in Python
};

// Under the key of an attempt to split.
enum AttemptTag : std::uint64_t {
    kSplitBatch = 0,    // rows that thresholds are judged on
    kFeatureOrder = 1,  // features that are tried first
    kCuts = 2,          // thresholds
};

// The i-th 64-bit word under a key. Always inlined, as below_short: kernels that are compiled for other instruction
// sets must not leave a copy of their own to the rest.
[[gnu::always_inline]] inline std::uint64_t word(Key key, std::uint64_t i) {
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

// The same for a short n, in a form that vectors have.
[[gnu::always_inline]] inline std::uint32_t below_short(Key key, std::uint64_t i, std::uint32_t n) {
    const std::uint64_t x = word(key, i), high = (x >> 32) * n, low = (x & 0xFFFFFFFFULL) * n;
    return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace boostforest
