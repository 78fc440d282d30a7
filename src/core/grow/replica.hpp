// The rows that a tree is grown on: drawn with replacement, dealt out, or all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../base/parallel.hpp"
#include "../base/random.hpp"
#include "../table/dataset.hpp"

namespace boostforest {

// How a tree gets its rows.
struct Sampling {
    bool bootstrap = false;               // draw rows with replacement; otherwise every row once
    std::int64_t n_draws = 0;             // rows drawn, below 2^31
    const double* cumulative = nullptr;   // running sum of the draw weights; null: all the same
    const double* weight = nullptr;       // without bootstrap: weight of each row; null: all 1
    bool balance_classes = false;         // weigh the drawn rows so that every class has the same total
    const std::int32_t* drawn = nullptr;  // how often each row was drawn, if the table is what one tree has drawn
};

// Some bags to which rows are dealt: each row is left out by two of them, which judge it, and is in all others once. Or
// by one, and some rows by two, so that it can be seen how bags differ.
// The seed of such a bag says so, so that whoever asks later which rows a tree has drawn need not know.
struct Deal {
    Key key;                    // that the rows are dealt with, the same for all bags
    std::uint64_t n_bags, bag;  // how many there are, and which one this is
    bool mostly_one;            // most rows are left out by one

    // Whether the bag leaves a row out.
    bool leaves_out(std::int64_t row) const {
        constexpr std::uint64_t kOneIn = 8;
        const std::uint64_t first = below(key, 2 * row, n_bags);
        if (first == bag) return true;
        if (mostly_one && row % kOneIn != key % kOneIn) return false;
        return (first + 1 + below(key, 2 * row + 1, n_bags - 1)) % n_bags == bag;
    }
};

constexpr int kLeastDealt = 3, kMostDealt = 31;  // bags

// The seed of one of some bags to which rows are dealt, and what it says; nothing if it is a tree's seed like any
// other.
Key dealt_seed(Key key, int n_bags, int bag, bool mostly_one);
std::optional<Deal> read_deal(Key seed);

// How often each row was drawn. Draws may be many more than rows, so the worker looks up now and then.
void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, Worker& worker, std::int32_t* counts);

// A row that was drawn k times is one row of weight k: less to compute, and its score is updated once.
class Replica {
   public:
    Replica(const Dataset& data, const Sampling& sampling);

    // Draws the rows of another tree.
    void draw(Key seed, Worker& worker);

    // Per row of the table: how often it was drawn, and its weight (that times the weight of its class, or as given).
    const std::int32_t* counts() const { return counts_.data(); }
    const double* weights() const { return weights_.data(); }
    bool weighs_by_counts() const { return by_counts_; }  // weights are counts, and their sums exact

   private:
    void weigh_dealt();
    void balance_classes();

    const Dataset& data_;
    const Sampling& sampling_;
    std::vector<std::int32_t> counts_;
    std::vector<double> weights_;
    bool by_counts_ = false;
};

}  // namespace boostforest
