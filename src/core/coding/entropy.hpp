// An entropy coder for the columns of model files: bytes to few bits, by how often each occurs.
//
// Symbols are bytes, each with a context that the reader knows before it reads the symbol; how often symbols occur in a
// context (of 4096) stands in front of the stream. The coder is rANS with two states that take turns: integers alone,
// so the same bytes everywhere; reading takes a fixed time per symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace boostforest {

constexpr int kMaxContexts = 32;

// The stream of symbols; contexts[i] < n_contexts <= kMaxContexts.
std::vector<std::uint8_t> encode_symbols(std::span<const std::uint8_t> symbols, const std::uint8_t* contexts,
                                         int n_contexts);

// Reads what encode_symbols has written. Throws std::invalid_argument if it was not that; never reads outside.
class SymbolReader {
   public:
    SymbolReader(std::span<const std::uint8_t> stream, int n_contexts);

    std::uint8_t next(unsigned context) {
        if (!is_known_[context]) fail();
        const std::uint32_t state = states_[turn_];
        const std::uint32_t slot = slots_[context * kScale + (state & (kScale - 1))];
        std::uint32_t after = ((slot >> 20) + 1) * (state >> kScaleBits) + (slot >> 8 & (kScale - 1));
        if (after < kLowest) {
            if (at_ + 2 > stream_.size()) fail();
            after = after << 16 | stream_[at_] | std::uint32_t{stream_[at_ + 1]} << 8;
            at_ += 2;
        }
        states_[turn_] = after;
        turn_ ^= 1;
        return static_cast<std::uint8_t>(slot);
    }

    // All symbols have been read: the states must be those that the writer began with, and nothing is left over.
    void finish() const;

    static constexpr int kScaleBits = 12;
    static constexpr std::uint32_t kScale = 1U << kScaleBits;
    static constexpr std::uint32_t kLowest = 1U << 16;

   private:
    [[noreturn]] static void fail();
    void read_table(int context);

    std::span<const std::uint8_t> stream_;
    std::size_t at_ = 0;
    std::vector<std::uint32_t> slots_;  // per context and slot: frequency - 1, place within the symbol's slots, symbol
    bool is_known_[kMaxContexts] = {};
    std::uint32_t states_[2] = {};
    int turn_ = 0;
};

}  // namespace boostforest
