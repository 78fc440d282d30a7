// What coalitions weigh in Shapley values. The value of a game is ∫ E[…] dt over 0 … 1, where every other player is in
// with probability t: a coalition of a players that are in and b that are not weighs a Beta function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace boostforest {

// B(a, b) = ∫ t^(a-1) (1-t)^(b-1) dt; 0 where a or b is not above 0: such terms have nobody to go to.
class BetaTable {
   public:
    explicit BetaTable(int n_players);

    double operator()(int a, int b) const { return a > 0 && b > 0 ? values_[a * size_ + b] : 0.0; }

   private:
    int size_;
    std::vector<double> values_;
};

// Per coalition S of n free players, when p are in and q are out anyway: B(p + |S|, q + n - |S|).
class CoalitionWeights {
   public:
    explicit CoalitionWeights(const BetaTable& beta) : beta_(beta) {}

    const double* get(int p, int q, int n);

   private:
    struct Entry {
        int p, q, n;
        std::vector<double> weights;
    };
    const BetaTable& beta_;
    std::vector<std::vector<Entry>> of_size_;  // by n; few each
};

// The same by the number of players in a coalition, for the kernel that needs no more (clipped_coalitions).
class SizeWeights {
   public:
    SizeWeights(const BetaTable& beta, int n_players);

    // Coalitions of p players and more, out of m.
    const double* get(int p, int m) const {
        return values_.data() + kLanes * (static_cast<std::size_t>(m) * size_ + p);
    }

   private:
    static constexpr int kLanes = 8;
    int size_;
    std::vector<double> values_;
};

// Per shape of a game, p columns of the row and q of the other: B(p, q+1), B(p+1, q+1), B(p+1, q), B(p+2, q), the
// chance that the p come before the q, and nothing else up to eight.
class MixedWeights {
   public:
    MixedWeights(const BetaTable& beta, int n_players);

    std::int32_t shape(int p, int q) const { return p * size_ + q; }
    const double* values() const { return values_.data(); }

   private:
    int size_;
    std::vector<double> values_;
};

// Points and weights of the Gauss–Legendre rule on 0 … 1: exact for polynomials of degree 2 n - 1.
struct GaussLegendre {
    explicit GaussLegendre(int n);
    std::vector<double> points, weights;
};

}  // namespace boostforest
