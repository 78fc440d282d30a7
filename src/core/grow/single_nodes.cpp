#include "single_nodes.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

// Scratch of one thread: the rows as the core wants them, with room behind every vector.
class Workspace {
   public:
    explicit Workspace(const Dataset& data) : finder(data), data_(data) {}

    // Copies the rows in and computes their state at the scores; `loss_value` is Σ w · loss there.
    Sample load(const NodeRows& node) {
        const Loss& loss = data_.loss;
        const std::int64_t stride = padded_rows(node.n);
        std::int32_t* rows = rows_.get(node.n);
        double* w = w_.get(node.n);
        double* y = y_.get(node.n);
        double* f = f_.get(loss.n_outputs() * stride);
        Sample sample{
            .rows = rows, .n = node.n, .w = w, .y = y, .state = state_.get(loss.n_state() * stride), .stride = stride};
        for (std::int64_t i = 0; i < node.n; ++i) {
            rows[i] = node.rows[i];
            w[i] = node.weights[i];
            y[i] = data_.y[rows[i]];
            sample.weight += w[i];
        }
        for (int c = 0; c < loss.n_outputs(); ++c) std::copy_n(node.scores + c * node.n, node.n, f + c * stride);
        loss_value = loss.start(f, stride, sample);
        return sample;
    }

    SplitFinder finder;
    LossWorkspace loss_work;
    double loss_value = 0;

   private:
    const Dataset& data_;
    Buffer<std::int32_t> rows_;
    Buffer<double> w_, y_, f_, state_;
};

}  // namespace

// Calls body(node, its rows, workspace, worker) on threads.
template <class Body>
void SingleNodes::for_each(Body body) const {
    std::vector<std::unique_ptr<Workspace>> workspaces(kMaxThreads);
    const auto n_nodes = static_cast<std::int64_t>(nodes_.size());
    parallel_for(n_nodes, n_threads_, control_, [&](std::int64_t i, Worker& worker) {
        auto& work = workspaces[worker.number()];
        if (!work) work = std::make_unique<Workspace>(data_);
        worker.check(nodes_[i].n * padded_width(data_.n_features));
        body(i, work->load(nodes_[i]), *work, worker);
    });
}

std::vector<Split> SingleNodes::find_splits(const std::vector<SplitRules>& rules, const Key* keys) const {
    std::vector<Split> splits(nodes_.size());
    for_each([&](std::int64_t i, const Sample& sample, Workspace& work, Worker& worker) {
        splits[i] = work.finder.find(sample, rules[i], data_.split_features, keys[i], worker);
    });
    return splits;
}

void SingleNodes::pseudo_labels(const std::vector<LabelsOut>& out) const {
    for_each([&](std::int64_t i, const Sample& sample, Workspace& work, Worker&) {
        const PseudoLabels labels = data_.loss.pseudo_labels(sample, work.loss_work);
        for (int c = 0; c < data_.loss.n_outputs(); ++c) {
            std::copy_n(labels.z + c * labels.stride, sample.n, out[i].z + c * sample.n);
            std::copy_n(labels.v + c * labels.v_stride, sample.n, out[i].v + c * sample.n);
        }
        double* range = out[i].range;
        range[0] = -std::numeric_limits<double>::infinity();
        range[1] = -range[0];
        if (data_.loss.clips()) data_.loss.output_range(sample, labels, range[0], range[1]);
    });
}

std::vector<double> SingleNodes::losses() const {
    std::vector<double> values(nodes_.size());
    for_each([&](std::int64_t i, const Sample&, Workspace& work, Worker&) { values[i] = work.loss_value; });
    return values;
}

}  // namespace boostforest
