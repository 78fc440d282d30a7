// Growth of one BoostTree: depth first, or best first where leaves are limited.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "hidden_layer.hpp"
#include "loss.hpp"
#include "node_model.hpp"
#include "parallel.hpp"
#include "random.hpp"
#include "roles.hpp"
#include "split.hpp"
#include "tree.hpp"

namespace boostforest {

// The training table, shared by all trees and threads.
struct Dataset {
    const double* x;                               // scaled features, rows of padded_width(n_features) doubles
    std::int64_t n_rows;                           // rows
    int n_features;                                // features
    FeatureList split_features;                    // those that may be cut
    const double* model_x;                         // what node models see of x: rows of padded_width(n_model_features)
    int n_model_features;                          //   doubles; x itself if they see all features
    const double* y;                               // scaled target, or the number of the class
    Task task;                                     // regression, two classes, more classes
    int n_classes;                                 // classes (0 in regression)
    const MissingCells* missing = nullptr;         // cells of x that are missing in the table; null: none
    const Indicators* indicators = nullptr;        // columns of x kept as lists too; null: none
    const Indicators* model_indicators = nullptr;  // columns of model_x likewise
    const std::int8_t* monotone = nullptr;         // per feature: 1 or -1 if the score must rise or fall with it, 0:
    const std::int8_t* model_monotone = nullptr;   //   free; null: all free. The same of the features that models see
    const double* start = nullptr;                 // scores that trees start from, rows × outputs; null: zero
};

// How a tree gets its rows.
struct Sampling {
    bool bootstrap = false;              // draw rows with replacement; otherwise every row once
    std::int64_t n_draws = 0;            // rows drawn, below 2^31
    const double* cumulative = nullptr;  // running sum of the draw weights; null: all the same
    const double* weight = nullptr;      // without bootstrap: weight of each row; null: all 1
    bool balance_classes = false;        // weigh the drawn rows so that every class has the same total
};

// One tree's own parameters, drawn from the pools.
struct TreeParams {
    Key seed = 0;
    NodeRules node;                   // node model and its parameters
    SplitRules split;                 // criterion, min_samples_leaf, reg_lambda, max_features, n_cuts
    std::int64_t max_leaf_nodes = 0;  // 0: no limit
    std::int64_t max_depth = -1;      // -1: no limit
    std::int64_t batch_size = 0;      // rows used of a larger node; 0: all
    bool clip = true;                 // keep node outputs within the range of their pseudo-labels (regression)
};

struct GrownTree {
    PackedTree tree;
    ModelKind kind = ModelKind::kLinear;
    bool sum_path = false;
    std::int64_t n_unconverged = 0;  // node models that were given up before they had converged
    std::vector<double> hidden;      // the tree's hidden layer, if it has one; see HiddenLayer::values
};

// How often each row was drawn. Draws may be many more than rows, so the worker looks up now and then.
void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, Worker& worker, std::int32_t* counts);

// Grows trees one after another; one per thread, so that its scratch memory is reused.
class Grower {
   public:
    Grower(const Dataset& data, const Sampling& sampling, Stored stored);
    GrownTree grow(const TreeParams& params, Worker& worker);

   private:
    // An open leaf: rows_[begin … end).
    struct Leaf {
        std::int32_t node = 0;
        std::int64_t depth = 0;
        Key key = 0;
        std::int64_t begin = 0, end = 0;
        double weight = 0;       // Σ weight of its rows
        std::int64_t count = 0;  // rows, drawn ones as often as they were drawn
        double loss = 0;
        std::int32_t gram = -1;  // its Gram matrix in grams_, if that is kept
        bool has_state = false;  // weights, labels and state of its rows are in place; larger nodes work on batches
    };

    Leaf draw_replica(Key seed, Worker& worker);
    void balance_classes();
    bool uses_batch(const Leaf& leaf) const { return params_->batch_size > 0 && leaf.count > params_->batch_size; }
    Sample take_sample(const Leaf& leaf, Key batch_key, std::int32_t scored_by, bool state_in_place);
    Sample take_batch(const Leaf& leaf, Key key);
    Sample whole_leaf(const Leaf& leaf);
    void start_models(const Sample& sample);
    const double* find_inputs(Sample& sample);
    bool is_monotone() const { return data_.monotone != nullptr; }
    void score_path(std::int32_t node, const Sample& sample, double* f, std::int64_t stride);
    void score_monotone_path(std::int32_t node, const Sample& sample, double* f);
    void take_totals(std::int32_t node, const Sample& sample, double* fitted);
    void gather_rows(const Sample& sample);
    const double* evaluate(const double* params, std::int64_t n);
    void score_lists(const Indicators& lists, const Sample& sample, const double* params, double* out);
    Split find_split(const Leaf& leaf);
    void split(const Leaf& leaf, Split split, Leaf (&children)[2]);
    bool left_is_larger(const Leaf& leaf, const Split& split) const;
    std::int64_t partition(const Leaf& leaf, const Split& split);
    bool goes_left(std::int32_t row, const Split& split) const;
    void fit_model(Leaf& leaf, const Leaf* parent);
    void fit_children(const Leaf& parent, Leaf (&children)[2]);
    bool keeps_gram(const Leaf& leaf) const;
    void release_gram(std::int32_t number) {
        if (number >= 0) grams_.give_back(number);
    }
    void centre_outputs(double* values, std::int64_t n, std::int64_t stride) const;

    const Dataset& data_;
    const Sampling& sampling_;
    const Stored stored_;
    const int width_, model_width_;  // doubles per row of x and model_x
    const std::unique_ptr<Loss> loss_;
    const int n_outputs_;

    const TreeParams* params_ = nullptr;  // of the tree being grown
    Worker* worker_ = nullptr;            // that grows it
    std::unique_ptr<NodeModel> model_;
    NodeFit model_fit_{};
    bool clip_ = false, sum_path_ = false;
    int n_inputs_ = 0, input_width_ = 0;  // inputs of a node model, and doubles per row of them
    HiddenLayer layer_;                   // of the tree, if it has one,
    bool keeps_units_ = false;            //   with the units of all rows;
    Buffer<double> units_;                //   else those of the current sample
    Buffer<std::int32_t> unit_rows_;
    TreeBuilder builder_;
    SplitFinder finder_;
    NodeWorkspace node_work_;
    bool hands_down_ = false;  // whether children get Gram matrices from their parents
    NodeGrams grams_;          // of the open leaves, then
    std::vector<Leaf> open_;
    std::vector<std::int32_t> path_;

    std::vector<std::int32_t> counts_;  // draws of each row of the table
    std::vector<double> weights_;       // weight of each row of the table (count times class weight, or as given)
    std::int64_t n_replica_ = 0;        // distinct rows of the replica, and from one value of the state to the next
    Buffer<std::int32_t> rows_;         // the replica's rows, those of a node next to each other, ascending
    Buffer<double> w_, y_, state_;      // weight, label and state of these rows, valid where has_state
    Buffer<std::uint8_t> goes_left_;    // scratch of partition
    Buffer<double> right_;
    Buffer<std::int32_t> right_rows_;
    Buffer<std::int32_t> batch_rows_, batch_drawn_;  // the current batch, and how often it has each row
    Buffer<double> batch_w_, batch_y_, batch_state_;
    Buffer<std::uint64_t> batch_taken_;
    double start_loss_ = 0;  // of the last state that was computed from a path
    LossWorkspace loss_work_;
    RowLists path_lists_;
    Buffer<double> fitted_, path_f_, path_rows_, path_slopes_, path_out_, path_sums_;
};

}  // namespace boostforest
