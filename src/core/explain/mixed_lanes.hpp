// Interventional contributions to a tree of clipped or linear models where columns are too many for all coalitions:
// games of nodes against background rows side by side, whatever columns they leave free.
//
// A clipped output counts as a line, whose contributions are exact and add up to all that there is. What is left of a
// game, 0 at both of its ends, is drawn with a chance that grows with it, and counts as much more; so few games are
// looked at, large ones always, and values are right on average.
#pragma once

#include <cstdint>
#include <vector>

#include "../kernels/kernels.hpp"
#include "interventional.hpp"

namespace boostforest {

// Columns of a table whose clipped games are all enumerated, and of those that have bits.
constexpr int kMostExact = kMostClipped, kMostBits = 64;

// Games, each against one background row. Words are read as they are written: a word of two that were just written has
// to wait for both.
class GameList {
   public:
    std::int64_t size() const { return static_cast<std::int64_t>(of_row.size()); }
    void resize(std::int64_t n);

    static std::int32_t other(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xffffffffU); }
    static std::int32_t shape(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
    static std::uint64_t key(std::int32_t other, std::int32_t shape) {
        return static_cast<std::uint32_t>(other) | static_cast<std::uint64_t>(shape) << 32;
    }

    std::vector<std::uint64_t> of_row, of_other;  // bits of columns that must come from the row, and that must not
    std::vector<std::uint64_t> keys;              // the background row; of how many columns each are, see MixedWeights
};

class MixedLanes {
   public:
    MixedLanes(const PreparedRows& background, const Players& players, const Weights& weights);

    // The row at work from now on.
    void take(const PreparedRows& rows, std::int64_t i);

    // Adds what a tree gives for it, see Interventional. What is left of games counts in full from `full` on.
    void add_tree(const TreeView& tree, Link link, Key key, double full, const Sums& sums);

   private:
    void visit(std::int32_t node, std::int64_t first, std::int64_t n);
    void add_model(std::int32_t node, std::int64_t first, std::int64_t n);
    void flush();
    void add_rest(int lane, Key key);
    void add_rest(int n, double start, double at_start, Key key, const Sums& sums);
    void part(std::int32_t node, std::int64_t first, std::int64_t n, std::int64_t near, std::int64_t far,
              std::int64_t& n_near, std::int64_t& n_far);

    const PreparedRows& background_;
    const Players& players_;
    Game game_;
    MixedWeights shapes_;
    Conditions at_;
    std::vector<double> others_by_feature_;  // what splits see of the background rows
    std::int64_t stride_;                    // of rows of inputs
    bool one_each_;                          // input j is column j

    // Of the row and tree at work:
    const double* routed_ = nullptr;
    std::vector<double> inputs_, steps_;  // of the row, and what they are more than those of background rows
    const TreeView* tree_ = nullptr;
    NodeModels* models_ = nullptr;
    const Sums* sums_ = nullptr;
    Key tree_key_ = 0;
    double full_ = 0;

    GameList games_;        // of the nodes from the root to the one at work, and behind each room for one more
    Buffer<double> lanes_;  // contributions
    MixedGames batch_{};    // games that wait until there are kLanes of them,
    int n_batch_ = 0;       //   so many
    std::int32_t nodes_[kLanes]{}, others_[kLanes]{};  // of these games
    std::vector<double> slopes_;                       // of the latest nodes, as many as a batch may have, in turns
    std::int64_t slopes_place_ = 0;
    OpenGames open_;
    std::vector<std::int32_t> who_;
    std::vector<double> differences_, line_, rest_, not_asked_for_;  // not_asked_for_: squares
};

// Whether the tree's models are of this kind.
bool fits_lanes(const TreeView& tree, Link link, const Players& players);

// What the rest of a game must come to, at most, to count in full: a share of the range of the forest's output.
double full_rest(const std::vector<TreeView>& trees, const double* weights, Link link, int input_width);

}  // namespace boostforest
