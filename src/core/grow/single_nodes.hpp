// Single nodes of trees that are grown elsewhere (with models in Python): splits, pseudo-labels and losses of many
// nodes in one call, on threads.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/parallel.hpp"
#include "split.hpp"

namespace boostforest {

// Rows of one node, or a batch of them.
struct NodeRows {
    const std::int32_t* rows;  // their numbers in the table
    std::int64_t n;            // how many, at least one
    const double* weights;     // weight of each
    const double* scores;      // outputs × rows
};

// Where the pseudo-labels of a node go.
struct LabelsOut {
    double* z;      // outputs × rows
    double* v;      // outputs × rows
    double* range;  // lower and upper end of what a model's output is clipped to, infinite if the loss does not clip
};

class SingleNodes {
   public:
    SingleNodes(const Dataset& data, std::vector<NodeRows> nodes, int n_threads, Control& control)
        : data_(data), nodes_(std::move(nodes)), n_threads_(n_threads), control_(control) {}

    // rules, keys: per node; keys are those of an attempt to split it.
    std::vector<Split> find_splits(const std::vector<SplitRules>& rules, const Key* keys) const;
    void pseudo_labels(const std::vector<LabelsOut>& out) const;

    // Per node Σ w · loss at the scores.
    std::vector<double> losses() const;

   private:
    template <class Body>
    void for_each(Body body) const;

    const Dataset& data_;
    const std::vector<NodeRows> nodes_;
    const int n_threads_;
    Control& control_;
};

}  // namespace boostforest
