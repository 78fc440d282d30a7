// Scores of rows: what the tree starts from and the models on the path to a node.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../forest/tree.hpp"
#include "../models/node_inputs.hpp"

namespace boostforest {

class PathScores {
   public:
    PathScores(const Dataset& data, const TreeBuilder& builder) : data_(data), builder_(builder) {}

    // Begins a tree. is_clipped: a model's output is kept within the clip range of its node.
    void start(NodeInputs& inputs, bool is_clipped);

    // f = what the tree starts from + Σ of the models on the path to the node (-1: none), outputs × rows.
    void score(std::int32_t node, const Sample& sample, double* f, std::int64_t stride);

    // Under constraints and with clipping a step leads from the score to the sum of the models on
    // the path and what the tree starts from: a model that was clipped further up may be needed in full here.
    void take_totals(std::int32_t node, const Sample& sample, double* fitted);

   private:
    // Rows as models see them.
    struct Seen {
        const double* x;  // table of the inputs, or of those that are not indicators
        int width;        // doubles per row of it
        const std::int32_t* rows;
        std::int64_t n;
    };

    Seen see(const Sample& sample);
    const double* evaluate(const double* params, const Seen& seen);
    void add_models(std::int32_t node, const Seen& seen, double* f, std::int64_t stride);
    void add_blocks(std::int32_t node, const Seen& seen, double* f, std::int64_t stride);
    void add_monotone(std::int32_t node, const Seen& seen, double* f);

    const Dataset& data_;
    const TreeBuilder& builder_;
    NodeInputs* inputs_ = nullptr;  // of the tree
    bool is_clipped_ = false;
    Buffer<double> slopes_, out_;  // of a model; zeros behind the slopes
    Buffer<double> padded_;        // of all models on a path: slopes, as wide as rows, then the intercepts
    Buffer<double> steps_;         // per indicator: what its rare value adds
    Buffer<double> own_;           // scores without what the tree starts from
    RowLists lists_;               // indicators of the rows
    std::vector<std::int32_t> path_;
};

}  // namespace boostforest
