#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kAtOnce = 256;     // rows
constexpr double kLeast = 1e-100;         // of a mean that something is divided by
constexpr double kPrior = 4;              // counts, as many as expected, that every mean starts from
constexpr double kShortestFactor = 0.01;  // of a fitted model
constexpr double kSmallest = 1e-9;        // gain by a shorter step, in multiples of Σ w y: less may be rounding

// Counts, y >= 0, with the mean μ = e^F: the deviance 2 (y log(y/μ) - y + μ), with the derivatives of half of it,
// g = μ - y, h = μ, times what a row of mean 1 tells (`information`, in counts). State: F, then μ.
class Poisson final : public Loss {
   public:
    explicit Poisson(double information) : information_(information) {}

    int n_state() const override { return 2; }
    bool clips() const override { return true; }
    int most_steps() const override { return 100; }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        std::fill_n(s.state, s.n, 0.0);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        double mean[kAtOnce], logs[kAtOnce], total = 0;
        for (std::int64_t first = 0; first < s.n; first += kAtOnce) {
            const std::int64_t n = std::min(kAtOnce, s.n - first);
            const double* y = s.y + first;
            double* f = s.state + first;
            for (std::int64_t i = 0; i < n; ++i) {
                f[i] += std::min(std::max(fitted[first + i], lower), upper);
                mean[i] = f[i];
                logs[i] = y[i] > 0 ? y[i] : 1.0;
            }
            kernels().exponential(mean, n, mean);
            kernels().logarithm(logs, n, logs);
            std::copy_n(mean, n, means(s) + first);
            for (std::int64_t i = 0; i < n; ++i)
                total += s.w[first + i] * 2 * (y[i] * (logs[i] - f[i]) - y[i] + mean[i]);
        }
        return total;
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* wg = work.statistics.get(2 * stride);
        double* wh = wg + stride;
        for (std::int64_t i = 0; i < s.n; ++i) {
            wh[i] = information_ * s.w[i] * means(s)[i];
            wg[i] = wh[i] - information_ * s.w[i] * s.y[i];
        }
        out[0] = wg;
        out[1] = wh;
    }

    // Newton's step from the node's own mean: the constant c that gives it, plus (y - μ e^c) / (μ e^c). From a mean
    // that is far too low the step would be far too long.
    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        double* z = work.z.get(padded_rows(s.n));
        double* v = work.v.get(padded_rows(s.n));
        const double share = share_of(s), c = std::log(share);
        for (std::int64_t i = 0; i < s.n; ++i) {
            const double here = std::max(share * means(s)[i], kLeast);
            z[i] = c + s.y[i] / here - 1;
            v[i] = information_ * s.w[i] * here;
        }
        return {.z = z, .v = v, .stride = padded_rows(s.n)};
    }

    // No row's mean is changed by more than c and what some row, by itself, would change it then.
    void output_range(const Sample& s, const PseudoLabels&, double& lower, double& upper) const override {
        const double share = share_of(s);
        double least = kInfinity, most = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            const double own = shrunk(information_ * s.y[i], information_ * share * means(s)[i]);
            least = std::min(least, own);
            most = std::max(most, own);
        }
        lower = std::log(share * least);
        upper = std::log(share * most);
    }

    // The factor, of 1, 1/2, 1/4, …, before the deviance rises again; the shift is that which gives the node its mean.
    Adjustment adjust(const double* fitted, const Sample& s, LossWorkspace& work) const override {
        double labels = 0, product = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            labels += s.w[i] * s.y[i];
            product += s.w[i] * s.y[i] * fitted[i];
        }
        if (!(labels > 0)) return {};
        double* scaled = work.statistics.get(padded_rows(s.n));
        // Σ w (μ e^step - y step), at the shift that makes the first part Σ w y.
        const auto try_factor = [&](double factor) {
            for (std::int64_t i = 0; i < s.n; ++i) scaled[i] = factor * fitted[i];
            kernels().exponential(scaled, s.n, scaled);
            double mean = 0;
            for (std::int64_t i = 0; i < s.n; ++i) mean += s.w[i] * means(s)[i] * scaled[i];
            const double shift = std::log(labels / std::clamp(mean, kLeast, 1 / kLeast));
            return std::pair(labels - factor * product - shift * labels, shift);
        };
        auto [best, shift] = try_factor(1);
        Adjustment found{.factor = 1, .shift = shift};
        for (double factor = 0.5; factor > kShortestFactor; factor /= 2) {
            const auto [value, next] = try_factor(factor);
            if (!(value < best - kSmallest * labels)) break;
            best = value;
            found = {.factor = factor, .shift = next};
        }
        return found;
    }

   private:
    static double* means(const Sample& s) { return s.state + s.stride; }

    // Counts over what was expected.
    static double shrunk(double counts, double expected) { return (counts + kPrior) / (expected + kPrior); }

    // The node's mean over what it is expected to be.
    double share_of(const Sample& s) const {
        double labels = 0, expected = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            labels += s.w[i] * s.y[i];
            expected += s.w[i] * means(s)[i];
        }
        return shrunk(information_ * labels, information_ * expected);
    }

    const double information_;
};

}  // namespace

std::unique_ptr<Loss> make_poisson(const LossSettings& settings) {
    return std::make_unique<Poisson>(settings.numbers[0]);
}

}  // namespace boostforest
