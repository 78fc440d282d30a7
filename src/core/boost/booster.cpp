#include "booster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace boostforest {

// Boosts one bag.
class BagBooster {
   public:
    BagBooster(const Dataset& data, const Bins& bins, const Replica& replica, const double* row_weight,
               const BoostRules& rules, Key seed, Stored stored)
        : data_(data),
          loss_(data.loss),
          rules_(rules),
          key_(child(seed, kBoosting)),
          n_outputs_(data.loss.n_outputs()),
          bag_(data, bins, replica, row_weight),
          grower_(bag_, bins, data.loss, rules, stored, data.interactions),
          statistics_(2 * n_outputs_),
          fitted_drawn_(n_outputs_ * bag_.drawn.stride + 8),
          fitted_out_(n_outputs_ * bag_.out.stride + 8),
          scores_(n_outputs_ * bag_.out.stride + 8) {
        start();
        loss_before_ = loss_after_ = mean_loss(start_loss_);
        trees_.push_back(grower_.single_leaf(constant_.data()));
        kept_ = scores_;
    }

    // Boosts up to so many rounds, those of earlier calls included.
    void boost(int max_rounds, Worker& worker) {
        for (; !is_over_ && round_ < max_rounds && round_ < last_round(n_best_); ++round_) {
            take_derivatives();
            const Key key = child(key_, static_cast<std::uint64_t>(round_));
            PackedTree tree = grower_.grow(statistics_, features(key), child(key, kRowChoice), worker,
                                           fitted_drawn_.data(), fitted_out_.data());
            if (tree.n_nodes == 1) {  // nothing to split, and constants have been fitted
                is_over_ = true;
                break;
            }
            trees_.push_back(std::move(tree));
            const double loss = mean_loss(step());
            remember();
            if (loss < loss_after_) {
                loss_after_ = loss;
                n_best_ = trees_.size();
            }
            if (trees_.size() > n_best_ + overshoot(n_best_)) continue;
            n_kept_ = trees_.size();
            if (trees_.size() == n_best_ + overshoot(n_best_)) kept_ = scores_;
        }
    }

    // What the rounds so far have come to. Trees are copied if there may be more rounds, else given away.
    BoostedBag result(bool goes_on) {
        BoostedBag result{.loss_before = loss_before_, .loss_after = loss_after_, .n_rounds = round_};
        for (std::size_t t = 0; t < n_kept_; ++t)
            result.trees.push_back(goes_on ? trees_[t].copy() : std::move(trees_[t]));
        // The rounds may have ended before those that are kept after the best one.
        const std::vector<double>& kept = n_kept_ < n_best_ + overshoot(n_best_) ? scores_ : kept_;
        for (std::int64_t i = 0; i < bag_.out.n; ++i) {
            result.number.push_back(bag_.number[bag_.drawn.n + i]);
            for (int k = 0; k < n_outputs_; ++k) result.scores.push_back(kept[k * bag_.out.stride + i]);
        }
        for (const BagScores& after : history_)
            if (after.n_trees < n_kept_) result.history.push_back(after);
        result.history.push_back({.n_trees = n_kept_, .scores = result.scores});
        return result;
    }

   private:
    // Rounds after the best one of a bag that are kept: what they learn of noise differs from bag to bag.
    std::size_t overshoot(std::size_t n_best) const {
        return static_cast<std::size_t>(rules_.overshoot * static_cast<double>(n_best - 1));
    }

    int last_round(std::size_t n_best) const {
        return static_cast<int>(n_best - 1 + std::max<std::size_t>(rules_.patience, overshoot(n_best)));
    }

    // Keeps the scores after some rounds: every one at first, then, when there are many, every second of those.
    void remember() {
        constexpr std::size_t kMost = 32;
        if (trees_.size() % every_ != 0) return;
        std::vector<double> scores;
        scores.reserve(n_outputs_ * bag_.out.n);
        for (std::int64_t i = 0; i < bag_.out.n; ++i)
            for (int k = 0; k < n_outputs_; ++k) scores.push_back(scores_[k * bag_.out.stride + i]);
        history_.push_back({.n_trees = trees_.size(), .scores = std::move(scores)});
        if (history_.size() < kMost) return;
        every_ *= 2;
        std::erase_if(history_, [&](const BagScores& after) { return after.n_trees % every_ != 0; });
    }

    double mean_loss(double sum) const { return bag_.out.weight > 0 ? sum / bag_.out.weight : 0.0; }

    // States at the scores to start from and, without those, at the best constant.
    void start() {
        for (BagPart* part : {&bag_.drawn, &bag_.out}) {
            std::vector<double>& f = part == &bag_.drawn ? fitted_drawn_ : fitted_out_;
            const std::int64_t first = part == &bag_.drawn ? 0 : bag_.drawn.n;
            std::fill(f.begin(), f.end(), 0.0);
            for (std::int64_t i = 0; data_.start != nullptr && i < part->n; ++i)
                for (int k = 0; k < n_outputs_; ++k)
                    f[k * part->stride + i] = data_.start[bag_.number[first + i] * n_outputs_ + k];
            if (part->n == 0) continue;
            const double loss = loss_.start(f.data(), part->stride, part->sample());
            if (part == &bag_.out) start_loss_ = loss;
        }
        constant_.assign(n_outputs_, 0.0);
        if (data_.start == nullptr) find_constant();
    }

    // Newton's method with short steps: far from the solution the diagonal of the second derivatives misleads.
    void find_constant() {
        constexpr int kMostSteps = 50;
        constexpr double kLongest = 1, kShortest = 1e-4;
        const double share = n_outputs_ == 1 ? 1.0 : 0.5;
        for (int i = 0; i < kMostSteps; ++i) {
            take_derivatives();
            double longest = 0;
            for (int k = 0; k < n_outputs_; ++k) {
                double g = 0, h = rules_.lambda;
                for (std::int64_t row = 0; row < bag_.drawn.n; ++row) {
                    g += statistics_[2 * k][row];
                    h += statistics_[2 * k + 1][row];
                }
                const double by = static_cast<float>(std::clamp(-share * g / h, -kLongest, kLongest));
                longest = std::max(longest, std::abs(by));
                constant_[k] += by;
                std::fill_n(fitted_drawn_.data() + k * bag_.drawn.stride, bag_.drawn.n, by);
                std::fill_n(fitted_out_.data() + k * bag_.out.stride, bag_.out.n, by);
            }
            start_loss_ = step();
            if (longest < kShortest) break;
        }
        for (int k = 0; k < n_outputs_; ++k) {
            constant_[k] = static_cast<float>(constant_[k]);
            std::fill_n(scores_.data() + k * bag_.out.stride, bag_.out.n, constant_[k]);
        }
    }

    // Derivatives of the drawn rows at their scores.
    void take_derivatives() { loss_.statistics(bag_.drawn.sample(), work_, statistics_.data()); }

    // Adds what was fitted to all scores; returns Σ w · loss of the rows that were not drawn.
    double step() {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        loss_.step(fitted_drawn_.data(), bag_.drawn.stride, -kInfinity, kInfinity, bag_.drawn.sample());
        if (bag_.out.n == 0) return 0;
        for (int k = 0; k < n_outputs_; ++k)
            for (std::int64_t i = 0; i < bag_.out.n; ++i)
                scores_[k * bag_.out.stride + i] += fitted_out_[k * bag_.out.stride + i];
        return loss_.step(fitted_out_.data(), bag_.out.stride, -kInfinity, kInfinity, bag_.out.sample());
    }

    // The features that the tree of a round may split on, ascending: those with the smallest words.
    const std::vector<int>& features(Key key) {
        const int n = data_.split_features.n;
        const int n_taken = std::clamp(static_cast<int>(std::ceil(rules_.feature_share * n)), 1, n);
        features_.resize(n);
        for (int j = 0; j < n; ++j) features_[j] = data_.split_features[j];
        if (n_taken == n) return features_;
        std::nth_element(features_.begin(), features_.begin() + n_taken, features_.end(), [&](int a, int b) {
            const std::uint64_t word_a = word(key, a), word_b = word(key, b);
            return word_a != word_b ? word_a < word_b : a < b;
        });
        features_.resize(n_taken);
        std::sort(features_.begin(), features_.end());
        return features_;
    }

    const Dataset& data_;
    const Loss& loss_;
    const BoostRules& rules_;
    const Key key_;
    const int n_outputs_;
    Bag bag_;
    BoostedTreeGrower grower_;
    std::vector<const double*> statistics_;          // w g and w h of the drawn rows, output after output
    std::vector<double> fitted_drawn_, fitted_out_;  // of one tree, outputs × rows of each part
    std::vector<double> scores_;                     // sums over the trees for the rows that were not drawn, likewise
    std::vector<double> constant_;                   // of the first tree
    double start_loss_ = 0;                          // Σ w · loss of the rows that were not drawn
    double loss_before_ = 0, loss_after_ = 0;        // see BoostedBag
    std::vector<PackedTree> trees_;                  // of all rounds so far, and the constant
    std::size_t n_best_ = 1, n_kept_ = 1;            // trees up to the best round, and those that stay
    std::vector<double> kept_;                       // scores_ after the rounds that are kept after the best one
    int round_ = 0;                                  // the next one
    bool is_over_ = false;                           // there is nothing to split
    std::vector<BagScores> history_;                 // see BoostedBag
    std::size_t every_ = 1;                          // rounds after which scores are kept
    std::vector<int> features_;
    LossWorkspace work_;
};

BagBoosters::BagBoosters(const Dataset& data, const Bins& bins, const Sampling& sampling, const double* row_weight,
                         const BoostRules& rules, std::vector<Key> seeds, Stored stored)
    : data_(data),
      bins_(bins),
      sampling_(sampling),
      row_weight_(row_weight),
      rules_(rules),
      seeds_(std::move(seeds)),
      stored_(stored),
      bags_(seeds_.size()) {}

BagBoosters::~BagBoosters() = default;

std::vector<BoostedBag> BagBoosters::boost(int max_rounds, bool goes_on, int n_threads, Control& control) {
    std::vector<BoostedBag> results(bags_.size());
    parallel_for(static_cast<std::int64_t>(bags_.size()), n_threads, control, [&](std::int64_t b, Worker& worker) {
        std::unique_ptr<BagBooster>& bag = bags_[b];
        if (bag == nullptr) {
            Replica replica(data_, sampling_);
            replica.draw(seeds_[b], worker);
            bag = std::make_unique<BagBooster>(data_, bins_, replica, row_weight_, rules_, seeds_[b], stored_);
        }
        bag->boost(max_rounds, worker);
        results[b] = bag->result(goes_on);
        if (!goes_on) bag.reset();
    });
    return results;
}

}  // namespace boostforest
