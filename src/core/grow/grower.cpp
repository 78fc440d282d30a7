#include "grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "../kernels/kernels.hpp"
#include "../table/raw_rows.hpp"

namespace boostforest {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLongStep = 1;       // that a tree of one node does not take as it is
constexpr double kShortStep = 1e-12;  // changes no score by more than this, or by this part of the largest

}  // namespace

Grower::Grower(const Dataset& data, const Sampling& sampling, Stored stored, bool short_thresholds)
    : data_(data),
      loss_(data.loss),
      n_outputs_(data.loss.n_outputs()),
      stored_(stored),
      short_thresholds_(short_thresholds),
      replica_(data, sampling),
      partition_(data, replica_),
      batches_(data, replica_),
      paths_(data, builder_),
      finder_(data) {
    if (data.interactions != nullptr) interactions_ = std::make_unique<Interactions>(*data.interactions);
}

GrownTree Grower::grow(const TreeParams& params, Worker& worker) {
    params_ = &params;
    worker_ = node_work_.ridge.worker = &worker;
    Leaf root = start();
    // Below the first split few columns may be used: the others have slopes at the root.
    if (interactions_) fit_model(root, nullptr);
    open_.start(root, is_best_first());
    for (std::int64_t n_leaves = 1; !open_.empty() && (!is_best_first() || n_leaves < params.max_leaf_nodes);) {
        const Leaf leaf = open_.take_next();
        worker.check(1000 + leaf.n_rows() * padded_width(data_.n_features));
        const Split found = find_split(leaf);
        if (found.feature < 0) {
            grams_.release(leaf);
            continue;
        }
        std::array<Leaf, 2> children = split(leaf, found);
        fit_children(leaf, children);
        open_.add(children[1]);
        open_.add(children[0]);
        ++n_leaves;
    }
    if (builder_.n_nodes() == 1 && !interactions_) fit_model(root, nullptr);
    return {
        .tree = builder_.finish(inputs_->slopes().numbers, inputs_->slopes().n),
        .kind = inputs_->kind(),
        .sum_path = is_clipped() && !is_monotone(),
        .n_unconverged = node_work_.n_unconverged,
        .hidden = inputs_->hidden(),
    };
}

// Draws the tree's rows and settles what its models are; returns the root, which has no model.
Leaf Grower::start() {
    choose_model();
    replica_.draw(params_->seed, *worker_);
    const bool reads_labels = loss_.reads_labels() || params_->split.criterion != Criterion::kXgb || is_monotone();
    Leaf root = partition_.start(reads_labels);
    root.key = child(params_->seed, kRoot);
    settle(root);
    const Sample sample = take_sample(root, child(root.key, kModelBatch), nullptr);
    root.loss = start_loss_ * root.weight / sample.weight;

    inputs_->start({.data = data_,
                    .rules = params_->node,
                    .seed = params_->seed,
                    .sample = sample,
                    .rows = partition_.rows(),
                    .n_rows = partition_.n_rows(),
                    .worker = *worker_});
    paths_.start(*inputs_, is_clipped());
    const bool hands_down = loss_.has_unit_curvature() && model_->uses_gram() && inputs_->indicators() == nullptr &&
                            inputs_->width() > kSmallWidth && !is_monotone() && !is_best_first() && !interactions_;
    grams_.start(hands_down, inputs_->n(), inputs_->width(), params_->node.reg_lambda);
    builder_.start(n_outputs_, 1 + inputs_->n(),
                   is_monotone()  ? PathForm::kAllSums
                   : is_clipped() ? PathForm::kOwnModels  // a clipped sum is not linear
                                  : PathForm::kLeafSums,
                   stored_);
    builder_.set_node(0, root.weight, root.loss, -kInfinity, kInfinity);
    node_work_.n_unconverged = 0;
    return root;
}

void Grower::choose_model() {
    const NodeFit fit = data_.n_model_features == 0 ? NodeFit::kConstant : params_->node.fit;
    if (model_ && fit == model_fit_) return;
    model_fit_ = fit;
    model_ = entry_of(fit).make_model();
    inputs_ = entry_of(fit).make_inputs();
}

// What the parameters say of a leaf whose rows are known.
void Grower::settle(Leaf& leaf) const {
    leaf.uses_batch = params_->batch_size > 0 && leaf.count > params_->batch_size;
    leaf.may_split = (params_->max_depth < 0 || leaf.depth < params_->max_depth) &&
                     leaf.weight >= 2 * params_->split.min_samples_leaf && leaf.n_rows() >= 2;
}

// The rows of a leaf, or a batch of them, with their state after the models on the path to `scored_by` (null: none).
// The state of a whole leaf is in place if that of `scored_by` is; otherwise it is put there.
Sample Grower::take_sample(const Leaf& leaf, Key batch_key, const Leaf* scored_by) {
    if (!leaf.uses_batch && scored_by != nullptr && !scored_by->uses_batch) return partition_.whole(leaf);
    if (!leaf.uses_batch) partition_.load(leaf);
    const Sample sample = leaf.uses_batch
                              ? batches_.draw(leaf, partition_.rows() + leaf.begin, params_->batch_size, batch_key)
                              : partition_.whole(leaf);
    const std::int64_t stride = padded_rows(sample.n);
    double* f = scores_.get(n_outputs_ * stride);
    paths_.score(scored_by == nullptr ? -1 : scored_by->node, sample, f, stride);
    start_loss_ = loss_.start(f, stride, sample);
    return sample;
}

Split Grower::find_split(const Leaf& leaf) {
    if (!leaf.may_split) return {};
    const int attempts = leaf.node == 0 ? kMaxRootAttempts : 1;
    FeatureList features = data_.split_features;
    if (interactions_) {
        find_allowed(leaf.node);
        allowed_.clear();
        for (int j = 0; j < features.n; ++j)
            if (interactions_->allows_feature(features[j])) allowed_.push_back(features[j]);
        features = {.numbers = allowed_.data(), .n = static_cast<int>(allowed_.size())};
        if (features.n == 0) return {};
    }
    Split split;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt > 0) worker_->check(leaf.n_rows() * padded_width(data_.n_features));
        const Key key = child(leaf.key, kFirstAttempt + attempt);
        const Sample sample = take_sample(leaf, child(key, kSplitBatch), &leaf);
        split = finder_.find(sample, params_->split, features, key, *worker_);
        split.gain *= leaf.weight / sample.weight;
        if (split.feature >= 0 || (!split.possible && !leaf.uses_batch)) break;
    }
    return split;
}

// Returns the children, which have no models yet.
std::array<Leaf, 2> Grower::split(const Leaf& leaf, Split split) {
    std::array<Leaf, 2> children = partition_.part(leaf, split);
    if (short_thresholds_) split.threshold = partition_.shorter_threshold(split);
    const std::int32_t left =
        builder_.add_children(leaf.node, split.feature, split.threshold, split.missing_left, split.gain);
    for (int side = 0; side < 2; ++side) {
        children[side].node = left + side;
        children[side].depth = leaf.depth + 1;
        children[side].key = child(leaf.key, side == 0 ? kLeftChild : kRightChild);
        settle(children[side]);
    }
    return children;
}

// The smaller child first: what it takes away from its parent's Gram matrix leaves the other's.
void Grower::fit_children(const Leaf& parent, std::array<Leaf, 2>& children) {
    const bool left_first = children[0].n_rows() <= children[1].n_rows();
    Leaf& small = children[left_first ? 0 : 1];
    Leaf& large = children[left_first ? 1 : 0];
    grams_.open_smaller(parent, small, large);
    fit_model(small, &parent);
    grams_.open_larger(parent, small, large);
    fit_model(large, &parent);
    for (Leaf& leaf : children) grams_.close(leaf);
}

// Fits the leaf's model to what its parent's path leaves over (a root that did not split: to the labels).
void Grower::fit_model(Leaf& leaf, const Leaf* parent) {
    const Sample sample = take_sample(leaf, child(leaf.key, kModelBatch), parent);
    const std::int64_t stride = padded_rows(sample.n);
    double* fitted = fitted_.get(n_outputs_ * stride);
    double* model = builder_.add_model(leaf.node);
    PseudoLabels labels = params_->shared_hessian ? loss_.shared_pseudo_labels(sample, loss_work_)
                                                  : loss_.pseudo_labels(sample, loss_work_);
    fit_to(labels, sample, leaf, parent, model);
    if (const auto [factor, shift] = loss_.adjust(fitted, sample, loss_work_); factor != 1 || shift != 0) {
        for (std::int64_t i = 0; i < sample.n; ++i) fitted[i] = factor * fitted[i] + shift;
        for (int k = 0; k <= inputs_->n(); ++k) model[k] *= factor;
        model[0] += shift;
    }
    if (parent == nullptr && loss_.most_steps() > 1) labels = repeat_steps(sample, leaf, model);
    loss_.centre(model, 1 + inputs_->n(), 1 + inputs_->n());  // the models are linear in their parameters
    loss_.centre(fitted, sample.n, stride);
    builder_.finish_model(leaf.node, leaf.uses_batch);

    double lower = -kInfinity, upper = kInfinity;
    if (is_clipped()) loss_.output_range(sample, labels, lower, upper);
    if (is_clipped() && is_monotone()) paths_.take_totals(leaf.node, sample, fitted);
    const double loss = leaf.may_split ? loss_.step(fitted, stride, lower, upper, sample)
                                       : loss_.last_step(fitted, stride, lower, upper, sample);
    leaf.loss = loss * leaf.weight / sample.weight;
    builder_.set_node(leaf.node, leaf.weight, leaf.loss, lower, upper);
}

// Fits a node's model, and writes what it makes of the rows to fitted_.
void Grower::fit_to(const PseudoLabels& labels, const Sample& sample, const Leaf& leaf, const Leaf* parent,
                    double* model) {
    const double* above = parent == nullptr ? nullptr : builder_.model(parent->node);
    Sample numbered = sample;
    const double* inputs = inputs_->find(numbered);
    const NodeProblem problem{.x = inputs,
                              .width = inputs_->width(),
                              .n_inputs = inputs_->n(),
                              .n_outputs = n_outputs_,
                              .sample = numbered,
                              .labels = labels,
                              .rules = params_->node,
                              .indicators = inputs_->indicators(),
                              .fitted = fitted_.data(),
                              .fitted_stride = padded_rows(sample.n),
                              .monotone = data_.model_monotone,
                              .path_slopes = above == nullptr ? nullptr : above + 1,
                              .gram = grams_.matrix(leaf)};
    if (interactions_ && inputs_->n() > 0)
        fit_allowed(problem, leaf.node, model);
    else
        model_->fit(problem, node_work_, model);
}

// Fits a model of the inputs that may act together with what was split on above the node; the other slopes are 0.
void Grower::fit_allowed(const NodeProblem& problem, std::int32_t node, double* model) {
    find_allowed(node);
    allowed_.clear();
    for (int j = 0; j < problem.n_inputs; ++j)
        if (interactions_->allows_input(j)) allowed_.push_back(j);
    const int n = static_cast<int>(allowed_.size());
    if (n == problem.n_inputs) return model_->fit(problem, node_work_, model);
    const FeatureList some{.numbers = allowed_.data(), .n = n};
    const std::int64_t n_rows = problem.sample.n, width = padded_width(n);
    double* x = some_inputs_.get(n_rows * width);
    for (std::int64_t i = 0; i < n_rows; ++i)
        gather_features(problem.x + std::int64_t{problem.sample.rows[i]} * problem.width, 1, problem.width, some,
                        x + i * width);
    identity_.resize(n_rows);
    std::iota(identity_.begin(), identity_.end(), 0);
    Sample sample = problem.sample;
    sample.rows = identity_.data();
    some_params_.resize(static_cast<std::size_t>(problem.n_outputs) * (1 + n));
    const NodeProblem own{.x = x,
                          .width = static_cast<int>(width),
                          .n_inputs = n,
                          .n_outputs = problem.n_outputs,
                          .sample = sample,
                          .labels = problem.labels,
                          .rules = problem.rules,
                          .indicators = nullptr,
                          .fitted = problem.fitted,
                          .fitted_stride = problem.fitted_stride};
    if (n == 0 && !constant_) constant_ = make_constant_model();
    (n == 0 ? constant_ : model_)->fit(own, node_work_, some_params_.data());
    std::fill_n(model, static_cast<std::ptrdiff_t>(problem.n_outputs) * (1 + problem.n_inputs), 0.0);
    for (int c = 0; c < problem.n_outputs; ++c) {
        const double* from = some_params_.data() + static_cast<std::ptrdiff_t>(c) * (1 + n);
        double* to = model + static_cast<std::ptrdiff_t>(c) * (1 + problem.n_inputs);
        to[0] = from[0];
        for (int j = 0; j < n; ++j) to[1 + allowed_[j]] = from[1 + j];
    }
}

// Finds which columns may be used at a node.
void Grower::find_allowed(std::int32_t node) {
    path_.clear();
    for (node = builder_.parent(node); node >= 0; node = builder_.parent(node))
        path_.push_back(interactions_->column(builder_.feature(node)));
    interactions_->find_allowed(path_);
}

// Goes on from the first Newton step of a tree of one node and one output, whose model is fitted to the whole of what
// its rows should be: so the penalty is on the whole model. Leaves the state as it was, and returns its pseudo-labels.
PseudoLabels Grower::repeat_steps(const Sample& sample, const Leaf& leaf, double* model) {
    const std::int64_t n = sample.n;
    double* fitted = fitted_.data();
    double* total = total_.get(padded_rows(n));
    double* z = total_z_.get(padded_rows(n));
    std::vector<double> before(1 + inputs_->n());
    std::fill_n(total, n, 0.0);
    for (int step = 1;; ++step) {
        double longest = 0, largest = 1;
        for (std::int64_t i = 0; i < n; ++i) {
            longest = std::max(longest, std::abs(fitted[i] - total[i]));
            largest = std::max(largest, std::abs(fitted[i]));
            std::swap(fitted[i], total[i]);
            fitted[i] = total[i] - fitted[i];
        }
        if (step == loss_.most_steps() || !(longest > kShortStep * largest)) break;
        loss_.step(fitted, padded_rows(n), -kInfinity, kInfinity, sample);
        const PseudoLabels rest = loss_.pseudo_labels(sample, loss_work_);
        for (std::int64_t i = 0; i < n; ++i) z[i] = total[i] + rest.z[i];
        std::copy_n(model, before.size(), before.data());
        fit_to({.z = z, .v = rest.v, .stride = padded_rows(n)}, sample, leaf, nullptr, model);
        longest = 0;
        for (std::int64_t i = 0; i < n; ++i) longest = std::max(longest, std::abs(fitted[i] -= total[i]));
        // Near the end a step may well raise the loss, if it lowers the penalty.
        const auto [factor, shift] = longest > kLongStep ? loss_.adjust(fitted, sample, loss_work_) : Adjustment{};
        for (std::int64_t i = 0; i < n; ++i) fitted[i] = total[i] + factor * fitted[i] + shift;
        for (std::size_t k = 0; k < before.size(); ++k) model[k] = before[k] + factor * (model[k] - before[k]);
        model[0] += shift;
    }
    std::copy_n(total, n, fitted);
    loss_.start(scores_.data(), padded_rows(n), sample);
    return loss_.pseudo_labels(sample, loss_work_);
}

}  // namespace boostforest
