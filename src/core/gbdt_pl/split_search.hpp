// The best split of a node, among all thresholds between bins: either side gets the linear model that fits it best.
//
// A side's model is k_0 + k_1 p + k_2 x: p is the linear part of the node's own model, one number per row, and x the
// split feature, if it may be added (the paper's half-additive fit).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../kernels/kernels.hpp"
#include "gbdt_pl.hpp"
#include "leaf_model.hpp"

namespace boostforest::gbdt_pl {

// The rows of a node, and what is summed over them.
struct NodeRows {
    const std::int32_t* rows;  // ascending
    std::int64_t n;            // how many
    const double* statistics;  // per row `step` values: g, h, w, 0, and if step is 8: g p, h p, h p², 0
    int step;                  // 4: the node has a constant model, and p is 0
    const std::int32_t* used;  // features of the node's model
    int n_used;                // how many
};

using Sums = std::array<double, kPieceSums>;

// One linear fit.
struct Piece {
    double value = 0;           // Σ g f + ½ h f² and the penalties; 0 is what f = 0 has
    double of_p = 0, of_x = 0;  // k_1, k_2
};

struct Split {
    std::int32_t feature = -1;  // -1: there is none
    int bin = 0;                // last bin of the left side
    bool adds = false;          // the feature comes into the models
    double value = 0;           // of both sides together
    Piece left{}, right{};
};

// Whether a value is smaller than another by more than rounding: of equals the first one is kept, whatever the order in
// which sums were added up.
inline bool is_better(double value, double than) {
    return value < than - 1e-10 * std::abs(than);
}

class SplitSearch {
   public:
    SplitSearch(const Table& table, const Rules& rules, int n_threads)
        : table_(table), rules_(rules), n_threads_(n_threads), found_(table.n_features) {}

    Split best(const NodeRows& node, Control& control, Worker& worker);

    // The feature whose linear term, without a split, makes the model of all rows best; right stays empty.
    Split best_term(const NodeRows& node, Control& control, Worker& worker);

   private:
    // Scratch of one thread.
    struct Workspace {
        Buffer<double> histogram, sums, values;
        std::array<std::uint8_t, kMaxBins> position{};  // number of the i-th bin that has rows
        Quadratic quadratic;
    };
    // What one feature offers.
    struct Found {
        double value = 0;
        int bin = -1;  // -1: nothing
        Sums left{}, total{};
    };

    Split search_all(const NodeRows& node, bool whole, Control& control, Worker& worker);
    int add_up(const double* histogram, int feature, int step, bool adds, Workspace& work);
    void search_cuts(int n, Found& found, Workspace& work);
    Piece piece(const Sums& sums, Workspace& work);
    bool may_add(const NodeRows& node, int feature) const;

    const Table& table_;
    const Rules& rules_;
    int n_threads_;
    std::vector<Found> found_;
    std::array<Workspace, kMaxThreads> work_;
};

}  // namespace boostforest::gbdt_pl
