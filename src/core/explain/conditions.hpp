// The conditions on the way to a node, as games see them: which columns must come from the explained row, and which
// from the background, so that a mixture of both gets there.
#pragma once

#include <cstdint>
#include <vector>

#include "players.hpp"

namespace boostforest {

enum class Side : std::uint8_t {
    kBoth,   // both rows meet the conditions on the column, or there are none
    kRow,    // only the explained row does
    kOther,  // only the background row does
};

class Conditions {
   public:
    Conditions(const Players& players, int input_width);

    Side side(int player) const { return sides_[player]; }

    // Changes are taken back in the opposite order.
    void set(int player, Side side);

    // Of up to 64 columns, those with these bits; free() and lost() stay as they are.
    void set_bits(std::uint64_t of_row, std::uint64_t of_other);

    const std::vector<std::int32_t>& of_row() const { return of_row_; }      // columns that only the row may give
    const std::vector<std::int32_t>& of_other() const { return of_other_; }  // columns that it may not

    const double* free() const { return free_.data(); }  // per input: 1 for columns that either may give, else 0
    const double* lost() const { return lost_.data(); }  // per input: 1 for columns that the row may not give, else 0

   private:
    const Players& players_;
    std::vector<Side> sides_;
    std::vector<std::int32_t> of_row_, of_other_;
    std::vector<double> free_, lost_;
};

}  // namespace boostforest
