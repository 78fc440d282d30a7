#include <algorithm>
#include <limits>
#include <vector>

#include "../kernels/kernels.hpp"
#include "loss.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Losses of several targets, added up. A row has one weight for all of them, so that a node solves its regressions with
// one Gram matrix. Labels are found by the numbers of the rows.
class Several : public Loss {
   public:
    Several(const double* targets, int n_targets) : targets_(targets), n_targets_(n_targets) {}

    int n_targets() const override { return n_targets_; }

    void labels(const Sample& s, int target, double* out) const override {
        for (std::int64_t i = 0; i < s.n; ++i) out[i] = targets_[std::int64_t{s.rows[i]} * n_targets_ + target];
    }

   protected:
    // Of every target, s.stride apart; row by row, which lie anywhere in the table.
    void all_labels(const Sample& s, double* out) const {
        for (std::int64_t i = 0; i < s.n; ++i) {
            const double* own = targets_ + std::int64_t{s.rows[i]} * n_targets_;
            for (int k = 0; k < n_targets_; ++k) out[k * s.stride + i] = own[k];
        }
    }

    static constexpr int kFewOutputs = 4;  // so many take less time one by one

   private:
    const double* targets_;  // rows × targets
    int n_targets_;
};

// Σ (y - F)². State: the residuals of each target.
class SquaredErrors final : public Several {
   public:
    using Several::Several;

    int n_outputs() const override { return n_targets(); }
    int n_state() const override { return n_targets(); }
    bool clips() const override { return true; }
    bool has_unit_curvature() const override { return true; }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        all_labels(s, s.state);
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

    double step(const double* fitted, std::int64_t stride, double lower, double upper, const Sample& s) const override {
        double total = 0;
        for (int k = 0; k < n_targets(); ++k)
            total += kernels().step_residual(fitted + k * stride, s.n, lower, upper, s.w, s.state + k * s.stride);
        return total;
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* wg = work.statistics.get(n_targets() * stride);
        for (int k = 0; k < n_targets(); ++k, wg += stride) {
            const double* rest = s.state + k * s.stride;
            for (std::int64_t i = 0; i < s.n; ++i) wg[i] = -s.w[i] * rest[i];
            out[2 * k] = wg;
            out[2 * k + 1] = s.w;
        }
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace&) const override {
        return {.z = s.state, .v = s.w, .stride = s.stride, .one_by_one = n_outputs() <= kFewOutputs};
    }

    // One range for all targets, which have the same standard deviation.
    void output_range(const Sample& s, const PseudoLabels& labels, double& lower, double& upper) const override {
        kernels().value_range(labels.z, s.n, lower, upper);
        for (int k = 1; k < n_targets(); ++k) {
            double low = 0, high = 0;
            kernels().value_range(labels.z + k * labels.stride, s.n, low, high);
            lower = std::min(lower, low);
            upper = std::max(upper, high);
        }
    }
};

// Several classifications, each with the scores of a classifier of its own: one for two classes, otherwise one for
// each. State: the scores, the probabilities of each output, then the labels of each target.
class ClassTargets final : public Several {
   public:
    ClassTargets(const double* targets, int n_targets, const double* n_classes) : Several(targets, n_targets) {
        for (int k = 0; k < n_targets; ++k) {
            const int n = static_cast<int>(n_classes[k]);
            first_.push_back(n_outputs_);
            for (int c = 0; c < (n == 2 ? 1 : n); ++c) outputs_.push_back({.target = k, .label = n == 2 ? 1.0 : c});
            n_outputs_ = static_cast<int>(outputs_.size());
        }
        first_.push_back(n_outputs_);
    }

    int n_outputs() const override { return n_outputs_; }
    int n_state() const override { return 2 * n_outputs_ + n_targets(); }

    double start(const double* f, std::int64_t f_stride, const Sample& s) const override {
        for (int c = 0; c < n_outputs_; ++c) std::fill_n(s.state + c * s.stride, s.n, 0.0);
        all_labels(s, known(s, 0));
        return step(f, f_stride, -kInfinity, kInfinity, s);
    }

    double step(const double* fitted, std::int64_t stride, double, double, const Sample& s) const override {
        double total = 0;
        for (int k = 0; k < n_targets(); ++k) {
            const double* own = fitted + first_[k] * stride;
            double* f = s.state + first_[k] * s.stride;
            double* p = probabilities(s, first_[k]);
            total += n_scores(k) == 1
                         ? kernels().step_logistic(own, s.n, known(s, k), s.w, f, p)
                         : kernels().step_softmax(own, stride, s.n, n_scores(k), known(s, k), s.w, f, p, s.stride);
        }
        return total;
    }

    void statistics(const Sample& s, LossWorkspace& work, const double** out) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* wg = work.statistics.get(2 * n_outputs_ * stride);
        for (int c = 0; c < n_outputs_; ++c, wg += 2 * stride) {
            const auto [target, label] = outputs_[c];
            kernels().class_statistics(probabilities(s, c), known(s, target), label, s.w, s.n, wg, wg + stride);
            out[2 * c] = wg;
            out[2 * c + 1] = wg + stride;
        }
    }

    PseudoLabels pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        const std::int64_t stride = padded_rows(s.n);
        double* z = work.z.get(n_outputs_ * stride);
        double* v = work.v.get(n_outputs_ * stride);
        for (int c = 0; c < n_outputs_; ++c) {
            const auto [target, label] = outputs_[c];
            kernels().class_pseudo_labels(probabilities(s, c), known(s, target), label, s.w, s.n, z + c * stride,
                                          v + c * stride);
        }
        return {.z = z, .v = v, .stride = stride, .v_stride = stride};
    }

    // v is the largest weight that the row has in any output; v z stays what it is.
    PseudoLabels shared_pseudo_labels(const Sample& s, LossWorkspace& work) const override {
        const PseudoLabels own = pseudo_labels(s, work);
        double* z = work.z.data();
        double* v = work.v.data();
        double* most = work.statistics.get(own.stride);
        std::copy_n(v, s.n, most);
        for (int c = 1; c < n_outputs_; ++c)
            for (std::int64_t i = 0; i < s.n; ++i) most[i] = std::max(most[i], v[c * own.stride + i]);
        for (int c = 0; c < n_outputs_; ++c)
            for (std::int64_t i = 0; i < s.n; ++i)
                z[c * own.stride + i] *= most[i] > 0 ? v[c * own.stride + i] / most[i] : 0.0;
        std::copy_n(most, s.n, v);
        return {.z = z, .v = v, .stride = own.stride, .one_by_one = n_outputs_ <= kFewOutputs};
    }

    // Target by target, as softmax does.
    void centre(double* values, std::int64_t n, std::int64_t stride) const override {
        for (int k = 0; k < n_targets(); ++k) {
            const int m = n_scores(k);
            if (m == 1) continue;
            double* own = values + first_[k] * stride;
            const double share = 1.0 / m;
            for (std::int64_t i = 0; i < n; ++i) {
                double mean = 0;
                for (int c = 0; c < m; ++c) mean += own[c * stride + i] * share;
                for (int c = 0; c < m; ++c) own[c * stride + i] = (1 - share) * (own[c * stride + i] - mean);
            }
        }
    }

   private:
    struct Output {
        int target;
        double label;  // the class that a high score means
    };

    int n_scores(int target) const { return first_[target + 1] - first_[target]; }
    double* probabilities(const Sample& s, int output) const { return s.state + (n_outputs_ + output) * s.stride; }
    double* known(const Sample& s, int target) const { return s.state + (2 * n_outputs_ + target) * s.stride; }

    int n_outputs_ = 0;
    std::vector<int> first_;  // output of each target; then their number
    std::vector<Output> outputs_;
};

}  // namespace

std::unique_ptr<Loss> make_squared_errors(const LossSettings& settings) {
    return std::make_unique<SquaredErrors>(settings.targets, settings.n_targets);
}

std::unique_ptr<Loss> make_class_targets(const LossSettings& settings) {
    for (int k = 0; k < settings.n_targets; ++k)
        if (!(settings.numbers[k] >= 2 && settings.numbers[k] < 1 << 24))
            throw std::invalid_argument("loss_numbers must be numbers of classes, two at least");
    return std::make_unique<ClassTargets>(settings.targets, settings.n_targets, settings.numbers);
}

}  // namespace boostforest
