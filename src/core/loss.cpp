#include "loss.hpp"

#include <algorithm>
#include <limits>

#include "kernels.hpp"

namespace boostforest {

namespace {

constexpr double kLargestPseudoLabel = 4;
constexpr double kSmallestWeight = 2 * std::numeric_limits<double>::epsilon();

// (y - f)², with the derivatives of half of it, as in the authors' code (SPEC, section 6).
class SquaredError final : public Loss {
   public:
    bool is_least_squares() const override { return true; }

    double value(const double* f, std::int64_t, const double* y, const double* w, std::int64_t n) const override {
        double total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += w[i] * (y[i] - f[i]) * (y[i] - f[i]);
        return total;
    }

    void derivatives(const double* f, std::int64_t, const double* y, std::int64_t n, double* g, double*,
                     std::int64_t) const override {
        for (std::int64_t i = 0; i < n; ++i) g[i] = f[i] - y[i];
    }
};

// Two classes, y in {0, 1}, p = sigmoid(f).
class Logistic final : public Loss {
   public:
    double value(const double* f, std::int64_t, const double* y, const double* w, std::int64_t n) const override {
        return kernels().logistic_loss(f, y, w, n);
    }

    void derivatives(const double* f, std::int64_t, const double* y, std::int64_t n, double* g, double* h,
                     std::int64_t) const override {
        kernels().sigmoid(f, n, g);
        for (std::int64_t i = 0; i < n; ++i) {
            const double p = g[i];
            g[i] = p - y[i];
            h[i] = p * (1 - p);
        }
    }
};

// More classes, y the number of the class, p = softmax(f).
class Softmax final : public Loss {
   public:
    explicit Softmax(int n_classes) : n_classes_(n_classes) {}

    int n_outputs() const override { return n_classes_; }

    double value(const double* f, std::int64_t stride, const double* y, const double* w,
                 std::int64_t n) const override {
        return kernels().softmax_loss(f, stride, y, w, n, n_classes_);
    }

    void derivatives(const double* f, std::int64_t stride, const double* y, std::int64_t n, double* g, double* h,
                     std::int64_t out_stride) const override {
        kernels().softmax(f, stride, n, n_classes_, g, out_stride);
        for (int c = 0; c < n_classes_; ++c) {
            double* gc = g + c * out_stride;
            double* hc = h + c * out_stride;
            for (std::int64_t i = 0; i < n; ++i) {
                const double p = gc[i];
                gc[i] = p - (y[i] == c ? 1.0 : 0.0);
                hc[i] = p * (1 - p);
            }
        }
    }

   private:
    int n_classes_;
};

}  // namespace

void Loss::pseudo_labels(const double* g, const double* h, const double* w, std::int64_t n, std::int64_t stride,
                         double* z, double* v) const {
    if (is_least_squares()) {
        for (std::int64_t i = 0; i < n; ++i) z[i] = -g[i];
        std::copy_n(w, n, v);
        return;
    }
    for (int c = 0; c < n_outputs(); ++c) {
        for (std::int64_t i = c * stride; i < c * stride + n; ++i) {
            // h = 0 only where p has rounded to 0 or 1: then -g/h is ±inf (or 0/0 where the label agrees), never used.
            const double ratio = h[i] > 0 ? -g[i] / h[i] : -g[i] * kLargestPseudoLabel;
            z[i] = std::min(std::max(ratio, -kLargestPseudoLabel), kLargestPseudoLabel);
            v[i] = w[i - c * stride] * std::max(h[i], kSmallestWeight);
        }
    }
}

std::unique_ptr<Loss> make_loss(Task task, int n_classes) {
    switch (task) {
        case Task::kRegression: return std::make_unique<SquaredError>();
        case Task::kBinary: return std::make_unique<Logistic>();
        case Task::kMulticlass: return std::make_unique<Softmax>(n_classes);
    }
    return nullptr;
}

}  // namespace boostforest
