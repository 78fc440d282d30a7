#include <algorithm>
#include <limits>

#include "../kernels/kernels.hpp"
#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
        return {.z = z, .v = v, .stride = stride, .v_stride = stride};
    }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        for (int c = 0; c < n_outputs(); ++c) std::fill_n(s.state + c * s.stride, s.n, 0.0);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

   protected:
    // The class that a high score of an output means.
    virtual double label(int output) const = 0;

    double* probabilities(const Sample& s, int output) const { return s.state + (n_outputs() + output) * s.stride; }
};

// Two classes, y in {0, 1}, p = sigmoid(F).
class Logistic final : public CrossEntropy {
   public:
    double step(const double* fitted, std::int64_t, double, double, const Sample& s) const override {
        return kernels().step_logistic(fitted, s.n, s.y, s.w, s.state, probabilities(s, 0));
    }
    double last_step(const double* fitted, std::int64_t, double, double, const Sample& s) const override {
        return kernels().step_logistic(fitted, s.n, s.y, s.w, s.state, nullptr);
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
    double last_step(const double* fitted, std::int64_t stride, double, double, const Sample& s) const override {
        return kernels().step_softmax(fitted, stride, s.n, n_classes_, s.y, s.w, s.state, nullptr, s.stride);
    }

    PseudoLabels shared_pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* z = work.z.get(n_classes_ * stride);
        double* v = work.v.get(stride);
        kernels().shared_pseudo_labels(probabilities(s, 0), s.stride, n_classes_, s.y, s.w, s.n, z, stride, v);
        return {.z = z, .v = v, .stride = stride};
    }

    // f_c <- (J - 1)/J (f_c - mean of f), as in LogitBoost.
    void centre(double* values, std::int64_t n, std::int64_t stride) const override {
        kernels().centre_outputs(values, n, stride, n_classes_, 1.0 / n_classes_);
    }

   protected:
    double label(int output) const override { return output; }

   private:
    int n_classes_;
};

}  // namespace

std::unique_ptr<Loss> make_logistic(const LossSettings&) {
    return std::make_unique<Logistic>();
}

std::unique_ptr<Loss> make_softmax(const LossSettings& settings) {
    return std::make_unique<Softmax>(settings.n_classes);
}

}  // namespace boostforest
