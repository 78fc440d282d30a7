// The random hidden layer of an extreme learning machine, one per tree.
//
// Unit k of a row x is sigmoid(bias_k + Σ_j weight_jk x_j). All nodes of a tree share the layer, so the units of a row
// are computed once, and what a node learns is linear in them: models add up along a path like those on the features.
#pragma once

#include <cstdint>
#include <vector>

#include "../base/buffer.hpp"
#include "../base/parallel.hpp"
#include "../base/random.hpp"
#include "../losses/loss.hpp"

namespace boostforest {

// Doubles per row of hidden units; units behind the last are zero.
constexpr int hidden_width(int n_units) {
    return (n_units + 7) / 8 * 8;
}

class HiddenLayer {
   public:
    // Draws weights from [-1, 1] and divides them so that every w·x has mean 0 and standard deviation 1 over the rows
    // of the sample; then adds biases from [-2, 2], so that the units bend at different places within the data.
    void draw(Key key, int n_units, const double* x, int width, int n_features, const Sample& sample, Worker& worker);

    // Takes the values that a model keeps: the units' biases, then for every feature the units' weights.
    void load(const double* values, int n_units, int n_features);
    std::vector<double> values() const;

    int n_units() const { return n_units_; }

    // Units of n rows of x, each row in hidden_width doubles under its own number; rows null: rows 0 … n - 1.
    void evaluate(const double* x, const std::int32_t* rows, std::int64_t n, int width, Worker& worker,
                  double* out) const;

    // Forgets the layer if it takes more than so many bytes.
    void keep_at_most(std::size_t n_bytes) { padded_.keep_at_most(n_bytes); }

   private:
    int n_units_ = 0, n_features_ = 0;
    Buffer<double> padded_;  // as values(), rows of hidden_width doubles
};

}  // namespace boostforest
