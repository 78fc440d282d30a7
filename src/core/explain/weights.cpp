#include "weights.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace boostforest {

BetaTable::BetaTable(int n_players) : size_(n_players + 3), values_(static_cast<std::size_t>(size_) * size_) {
    for (int a = 1; a < size_; ++a) {
        values_[a * size_ + 1] = 1.0 / a;
        for (int b = 1; b + 1 < size_; ++b) values_[a * size_ + b + 1] = values_[a * size_ + b] * b / (a + b);
    }
}

const double* CoalitionWeights::get(int p, int q, int n) {
    if (static_cast<std::size_t>(n) >= of_size_.size()) of_size_.resize(n + 1);
    for (const Entry& entry : of_size_[n])
        if (entry.p == p && entry.q == q) return entry.weights.data();
    Entry& entry = of_size_[n].emplace_back(p, q, n, std::vector<double>(std::size_t{1} << n));
    for (std::size_t s = 0; s < entry.weights.size(); ++s) {
        const int inside = std::popcount(s);
        entry.weights[s] = beta_(p + inside, q + n - inside);
    }
    return entry.weights.data();
}

SizeWeights::SizeWeights(const BetaTable& beta, int n_players)
    : size_(n_players + 1), values_(kLanes * static_cast<std::size_t>(size_) * size_) {
    for (int m = 0; m < size_; ++m)
        for (int a = 0; a < size_; ++a)
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                const int inside = a + std::popcount(lane);
                values_[kLanes * (static_cast<std::size_t>(m) * size_ + a) + lane] = beta(inside, m - inside);
            }
}

MixedWeights::MixedWeights(const BetaTable& beta, int n_players)
    : size_(n_players + 1), values_(8 * static_cast<std::size_t>(size_) * size_) {
    for (int p = 0; p < size_; ++p)
        for (int q = 0; p + q < size_; ++q) {
            double* own = values_.data() + 8 * static_cast<std::size_t>(shape(p, q));
            own[0] = beta(p, q + 1);
            own[1] = beta(p + 1, q + 1);
            own[2] = beta(p + 1, q);
            own[3] = beta(p + 2, q);
            own[4] = beta(p + 1, q + 1) * (p + q + 1);
        }
}

GaussLegendre::GaussLegendre(int n) : points(n), weights(n) {
    for (int i = 0; i < n; ++i) {
        double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int step = 0; step < 100; ++step) {  // Newton's method from a good start
            double p = 1, before = 0;
            for (int k = 1; k <= n; ++k) {
                const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
                before = p;
                p = next;
            }
            slope = n * (x * p - before) / (x * x - 1);
            const double move = p / slope;
            x -= move;
            if (std::abs(move) < 1e-15) break;
        }
        points[i] = (1 - x) / 2;
        weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

}  // namespace boostforest
