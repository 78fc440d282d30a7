// Many trees: growing them on threads, and predicting with the flat columns.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "../base/growing_array.hpp"
#include "../grow/grower.hpp"
#include "../table/expected.hpp"

namespace boostforest {

// The trees of a forest, joined into flat columns as they are finished: no tree is kept twice for long.
class JoinedTrees {
   public:
    JoinedTrees(const std::vector<TreeParams>& params, Stored stored);

    // Takes tree t, from any thread; trees that come before their turn wait.
    void add(std::size_t t, GrownTree tree);

    Stored stored() const { return static_cast<Stored>(columns.index()); }

    template <class C>
    using JoinedColumns = Columns<GrowingArray, C>;
    std::variant<JoinedColumns<double>, JoinedColumns<float>, JoinedColumns<Half>> columns;  // in the order of Stored
    std::vector<std::int64_t> tree_start{0};    // first node of each tree, then the number of nodes
    std::vector<std::uint8_t> kind;             // ModelKind of each tree
    std::vector<std::uint8_t> sum_path;         // as in TreeView
    std::vector<std::int64_t> hidden_start{0};  // first value of each tree's hidden layer, then the number of values
    std::vector<double> hidden;
    std::int64_t n_unconverged = 0;  // node models that were given up before they had converged

   private:
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

// Rows as the user has them.
struct RawRows {
    const double* x;                  // n_rows × n_features, row-major; NaN is missing
    std::int64_t n_rows;              // rows
    int n_features;                   // features
    const double* mean;               // subtracted from each feature,
    const double* scale;              //   which is then divided by this
    const Normal* normal = nullptr;   // what scaled rows are expected to be; null: a missing value counts as the mean
    FeatureList model_features = {};  // the features that node models see
};

// What is added up over the trees.
enum class Output : std::uint8_t { kScore = 0, kProbability = 1 };

// out[i * n_outputs + c] += Σ over the trees of the score (or probability) of row i. Two classes have one output, the
// score (probability) of the second class.
void predict_forest(const std::vector<TreeView>& trees, const RawRows& rows, Output output, int n_threads,
                    Control& control, double* out);

// The same, where a tree adds only to the rows that it was not grown on (tree t was drawn with seeds[t]);
// n_trees[i] counts the trees that did. squares, unless null, gets the sums of the squared outputs, as out is laid out.
void predict_out_of_bag(const std::vector<TreeView>& trees, const std::vector<Key>& seeds, const Sampling& sampling,
                        const RawRows& rows, Output output, int n_threads, Control& control, double* out,
                        double* n_trees, double* squares);

// out[i * trees + t]: the leaf of row i in tree t.
void apply_forest(const std::vector<TreeView>& trees, const RawRows& rows, int n_threads, Control& control,
                  std::int32_t* out);

// Scaled rows of padded_width(n_features) doubles each, as training and prediction see them; a missing value stays NaN.
// True if there is one.
bool scale_rows(const RawRows& rows, std::int64_t begin, std::int64_t end, double* out);

// Puts what is expected in the place of NaN in some of these rows, scaled: what node models see.
void fill_missing(const RawRows& rows, std::int64_t n_rows, double* x);

// Some features of rows of `width` doubles, in rows of padded_width(features.n) doubles.
void gather_features(const double* x, std::int64_t n_rows, int width, const FeatureList& features, double* out);

}  // namespace boostforest
