#include "loss.hpp"

#include <algorithm>
#include <limits>

#include "kernels.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (y - F)², with the derivatives of half of it, as in the authors' code: g = F - y, h = 1. State: the residual y - F.
class SquaredError final : public Loss {
   public:
    int n_state() const override { return 1; }

    double start(const double* f, std::int64_t, const Sample& s) const override {
        std::copy_n(s.y, s.n, s.state);
        return kernels().step_residual(f, s.n, -kInfinity, kInfinity, s.w, s.state);
    }

    double step(const double* fitted, std::int64_t, double lower, double upper, const Sample& s) const override {
        return kernels().step_residual(fitted, s.n, lower, upper, s.w, s.state);
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        double* wg = work.statistics.get(s.n);
        for (std::int64_t i = 0; i < s.n; ++i) wg[i] = -s.w[i] * s.state[i];
        out[0] = wg;
        out[1] = s.w;
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace&) const override { return {s.state, s.w, s.stride}; }
};

// What the losses of classes share. State: the scores, then the probabilities of each output.
class CrossEntropy : public Loss {
   public:
    int n_state() const override { return 2 * n_outputs(); }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* wg = work.statistics.get(2 * n_outputs() * stride);
        for (int c = 0; c < n_outputs(); ++c, wg += 2 * stride) {
            kernels().class_statistics(probabilities(s, c), s.y, label(c), s.w, s.n, wg, wg + stride);
            out[2 * c] = wg;
            out[2 * c + 1] = wg + stride;
        }
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* z = work.z.get(n_outputs() * stride);
        double* v = work.v.get(n_outputs() * stride);
        for (int c = 0; c < n_outputs(); ++c)
            kernels().class_pseudo_labels(probabilities(s, c), s.y, label(c), s.w, s.n, z + c * stride, v + c * stride);
        return {z, v, stride};
    }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        for (int c = 0; c < n_outputs(); ++c) std::fill_n(s.state + c * s.stride, s.n, 0.0);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

   protected:
    // The class that an output speaks for.
    virtual double label(int output) const = 0;

    double* probabilities(const Sample& s, int output) const { return s.state + (n_outputs() + output) * s.stride; }
};

// Two classes, y in {0, 1}, p = sigmoid(F).
class Logistic final : public CrossEntropy {
   public:
    double step(const double* fitted, std::int64_t, double, double, const Sample& s) const override {
        return kernels().step_logistic(fitted, s.n, s.y, s.w, s.state, probabilities(s, 0));
    }

   protected:
    double label(int) const override { return 1; }
};

// More classes, y the number of the class, p = softmax(F).
class Softmax final : public CrossEntropy {
   public:
    explicit Softmax(int n_classes) : n_classes_(n_classes) {}

    int n_outputs() const override { return n_classes_; }

    double step(const double* fitted, std::int64_t stride, double, double, const Sample& s) const override {
        return kernels().step_softmax(fitted, stride, s.n, n_classes_, s.y, s.w, s.state, probabilities(s, 0),
                                      s.stride);
    }

   protected:
    double label(int output) const override { return output; }

   private:
    int n_classes_;
};

}  // namespace

std::unique_ptr<Loss> make_loss(Task task, int n_classes) {
    switch (task) {
        case Task::kRegression: return std::make_unique<SquaredError>();
        case Task::kBinary: return std::make_unique<Logistic>();
        case Task::kMulticlass: return std::make_unique<Softmax>(n_classes);
    }
    return nullptr;
}

}  // namespace boostforest
