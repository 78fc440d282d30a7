// Bags of boosted trees: each is boosted on a replica of the rows and stopped by the rows that it has not drawn.
//
//   bins           features as numbers of bins, once per table
//   bag            the rows of one bag
//   histograms     derivatives by bin
//   split_search   the best split, given the histograms
//   tree_grower    one tree
//   booster        rounds, when to stop, many bags
//
// The trees of a bag add up. Its first one has a single leaf: the best constant, or 0 where scores are given to start
// from. In all others a leaf has -rate · G/(H + λ), per output.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../base/parallel.hpp"
#include "../base/random.hpp"
#include "../forest/forest.hpp"
#include "bins.hpp"
#include "tree_grower.hpp"

namespace boostforest {

// The sums of the scores of a bag's first trees for the rows that were not drawn, rows × outputs.
struct BagScores {
    std::size_t n_trees;
    std::vector<double> scores;
};

// What comes of one bag.
struct BoostedBag {
    std::vector<PackedTree> trees;  // up to the best round
    double loss_before = 0;         // of the rows that were not drawn: at the start, and after the best round; means
    double loss_after = 0;
    std::int64_t n_rounds = 0;         // that were tried
    std::vector<std::int64_t> number;  // of the rows that were not drawn,
    std::vector<double> scores;        //   and the sums of the trees' scores for them: rows × outputs
    std::vector<BagScores> history;    // the same after some rounds, a few dozen evenly spread ones; the last are all
};

class BagBooster;

// A bag for each seed. What is given by reference or pointer has to outlive it, sampling and row_weight the first call.
class BagBoosters {
   public:
    // row_weight: of the rows where losses are averaged; null: all the same.
    BagBoosters(const Dataset& data, const Bins& bins, const Sampling& sampling, const double* row_weight,
                const BoostRules& rules, std::vector<Key> seeds, Stored stored);
    ~BagBoosters();

    // Boosts all bags up to so many rounds, counted from the first call on, on threads. The bags are the same for any
    // number of threads, and after a pause. Without a next call they give their trees away.
    std::vector<BoostedBag> boost(int max_rounds, bool goes_on, int n_threads, Control& control);

   private:
    const Dataset data_;
    const Bins& bins_;
    const Sampling sampling_;
    const double* const row_weight_;
    const BoostRules rules_;
    const std::vector<Key> seeds_;
    const Stored stored_;
    std::vector<std::unique_ptr<BagBooster>> bags_;  // null: before the first call
};

}  // namespace boostforest
