// Many trees: growing them on threads, and predicting with the flat columns.
#pragma once

#include <cstdint>
#include <vector>

#include "grower.hpp"

namespace boostforest {

// Tree t is grown with params[t]; the same trees for any number of threads.
std::vector<GrownTree> grow_forest(const Dataset& data, const Sampling& sampling, const std::vector<TreeParams>& params,
                                   int n_threads, Control& control);

// Rows as the user has them.
struct RawRows {
    const double* x;      // n_rows × n_features, row-major; NaN is missing
    std::int64_t n_rows;  // rows
    int n_features;       // features
    const double* mean;   // subtracted from each feature,
    const double* scale;  //   which is then divided by this
};

// What is added up over the trees.
enum class Output : std::uint8_t { kScore = 0, kProbability = 1 };

// out[i * n_outputs + c] += Σ over the trees of the score (or probability) of row i. Two classes have one output, the
// score (probability) of the second class.
void predict_forest(const std::vector<TreeView>& trees, const RawRows& rows, Output output, int n_threads,
                    Control& control, double* out);

// The same, where a tree adds only to the rows that it was not grown on (tree t was drawn with seeds[t]);
// n_trees[i] counts the trees that did.
void predict_out_of_bag(const std::vector<TreeView>& trees, const std::vector<Key>& seeds, const Sampling& sampling,
                        const RawRows& rows, Output output, int n_threads, Control& control, double* out,
                        double* n_trees);

// out[i * trees + t]: the leaf of row i in tree t.
void apply_forest(const std::vector<TreeView>& trees, const RawRows& rows, int n_threads, Control& control,
                  std::int32_t* out);

// Scaled rows of padded_width(n_features) doubles each, as training and prediction see them; a missing value stays NaN.
// True if there is one.
bool scale_rows(const RawRows& rows, std::int64_t begin, std::int64_t end, double* out);

// Turns NaN into 0, the mean.
void fill_missing(double* x, std::int64_t n_values);

}  // namespace boostforest
