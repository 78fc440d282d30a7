#include <algorithm>

#include "../kernels/kernels.hpp"
#include "node_inputs.hpp"

namespace boostforest {

namespace {

// The weighted mean of the pseudo-labels: with it a BoostTree is a regression tree grown by boosting.
class ConstantModel final : public NodeModel {
   public:
    void fit(const NodeProblem& problem, NodeWorkspace&, double* params) const override {
        const auto& [z, v, stride, v_stride, one_by_one] = problem.labels;
        const std::int64_t n = problem.sample.n;
        for (int c = 0; c < problem.n_outputs; ++c) {
            double total = 0, weighted = 0;
            kernels().weighted_sums(v + c * v_stride, z + c * stride, n, total, weighted);
            params[c] = weighted / total;
            std::fill_n(problem.fitted + c * problem.fitted_stride, n, params[c]);
        }
    }
};

}  // namespace

std::unique_ptr<NodeModel> make_constant_model() {
    return std::make_unique<ConstantModel>();
}

std::unique_ptr<NodeInputs> make_no_inputs() {
    return std::make_unique<NodeInputs>(ModelKind::kConstant);
}

}  // namespace boostforest
