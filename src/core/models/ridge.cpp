#include <algorithm>
#include <numeric>
#include <utility>

#include "../kernels/kernels.hpp"
#include "node_inputs.hpp"

namespace boostforest {

namespace {

class RidgeModel final : public NodeModel {
   public:
    void fit(const NodeProblem& p, NodeWorkspace& work, double* params) const override {
        const std::int64_t n = p.sample.n;
        const int d = p.n_inputs, width = p.width;
        if (p.indicators != nullptr) {
            work.sparse.read(*p.indicators, p.sample);
            work.sparse.fit_ridge(p.labels, p.n_outputs, p.rules.reg_lambda, work.ridge, params, d, p.fitted,
                                  p.fitted_stride);
            return;
        }
        double* mean = work.vectors.get((2 + static_cast<std::size_t>(p.n_outputs)) * width + p.n_outputs);
        double* bounds = mean + width;
        double* slopes = bounds + width;
        double* intercepts = slopes + static_cast<std::ptrdiff_t>(p.n_outputs) * width;
        double* shifted = work.rows.get(static_cast<std::size_t>(n) * width);
        // Around their own mean: deep nodes are small boxes far from zero, where plain sums of products would cancel.
        kernels().gather_centred(p.x, p.sample.rows, n, width, p.sample.w, p.sample.weight, mean, shifted);
        const RidgeProblem ridge{
            .x = shifted,
            .n = n,
            .width = width,
            .d = d,
            .z = p.labels.z,
            .v = p.labels.v,
            .stride = p.labels.stride,
            .v_stride = p.labels.v_stride,
            .n_outputs = p.n_outputs,
            .lambda = p.rules.reg_lambda,
            .slopes = slopes,
            .intercepts = intercepts,
            .fitted = p.fitted,
            .fitted_stride = p.fitted_stride,
            .one_by_one = p.labels.one_by_one,
        };
        if (p.gram != nullptr) {
            fit_with_gram(ridge, *p.gram, mean, work.ridge);
        } else if (p.monotone == nullptr) {
            fit_ridge(ridge, work.ridge);
        } else {  // a slope may take back as much as there is on the path
            for (int j = 0; j < d; ++j) bounds[j] = p.path_slopes == nullptr ? 0.0 : -p.path_slopes[j];
            fit_bounded_ridge(ridge, {.sign = p.monotone, .bound = bounds}, work.ridge, work.bounds);
        }
        for (int c = 0; c < p.n_outputs; ++c, slopes += width, params += d + 1) {
            double intercept = intercepts[c];
            for (int j = 0; j < d; ++j) {
                params[1 + j] = slopes[j];
                intercept -= slopes[j] * mean[j];
            }
            params[0] = intercept;
        }
    }

    bool uses_gram() const override { return true; }

   private:
    // Outputs of the same weights; x lies around its mean.
    static void fit_with_gram(RidgeProblem ridge, NodeGram& gram, const double* mean, RidgeWorkspace& work) {
        const std::ptrdiff_t width = ridge.width;
        std::copy_n(mean, width, gram.mean);
        ridge.gram = gram.known ? gram.values : nullptr;
        ridge.gram_out = gram.known ? nullptr : gram.values;
        const bool filled = fit_ridge(ridge, work);
        if (gram.known || !(filled || gram.wanted)) return;
        if (!filled) {
            double* sums = work.vectors.get(2 * width);
            kernels().normal_equations(ridge.x, ridge.n, ridge.width, ridge.d, ridge.v, ridge.z, gram.values, sums,
                                       sums + width);
        }
        double total = 0;
        for (std::int64_t i = 0; i < ridge.n; ++i) total += ridge.v[i];
        gram.largest = 0;
        for (int j = 0; j < ridge.d; ++j)
            gram.largest = std::max(gram.largest, gram.values[j * width + j] + total * mean[j] * mean[j]);
        gram.known = true;
    }
};

constexpr std::int64_t kKeptValues = std::int64_t{1} << 22;  // of drawn features that a thread keeps: 32 MB

// All features that node models see, or some that each tree draws for itself: in wide tables models of fewer slopes
// are quicker to fit, and trees differ more.
class Features final : public NodeInputs {
   public:
    Features() : NodeInputs(ModelKind::kLinear) {}

    void start(const TreeStart& tree) override {
        NodeInputs::start(tree);
        n_seen_ = n_;
        drawn_.clear();
        const int n_drawn = tree.rules.max_features;
        if (n_drawn == 0 || n_drawn >= n_seen_) return;
        draw(child(tree.seed, kModelFeatures), n_drawn);
        seen_width_ = width_;
        n_ = n_drawn;
        width_ = padded_width(n_);
        indicators_ = nullptr;
        keeps_rows_ = tree.data.n_rows * width_ <= kKeptValues;
        if (!keeps_rows_) return;
        double* out = values_.get(tree.data.n_rows * width_);
        for (std::int64_t i = 0; i < tree.n_rows; ++i) copy(tree.rows[i], out + std::int64_t{tree.rows[i]} * width_);
        tree.worker.check(tree.n_rows * width_);
    }

    const double* find(Sample& sample) override {
        if (drawn_.empty()) return x_;
        if (keeps_rows_) return values_.data();
        double* out = values_.get(sample.n * width_);
        for (std::int64_t i = 0; i < sample.n; ++i) copy(sample.rows[i], out + i * width_);
        numbers_.resize(sample.n);
        std::iota(numbers_.begin(), numbers_.end(), 0);
        sample.rows = numbers_.data();
        return out;
    }

    StoredSlopes slopes() const override { return {.numbers = drawn_.empty() ? nullptr : drawn_.data(), .n = n_seen_}; }

   private:
    void draw(Key key, int n_drawn) {
        drawn_.resize(n_seen_);
        std::iota(drawn_.begin(), drawn_.end(), 0);
        for (int i = 0; i < n_drawn; ++i) std::swap(drawn_[i], drawn_[i + below(key, i, n_seen_ - i)]);
        drawn_.resize(n_drawn);
        std::sort(drawn_.begin(), drawn_.end());
    }

    void copy(std::int32_t row, double* out) const {
        const double* from = x_ + std::int64_t{row} * seen_width_;
        for (int j = 0; j < n_; ++j) out[j] = from[drawn_[j]];
        std::fill(out + n_, out + width_, 0.0);
    }

    std::vector<std::int32_t> drawn_;    // features, ascending; empty: all
    int n_seen_ = 0, seen_width_ = 0;    // features that there are, and doubles per row of them
    bool keeps_rows_ = false;            // of the whole tree; else
    Buffer<double> values_;              //   those of the current sample,
    std::vector<std::int32_t> numbers_;  //   which have these numbers
};

}  // namespace

std::unique_ptr<NodeModel> make_ridge_model() {
    return std::make_unique<RidgeModel>();
}

std::unique_ptr<NodeInputs> make_features() {
    return std::make_unique<Features>();
}

}  // namespace boostforest
