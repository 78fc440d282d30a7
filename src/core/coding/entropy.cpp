#include "entropy.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace boostforest {

namespace {

constexpr int kSymbols = 256, kScaleBits = SymbolReader::kScaleBits;
constexpr std::uint32_t kScale = SymbolReader::kScale, kLowest = SymbolReader::kLowest;

using Table = std::array<std::uint32_t, kSymbols>;  // how often each symbol occurs

// Frequencies of kScale in all, at least 1 for what occurs.
Table scaled(const Table& counts) {
    std::uint64_t total = 0;
    for (const std::uint32_t count : counts) total += count;
    Table table{};
    if (total == 0) return table;
    std::int64_t left = kScale;
    for (int s = 0; s < kSymbols; ++s) {
        if (counts[s] > 0)
            table[s] =
                static_cast<std::uint32_t>(std::max<std::uint64_t>(counts[s] * std::uint64_t{kScale} / total, 1));
        left -= table[s];
    }
    while (left != 0) {  // the most frequent ones give or get what is over: it costs them least
        std::uint32_t& most = *std::max_element(table.begin(), table.end());
        const std::int64_t change = left > 0 ? left : -std::min<std::int64_t>(-left, (most + 1) / 2);
        most = static_cast<std::uint32_t>(most + change);
        left -= change;
    }
    return table;
}

// A frequency as one byte or two; zeros as 0 and how many more of them follow.
void put_table(const Table& table, std::vector<std::uint8_t>& to) {
    for (int s = 0; s < kSymbols; ++s) {
        const std::uint32_t f = table[s];
        if (f == 0) {
            int run = 0;
            while (s + 1 < kSymbols && table[s + 1] == 0) ++s, ++run;
            to.push_back(0);
            to.push_back(static_cast<std::uint8_t>(run));
        } else if (f < 128) {
            to.push_back(static_cast<std::uint8_t>(f));
        } else {
            to.push_back(static_cast<std::uint8_t>(128 | f >> 7));
            to.push_back(static_cast<std::uint8_t>(f & 127));
        }
    }
}

}  // namespace

std::vector<std::uint8_t> encode_symbols(std::span<const std::uint8_t> symbols, const std::uint8_t* contexts,
                                         int n_contexts) {
    std::vector<Table> tables(n_contexts), starts(n_contexts);
    const auto context = [contexts](std::size_t i) { return contexts == nullptr ? 0 : contexts[i]; };
    for (std::size_t i = 0; i < symbols.size(); ++i) ++tables[context(i)][symbols[i]];
    std::vector<std::uint8_t> head;
    for (int c = 0; c < n_contexts; ++c) {
        tables[c] = scaled(tables[c]);
        put_table(tables[c], head);
        for (int s = 1; s < kSymbols; ++s) starts[c][s] = starts[c][s - 1] + tables[c][s - 1];
    }
    std::vector<std::uint8_t> reversed;  // the last symbol is coded first
    std::uint32_t states[2] = {kLowest, kLowest};
    for (std::size_t i = symbols.size(); i-- > 0;) {
        std::uint32_t& state = states[i % 2];
        const std::uint32_t f = tables[context(i)][symbols[i]], start = starts[context(i)][symbols[i]];
        if (state >= std::uint64_t{f} << (32 - kScaleBits)) {
            reversed.push_back(static_cast<std::uint8_t>(state >> 8));
            reversed.push_back(static_cast<std::uint8_t>(state));
            state >>= 16;
        }
        state = (state / f << kScaleBits) + state % f + start;
    }
    for (const std::uint32_t state : states)
        for (int k = 0; k < 4; ++k) head.push_back(static_cast<std::uint8_t>(state >> 8 * k));
    head.insert(head.end(), reversed.rbegin(), reversed.rend());
    return head;
}

SymbolReader::SymbolReader(std::span<const std::uint8_t> stream, int n_contexts)
    : stream_(stream), slots_(static_cast<std::size_t>(n_contexts) * kScale) {
    for (int c = 0; c < n_contexts; ++c) read_table(c);
    if (stream_.size() - at_ < 8) fail();
    for (std::uint32_t& state : states_)
        for (int k = 0; k < 4; ++k) state |= std::uint32_t{stream_[at_++]} << 8 * k;
    if (states_[0] < kLowest || states_[1] < kLowest) fail();
}

void SymbolReader::read_table(int context) {
    const auto next_byte = [this] {
        if (at_ >= stream_.size()) fail();
        return std::uint32_t{stream_[at_++]};
    };
    std::uint32_t filled = 0;
    for (std::uint32_t s = 0; s < kSymbols; ++s) {
        std::uint32_t f = next_byte();
        if (f == 0) {
            s += next_byte();
            continue;
        }
        if (f >= 128) f = (f & 127) << 7 | next_byte();
        if (f == 0 || f > kScale - filled) fail();
        for (std::uint32_t k = 0; k < f; ++k) slots_[context * kScale + filled++] = (f - 1) << 20 | k << 8 | s;
    }
    if (filled != 0 && filled != kScale) fail();
    is_known_[context] = filled != 0;
}

void SymbolReader::finish() const {
    if (states_[0] != kLowest || states_[1] != kLowest || at_ != stream_.size()) fail();
}

void SymbolReader::fail() {
    throw std::invalid_argument("a coded column is damaged");
}

}  // namespace boostforest
