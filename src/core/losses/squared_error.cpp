#include <algorithm>
#include <limits>

#include "../kernels/kernels.hpp"
#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (y - F)², with the derivatives of half of it, as in the authors' code: g = F - y, h = 1. State: the residual y - F.
class SquaredError final : public Loss {
   public:
    int n_state() const override { return 1; }
    bool reads_labels() const override { return false; }
    bool clips() const override { return true; }
    bool has_unit_curvature() const override { return true; }

    double start(const double* f, std::int64_t, const Sample& s) const override {
        std::copy_n(s.y, s.n, s.state);
        return kernels().step_residual(f, s.n, -kInfinity, kInfinity, s.w, s.state);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        return kernels().step_residual(fitted, s.n, lower, upper, s.w, s.state);
    }

    void scores(const Sample& s, double* f) const override {
        for (std::int64_t i = 0; i < s.n; ++i) f[i] = s.y[i] - s.state[i];
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        double* wg = work.statistics.get(s.n);
        kernels().residual_statistics(s.w, s.state, s.n, wg);
        out[0] = wg;
        out[1] = s.w;
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace&) const override {
        return {.z = s.state, .v = s.w, .stride = s.stride};
    }
};

}  // namespace

std::unique_ptr<Loss> make_squared_error(const LossSettings&) {
    return std::make_unique<SquaredError>();
}

}  // namespace boostforest
