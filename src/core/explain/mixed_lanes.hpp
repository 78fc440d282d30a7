// Interventional contributions to a tree of clipped or linear models where columns are too many for all coalitions:
// games of nodes against background rows side by side, whatever columns they leave free.
//
// A clipped output counts as a line, whose contributions are exact and add up to all that there is. What is left of a
// game, 0 at both of its ends, is drawn with a chance that grows with it, and counts as much more; so few games are
// looked at, large ones always, and values are right on average.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

    // The tree and the rows at work from now on. What is left of games counts in full from `full` on.
    void take(const TreeView& tree, Link link, const PreparedRows& rows, double full);

    // Adds what the tree gives for row i, see Interventional.
    void add_row(std::int64_t i, Key key, const Sums& sums);

   private:
    struct Model {
        double intercept, lower, upper;
        bool is_there;
    };

    void read_models();
    void find_scores();
    void visit(std::int32_t node, std::int64_t first, std::int64_t n);
    void add_model(std::int32_t node, std::int64_t first, std::int64_t n);
    void flush();
    void add_rest(int lane, Key key);
    void add_rest(int n, double start, double at_start, Key key, const Sums& sums);
    template <bool kMissingLeft>
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

    // Of the tree and rows at work:
    const TreeView* tree_ = nullptr;
    const PreparedRows* rows_ = nullptr;
    std::optional<NodeModels> loaded_;
    std::vector<Model> models_;
    std::vector<double> slopes_;  // per node, stride_ each
    std::vector<double> scores_;  // less the intercepts: kLanes rows per node, then the next kLanes rows
    double full_ = 0;

    // Of the row at work:
    std::int64_t row_ = 0;
    const double* routed_ = nullptr;
    std::vector<double> steps_;  // its inputs less those of background rows
    const Sums* sums_ = nullptr;
    Key tree_key_ = 0;

    GameList games_;        // of the nodes from the root to the one at work, and behind each room for one more
    Buffer<double> lanes_;  // contributions
    MixedGames batch_{};    // games that wait until there are kLanes of them,
    int n_batch_ = 0;       //   so many
    std::int32_t nodes_[kLanes]{}, others_[kLanes]{};  // of these games
    Key node_keys_[kLanes]{};
    OpenGames open_;
    std::vector<std::int32_t> who_;
    std::vector<double> differences_, line_, rest_, not_asked_for_;  // not_asked_for_: squares
};

// Whether the tree's models are of this kind.
bool fits_lanes(const TreeView& tree, Link link, const Players& players);

// What the rest of a game must come to, at most, to count in full: a share of the range of the forest's output.
double full_rest(std::span<const TreeView> trees, const double* weights, Link link, int input_width);

}  // namespace boostforest
