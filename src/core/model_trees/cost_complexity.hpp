// Cost-complexity pruning as in CART (Breiman et al. 1984): weakest links first.
#pragma once

#include <cstdint>
#include <vector>

namespace boostforest {

// What pruning needs to know of a tree: one entry per node, the root first, children behind their parent.
struct PrunableTree {
    struct Node {
        std::int32_t left = 0;      // left child, the right one is next to it; 0 for a leaf
        double wrong = 0;           // weight of the training rows that the node's own model gets wrong
        double held_out_wrong = 0;  // the same of rows that were held out
    };
    std::vector<Node> nodes;
    double weight = 0;  // weight of all training rows
};

// A tree at one stage of its pruning.
struct PruningStage {
    double alpha;           // from this price per leaf on, the tree is cut back to here
    double held_out_wrong;  // of its leaves
};

// Cuts a tree back, one weakest link at a time.
class Pruner {
   public:
    explicit Pruner(const PrunableTree& tree);

    // Every stage from the whole tree (alpha 0) to the root alone.
    std::vector<PruningStage> all_stages();

    // From the whole tree, cuts every link that is worth at most alpha; returns which nodes have children then.
    std::vector<bool> prune(double alpha);

   private:
    struct Subtree {                // below a node, as it is pruned now
        std::int32_t n_leaves = 1;  // its leaves,
        double wrong = 0;           //   and what they get wrong in training
    };
    void find_weakest();
    double held_out_wrong() const;

    const PrunableTree& tree_;
    std::vector<bool> saves_;     // nodes that are split, less those whose split was found to save nothing at any stage
    std::vector<bool> is_inner_;  // nodes that are split at the present stage
    std::vector<Subtree> subtrees_;
    std::int32_t weakest_ = -1;  // inner node that saves the least per leaf, the first from above and left; -1: none
    double weakest_alpha_ = 0;
};

// The alpha under which trees grown on folds do best on the rows held out; `folds` are their stages, whose errors are
// shares of the held-out weight. Of equally good ones the largest.
double best_alpha(const std::vector<PruningStage>& stages, const std::vector<std::vector<PruningStage>>& folds);

}  // namespace boostforest
