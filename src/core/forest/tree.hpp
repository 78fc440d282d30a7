// The flat columns of a forest, and the builder that fills them for one tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "stored.hpp"
#include "tree_view.hpp"

namespace boostforest {

// One tree as columns, one value per node; node 0 is the root, the children of a node stand next to each other.
// A forest is its trees' columns joined (forest.hpp), with the first node of every tree beside them.
// C is the type of coefficients: double while a tree grows, then what the forest keeps (stored.hpp).
template <template <class> class Column, class C>
struct Columns {
    Column<std::int32_t> feature;       // split feature, -1 for a leaf
    Column<double> threshold;           // x[feature] <= threshold goes left (in scaled units; 0 for a leaf)
    Column<std::uint8_t> missing_left;  // 1: a missing value goes left, 0: right
    Column<std::int32_t> left;          // left child, counted from the tree's root (right = left + 1; 0 for a leaf)
    Column<float> n_samples;            // weight of the training rows that reached the node
    Column<float> loss;                 // training loss of those rows after the node's model
    Column<float> gain;                 // criterion's gain of the split (0 for a leaf)
    Column<typename ClipRange<C>::Type> lower, upper;  // clip range of the node's model (-inf, inf: nothing is clipped)
    Column<C> params;              // parameters (see ModelKind) of the nodes that have a model, in their order
    Column<std::int8_t> exponent;  // where C is Byte: per model and output the power of two that these are multiples of

    // The list of node columns, written once: visit(name, column) for each, or visit(name, column of a, of b).
    template <class Visit, class... Selves>
    static void for_each_node_column(Visit visit, Selves&... selves) {
        visit("feature", selves.feature...);
        visit("threshold", selves.threshold...);
        visit("missing_left", selves.missing_left...);
        visit("left", selves.left...);
        visit("n_samples", selves.n_samples...);
        visit("loss", selves.loss...);
        visit("gain", selves.gain...);
        visit("lower", selves.lower...);
        visit("upper", selves.upper...);
    }
};

template <class T>
using Vector = std::vector<T>;
using TreeColumns = Columns<Vector, double>;

template <class T>
using Place = T*;

// A finished tree in one block of memory: the node columns one after another in the order of for_each_node_column, each
// from a multiple of 8 bytes on, then the parameters and their exponents; coefficients as the forest keeps them.
struct PackedTree {
    std::unique_ptr<char[]> bytes;
    std::int64_t n_nodes = 0, n_params = 0, n_exponents = 0;
    std::size_t n_bytes = 0;

    PackedTree copy() const {
        PackedTree tree{.bytes = std::make_unique_for_overwrite<char[]>(n_bytes),
                        .n_nodes = n_nodes,
                        .n_params = n_params,
                        .n_exponents = n_exponents,
                        .n_bytes = n_bytes};
        std::copy_n(bytes.get(), n_bytes, tree.bytes.get());
        return tree;
    }

    // Where the columns are; C must be what the tree was packed with.
    template <class C>
    Columns<Place, C> columns() const {
        Columns<Place, C> places{};
        lay_out(places, bytes.get());
        return places;
    }

    template <class C>
    static PackedTree with_room(std::int64_t n_nodes, std::int64_t n_params, std::int64_t n_exponents) {
        PackedTree tree{.bytes = nullptr, .n_nodes = n_nodes, .n_params = n_params, .n_exponents = n_exponents};
        Columns<Place, C> places{};
        tree.n_bytes = tree.lay_out(places, nullptr);
        tree.bytes = std::make_unique_for_overwrite<char[]>(tree.n_bytes);
        return tree;
    }

   private:
    // Puts the columns one after another, from `start` on; returns how many bytes they take.
    template <class C>
    std::size_t lay_out(Columns<Place, C>& places, char* start) const {
        std::size_t at = 0;
        const auto put = [&](auto*& place, std::int64_t n) {
            if (start != nullptr) place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(start + at);
            at += (n * sizeof(*place) + 7) / 8 * 8;
        };
        places.for_each_node_column([&](const char*, auto*& place) { put(place, n_nodes); }, places);
        put(places.params, n_params);
        put(places.exponent, n_exponents);
        return at;
    }
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
    void start(int n_outputs, int n_params_per_output, PathForm form, Stored stored);

    // Adds both children of a node; returns the left one.
    std::int32_t add_children(std::int32_t parent, int feature, double threshold, bool missing_left, double gain);

    // Room for a model of the node; filled by the caller, then finish_model adds the parent's sum where that is wanted.
    // is_read: the node's own model will be asked for again.
    double* add_model(std::int32_t node);
    void finish_model(std::int32_t node, bool is_read);

    void set_node(std::int32_t node, double n_samples, double loss, double lower, double upper);

    // Parameters of a node's model (or path sum); null for a root without one, or if they are not read again.
    const double* model(std::int32_t node) const;
    std::int32_t parent(std::int32_t node) const { return parent_[node]; }
    std::int32_t feature(std::int32_t node) const { return columns_.feature[node]; }
    double lower(std::int32_t node) const { return columns_.lower[node]; }
    double upper(std::int32_t node) const { return columns_.upper[node]; }
    std::int64_t n_nodes() const { return static_cast<std::int64_t>(columns_.feature.size()); }

    // Numbers the nodes as if they had been added depth first, left before right: files then need a bit for each. For
    // trees whose models are not rounded early.
    void number_depth_first();

    // numbers: where the slopes of a model stand among the n_slopes that are stored, the others are 0; null: all stand.
    PackedTree finish(const std::int32_t* numbers, int n_slopes) const;

   private:
    template <class C>
    PackedTree pack(const std::int32_t* numbers, int n_slopes) const;
    template <class C>
    void put_params(const std::int32_t* numbers, int n_slopes, C* to) const;
    void round(std::int32_t node);

    // Models that no other node needs are rounded as they come: a large tree would take four times as much until then.
    // Eight bits need the whole tree: until then they are single precision.
    bool rounds_early() const { return form_ == PathForm::kOwnModels && stored_ != Stored::kDouble; }
    Stored rounded_early() const { return stored_ == Stored::kByte ? Stored::kSingle : stored_; }
    void add_node(std::int32_t parent);

    TreeColumns columns_;  // params in the order of add_model
    std::vector<std::int32_t> parent_;
    std::vector<std::int64_t> param_start_;  // of each node in params; -1: none
    std::vector<char> rounded_;              // models that were rounded early, in the order of the nodes
    int n_outputs_ = 1, n_params_ = 0;       // of a node's model
    PathForm form_ = PathForm::kOwnModels;
    Stored stored_ = Stored::kDouble;
};

}  // namespace boostforest
