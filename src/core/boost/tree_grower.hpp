// One boosted tree with constant leaves: leaf by leaf, the best gain first, or level by level with one split for all
// nodes of a level (oblivious).
#pragma once

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
    bool oblivious = false;      // level by level
    int max_leaves = 31;         // of a tree; a power of two if it is oblivious
    double lambda = 1;           // penalty on the squared values of the leaves; above 0
    double min_rows = 20;        // weight of the rows of a leaf, about; not for oblivious trees
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

    // Grows a tree on the drawn rows. key: of the rows that its splits are found by. fitted_drawn and fitted_out get
    // its scores, outputs × rows of each part.
    PackedTree grow(const Derivatives& derivatives, const std::vector<int>& features, Key key, Worker& worker,
                    double* fitted_drawn, double* fitted_out);

    // A tree of one leaf with these scores.
    PackedTree single_leaf(const double* scores);

   private:
    // A node that is not split yet.
    struct Open {
        std::int32_t node;                // in the tree
        std::int64_t begin, end;          // in rows_: of the drawn rows that splits are found by
        std::int64_t out_begin, out_end;  // of the others, there too, first those that were drawn
        int slot;                         // of its histograms
        double weight;                    // of the rows that splits are found by
        Totals totals;
        BinSplit split;  // the best; leaf by leaf only
    };

    Open root(Key key);
    std::int64_t choose_rows(Key key);
    void grow_leaf_wise();
    void grow_oblivious();
    void find_split(Open& open);
    const std::vector<int>& allowed(std::int32_t node);
    bool split(Open& open, const BinSplit& split, Open& right);
    std::int64_t part(std::int64_t begin, std::int64_t end, const std::uint8_t* codes, const bool* goes_left);
    void sum_up(std::int64_t begin, std::int64_t end, const Derivatives& derivatives, const std::vector<double>& w,
                Totals& totals, double& weight) const;
    void fill_children(Open& left, Open& right);
    void finish_leaf(Open& open, double* fitted_drawn, double* fitted_out);
    bool keeps_one() const { return histograms_.keeps_one(); }

    const Bag& bag_;
    const Bins& bins_;
    const Loss& loss_;
    const BoostRules& rules_;
    const Stored stored_;
    const Cell cell_;
    Histograms histograms_;
    BinSplitSearch search_;
    TreeBuilder builder_;
    std::vector<std::int32_t> rows_, scratch_;  // rows of the bag in the order of the nodes; see Open
    int n_slots_ = 0;                           // in use
    std::vector<Open> open_;
    std::vector<double> weights_;  // of the drawn rows of each node

    // Of the tree being grown.
    const Derivatives* derivatives_ = nullptr;
    Derivatives scaled_;                   // of the chosen rows: of those that are chosen less often they count more
    std::vector<double> scaled_w_;         // likewise
    std::vector<float> sizes_;             // of the derivatives of all drawn rows
    const Derivatives* chosen_ = nullptr;  // what splits are found by: these, or all rows'
    const std::vector<double>* chosen_w_ = nullptr;
    const std::vector<int>* features_ = nullptr;
    std::unique_ptr<Interactions> interactions_;
    std::vector<int> allowed_;  // those of the features that a node may be split on
    Worker* worker_ = nullptr;
};

}  // namespace boostforest
