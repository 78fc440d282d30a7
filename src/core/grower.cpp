#include "grower.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels.hpp"

namespace boostforest {

namespace {

constexpr int kMaxRootAttempts = 100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, std::int32_t* counts) {
    const Key key = child(seed, kBootstrap);
    std::fill_n(counts, n_rows, 0);
    if (sampling.cumulative == nullptr) {
        for (std::int64_t i = 0; i < sampling.n_draws; ++i) ++counts[below(key, i, n_rows)];
        return;
    }
    const double* end = sampling.cumulative + n_rows;
    for (std::int64_t i = 0; i < sampling.n_draws; ++i) {
        const double* hit = std::upper_bound(sampling.cumulative, end, uniform(key, i) * end[-1]);
        ++counts[std::min(hit - sampling.cumulative, n_rows - 1)];
    }
}

Grower::Grower(const Dataset& data, const Sampling& sampling)
    : data_(data),
      sampling_(sampling),
      width_(padded_width(data.n_features)),
      loss_(make_loss(data.task, data.n_classes)),
      n_outputs_(loss_->n_outputs()),
      counts_(data.n_rows),
      weights_(data.n_rows) {}

// Fills rows_ with the distinct rows of the tree, in order, and returns the root.
Grower::Leaf Grower::draw_replica(Key seed) {
    if (sampling_.bootstrap) {
        draw_bootstrap(seed, data_.n_rows, sampling_, counts_.data());
        std::copy(counts_.begin(), counts_.end(), weights_.begin());
        if (sampling_.balance_classes) balance_classes();
    } else {
        std::fill(counts_.begin(), counts_.end(), 1);
        for (std::int64_t i = 0; i < data_.n_rows; ++i)
            weights_[i] = sampling_.weight == nullptr ? 1 : sampling_.weight[i];
    }
    std::int32_t* rows = rows_.get(data_.n_rows);
    Leaf root;
    root.key = child(seed, kRoot);
    for (std::int64_t i = 0; i < data_.n_rows; ++i) {
        if (counts_[i] == 0 || weights_[i] == 0) continue;
        rows[root.end++] = static_cast<std::int32_t>(i);
        root.weight += weights_[i];
        root.count += counts_[i];
    }
    n_replica_ = root.end;
    return root;
}

// class_weight="balanced_subsample": rows / (classes · rows of the class), over the replica.
void Grower::balance_classes() {
    std::vector<double> drawn(data_.n_classes, 0.0);
    for (std::int64_t i = 0; i < data_.n_rows; ++i) drawn[static_cast<std::size_t>(data_.y[i])] += counts_[i];
    const auto n_present = std::count_if(drawn.begin(), drawn.end(), [](double n) { return n > 0; });
    const auto n_draws = static_cast<double>(sampling_.n_draws);
    for (std::int64_t i = 0; i < data_.n_rows; ++i)
        if (counts_[i] > 0)
            weights_[i] =
                counts_[i] * n_draws / (static_cast<double>(n_present) * drawn[static_cast<std::size_t>(data_.y[i])]);
}

GrownTree Grower::grow(const TreeParams& params, Worker& worker) {
    params_ = &params;
    if (!model_ || model_kind_ != params.model) {
        model_ = make_node_model(params.model);
        model_kind_ = params.model;
    }
    clip_ = params.clip && data_.task == Task::kRegression;
    sum_path_ = clip_ || !model_->is_linear();
    builder_.start(n_outputs_ * model_->n_params(data_.n_features), sum_path_);

    Leaf root = draw_replica(params.seed);
    root.has_scores = !uses_batch(root);
    std::fill_n(scores_.get(n_outputs_ * n_replica_), n_outputs_ * n_replica_, 0.0);
    const Sample sample = take_sample(root, child(root.key, kModelBatch), 0, root.has_scores);
    root.loss = loss_->value(sample.f, sample.stride, y_.data(), w_.data(), sample.n) * root.weight / sample.weight;
    builder_.set_node(0, root.weight, root.loss, -kInfinity, kInfinity);

    // Draws hang on a node's path, so without a limit on the leaves the order does not matter: depth first keeps the
    // rows in the cache. With one, the leaf of the highest loss is next (ties: the older one).
    const bool best_first = params.max_leaf_nodes > 0;
    const auto later = [](const Leaf& a, const Leaf& b) {
        return a.loss != b.loss ? a.loss < b.loss : a.node > b.node;
    };
    std::int64_t n_leaves = 1;
    open_.assign(1, root);
    while (!open_.empty() && (!best_first || n_leaves < params.max_leaf_nodes)) {
        worker.check();
        if (best_first) std::pop_heap(open_.begin(), open_.end(), later);
        const Leaf leaf = open_.back();
        open_.pop_back();
        const Split found = find_split(leaf);
        if (found.feature < 0) continue;
        Leaf children[2];
        split(leaf, found, children);
        ++n_leaves;
        for (const Leaf& next : {children[1], children[0]}) {
            open_.push_back(next);
            if (best_first) std::push_heap(open_.begin(), open_.end(), later);
        }
    }
    if (n_leaves == 1) fit_model(root, nullptr);
    return {builder_.finish(), params.model, sum_path_};
}

// The rows of a leaf, or a batch of them, with weights (w_), labels (y_) and scores. Scores that are not in place are
// computed from the path of node `scored_by`: for a whole node into scores_, for a batch aside.
Grower::Sample Grower::take_sample(const Leaf& leaf, Key batch_key, std::int32_t scored_by, bool scores_in_place) {
    Sample sample;
    const bool batch = uses_batch(leaf);
    if (batch) {
        take_batch(leaf, batch_key);
        sample = {batch_rows_.data(), batch_n_, nullptr, batch_n_, 0};
        sample.f = batch_f_.get(n_outputs_ * sample.n);
    } else {
        sample = {rows_.data() + leaf.begin, leaf.end - leaf.begin, scores_.data() + leaf.begin, n_replica_, 0};
        double* w = w_.get(sample.n);
        for (std::int64_t i = 0; i < sample.n; ++i) w[i] = weights_[sample.rows[i]];
    }
    double* y = y_.get(sample.n);
    const double* w = w_.data();
    for (std::int64_t i = 0; i < sample.n; ++i) {
        y[i] = data_.y[sample.rows[i]];
        sample.weight += w[i];
    }
    if (batch || !scores_in_place) score_path(scored_by, sample.rows, sample.n, sample.f, sample.stride);
    return sample;
}

// batch_size of the leaf's rows without replacement, a row that was drawn k times counting as k rows.
void Grower::take_batch(const Leaf& leaf, Key key) {
    const std::int64_t b = params_->batch_size;
    std::int64_t* positions = positions_.get(b);
    draw_batch(key, leaf.count, b, taken_, positions);
    std::int32_t* rows = batch_rows_.get(b);
    double* w = w_.get(b);
    batch_n_ = 0;
    std::int64_t passed = 0, next = 0;  // rows before the current one, positions used
    for (std::int64_t i = leaf.begin; next < b; ++i) {
        const std::int32_t row = rows_.data()[i];
        passed += counts_[row];
        const std::int64_t first = next;
        while (next < b && positions[next] < passed) ++next;
        if (next == first) continue;
        rows[batch_n_] = row;
        w[batch_n_++] = weights_[row] * static_cast<double>(next - first) / counts_[row];
    }
}

// f = Σ of the models on the path to the node.
void Grower::score_path(std::int32_t node, const std::int32_t* rows, std::int64_t n, double* f, std::int64_t stride) {
    for (int c = 0; c < n_outputs_; ++c) std::fill_n(f + c * stride, n, 0.0);
    if (builder_.model(node) == nullptr) return;
    const int n_params = model_->n_params(data_.n_features);
    double* slopes = path_slopes_.get(width_);
    double* out = path_out_.get(n);
    double* x = path_rows_.get(static_cast<std::size_t>(n) * width_);
    std::fill_n(slopes, width_, 0.0);
    kernels().gather_shifted(data_.x, rows, n, width_, slopes, x);
    for (; node >= 0 && builder_.model(node) != nullptr; node = sum_path_ ? builder_.parent(node) : -1) {
        const double* params = builder_.model(node);
        const double low = builder_.lower(node), high = builder_.upper(node);
        for (int c = 0; c < n_outputs_; ++c, params += n_params) {
            std::copy_n(params + 1, n_params - 1, slopes);
            kernels().linear(x, n, width_, slopes, params[0], out);
            for (std::int64_t i = 0; i < n; ++i) f[c * stride + i] += std::min(std::max(out[i], low), high);
        }
    }
}

// Derivatives of the loss at the sample's scores into g_ and h_.
void Grower::derive(const Sample& sample) {
    double* g = g_.get(n_outputs_ * sample.n);
    double* h = loss_->is_least_squares() ? nullptr : h_.get(n_outputs_ * sample.n);
    loss_->derivatives(sample.f, sample.stride, y_.data(), sample.n, g, h, sample.n);
}

Split Grower::find_split(const Leaf& leaf) {
    const SplitRules& rules = params_->split;
    if (params_->max_depth >= 0 && leaf.depth >= params_->max_depth) return {};
    if (leaf.weight < 2 * rules.min_samples_leaf || leaf.end - leaf.begin < 2) return {};
    const int attempts = leaf.node == 0 ? kMaxRootAttempts : 1;
    Split split;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const Key key = child(leaf.key, kFirstAttempt + attempt);
        const Sample sample = take_sample(leaf, child(key, kSplitBatch), leaf.node, leaf.has_scores);
        derive(sample);
        const double* h = loss_->is_least_squares() ? nullptr : h_.data();
        split = finder_.find({data_.x, sample.rows, sample.n, width_, data_.n_features, w_.data(), sample.weight,
                              y_.data(), g_.data(), h, sample.n, n_outputs_, data_.n_classes},
                             rules, key);
        split.gain *= leaf.weight / sample.weight;
        if (split.feature >= 0 || (!split.possible && !uses_batch(leaf))) break;
    }
    return split;
}

// Stable, in place; the scores move along. Returns where the right side begins.
std::int64_t Grower::partition(const Leaf& leaf, const Split& split) {
    std::int32_t* rows = rows_.data();
    std::int32_t* right_rows = right_rows_.get(leaf.end - leaf.begin);
    const double* column = data_.x + split.feature;
    std::int64_t middle = leaf.begin, n_right = 0;
    if (!leaf.has_scores) {
        for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
            const bool left = column[static_cast<std::int64_t>(rows[i]) * width_] <= split.threshold;
            right_rows[n_right] = rows[i];
            rows[middle] = rows[i];
            middle += left;
            n_right += !left;
        }
    } else {
        double* f = scores_.data();
        double* right_f = right_scores_.get(n_outputs_ * (leaf.end - leaf.begin));
        for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
            const bool left = column[static_cast<std::int64_t>(rows[i]) * width_] <= split.threshold;
            std::int32_t& row = left ? rows[middle] : right_rows[n_right];
            double* to = left ? f + middle : right_f + n_right * n_outputs_;
            const std::int64_t step = left ? n_replica_ : 1;
            row = rows[i];
            for (int c = 0; c < n_outputs_; ++c) to[c * step] = f[c * n_replica_ + i];
            middle += left;
            n_right += !left;
        }
        for (int c = 0; c < n_outputs_; ++c)
            for (std::int64_t i = 0; i < n_right; ++i) f[c * n_replica_ + middle + i] = right_f[i * n_outputs_ + c];
    }
    std::copy_n(right_rows, n_right, rows + middle);
    return middle;
}

void Grower::split(const Leaf& leaf, const Split& split, Leaf (&children)[2]) {
    const std::int64_t middle = partition(leaf, split);
    const std::int32_t left = builder_.add_children(leaf.node, split.feature, split.threshold, split.gain);
    for (int side = 0; side < 2; ++side) {
        Leaf& next = children[side];
        next.node = left + side;
        next.depth = leaf.depth + 1;
        next.key = child(leaf.key, side == 0 ? kLeftChild : kRightChild);
        next.begin = side == 0 ? leaf.begin : middle;
        next.end = side == 0 ? middle : leaf.end;
        for (std::int64_t i = next.begin; i < next.end; ++i) {
            next.weight += weights_[rows_.data()[i]];
            next.count += counts_[rows_.data()[i]];
        }
        fit_model(next, &leaf);
    }
}

// Fits the leaf's model to what its parent's path leaves over (a root that did not split: to the labels).
void Grower::fit_model(Leaf& leaf, const Leaf* parent) {
    const bool scores_in_place = parent == nullptr ? leaf.has_scores : parent->has_scores;
    const std::int32_t scored_by = parent == nullptr ? 0 : parent->node;
    const Sample sample = take_sample(leaf, child(leaf.key, kModelBatch), scored_by, scores_in_place);
    const std::int64_t n = sample.n;
    derive(sample);
    double* z = z_.get(n_outputs_ * n);
    double* v = v_.get(n_outputs_ * n);
    double* fitted = fitted_.get(n_outputs_ * n);
    loss_->pseudo_labels(g_.data(), h_.data(), w_.data(), n, n, z, v);

    double* model = builder_.add_model(leaf.node);
    model_->fit(
        {data_.x, sample.rows, n, width_, data_.n_features, n_outputs_, w_.data(), z, v, n, params_->split.reg_lambda},
        node_work_, model, fitted);
    if (n_outputs_ > 1) centre_outputs(model, fitted, n, n);
    double lower = -kInfinity, upper = kInfinity;
    if (clip_) {
        const auto [least, most] = std::minmax_element(z, z + n);
        lower = *least;
        upper = *most;
        for (std::int64_t i = 0; i < n; ++i) fitted[i] = std::min(std::max(fitted[i], lower), upper);
    }
    builder_.finish_model(leaf.node);

    for (int c = 0; c < n_outputs_; ++c)
        for (std::int64_t i = 0; i < n; ++i) sample.f[c * sample.stride + i] += fitted[c * n + i];
    leaf.has_scores = !uses_batch(leaf);
    leaf.loss = loss_->value(sample.f, sample.stride, y_.data(), w_.data(), n) * leaf.weight / sample.weight;
    builder_.set_node(leaf.node, leaf.weight, leaf.loss, lower, upper);
}

// f_c <- (J - 1)/J (f_c - mean of f), as in LogitBoost; the models are linear in their parameters, so these are
// centred.
void Grower::centre_outputs(double* params, double* fitted, std::int64_t n, std::int64_t stride) {
    const int n_params = model_->n_params(data_.n_features);
    const auto centre = [this](double* p, std::int64_t step, std::int64_t count) {
        const double share = 1.0 / n_outputs_;
        for (std::int64_t i = 0; i < count; ++i) {
            double mean = 0;
            for (int c = 0; c < n_outputs_; ++c) mean += p[c * step + i] * share;
            for (int c = 0; c < n_outputs_; ++c) p[c * step + i] = (1 - share) * (p[c * step + i] - mean);
        }
    };
    centre(params, n_params, n_params);
    centre(fitted, stride, n);
}

}  // namespace boostforest
