// The flat columns of a forest, and the builder that fills them for one tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tree_view.hpp"

namespace boostforest {

// One tree as columns, one value per node; node 0 is the root, the children of a node stand next to each other.
// A forest is its trees' columns joined (forest.hpp), with the first node of every tree beside them.
template <template <class> class Column>
struct Columns {
    Column<std::int32_t> feature;       // split feature, -1 for a leaf
    Column<double> threshold;           // x[feature] <= threshold goes left (in scaled units; 0 for a leaf)
    Column<std::uint8_t> missing_left;  // 1: a missing value goes left, 0: right
    Column<std::int32_t> left;          // left child, counted from the tree's root (right = left + 1; 0 for a leaf)
    Column<float> n_samples;            // weight of the training rows that reached the node
    Column<float> loss;                 // training loss of those rows after the node's model
    Column<float> gain;                 // criterion's gain of the split (0 for a leaf)
    Column<double> lower, upper;        // clip range of the node's model (-inf, inf where nothing is clipped)
    Column<double> params;              // parameters (see ModelKind) of the nodes that have a model, in their order

    // The list of node columns, written once: visit(name, column) for each.
    template <class Self, class Visit>
    static void for_each_node_column(Self& self, Visit visit) {
        visit("feature", self.feature);
        visit("threshold", self.threshold);
        visit("missing_left", self.missing_left);
        visit("left", self.left);
        visit("n_samples", self.n_samples);
        visit("loss", self.loss);
        visit("gain", self.gain);
        visit("lower", self.lower);
        visit("upper", self.upper);
    }
};

template <class T>
using Vector = std::vector<T>;
using TreeColumns = Columns<Vector>;

// A finished tree in one block of memory: the node columns one after another in the order of for_each_node_column, each
// from a multiple of 8 bytes on, then the parameters.
struct PackedTree {
    std::unique_ptr<char[]> bytes;
    std::int64_t n_nodes = 0, n_params = 0;

    static std::size_t column_bytes(std::int64_t n, std::size_t value_bytes) { return (n * value_bytes + 7) / 8 * 8; }
};

// What a node's parameters are, and which nodes keep them. A root that is split has none.
enum class PathForm : std::uint8_t {
    kOwnModels,  // the node's own model; all nodes
    kLeafSums,   // the sum of the models on the path; leaves
    kAllSums,    // the same; all nodes
};

// Grows by one pair of children at a time. Memory is kept from tree to tree.
class TreeBuilder {
   public:
    void start(int n_params_per_node, PathForm form);

    // Adds both children of a node; returns the left one.
    std::int32_t add_children(std::int32_t parent, int feature, double threshold, bool missing_left, double gain);

    // Room for a model of the node; filled by the caller, then finish_model adds the parent's sum where that is wanted.
    double* add_model(std::int32_t node);
    void finish_model(std::int32_t node);

    void set_node(std::int32_t node, double n_samples, double loss, double lower, double upper);

    // Parameters of a node's model (or path sum); null for a root without one.
    const double* model(std::int32_t node) const;
    std::int32_t parent(std::int32_t node) const { return parent_[node]; }
    double lower(std::int32_t node) const { return columns_.lower[node]; }
    double upper(std::int32_t node) const { return columns_.upper[node]; }

    PackedTree finish();

   private:
    std::int64_t n_nodes() const { return static_cast<std::int64_t>(columns_.feature.size()); }
    void add_node(std::int32_t parent);

    TreeColumns columns_;  // params in the order of add_model
    std::vector<std::int32_t> parent_;
    std::vector<std::int64_t> param_start_;  // of each node in params; -1: none
    int n_params_ = 0;
    PathForm form_ = PathForm::kOwnModels;
};

}  // namespace boostforest
