#include <algorithm>

#include "../kernels.hpp"
#include "../node_model.hpp"

namespace boostforest {

namespace {

class RidgeModel final : public NodeModel {
   public:
    int n_params(int n_features) const override { return n_features + 1; }

    void fit(const NodeProblem& problem, NodeWorkspace& work, double* params) const override {
        const auto& [x, width, d, n_outputs, sample, labels, lambda, fitted, fitted_stride] = problem;
        const std::int64_t n = sample.n;
        double* mean = work.vectors.get(2 * static_cast<std::size_t>(width));
        double* slopes = mean + width;
        double* shifted = work.rows.get(static_cast<std::size_t>(n) * width);
        // Around their own mean: deep nodes are small boxes far from zero, where plain sums of products would cancel.
        kernels().column_means(x, sample.rows, n, width, sample.w, mean);
        kernels().gather_shifted(x, sample.rows, n, width, mean, shifted);
        for (int c = 0; c < n_outputs; ++c, params += d + 1) {
            double intercept = 0;
            fit_ridge(shifted, n, width, d, labels.v + c * labels.stride, labels.z + c * labels.stride, lambda,
                      work.ridge, slopes, intercept);
            kernels().linear(shifted, n, width, slopes, intercept, fitted + c * fitted_stride);
            std::copy_n(slopes, d, params + 1);
            for (int j = 0; j < d; ++j) intercept -= slopes[j] * mean[j];
            params[0] = intercept;
        }
    }
};

}  // namespace

std::unique_ptr<NodeModel> make_ridge_model() {
    return std::make_unique<RidgeModel>();
}

}  // namespace boostforest
