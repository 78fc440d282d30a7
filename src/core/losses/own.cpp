#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kLeastCurvature = 1e-12;

// A user's own: first and second derivative by the score of n rows, given their labels and scores; 0 if all is well.
using Derivatives = int (*)(std::int64_t n, const double* y, const double* f, double* g, double* h, void* data);

// Whatever a function has the derivatives of. What it is itself is not known: the gain of a Newton step, g²/(2h), is
// taken for it. State: F, then g, then h.
class Own final : public Loss {
   public:
    Own(Derivatives function, void* data) : function_(function), data_(data) {}

    int n_state() const override { return 3; }
    bool clips() const override { return true; }

    double start(const double* f, std::int64_t, const Sample& s) const override {
        std::copy_n(f, s.n, s.state);
        return update(s);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        for (std::int64_t i = 0; i < s.n; ++i) s.state[i] += std::min(std::max(fitted[i], lower), upper);
        return update(s);
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        write_statistics(s, work, out,
                         [&](std::int64_t i) { return std::pair(s.w[i] * gradient(s)[i], s.w[i] * curvature(s)[i]); });
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        return write_labels(s, work, [&](std::int64_t i) {
            return std::pair(-gradient(s)[i] / curvature(s)[i], s.w[i] * curvature(s)[i]);
        });
    }

   private:
    static double* gradient(const Sample& s) { return s.state + s.stride; }
    static double* curvature(const Sample& s) { return s.state + 2 * s.stride; }

    double update(const Sample& s) const {
        if (s.n == 0) return 0;
        if (function_(s.n, s.y, s.state, gradient(s), curvature(s), data_) != 0)
            throw std::invalid_argument("loss: the function has failed.");
        double total = 0;
        for (std::int64_t i = 0; i < s.n; ++i) {
            const double g = gradient(s)[i];
            double& h = curvature(s)[i];
            if (!std::isfinite(g) || !std::isfinite(h) || h < 0)
                throw std::invalid_argument(
                    "loss: gradients must be finite, and second derivatives finite and not negative.");
            h = std::max(h, kLeastCurvature);
            total += s.w[i] * g * g / (2 * h);
        }
        return total;
    }

    const Derivatives function_;
    void* const data_;
};

}  // namespace

// The numbers are the bits of two addresses: of the function, and of what it gets as its last argument.
std::unique_ptr<Loss> make_own(const LossSettings& settings) {
    const auto address = [&](int k) { return std::bit_cast<std::uint64_t>(settings.numbers[k]); };
    return std::make_unique<Own>(reinterpret_cast<Derivatives>(static_cast<std::uintptr_t>(address(0))),
                                 reinterpret_cast<void*>(static_cast<std::uintptr_t>(address(1))));
}

}  // namespace boostforest
