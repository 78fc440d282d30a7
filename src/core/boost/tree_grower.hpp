// One boosted tree with constant leaves, level by level: all nodes of a level have the same split (oblivious).
//
// Splits are found by the drawn rows, or some of them, which are parted node by node. Which leaf a row ends in, be it
// drawn or not, is then found split by split for all rows at once: their codes are read in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/parallel.hpp"
#include "../forest/tree.hpp"
#include "bag.hpp"
#include "bins.hpp"
#include "histograms.hpp"
#include "split_search.hpp"

namespace boostforest {

// How boosted trees are grown.
struct BoostRules {
    int max_leaves = 64;         // of a tree: a power of two
    double lambda = 1;           // penalty on the squared values of the leaves; above 0
    double learning_rate = 0.1;  // factor of the leaves' values
    double feature_share = 0.7;  // of the features that a tree may split on
    int max_rounds = 1000;       // trees of a bag at the most
    int patience = 50;           // rounds without a lower loss after which a bag ends
    double overshoot = 0;        // rounds that are kept after the best one, as a share of those before it
    int most_bins = 127;         // of a feature
    double row_share = 1;        // of the drawn rows that the splits of a tree are found by, about
};

class BoostedTreeGrower {
   public:
    // interactions: which columns may act together; null: all.
    BoostedTreeGrower(const Bag& bag, const Bins& bins, const Loss& loss, const BoostRules& rules, Stored stored,
                      const Interactions* interactions);

    // Grows a tree on the drawn rows, given w g and w h of each for every output (see Loss::statistics). key: of the
    // rows that its splits are found by. fitted_drawn and fitted_out get its scores, outputs × rows of each part.
    PackedTree grow(const std::vector<const double*>& statistics, const std::vector<int>& features, Key key,
                    Worker& worker, double* fitted_drawn, double* fitted_out);

    // A tree of one leaf with these scores.
    PackedTree single_leaf(const double* scores);

   private:
    // A node that is not split yet.
    struct Open {
        std::int32_t node;        // in the tree
        std::int64_t begin, end;  // in rows_
        int slot;                 // of its histograms
        Totals totals;
    };

    // The split of a level. The places of rows have a bit for each level; a node that could not be split has several
    // places.
    struct Level {
        int feature, bin;
        std::vector<char> missing_left;  // by place before the split
    };

    void choose_rows(Key key);
    void pack_rows(const std::vector<const double*>& statistics);
    void open_root();
    void grow_levels();
    BinSplit best_split();
    void fill(int slot, const Open& open, const Block* only);
    bool split(Open& open, const BinSplit& split, Open& right, bool& missing_left);
    std::int64_t part(std::int64_t begin, std::int64_t end, const BinSplit& split, bool& any_missing);
    void fill_children(Open& left, Open& right);
    void place_rows();
    void finish_leaves(double* fitted_drawn, double* fitted_out);
    bool keeps_one() const { return histograms_.keeps_one(); }
    double lambda() const { return std::max(rules_.lambda * h_unit_, 1e-6); }  // in units of H

    const Bag& bag_;
    const Bins& bins_;
    const Loss& loss_;
    const BoostRules& rules_;
    const Stored stored_;
    const Cell cell_;
    Histograms histograms_;
    BinSplitSearch search_;
    TreeBuilder builder_;
    std::unique_ptr<Interactions> interactions_;

    // Of the tree being grown.
    const std::vector<const double*>* statistics_ = nullptr;
    Worker* worker_ = nullptr;
    std::vector<Open> open_;
    int n_slots_ = 0;  // in use

    // The rows that splits are found by: all that were drawn, or some of them, which count more the less often they are
    // chosen.
    const CodeWords* words_ = nullptr;
    std::vector<std::int64_t> cells_;           // their derivatives, in pairs
    double g_unit_ = 0, h_unit_ = 0;            // that these are multiples of: 1 over
    std::vector<std::int32_t> rows_, scratch_;  // their numbers, in the order of the nodes
    std::vector<std::uint8_t> sides_;           // of the rows of a node, a bit for each
    CodeWords chosen_words_;
    std::vector<double> chosen_statistics_, factors_;
    std::vector<double> sizes_;  // of the derivatives of all drawn rows

    std::vector<std::uint16_t> places_;  // leaf of every row of the bag: its place
    std::vector<std::int32_t> leaf_at_;  // by place: number in open_
    std::vector<Level> levels_;
};

}  // namespace boostforest
