#include "game.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "../kernels/kernels.hpp"

namespace boostforest {

void Game::add_linear(const Conditions& at, const std::int32_t* who, int n, const double* start,
                      const double* differences, std::int64_t stride, const Sums& sums) const {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size());
    for (int k = 0; k < n_outputs_; ++k) {
        const double* own = differences + k * stride;
        double* values = sums.values + k;
        double whole = 0;
        const double share = sums.weight * beta_(p + 1, q + 1);
        if (who == nullptr && n_outputs_ == 1) {
            for (int j = 0; j < n; ++j) {
                whole += own[j];
                values[j] += share * own[j];
            }
        } else {
            for (int j = 0; j < n; ++j) {
                whole += own[j];
                values[(who == nullptr ? j : who[j]) * n_outputs_] += share * own[j];
            }
        }
        const double to_row = sums.weight * (start[k] * beta_(p, q + 1) + whole * beta_(p + 1, q + 1));
        const double from_other = sums.weight * (start[k] * beta_(p + 1, q) + whole * beta_(p + 2, q));
        for (const std::int32_t i : at.of_row()) values[i * n_outputs_] += to_row;
        for (const std::int32_t i : at.of_other()) values[i * n_outputs_] -= from_other;
        if (sums.pairs != nullptr) add_linear_pairs(at, who, n, start[k], whole, own, k, sums);
    }
}

void Game::add_pair(std::int32_t i, std::int32_t j, int output, double value, const Sums& sums) const {
    const double half = 0.5 * sums.weight * value;
    const std::int64_t n = n_players_;
    sums.pairs[(i * n + j) * n_outputs_ + output] += half;
    sums.pairs[(j * n + i) * n_outputs_ + output] += half;
}

void Game::add_linear_pairs(const Conditions& at, const std::int32_t* who, int n, double start, double whole,
                            const double* differences, int output, const Sums& sums) const {
    const auto &rows = at.of_row(), &others = at.of_other();
    const int p = static_cast<int>(rows.size()), q = static_cast<int>(others.size());
    const double both_in = start * beta_(p - 1, q + 1) + whole * beta_(p, q + 1);
    const double both_out = start * beta_(p + 1, q - 1) + whole * beta_(p + 2, q - 1);
    const double one_in = start * beta_(p, q) + whole * beta_(p + 1, q);
    for (int a = 0; a < p; ++a) {
        for (int b = 0; b < a; ++b) add_pair(rows[a], rows[b], output, both_in, sums);
        for (const std::int32_t other : others) add_pair(rows[a], other, output, -one_in, sums);
        for (int j = 0; j < n; ++j)
            if (differences[j] != 0)
                add_pair(rows[a], who == nullptr ? j : who[j], output, differences[j] * beta_(p, q + 1), sums);
    }
    for (int a = 0; a < q; ++a) {
        for (int b = 0; b < a; ++b) add_pair(others[a], others[b], output, both_out, sums);
        for (int j = 0; j < n; ++j)
            if (differences[j] != 0)
                add_pair(others[a], who == nullptr ? j : who[j], output, -differences[j] * beta_(p + 1, q), sums);
    }
}

// A coalition with a players in and b = m - a out (of p, q and the free ones together) weighs w = B(a, b) b / m for
// those inside and -B(a, b) a / m for those outside, so that two sums over B(a, b) give all values. The coalition
// without anybody and the one with all have B = ∞, and weigh 1 / m.
void Game::add_enumerated(const Conditions& at, const std::int32_t* who, int n, double* values, std::int64_t stride,
                          const Sums& sums) {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size()), m = p + q + n;
    if (m == 0) return;
    with_.resize(n + 1);
    for (int k = 0; k < n_outputs_; ++k) {
        double* own = values + k * stride;
        if (sums.pairs != nullptr) add_enumerated_pairs(at, who, n, own, k, sums);
        const double nobody = p == 0 ? own[0] / m : 0, all = q == 0 ? own[(std::size_t{1} << n) - 1] / m : 0;
        const double total = kernels().coalition_sums(own, weights_.get(p, q, n), n, with_.data());
        add_sums(at, who, n, total, nobody, all, k, sums);
    }
}

void Game::add_clipped(const Conditions& at, const NodeModels& model, const std::int32_t* who, int n,
                       std::int64_t n_rows, const double* start, const double* differences, std::int64_t stride,
                       const Sums& sums) {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size()), m = p + q + n;
    if (m == 0) return;
    with_.resize(kMostClipped);
    const double total = kernels().clipped_coalitions(start, differences, stride, n_rows, n, model.lower(),
                                                      model.upper(), by_size_.get(p, m), with_.data());
    double nobody = 0, all = 0;
    const auto clipped = [&](double score) { return std::min(std::max(score, model.lower()), model.upper()); };
    for (std::int64_t i = 0; i < n_rows; ++i) {
        if (p == 0) nobody += clipped(start[i]);
        if (q == 0) all += clipped(std::accumulate(differences + i * stride, differences + i * stride + n, start[i]));
    }
    add_sums(at, who, n, total, nobody / m, all / m, 0, sums);
}

// with_: of the total, the part of coalitions with each column.
void Game::add_sums(const Conditions& at, const std::int32_t* who, int n, double total, double nobody, double all,
                    int output, const Sums& sums) const {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size());
    double outside = p * total;
    for (int j = 0; j < n; ++j) outside += with_[j];
    outside /= p + q + n;
    double* to = sums.values + output;
    for (const std::int32_t i : at.of_row()) to[i * n_outputs_] += sums.weight * (total - outside + all);
    for (const std::int32_t i : at.of_other()) to[i * n_outputs_] -= sums.weight * (outside + nobody);
    const double shift = all - outside - nobody;
    for (int j = 0; j < n; ++j) to[who[j] * n_outputs_] += sums.weight * (with_[j] + shift);
}

// Two players interact by B(a-1, b+1) in coalitions with both, -B(a, b) with one, B(a+1, b-1) with none of them.
void Game::add_enumerated_pairs(const Conditions& at, const std::int32_t* who, int n, const double* values, int output,
                                const Sums& sums) {
    const auto &rows = at.of_row(), &others = at.of_other();
    const int p = static_cast<int>(rows.size()), q = static_cast<int>(others.size());
    // Sums over all coalitions, those with j (place 1 + j) and with i and j (place 1 + n + i * n + j, i < j).
    pair_sums_.assign(3 * static_cast<std::size_t>(1 + n + n * n), 0.0);
    for (std::size_t s = 0; s < std::size_t{1} << n; ++s) {
        const int a = p + std::popcount(s), b = p + q + n - a;
        const double terms[3] = {values[s] * beta_(a - 1, b + 1), values[s] * beta_(a, b),
                                 values[s] * beta_(a + 1, b - 1)};
        const auto add = [&](int place) {
            for (int t = 0; t < 3; ++t) pair_sums_[3 * place + t] += terms[t];
        };
        add(0);
        for (int j = 0; j < n; ++j) {
            if ((s >> j & 1) == 0) continue;
            add(1 + j);
            for (int i = 0; i < j; ++i)
                if ((s >> i & 1) != 0) add(1 + n + i * n + j);
        }
    }
    const auto sum = [&](int place, int term) { return pair_sums_[3 * place + term]; };
    for (int a = 0; a < p; ++a) {
        for (int b = 0; b < a; ++b) add_pair(rows[a], rows[b], output, sum(0, 0), sums);
        for (const std::int32_t other : others) add_pair(rows[a], other, output, -sum(0, 1), sums);
        for (int j = 0; j < n; ++j)
            add_pair(rows[a], who[j], output, sum(1 + j, 0) - (sum(0, 1) - sum(1 + j, 1)), sums);
    }
    for (int a = 0; a < q; ++a) {
        for (int b = 0; b < a; ++b) add_pair(others[a], others[b], output, sum(0, 2), sums);
        for (int j = 0; j < n; ++j)
            add_pair(others[a], who[j], output, sum(0, 2) - sum(1 + j, 2) - sum(1 + j, 1), sums);
    }
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < j; ++i) {
            const int both = 1 + n + i * n + j;
            const double one = sum(1 + i, 1) + sum(1 + j, 1) - 2 * sum(both, 1);
            const double none = sum(0, 2) - sum(1 + i, 2) - sum(1 + j, 2) + sum(both, 2);
            add_pair(who[i], who[j], output, sum(both, 0) - one + none, sums);
        }
}

// A line near the model's output: of one output its secant over all scores that coalitions may have, of several the
// tangent half way between.
void Game::linear_part(const NodeModels& model, int n, const double* start, const double* differences,
                       std::int64_t stride) {
    line_start_.resize(n_outputs_);
    line_differences_.resize(static_cast<std::size_t>(n_outputs_) * n);
    if (n_outputs_ == 1) {
        double least = start[0], most = start[0];
        for (int j = 0; j < n; ++j) (differences[j] < 0 ? least : most) += differences[j];
        double low = 0, high = 0;
        model.finish(&least, &low);
        model.finish(&most, &high);
        const double slope = most > least ? (high - low) / (most - least) : 0.0;
        line_start_[0] = low + slope * (start[0] - least);
        for (int j = 0; j < n; ++j) line_differences_[j] = slope * differences[j];
        return;
    }
    scores_.resize(n_outputs_);
    for (int k = 0; k < n_outputs_; ++k) {
        scores_[k] = start[k];
        for (int j = 0; j < n; ++j) scores_[k] += 0.5 * differences[k * stride + j];
    }
    model.finish(scores_.data(), line_start_.data());
    std::copy(line_start_.begin(), line_start_.end(), scores_.begin());  // probabilities
    for (int j = 0; j < n; ++j) {
        double mean = 0;
        for (int k = 0; k < n_outputs_; ++k) mean += scores_[k] * differences[k * stride + j];
        for (int k = 0; k < n_outputs_; ++k) {
            const double change = scores_[k] * (differences[k * stride + j] - mean);
            line_differences_[k * n + j] = change;
            line_start_[k] -= 0.5 * change;
        }
    }
}

// Everybody arrives at a uniform time. Given that those of the row come before the others, the game runs from the last
// of the first to the first of the latter.
void Game::draw_arrivals(const Conditions& at, int n, Key key) {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size());
    times_.resize(p + q);
    for (int i = 0; i < p + q; ++i) times_[i] = uniform(key, i);
    std::sort(times_.begin(), times_.end());
    const double entry = p > 0 ? times_[p - 1] : 0.0, exit = q > 0 ? times_[p] : 1.0;
    arrivals_.resize(n);
    early_.clear();
    order_.clear();
    for (int j = 0; j < n; ++j) {
        arrivals_[j] = uniform(key, p + q + j);
        if (arrivals_[j] < entry) early_.push_back(j);
        if (arrivals_[j] >= entry && arrivals_[j] < exit) {
            order_.push_back(j);
            for (std::size_t i = order_.size() - 1; i > 0 && arrivals_[order_[i - 1]] > arrivals_[j]; --i)
                std::swap(order_[i], order_[i - 1]);
        }
    }
}

void Game::add_remainder(const Conditions& at, const NodeModels& model, const std::int32_t* who, const double* start,
                         const double* differences, std::int64_t stride, const Sums& sums) {
    const int p = static_cast<int>(at.of_row().size()), q = static_cast<int>(at.of_other().size());
    const int n = static_cast<int>(arrivals_.size());
    const double chance = sums.weight * beta_(p + 1, q + 1) * (p + q + 1);
    scores_.assign(start, start + n_outputs_);
    line_ = line_start_;
    rest_.resize(n_outputs_);
    new_rest_.resize(n_outputs_);
    const auto arrive = [&](int j) {
        for (int k = 0; k < n_outputs_; ++k) {
            scores_[k] += differences[k * stride + j];
            line_[k] += line_differences_[k * n + j];
        }
    };
    const auto look = [&](std::vector<double>& rest) {
        model.finish(scores_.data(), rest.data());
        for (int k = 0; k < n_outputs_; ++k) rest[k] -= line_[k];
    };
    const auto give = [&](std::int32_t player, int k, double value) {
        sums.values[player * n_outputs_ + k] += value;
        sums.variance[player * n_outputs_ + k] += value * value;
    };
    for (const std::int32_t j : early_) arrive(j);
    look(rest_);
    for (const std::int32_t player : at.of_row())
        for (int k = 0; k < n_outputs_; ++k) give(player, k, chance * rest_[k] / p);
    for (const std::int32_t j : order_) {
        arrive(j);
        look(new_rest_);
        for (int k = 0; k < n_outputs_; ++k) give(who[j], k, chance * (new_rest_[k] - rest_[k]));
        rest_.swap(new_rest_);
    }
    for (const std::int32_t player : at.of_other())
        for (int k = 0; k < n_outputs_; ++k) give(player, k, -chance * rest_[k] / q);
}

void Game::add_sampled(const Conditions& at, const NodeModels& model, const std::int32_t* who, int n,
                       const double* start, const double* differences, std::int64_t stride, Key key, const Sums& sums) {
    linear_part(model, n, start, differences, stride);
    add_linear(at, who, n, line_start_.data(), line_differences_.data(), n, sums);
    draw_arrivals(at, n, key);
    add_remainder(at, model, who, start, differences, stride, sums);
}

}  // namespace boostforest
