#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kReach =
    4;  // that a node may change a score by beyond its centre, if it clips, in units of the target

// Losses of the residual r = y - F that grow no faster than it, minimised by parabolas that touch them from above:
// h = -g/z, where z is the way to the parabola's lowest point. State: r.
class Robust : public Loss {
   public:
    int n_state() const override { return 1; }
    bool clips() const override { return true; }
    int most_steps() const override { return 2000; }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        std::copy_n(s.y, s.n, s.state);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        double total = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            s.state[i] -= std::min(std::max(fitted[i], lower), upper);
            total += s.w[i] * value(s.state[i]);
        }
        return total;
    }

    void scores(const Sample& s, double* f) const override {
        for (std::int64_t i = 0; i < s.n; ++i) f[i] = s.y[i] - s.state[i];
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        write_statistics(s, work, out, [&](std::int64_t i) {
            const double wh = s.w[i] * curvature(s.state[i]);
            return std::pair(-wh * step_of(s.state[i]), wh);
        });
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        return write_labels(
            s, work, [&](std::int64_t i) { return std::pair(step_of(s.state[i]), s.w[i] * curvature(s.state[i])); });
    }

    // The range of the residuals, but not far from where most are: an outlying one must not let the others go.
    void output_range(const Sample& s, const PseudoLabels& labels, double& lower, double& upper) const override {
        double total = 0, weighted = 0;
        kernels().weighted_sums(labels.v, labels.z, s.n, total, weighted);
        kernels().value_range(s.state, s.n, lower, upper);
        lower = std::max(lower, weighted / total - kReach);
        upper = std::min(upper, weighted / total + kReach);
        if (lower > upper) std::swap(lower, upper);
    }

   protected:
    virtual double value(double residual) const = 0;      // the loss
    virtual double curvature(double residual) const = 0;  // of the parabola
    virtual double step_of(double residual) const = 0;    // to its lowest point
};

// r² up to |r| = δ, straight beyond; the derivatives are those of half of it.
class Huber final : public Robust {
   public:
    explicit Huber(double delta) : delta_(delta) {}

   protected:
    double value(double r) const override {
        const double size = std::abs(r);
        return size <= delta_ ? r * r : delta_ * (2 * size - delta_);
    }
    double curvature(double r) const override { return std::min(1.0, delta_ / std::abs(r)); }
    double step_of(double r) const override { return r; }

   private:
    const double delta_;
};

// τ r if r > 0, else (τ - 1) r: its least mean is at the τ-quantile. Rounded off within ±kRound.
class Pinball final : public Robust {
   public:
    explicit Pinball(double quantile) : quantile_(quantile) {}

    // The shift that makes a node's quantile 0.
    Adjustment adjust(const double* fitted, const Sample& s, LossWorkspace&) const override {
        thread_local std::vector<std::pair<double, double>> rest;
        rest.clear();
        double total = 0, below = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            rest.emplace_back(s.state[i] - fitted[i], s.w[i]);
            total += s.w[i];
        }
        std::sort(rest.begin(), rest.end());
        for (const auto& [residual, weight] : rest) {
            below += weight;
            if (below >= quantile_ * total) return {.factor = 1, .shift = residual};
        }
        return {.factor = 1, .shift = rest.back().first};
    }

   protected:
    double value(double r) const override {
        const double size = std::abs(r);
        return (quantile_ - 0.5) * r + (size > kRound ? size / 2 : r * r / (4 * kRound) + kRound / 4);
    }
    double curvature(double r) const override { return 0.5 / std::max(std::abs(r), kRound); }
    double step_of(double r) const override { return r + (2 * quantile_ - 1) * std::max(std::abs(r), kRound); }

   private:
    static constexpr double kRound = 0.1;
    const double quantile_;
};

}  // namespace

std::unique_ptr<Loss> make_huber(const LossSettings& settings) {
    return std::make_unique<Huber>(settings.numbers[0]);
}

std::unique_ptr<Loss> make_quantile(const LossSettings& settings) {
    return std::make_unique<Pinball>(settings.numbers[0]);
}

}  // namespace boostforest
