// Growth of one BoostTree: Algorithm 1 of the paper. What it takes has a class each under grow/.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "../base/parallel.hpp"
#include "../forest/tree.hpp"
#include "../models/node_inputs.hpp"
#include "../models/node_model.hpp"
#include "../table/dataset.hpp"
#include "batches.hpp"
#include "gram_hand_down.hpp"
#include "leaf.hpp"
#include "partition.hpp"
#include "path_scores.hpp"
#include "replica.hpp"
#include "split.hpp"

namespace boostforest {

// A root is tried to be split as often as this.
constexpr int kMaxRootAttempts = 100;

// One tree's own parameters, drawn from the pools.
struct TreeParams {
    Key seed = 0;
    NodeRules node;                   // node model and its parameters
    SplitRules split;                 // how splits are searched
    std::int64_t max_leaf_nodes = 0;  // 0: no limit
    std::int64_t max_depth = -1;      // -1: no limit
    std::int64_t batch_size = 0;      // rows used of a larger node; 0: all
    bool clip = true;                 // keep node outputs within the range of their pseudo-labels (see Loss::clips)
    bool shared_hessian = false;      // one weight per row for all outputs

    // As in SplitRules, those included; seed and node model are read apart.
    template <class Visit>
    void for_each_field(Visit visit) {
        split.for_each_field(visit);
        visit("max_leaf_nodes", max_leaf_nodes, 0, kMostInt);
        visit("max_depth", max_depth, -1, kMostInt);
        visit("batch_size", batch_size, 0, kMostInt);
        visit("clip", clip, 0, 1);
        visit("shared_hessian", shared_hessian, 0, 1);
    }
};

struct GrownTree {
    PackedTree tree;
    ModelKind kind = ModelKind::kLinear;
    bool sum_path = false;           // see TreeView
    std::int64_t n_unconverged = 0;  // node models that were given up before they had converged
    std::vector<double> hidden;      // the tree's hidden layer, if it has one; see HiddenLayer::values
};

// Grows trees one after another; one per thread, so that its scratch memory is reused.
class Grower {
   public:
    Grower(const Dataset& data, const Sampling& sampling, Stored stored, bool short_thresholds);
    GrownTree grow(const TreeParams& params, Worker& worker);

   private:
    Leaf start();
    Split find_split(const Leaf& leaf);
    std::array<Leaf, 2> split(const Leaf& leaf, Split split);
    void fit_children(const Leaf& parent, std::array<Leaf, 2>& children);
    void fit_model(Leaf& leaf, const Leaf* parent);
    void fit_to(const PseudoLabels& labels, const Sample& sample, const Leaf& leaf, const Leaf* parent, double* model);
    PseudoLabels repeat_steps(const Sample& sample, const Leaf& leaf, double* model);

    void fit_allowed(const NodeProblem& problem, std::int32_t node, double* model);
    void find_allowed(std::int32_t node);

    void choose_model();
    void settle(Leaf& leaf) const;
    Sample take_sample(const Leaf& leaf, Key batch_key, const Leaf* scored_by);
    bool is_clipped() const { return params_->clip && data_.loss.clips(); }
    bool is_monotone() const { return data_.monotone != nullptr; }
    bool is_best_first() const { return params_->max_leaf_nodes > 0; }

    const Dataset& data_;
    const Loss& loss_;
    const int n_outputs_;
    const Stored stored_;
    const bool short_thresholds_;  // as few digits as part the rows of a node alike

    // The tree being grown.
    const TreeParams* params_ = nullptr;
    Worker* worker_ = nullptr;  // that grows it
    NodeFit model_fit_ = NodeFit::kConstant;
    std::unique_ptr<NodeModel> model_;
    std::unique_ptr<NodeInputs> inputs_;
    Replica replica_;
    Partition partition_;
    Batches batches_;
    TreeBuilder builder_;
    PathScores paths_;
    GramHandDown grams_;
    OpenLeaves open_;
    std::unique_ptr<Interactions> interactions_;  // what was found to be allowed is in it; null: all columns always are

    // Scratch.
    SplitFinder finder_;
    NodeWorkspace node_work_;
    LossWorkspace loss_work_;
    Buffer<double> fitted_, scores_;  // of the rows of a node, outputs × rows
    Buffer<double> total_, total_z_;  // of a tree of one node: the outputs of its model so far, and what they should be
    std::vector<std::int32_t> allowed_, path_;  // features or inputs that may be used at a node; columns above it
    std::vector<std::int32_t> identity_;
    std::vector<double> some_params_;  // of a model of some inputs,
    Buffer<double> some_inputs_;       //   and these
    std::unique_ptr<NodeModel> constant_;
    double start_loss_ = 0;  // Σ w · loss of the last sample whose state was computed from a path
};

}  // namespace boostforest
