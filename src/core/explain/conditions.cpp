#include "conditions.hpp"

#include <algorithm>
#include <bit>

namespace boostforest {

Conditions::Conditions(const Players& players, int input_width)
    : players_(players), sides_(players.n, Side::kBoth), free_(input_width, 0.0), lost_(input_width, 0.0) {
    std::fill_n(free_.begin(), players.of_input.size(), 1.0);
}

void Conditions::set(int player, Side side) {
    if (sides_[player] == Side::kRow) of_row_.pop_back();
    if (sides_[player] == Side::kOther) of_other_.pop_back();
    if (side == Side::kRow) of_row_.push_back(player);
    if (side == Side::kOther) of_other_.push_back(player);
    sides_[player] = side;
    for (std::int32_t j = players_.input_start[player]; j < players_.input_start[player + 1]; ++j) {
        free_[j] = side == Side::kBoth ? 1.0 : 0.0;
        lost_[j] = side == Side::kOther ? 1.0 : 0.0;
    }
}

void Conditions::set_bits(std::uint64_t of_row, std::uint64_t of_other) {
    const auto list = [](std::uint64_t bits, std::vector<std::int32_t>& out) {
        out.clear();
        for (; bits != 0; bits &= bits - 1) out.push_back(std::countr_zero(bits));
    };
    list(of_row, of_row_);
    list(of_other, of_other_);
}

}  // namespace boostforest
