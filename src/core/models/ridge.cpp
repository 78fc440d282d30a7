#include <algorithm>

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
        kernels().gather_centred(p.x, p.sample.rows, n, width, p.sample.w, mean, shifted);
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
            params[0] = intercepts[c];
            for (int j = 0; j < d; ++j) params[0] -= slopes[j] * mean[j];
            std::copy_n(slopes, d, params + 1);
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

}  // namespace

std::unique_ptr<NodeModel> make_ridge_model() {
    return std::make_unique<RidgeModel>();
}

std::unique_ptr<NodeInputs> make_features() {
    return std::make_unique<NodeInputs>(ModelKind::kLinear);
}

}  // namespace boostforest
