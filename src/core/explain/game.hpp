// Shapley values of one model of a node: a game that is 0 unless all columns of `of_row` come from the explained row
// and none of `of_other` does (see Conditions), and else depends on which of the free columns do.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/random.hpp"
#include "conditions.hpp"
#include "node_models.hpp"
#include "weights.hpp"

namespace boostforest {

// Where contributions go.
struct Sums {
    double* values;    // players × outputs
    double* variance;  // players × outputs: squares of what was sampled, no less than its variance
    double* pairs;     // players × players × outputs: half of the interaction of two players; null: not asked for
    double weight;     // of what is added now
};

// Free columns whose coalitions are enumerated, of clipped scores and of others; of more, one order is sampled.
constexpr int kMostClipped = 10, kMostEnumerated = 8;
constexpr int kMostPaired = 12;  // the same where interactions are asked for, which are not sampled

// Shared by all threads.
struct Weights {
    explicit Weights(int n_players) : beta(n_players), by_size(beta, n_players) {}
    BetaTable beta;
    SizeWeights by_size;
};

class Game {
   public:
    Game(const Weights& weights, int n_players, int n_outputs)
        : beta_(weights.beta),
          by_size_(weights.by_size),
          weights_(beta_),
          n_players_(n_players),
          n_outputs_(n_outputs) {}

    // start[k], plus differences[k * stride + j] for every free column who[j] that comes from the row; columns may be
    // named more than once. who null: column j.
    void add_linear(const Conditions& at, const std::int32_t* who, int n, const double* start,
                    const double* differences, std::int64_t stride, const Sums& sums) const;

    // values[k * stride + S] for the coalition S of the n free columns `who`; destroyed.
    void add_enumerated(const Conditions& at, const std::int32_t* who, int n, double* values, std::int64_t stride,
                        const Sums& sums);

    // One output, several rows: start[i] and differences[i * stride + j], within the model's bounds; n <= kMostClipped.
    void add_clipped(const Conditions& at, const NodeModels& model, const std::int32_t* who, int n, std::int64_t n_rows,
                     const double* start, const double* differences, std::int64_t stride, const Sums& sums);

    // As add_linear, for what the model makes of these scores: the exact values of a linear part, and of the rest what
    // columns add that arrive in an order drawn under the key. The sum of all contributions is exact.
    void add_sampled(const Conditions& at, const NodeModels& model, const std::int32_t* who, int n, const double* start,
                     const double* differences, std::int64_t stride, Key key, const Sums& sums);

   private:
    void add_linear_pairs(const Conditions& at, const std::int32_t* who, int n, double start, double whole,
                          const double* differences, int output, const Sums& sums) const;
    void add_enumerated_pairs(const Conditions& at, const std::int32_t* who, int n, const double* values, int output,
                              const Sums& sums);
    void add_pair(std::int32_t i, std::int32_t j, int output, double value, const Sums& sums) const;
    void linear_part(const NodeModels& model, int n, const double* start, const double* differences,
                     std::int64_t stride);
    void draw_arrivals(const Conditions& at, int n, Key key);
    void add_remainder(const Conditions& at, const NodeModels& model, const std::int32_t* who, const double* start,
                       const double* differences, std::int64_t stride, const Sums& sums);

    void add_sums(const Conditions& at, const std::int32_t* who, int n, double total, double nobody, double all,
                  int output, const Sums& sums) const;

    const BetaTable& beta_;
    const SizeWeights& by_size_;
    CoalitionWeights weights_;
    int n_players_, n_outputs_;
    // Scratch of add_sampled:
    std::vector<double> line_start_, line_differences_;  // the linear part, as its arguments
    std::vector<double> scores_, line_, rest_, new_rest_;
    std::vector<double> times_, arrivals_;
    std::vector<std::int32_t> early_,
        order_;                             // columns that are there at the entry, and those that come until the exit
    std::vector<double> with_, pair_sums_;  // of enumerations
};

}  // namespace boostforest
