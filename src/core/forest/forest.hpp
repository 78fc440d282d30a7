// Many trees: growing them on threads, and predicting with the flat columns.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "../base/growing_array.hpp"
#include "../grow/grower.hpp"
#include "../losses/link.hpp"
#include "../table/raw_rows.hpp"

namespace boostforest {

// The trees of a forest, joined into flat columns as they are finished: no tree is kept twice for long.
class JoinedTrees {
   public:
    JoinedTrees(const std::vector<TreeParams>& params, Stored stored, bool short_thresholds = false);

    // Takes tree t, from any thread; trees that come before their turn wait.
    void add(std::size_t t, GrownTree tree);

    // Whether thresholds are to have as few digits as part the rows of their node alike.
    bool short_thresholds() const { return short_thresholds_; }
    Stored stored() const { return static_cast<Stored>(columns.index()); }

    template <class C>
    using JoinedColumns = Columns<GrowingArray, C>;
    std::variant<JoinedColumns<double>, JoinedColumns<float>, JoinedColumns<Half>, JoinedColumns<Byte>>
        columns;                                // in the order of Stored
    std::vector<std::int64_t> tree_start{0};    // first node of each tree, then the number of nodes
    std::vector<std::uint8_t> kind;             // ModelKind of each tree
    std::vector<std::uint8_t> sum_path;         // as in TreeView
    std::vector<std::int64_t> hidden_start{0};  // first value of each tree's hidden layer, then the number of values
    std::vector<double> hidden;
    std::int64_t n_unconverged = 0;  // node models that were given up before they had converged

   private:
    const bool short_thresholds_;

    template <class C>
    void set_aside(JoinedColumns<C>& columns, const PackedTree& first, double share);
    void append(const GrownTree& tree);

    std::vector<double> share_;  // of the whole forest that is there after each tree, as far as one can tell
    std::mutex mutex_;
    std::vector<std::optional<GrownTree>> waiting_;
};

// Tree t is grown with params[t]; the same trees for any number of threads.
void grow_forest(const Dataset& data, const Sampling& sampling, const std::vector<TreeParams>& params, int n_threads,
                 Control& control, JoinedTrees& trees);

// out[i * n_outputs + c] += Σ over the trees of what the link makes of the scores of row i. start, unless null: the
// scores that each tree's are added to before, laid out like out.
void predict_forest(std::span<const TreeView> trees, const RawRows& rows, Link link, const double* start, int n_threads,
                    Control& control, double* out);

// What the link makes of the scores of n scaled rows by one tree, output after output, each in padded_rows(n) doubles.
// x: missing values filled; with_gaps: the same with NaN for them, null if there are none; model_x: what node models
// see of x.
void evaluate_tree(const TreeView& tree, const double* x, const double* with_gaps, const double* model_x,
                   std::int64_t n, int width, int model_width, Link link, Worker& worker, double* f);

// Which rows of the training table some rows are, changed or not.
struct TrainingPlaces {
    std::int64_t n_rows = 0;                // of the training table, from which trees have drawn
    const std::int64_t* numbers = nullptr;  // per row; null: the rows are the training table
};

// As predict_forest, where a tree adds only to the rows that it was not grown on (tree t was drawn with seeds[t]);
// n_trees[i] counts the trees that did. squares, unless null, gets the sums of the squared outputs, as out is laid out.
void predict_out_of_bag(std::span<const TreeView> trees, const std::vector<Key>& seeds, const Sampling& sampling,
                        const RawRows& rows, const TrainingPlaces& places, Link link, const double* start,
                        int n_threads, Control& control, double* out, double* n_trees, double* squares);

// out[i * trees + t]: the leaf of row i in tree t.
void apply_forest(std::span<const TreeView> trees, const RawRows& rows, int n_threads, Control& control,
                  std::int32_t* out);

}  // namespace boostforest
