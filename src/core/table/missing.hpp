// Which cells of the table are missing. The scaled features hold what they are filled with (0, the mean, or what
// the rest of the row makes likely): that is what node models see; splits ask here.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace boostforest {

class MissingCells {
   public:
    MissingCells() = default;
    MissingCells(std::int64_t n_rows, int n_features) : words_((n_features + 63) / 64), bits_(n_rows * words_) {}

    void set(std::int64_t row, int feature) {
        bits_[row * words_ + feature / 64] |= std::uint64_t{1} << (feature % 64);
    }

    bool test(std::int64_t row, int feature) const {
        return (bits_[row * words_ + feature / 64] >> (feature % 64) & 1) != 0;
    }

    // Calls visit(feature) for the missing features of a row.
    template <class Visit>
    void for_each(std::int64_t row, Visit visit) const {
        for (int word = 0; word < words_; ++word)
            for (std::uint64_t rest = bits_[row * words_ + word]; rest != 0; rest &= rest - 1)
                visit(64 * word + std::countr_zero(rest));
    }

   private:
    int words_ = 0;
    std::vector<std::uint64_t> bits_;
};

}  // namespace boostforest
