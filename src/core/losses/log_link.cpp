#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kAtOnce = 256;     // rows
constexpr double kLeast = 1e-100;         // of what something is divided by
constexpr double kPrior = 4;              // counts, as many as expected, that every mean starts from
constexpr double kShortestFactor = 0.01;  // of a fitted model
constexpr double kSmallest = 1e-9;        // gain by a shorter step, in multiples of Σ w h: less may be rounding

// Targets of mean μ = e^F whose variance is proportional to μ^p: Poisson (p = 1, y >= 0), gamma (p = 2, y > 0) and what
// is between them (Tweedie, y >= 0). Half the deviance has the derivative g = b - y a with a = μ^(1-p) and b = μ^(2-p),
// and the expected second derivative h = b; both count times `information`, that of a row of mean 1 in counts.
// State: F, then a, then b.
class LogLink final : public Loss {
   public:
    LogLink(double power, double information) : p_(power), information_(information) {}

    int n_state() const override { return 3; }
    bool clips() const override { return true; }
    int most_steps() const override { return 100; }
    double longest_step() const override { return 1; }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        std::fill_n(s.state, s.n, 0.0);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        double a[kAtOnce], b[kAtOnce], logs[kAtOnce], total = 0;
        for (std::int64_t first = 0; first < s.n; first += kAtOnce) {
            const std::int64_t n = std::min(kAtOnce, s.n - first);
            const double* y = s.y + first;
            double* f = s.state + first;
            for (std::int64_t i = 0; i < n; ++i) {
                f[i] += std::min(std::max(fitted[first + i], lower), upper);
                logs[i] = y[i] > 0 ? y[i] : 1.0;
            }
            power_of(f, 1 - p_, n, a);
            power_of(f, 2 - p_, n, b);
            kernels().logarithm(logs, n, logs);
            std::copy_n(a, n, of_labels(s) + first);
            std::copy_n(b, n, curvature(s) + first);
            total += 2 * half_deviance(y, f, a, b, logs, s.w + first, n);
        }
        return total;
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        write_statistics(s, work, out, [&](std::int64_t i) {
            const double wh = information_ * s.w[i] * curvature(s)[i];
            return std::pair(wh - information_ * s.w[i] * s.y[i] * of_labels(s)[i], wh);
        });
    }

    // Newton's step from the node's own mean: the constant c that gives it, plus (y - μ e^c) / (μ e^c). From a mean
    // that is far too low the step would be far too long.
    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        const double share = share_of(s), c = std::log(share);
        const double a = std::pow(share, 1 - p_), b = std::pow(share, 2 - p_);
        return write_labels(s, work, [&](std::int64_t i) {
            const double here = std::max(b * curvature(s)[i], kLeast);
            return std::pair(c + s.y[i] * a * of_labels(s)[i] / here - 1, information_ * s.w[i] * here);
        });
    }

    // No row's mean is changed by more than c and what some row, by itself, would change it then.
    void output_range(const Sample& s, const PseudoLabels&, double& lower, double& upper) const override {
        const double share = share_of(s);
        const double a = information_ * std::pow(share, 1 - p_), b = information_ * std::pow(share, 2 - p_);
        double least = kInfinity, most = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            const double own = shrunk(a * s.y[i] * of_labels(s)[i], b * curvature(s)[i]);
            least = std::min(least, own);
            most = std::max(most, own);
        }
        lower = std::log(share * least);
        upper = std::log(share * most);
    }

    // The factor, of 1, 1/2, 1/4, …, before the deviance rises again; the shift is that which gives the node its mean.
    Adjustment adjust(const double* fitted, const Sample& s, LossWorkspace& work) const override {
        double weight = 0, labels = 0, outputs = 0, products = 0, expected = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            weight += s.w[i];
            outputs += s.w[i] * fitted[i];
            labels += s.w[i] * s.y[i];
            products += s.w[i] * s.y[i] * fitted[i];
            expected += s.w[i] * curvature(s)[i];
        }
        if (!(labels > 0)) return {};
        double* scaled = work.statistics.get(3 * padded_rows(s.n));
        double* a = scaled + padded_rows(s.n);
        double* b = a + padded_rows(s.n);
        // Half the deviance, but for a constant, after a step and the shift.
        const auto attempt = [&](double factor) {
            for (std::int64_t i = 0; i < s.n; ++i) scaled[i] = factor * fitted[i];
            power_of(scaled, 1 - p_, s.n, a);
            power_of(scaled, 2 - p_, s.n, b);
            double of_labels_now = 0, expected_now = 0;
            for (std::int64_t i = 0; i < s.n; ++i) {
                of_labels_now += s.w[i] * s.y[i] * of_labels(s)[i] * a[i];
                expected_now += s.w[i] * curvature(s)[i] * b[i];
            }
            of_labels_now = std::clamp(of_labels_now, kLeast, 1 / kLeast);
            expected_now = std::clamp(expected_now, kLeast, 1 / kLeast);
            const double shift = std::log(of_labels_now / expected_now);
            const double value =
                p_ == 1   ? -factor * products - shift * labels
                : p_ == 2 ? factor * outputs + shift * weight
                          : std::pow(of_labels_now, 2 - p_) * std::pow(expected_now, p_ - 1) / ((2 - p_) * (p_ - 1));
            return std::pair(value, shift);
        };
        auto [best, shift] = attempt(1);
        Adjustment found{.factor = 1, .shift = shift};
        for (double factor = 0.5; factor > kShortestFactor; factor /= 2) {
            const auto [value, next] = attempt(factor);
            if (!(value < best - kSmallest * expected)) break;
            best = value;
            found = {.factor = factor, .shift = next};
        }
        return found;
    }

   private:
    static double* of_labels(const Sample& s) { return s.state + s.stride; }
    static double* curvature(const Sample& s) { return s.state + 2 * s.stride; }

    // out = e^(exponent · f). Whole vectors are written.
    static void power_of(const double* f, double exponent, std::int64_t n, double* out) {
        if (exponent == 0) {
            std::fill_n(out, n, 1.0);
            return;
        }
        for (std::int64_t i = 0; i < n; ++i) out[i] = exponent * f[i];
        kernels().exponential(out, n, out);
    }

    // Σ w · half of the deviance; logs: of the labels that are not 0.
    double half_deviance(const double* y, const double* f, const double* a, const double* b, const double* logs,
                         const double* w, std::int64_t n) const {
        double total = 0;
        if (p_ == 1) {
            for (std::int64_t i = 0; i < n; ++i) total += w[i] * (y[i] * (logs[i] - f[i]) - y[i] + b[i]);
        } else if (p_ == 2) {
            for (std::int64_t i = 0; i < n; ++i) total += w[i] * (y[i] * a[i] - 1 - logs[i] + f[i]);
        } else {
            const double q = 1 - p_, r = 2 - p_;
            for (std::int64_t i = 0; i < n; ++i) {
                const double own = y[i] > 0 ? std::exp(r * logs[i]) : 0.0;
                total += w[i] * (own / (q * r) - y[i] * a[i] / q + b[i] / r);
            }
        }
        return total;
    }

    // Counts over what was expected.
    static double shrunk(double counts, double expected) { return (counts + kPrior) / (expected + kPrior); }

    // The node's mean over what it is expected to be.
    double share_of(const Sample& s) const {
        double labels = 0, expected = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            labels += s.w[i] * s.y[i] * of_labels(s)[i];
            expected += s.w[i] * curvature(s)[i];
        }
        return shrunk(information_ * labels, information_ * expected);
    }

    const double p_, information_;
};

}  // namespace

std::unique_ptr<Loss> make_poisson(const LossSettings& settings) {
    return std::make_unique<LogLink>(1, settings.numbers[0]);
}

std::unique_ptr<Loss> make_gamma(const LossSettings& settings) {
    return std::make_unique<LogLink>(2, settings.numbers[0]);
}

std::unique_ptr<Loss> make_tweedie(const LossSettings& settings) {
    return std::make_unique<LogLink>(settings.numbers[1], settings.numbers[0]);
}

}  // namespace boostforest
