// Gram matrices that the nodes of a regression tree hand down: the larger child's is the parent's less the smaller
// child's. Row weights are the same all the way down there; with classes they change at every node.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"

namespace boostforest {

// Σ w (x - mean)(x - mean)ᵀ of a node's rows.
struct NodeGram {
    Buffer<double> buffer;
    double* mean = nullptr;    // `width` doubles
    double* values = nullptr;  // upper triangle, `width` rows of as many doubles
    double largest = 0;        // of Σ w x² over the features, when it was last summed: rounding errors are shares of it
    bool known = false;
    bool wanted = false;  // also where the model can be fitted without it

    void start(int width, bool is_wanted) {
        mean = buffer.get(static_cast<std::size_t>(width) * (width + 1));
        values = mean + width;
        known = false;
        wanted = is_wanted;
    }
};

// Whether the larger child's is worth taking from its parent: less work than to do without, and exact beside the
// penalty. A node has n rows.
bool worth_handing_down(const NodeGram& parent, std::int64_t n_small, std::int64_t n_large, int d, double lambda);

// Turns the parent's into that of its other child. Weights are those of the parent, the child and the other child.
void take_away(NodeGram& parent, const NodeGram& child, const double (&weights)[3], int width, int d);

// Those of the open leaves, used again and again: one for every right turn on a path, and only of nodes with more rows
// than features, so together about as large as the rows of the path.
class NodeGrams {
   public:
    void clear() {
        free_.clear();
        for (std::size_t i = 0; i < grams_.size(); ++i) free_.push_back(static_cast<std::int32_t>(i));
    }
    std::int32_t take() {
        if (free_.empty()) {
            free_.push_back(static_cast<std::int32_t>(grams_.size()));
            grams_.emplace_back();
        }
        const std::int32_t i = free_.back();
        free_.pop_back();
        return i;
    }
    void give_back(std::int32_t i) { free_.push_back(i); }
    NodeGram& operator[](std::int32_t i) { return grams_[i]; }

   private:
    std::vector<NodeGram> grams_;
    std::vector<std::int32_t> free_;
};

}  // namespace boostforest
