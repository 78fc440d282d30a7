#include <algorithm>

#include "../node_model.hpp"

namespace boostforest {

namespace {

// The weighted mean of the pseudo-labels: with it a BoostTree is a regression tree grown by boosting.
class ConstantModel final : public NodeModel {
   public:
    int n_params(int) const override { return 1; }

    void fit(const NodeProblem& problem, NodeWorkspace&, double* params, double* fitted) const override {
        for (int c = 0; c < problem.n_outputs; ++c) {
            const double* z = problem.z + c * problem.stride;
            const double* v = problem.v + c * problem.stride;
            double total = 0, weighted = 0;
            for (std::int64_t i = 0; i < problem.n; ++i) {
                total += v[i];
                weighted += v[i] * z[i];
            }
            params[c] = weighted / total;
            std::fill_n(fitted + c * problem.stride, problem.n, params[c]);
        }
    }
};

}  // namespace

std::unique_ptr<NodeModel> make_constant_model() {
    return std::make_unique<ConstantModel>();
}

}  // namespace boostforest
