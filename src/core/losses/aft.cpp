#include <algorithm>
#include <cmath>
#include <numbers>

#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kReach = 4;              // of a pseudo-label, in standard units of the noise
constexpr double kLeastCurvature = 1e-6;  // rows that are long past tell next to nothing
constexpr double kFarthest = 30;          // standard units that times are away at most: e^30 can be added up
constexpr double kShortestFactor = 0.01;  // of a fitted model

// What a row at the distance z = (log t - F)/σ tells: minus the logarithm of the density (less that of σ) or, if it is
// censored, of the chance to live longer, and its derivatives by z.
struct Terms {
    double value, slope, bend;
};

Terms normal(double z, bool event) {
    if (event) return {z * z / 2, z, 1};
    const double tail = std::erfc(z / std::numbers::sqrt2) / 2;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double ratio = z < 25 ? density / tail : z + 1 / z;
    const double value = z < 25 ? -std::log(tail) : z * z / 2 + std::log(z * std::sqrt(2 * std::numbers::pi));
    return {value, ratio, std::max(ratio * (ratio - z), 0.0)};
}

Terms logistic(double z, bool event) {
    const double s = 1 / (1 + std::exp(-z)), softplus = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
    if (event) return {2 * softplus - z, 2 * s - 1, 2 * s * (1 - s)};
    return {softplus, s, s * (1 - s)};
}

Terms extreme_value(double z, bool event) {
    const double e = std::exp(z);
    return event ? Terms{e - z, e - 1, e} : Terms{e, e, e};
}

// Accelerated failure times: log t = F + σ ε. A label is t if the event was seen at t, -t if it was not seen until
// then. Derivatives are those of σ² times the negative log-likelihood, so that h is about 1. State: F, then log t.
class FailureTime final : public Loss {
   public:
    FailureTime(double spread, int family) : spread_(spread), family_(family) {}

    int n_state() const override { return 2; }
    bool clips() const override { return true; }
    int most_steps() const override { return 200; }
    double longest_step() const override { return kReach * spread_; }

    double start(const double* f, std::int64_t, const Sample& s) const override {
        for (std::int64_t i = 0; i < s.n; ++i) s.state[s.stride + i] = std::log(std::abs(s.y[i]));
        std::copy_n(f, s.n, s.state);
        return total(s);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        for (std::int64_t i = 0; i < s.n; ++i) s.state[i] += std::min(std::max(fitted[i], lower), upper);
        return total(s);
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        write_statistics(s, work, out, [&](std::int64_t i) {
            const Terms row = terms(s, i, s.state[i]);
            return std::pair(-s.w[i] * spread_ * row.slope, s.w[i] * std::max(row.bend, kLeastCurvature));
        });
    }

    // The weight is that of a label which is not kept within the limits: the product stays the derivative.
    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        return write_labels(s, work, [&](std::int64_t i) {
            const Terms row = terms(s, i, s.state[i]);
            const double bend = std::max({row.bend, std::abs(row.slope) / kReach, kLeastCurvature});
            return std::pair(spread_ * row.slope / bend, s.w[i] * bend);
        });
    }

    // The factor, of 1, 1/2, 1/4, …, before the loss rises again; the shift is one more step of a constant.
    Adjustment adjust(const double* fitted, const Sample& s, LossWorkspace&) const override {
        const auto attempt = [&](double factor, double shift) {
            double sum = 0;
            for (std::int64_t i = 0; i < s.n; ++i)
                sum += s.w[i] * terms(s, i, s.state[i] + factor * fitted[i] + shift).value;
            return sum;
        };
        Adjustment found;
        double best = attempt(1, 0);
        for (double factor = 0.5; factor > kShortestFactor; factor /= 2) {
            const double value = attempt(factor, 0);
            if (!(value < best - 1e-12 * std::abs(best))) break;
            best = value;
            found.factor = factor;
        }
        double slope = 0, bend = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            const Terms row = terms(s, i, s.state[i] + found.factor * fitted[i]);
            slope += s.w[i] * row.slope;
            bend += s.w[i] * std::max(row.bend, kLeastCurvature);
        }
        const double shift = spread_ * std::clamp(slope / bend, -1.0, 1.0);
        if (attempt(found.factor, shift) < best - 1e-12 * std::abs(best)) found.shift = shift;
        return found;
    }

   private:
    Terms terms(const Sample& s, std::int64_t i, double f) const {
        const double z = std::clamp((s.state[s.stride + i] - f) / spread_, -kFarthest, kFarthest);
        const bool event = s.y[i] > 0;
        return family_ == 1 ? normal(z, event) : family_ == 2 ? logistic(z, event) : extreme_value(z, event);
    }

    double total(const Sample& s) const {
        double sum = 0;
        for (std::int64_t i = 0; i < s.n; ++i) sum += s.w[i] * terms(s, i, s.state[i]).value;
        return sum;
    }

    const double spread_;
    const int family_;
};

}  // namespace

std::unique_ptr<Loss> make_aft(const LossSettings& settings) {
    return std::make_unique<FailureTime>(settings.numbers[0], static_cast<int>(settings.numbers[1]));
}

}  // namespace boostforest
