#include "grower.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels.hpp"

namespace boostforest {

namespace {

constexpr int kMaxRootAttempts = 100;
constexpr std::int64_t kKeptUnits = std::int64_t{1} << 22;  // hidden units that a thread keeps: 32 MB
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kDrawsPerCheck = 1 << 16;

}  // namespace

void draw_bootstrap(Key seed, std::int64_t n_rows, const Sampling& sampling, Worker& worker, std::int32_t* counts) {
    const Key key = child(seed, kBootstrap);
    const double* end = sampling.cumulative == nullptr ? nullptr : sampling.cumulative + n_rows;
    std::fill_n(counts, n_rows, 0);
    for (std::int64_t first = 0; first < sampling.n_draws; first += kDrawsPerCheck) {
        const std::int64_t last = std::min(first + kDrawsPerCheck, sampling.n_draws);
        if (end == nullptr) {
            for (std::int64_t i = first; i < last; ++i) ++counts[below(key, i, n_rows)];
        } else {
            for (std::int64_t i = first; i < last; ++i) {
                const double* hit = std::upper_bound(sampling.cumulative, end, uniform(key, i) * end[-1]);
                ++counts[std::min(hit - sampling.cumulative, n_rows - 1)];
            }
        }
        worker.check(16 * (last - first));
    }
}

Grower::Grower(const Dataset& data, const Sampling& sampling, Stored stored)
    : data_(data),
      sampling_(sampling),
      stored_(stored),
      width_(padded_width(data.n_features)),
      model_width_(padded_width(data.n_model_features)),
      loss_(make_loss(data.task, data.n_classes)),
      n_outputs_(loss_->n_outputs()),
      counts_(data.n_rows),
      weights_(data.n_rows) {}

// Fills rows_ with the distinct rows of the tree, in order, and returns the root.
Grower::Leaf Grower::draw_replica(Key seed, Worker& worker) {
    if (sampling_.bootstrap) {
        draw_bootstrap(seed, data_.n_rows, sampling_, worker, counts_.data());
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
        const bool drawn = counts_[i] != 0 && weights_[i] != 0;  // a selection, not a branch: it cannot be predicted
        rows[root.end] = static_cast<std::int32_t>(i);
        root.end += drawn;
        root.weight += drawn ? weights_[i] : 0.0;
        root.count += drawn ? counts_[i] : 0;
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
    worker_ = node_work_.ridge.worker = &worker;
    const NodeFit fit = data_.n_model_features == 0 ? NodeFit::kConstant : params.node.fit;
    if (!model_ || model_fit_ != fit) {
        model_ = make_node_model(fit);
        model_fit_ = fit;
    }
    clip_ = params.clip && data_.task == Task::kRegression;
    sum_path_ = clip_ && !is_monotone();  // a clipped sum is not linear

    const ModelKind kind = model_kind(model_fit_);
    n_inputs_ = kind == ModelKind::kConstant ? 0
                : kind == ModelKind::kLinear ? data_.n_model_features
                                             : params.node.n_hidden;
    builder_.start(n_outputs_ * (1 + n_inputs_),
                   sum_path_       ? PathForm::kOwnModels
                   : is_monotone() ? PathForm::kAllSums
                                   : PathForm::kLeafSums,
                   stored_);
    node_work_.n_unconverged = 0;

    const bool best_first = params.max_leaf_nodes > 0;
    Leaf root = draw_replica(params.seed, worker);
    w_.get(n_replica_);
    y_.get(n_replica_);
    state_.get(loss_->n_state() * n_replica_);
    const Sample sample = take_sample(root, child(root.key, kModelBatch), 0, false);
    start_models(sample);
    const bool is_dense_ridge =
        model_fit_ == NodeFit::kElm || (model_fit_ == NodeFit::kRidge && data_.model_indicators == nullptr);
    hands_down_ = data_.task == Task::kRegression && is_dense_ridge && !is_monotone() && input_width_ > kSmallWidth &&
                  !best_first;
    grams_.clear();
    root.has_state = !uses_batch(root);
    root.loss = start_loss_ * root.weight / sample.weight;
    builder_.set_node(0, root.weight, root.loss, -kInfinity, kInfinity);

    // Draws hang on a node's path, so without a limit on the leaves the order does not matter: depth first keeps the
    // rows in the cache. With one, the leaf of the highest loss is next (ties: the older one).
    const auto later = [](const Leaf& a, const Leaf& b) {
        return a.loss != b.loss ? a.loss < b.loss : a.node > b.node;
    };
    std::int64_t n_leaves = 1;
    open_.assign(1, root);
    while (!open_.empty() && (!best_first || n_leaves < params.max_leaf_nodes)) {
        if (best_first) std::pop_heap(open_.begin(), open_.end(), later);
        const Leaf leaf = open_.back();
        open_.pop_back();
        worker.check(1000 + (leaf.end - leaf.begin) * width_);
        const Split found = find_split(leaf);
        if (found.feature < 0) {
            release_gram(leaf.gram);
            continue;
        }
        Leaf children[2];
        split(leaf, found, children);
        ++n_leaves;
        for (const Leaf& next : {children[1], children[0]}) {
            open_.push_back(next);
            if (best_first) std::push_heap(open_.begin(), open_.end(), later);
        }
    }
    if (n_leaves == 1) fit_model(root, nullptr);
    return {builder_.finish(), kind, sum_path_, node_work_.n_unconverged,
            kind == ModelKind::kHidden ? layer_.values() : std::vector<double>()};
}

// What the node models of a tree share: `sample` are the rows of the root, or a batch of them.
void Grower::start_models(const Sample& sample) {
    input_width_ = model_width_;
    if (model_fit_ != NodeFit::kElm) return;
    input_width_ = hidden_width(n_inputs_);
    layer_.draw(child(params_->seed, kHiddenLayer), n_inputs_, data_.model_x, model_width_, data_.n_model_features,
                sample, *worker_);
    keeps_units_ = data_.n_rows * input_width_ <= kKeptUnits;
    if (!keeps_units_) return;
    layer_.evaluate(data_.model_x, rows_.data(), n_replica_, model_width_, *worker_,
                    units_.get(data_.n_rows * input_width_));
}

// The table that node models are fitted to; the rows of the sample get the numbers that they have there.
const double* Grower::find_inputs(Sample& sample) {
    if (model_fit_ != NodeFit::kElm) return data_.model_x;
    if (keeps_units_) return units_.data();
    const std::int64_t n = sample.n;
    gather_rows(sample);
    layer_.evaluate(path_rows_.data(), nullptr, n, model_width_, *worker_,
                    units_.get(static_cast<std::size_t>(n) * input_width_));
    std::int32_t* rows = unit_rows_.get(n);
    std::iota(rows, rows + n, 0);
    sample.rows = rows;
    return units_.data();
}

// The rows of a leaf, or a batch of them. A state that is not in place is computed from the path of node `scored_by`,
// for a whole leaf into its place.
Sample Grower::take_sample(const Leaf& leaf, Key batch_key, std::int32_t scored_by, bool state_in_place) {
    const bool batch = uses_batch(leaf);
    const Sample sample = batch ? take_batch(leaf, batch_key) : whole_leaf(leaf);
    if (!batch && state_in_place) return sample;
    if (!batch) {
        for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
            const std::int32_t row = rows_.data()[i];
            w_.data()[i] = weights_[row];
            y_.data()[i] = data_.y[row];
        }
    }
    const std::int64_t stride = padded_rows(sample.n);
    double* f = path_f_.get(n_outputs_ * stride);
    score_path(scored_by, sample, f, stride);
    start_loss_ = loss_->start(f, stride, sample);
    return sample;
}

Sample Grower::whole_leaf(const Leaf& leaf) {
    return {rows_.data() + leaf.begin, leaf.end - leaf.begin,      leaf.weight, w_.data() + leaf.begin,
            y_.data() + leaf.begin,    state_.data() + leaf.begin, n_replica_};
}

// batch_size of the leaf's rows without replacement, a row that was drawn k times counting as k rows.
Sample Grower::take_batch(const Leaf& leaf, Key key) {
    const std::int64_t b = params_->batch_size;
    const std::uint64_t* taken = draw_batch(key, leaf.count, b, batch_taken_);
    std::int32_t* rows = batch_rows_.get(b + 1);
    double* w = batch_w_.get(b + 1);
    double* y = batch_y_.get(b + 1);
    Sample sample{rows, 0, 0, w, y, batch_state_.get(loss_->n_state() * padded_rows(b)), padded_rows(b)};
    std::int32_t* drawn = batch_drawn_.get(b + 1);
    sample.n = kernels().take_draws(rows_.data() + leaf.begin, leaf.end - leaf.begin, counts_.data(), taken,
                                    leaf.count > 4 * b, rows, drawn);
    for (std::int64_t i = 0; i < sample.n; ++i) {
        w[i] = weights_[rows[i]] * drawn[i] / counts_[rows[i]];
        y[i] = data_.y[rows[i]];
        sample.weight += w[i];
    }
    return sample;
}

// f = what the tree starts from + Σ of the models on the path to the node.
void Grower::score_path(std::int32_t node, const Sample& sample, double* f, std::int64_t stride) {
    const std::int64_t n = sample.n;
    std::fill_n(f, n_outputs_ * stride, 0.0);
    if (data_.start != nullptr) {
        for (std::int64_t i = 0; i < n; ++i)
            for (int c = 0; c < n_outputs_; ++c)
                f[c * stride + i] = data_.start[std::int64_t{sample.rows[i]} * n_outputs_ + c];
    }
    if (builder_.model(node) == nullptr) return;
    if (is_monotone()) return score_monotone_path(node, sample, f);
    const bool on_units = model_fit_ == NodeFit::kElm;
    const Indicators* lists = n_inputs_ == 0 || on_units ? nullptr : data_.model_indicators;
    Sample seen = sample;
    const double* inputs = lists == nullptr ? find_inputs(seen) : lists->x.data();
    const int width = lists == nullptr ? input_width_ : lists->width;
    double* slopes = path_slopes_.get(2 * std::max(model_width_, input_width_));
    double* out = path_out_.get(n);
    std::fill_n(slopes, std::max(model_width_, input_width_), 0.0);
    for (; node >= 0 && builder_.model(node) != nullptr; node = sum_path_ ? builder_.parent(node) : -1) {
        const double* params = builder_.model(node);
        const double low = builder_.lower(node), high = builder_.upper(node);
        for (int c = 0; c < n_outputs_; ++c, params += 1 + n_inputs_) {
            if (lists != nullptr) {
                score_lists(*lists, sample, params, out);
            } else {
                std::copy_n(params + 1, n_inputs_, slopes);
                kernels().linear_rows(inputs, seen.rows, n, width, slopes, params[0], out);
            }
            for (std::int64_t i = 0; i < n; ++i) f[c * stride + i] += std::min(std::max(out[i], low), high);
        }
    }
}

// One linear model on rows whose indicators are lists.
void Grower::score_lists(const Indicators& lists, const Sample& sample, const double* params, double* out) {
    double* slopes = path_slopes_.data();  // zeros behind the features
    double* steps = slopes + model_width_;
    double intercept = params[0];
    for (int j = 0; j < lists.n_rest(); ++j) slopes[j] = params[1 + lists.rest[j]];
    for (int m = 0; m < lists.n(); ++m) {
        const double slope = params[1 + lists.feature[m]];
        intercept += slope * lists.frequent[m];
        steps[m] = slope * (lists.rare[m] - lists.frequent[m]);
    }
    path_lists_.read(lists, sample.rows, sample.n);
    kernels().linear_rows(lists.x.data(), sample.rows, sample.n, lists.width, slopes, intercept, out);
    const std::uint16_t* member = path_lists_.member.data();
    const std::int32_t* owner = path_lists_.owner.data();
    for (std::int64_t i = 0; i < path_lists_.n_members; ++i) out[owner[i]] += steps[member[i]];
}

// The features of a sample's rows that node models see, next to each other, for evaluate().
void Grower::gather_rows(const Sample& sample) {
    double* zeros = path_slopes_.get(model_width_);
    std::fill_n(zeros, model_width_, 0.0);
    kernels().gather_shifted(data_.model_x, sample.rows, sample.n, model_width_, zeros,
                             path_rows_.get(static_cast<std::size_t>(sample.n) * model_width_));
}

// Output of a linear model for n gathered rows; good until the next call.
const double* Grower::evaluate(const double* params, std::int64_t n) {
    double* slopes = path_slopes_.get(model_width_);
    double* out = path_out_.get(n);
    std::copy_n(params + 1, n_inputs_, slopes);
    std::fill(slopes + n_inputs_, slopes + model_width_, 0.0);
    kernels().linear(path_rows_.data(), n, model_width_, slopes, params[0], out);
    return out;
}

// score_path under constraints, where parameters are sums: no score leaves the parent's by more than the clip range.
void Grower::score_monotone_path(std::int32_t node, const Sample& sample, double* f) {
    gather_rows(sample);
    path_.assign(1, node);
    for (node = builder_.parent(node); clip_ && node >= 0 && builder_.model(node) != nullptr;
         node = builder_.parent(node))
        path_.push_back(node);
    double* own = path_sums_.get(sample.n);  // without what the tree starts from
    std::fill_n(own, sample.n, 0.0);
    for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
        const double low = builder_.lower(*step), high = builder_.upper(*step);
        const double* out = evaluate(builder_.model(*step), sample.n);
        for (std::int64_t i = 0; i < sample.n; ++i) own[i] = std::min(std::max(out[i], own[i] + low), own[i] + high);
    }
    for (std::int64_t i = 0; i < sample.n; ++i) f[i] += own[i];
}

// Under constraints and with clipping a step leads from the score, y less its residual, to the sum of the models on the
// path and what the tree starts from: a model that was clipped further up may be needed in full here.
void Grower::take_totals(std::int32_t node, const Sample& sample, double* fitted) {
    gather_rows(sample);
    const double* out = evaluate(builder_.model(node), sample.n);
    for (std::int64_t i = 0; i < sample.n; ++i) {
        const double start = data_.start == nullptr ? 0.0 : data_.start[sample.rows[i]];
        fitted[i] = start + out[i] - (sample.y[i] - sample.state[i]);
    }
}

Split Grower::find_split(const Leaf& leaf) {
    const SplitRules& rules = params_->split;
    if (params_->max_depth >= 0 && leaf.depth >= params_->max_depth) return {};
    if (leaf.weight < 2 * rules.min_samples_leaf || leaf.end - leaf.begin < 2) return {};
    const int attempts = leaf.node == 0 ? kMaxRootAttempts : 1;
    Split split;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt > 0) worker_->check((leaf.end - leaf.begin) * width_);
        const Key key = child(leaf.key, kFirstAttempt + attempt);
        const Sample sample = take_sample(leaf, child(key, kSplitBatch), leaf.node, leaf.has_state);
        split = finder_.find({data_.x, width_, data_.split_features, sample, *loss_, data_.n_classes, data_.missing,
                              data_.indicators, *worker_},
                             rules, key);
        split.gain *= leaf.weight / sample.weight;
        if (split.feature >= 0 || (!split.possible && !uses_batch(leaf))) break;
    }
    return split;
}

bool Grower::goes_left(std::int32_t row, const Split& split) const {
    if (data_.missing != nullptr && data_.missing->test(row, split.feature)) return split.missing_left;
    return data_.x[static_cast<std::int64_t>(row) * width_ + split.feature] <= split.threshold;
}

// Stable, in place; what belongs to the rows moves along. Returns where the right side begins.
std::int64_t Grower::partition(const Leaf& leaf, const Split& split) {
    const std::int64_t n = leaf.end - leaf.begin;
    const std::int32_t* rows = rows_.data() + leaf.begin;
    std::uint8_t* left = goes_left_.get(n / 8 + 1);
    const auto mark = [&](auto test) {
        for (std::int64_t i = 0; i < n; i += 8) {
            unsigned bits = 0;
            for (std::int64_t k = 0; k < std::min<std::int64_t>(n - i, 8); ++k)
                bits |= unsigned{test(rows[i + k])} << k;
            left[i / 8] = static_cast<std::uint8_t>(bits);
        }
    };
    const auto mark_column = [&](const double* column, std::int64_t width) {
        mark([=, threshold = split.threshold](std::int64_t row) { return column[row * width] <= threshold; });
    };
    const Indicators* lists = data_.indicators;
    if (lists != nullptr && lists->number[split.feature] >= 0) {  // bits stay in the cache where the table does not
        const int m = lists->number[split.feature];
        const std::uint64_t* words = lists->is_rare.data() + m * lists->n_words;
        mark([words, rare_is_left = lists->rare[m] <= split.threshold](std::uint32_t row) {
            return ((words[row / 64] >> (row % 64) & 1) != 0) == rare_is_left;
        });
    } else if (data_.missing == nullptr && lists != nullptr) {
        mark_column(lists->x.data() - 1 - lists->number[split.feature], lists->width);
    } else if (data_.missing == nullptr) {
        mark_column(data_.x + split.feature, width_);
    } else {
        mark([&](std::int32_t row) { return goes_left(row, split); });
    }
    const std::int64_t n_left = kernels().part_rows(rows_.data() + leaf.begin, left, n, right_rows_.get(n));
    if (leaf.has_state) {
        double* right = right_.get(n);
        kernels().part_values(w_.data() + leaf.begin, left, n, right);
        kernels().part_values(y_.data() + leaf.begin, left, n, right);
        for (int k = 0; k < loss_->n_state(); ++k)
            kernels().part_values(state_.data() + k * n_replica_ + leaf.begin, left, n, right);
    }
    return leaf.begin + n_left;
}

// The side with more weight of the rows that have the feature: where rows without it go if none was seen.
bool Grower::left_is_larger(const Leaf& leaf, const Split& split) const {
    double balance = 0;
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) {
        const std::int32_t row = rows_.data()[i];
        if (!data_.missing->test(row, split.feature)) balance += goes_left(row, split) ? weights_[row] : -weights_[row];
    }
    return balance >= 0;
}

void Grower::split(const Leaf& leaf, Split split, Leaf (&children)[2]) {
    if (data_.missing != nullptr && !split.saw_missing) split.missing_left = left_is_larger(leaf, split);
    const std::int64_t middle = partition(leaf, split);
    for (int side = 0; side < 2; ++side) {
        Leaf& next = children[side];
        next.depth = leaf.depth + 1;
        next.key = child(leaf.key, side == 0 ? kLeftChild : kRightChild);
        next.begin = side == 0 ? leaf.begin : middle;
        next.end = side == 0 ? middle : leaf.end;
        if (leaf.has_state) {  // its children need no batch either: no need to count
            next.weight = kernels().sum(w_.data() + next.begin, next.end - next.begin);
            next.count = leaf.count;
            continue;
        }
        for (std::int64_t i = next.begin; i < next.end; ++i) {
            next.weight += weights_[rows_.data()[i]];
            next.count += counts_[rows_.data()[i]];
        }
    }
    if (data_.missing == nullptr) split.missing_left = children[0].weight >= children[1].weight;
    children[0].node = builder_.add_children(leaf.node, split.feature, split.threshold, split.missing_left, split.gain);
    children[1].node = children[0].node + 1;
    fit_children(leaf, children);
}

// Whether the Gram matrix of a leaf may be of use to its children.
bool Grower::keeps_gram(const Leaf& leaf) const {
    return hands_down_ && !uses_batch(leaf) && leaf.weight >= 2 * params_->split.min_samples_leaf &&
           leaf.end - leaf.begin > n_inputs_ && (params_->max_depth < 0 || leaf.depth < params_->max_depth);
}

// The smaller child first: what it takes away from its parent's Gram matrix leaves the other's.
void Grower::fit_children(const Leaf& parent, Leaf (&children)[2]) {
    const auto n_rows = [](const Leaf& leaf) { return leaf.end - leaf.begin; };
    const int first = n_rows(children[0]) <= n_rows(children[1]) ? 0 : 1;
    Leaf& small = children[first];
    Leaf& large = children[1 - first];
    const bool handed = parent.gram >= 0 && worth_handing_down(grams_[parent.gram], n_rows(small), n_rows(large),
                                                               n_inputs_, params_->node.reg_lambda);
    if (handed || keeps_gram(small)) small.gram = grams_.take();
    if (small.gram >= 0) grams_[small.gram].start(input_width_, handed);
    fit_model(small, &parent);
    if (handed) {
        large.gram = parent.gram;
        take_away(grams_[large.gram], grams_[small.gram], {parent.weight, small.weight, large.weight}, input_width_,
                  n_inputs_);
    } else {
        release_gram(parent.gram);
        if (keeps_gram(large)) large.gram = grams_.take();
        if (large.gram >= 0) grams_[large.gram].start(input_width_, false);
    }
    fit_model(large, &parent);
    for (Leaf& leaf : children) {
        if (leaf.gram < 0 || (keeps_gram(leaf) && grams_[leaf.gram].known)) continue;
        release_gram(leaf.gram);
        leaf.gram = -1;
    }
}

// Fits the leaf's model to what its parent's path leaves over (a root that did not split: to the labels).
void Grower::fit_model(Leaf& leaf, const Leaf* parent) {
    const bool state_in_place = parent == nullptr ? leaf.has_state : parent->has_state;
    const std::int32_t scored_by = parent == nullptr ? 0 : parent->node;
    const Sample sample = take_sample(leaf, child(leaf.key, kModelBatch), scored_by, state_in_place);
    const PseudoLabels labels = loss_->pseudo_labels(sample, loss_work_);
    const std::int64_t stride = padded_rows(sample.n);
    double* fitted = fitted_.get(n_outputs_ * stride);
    double* model = builder_.add_model(leaf.node);
    Sample seen = sample;
    const double* inputs = find_inputs(seen);
    const double* above = parent == nullptr ? nullptr : builder_.model(parent->node);
    model_->fit({inputs, input_width_, n_inputs_, n_outputs_, seen, labels, params_->node,
                 model_fit_ == NodeFit::kElm ? nullptr : data_.model_indicators, fitted, stride, data_.model_monotone,
                 above == nullptr ? nullptr : above + 1, leaf.gram < 0 ? nullptr : &grams_[leaf.gram]},
                node_work_, model);
    if (n_outputs_ > 1) {
        centre_outputs(model, 1 + n_inputs_, 1 + n_inputs_);  // the models are linear in their parameters
        centre_outputs(fitted, sample.n, stride);
    }
    builder_.finish_model(leaf.node, uses_batch(leaf));

    double lower = -kInfinity, upper = kInfinity;
    if (clip_) kernels().value_range(labels.z, sample.n, lower, upper);
    if (clip_ && is_monotone()) take_totals(leaf.node, sample, fitted);
    leaf.loss = loss_->step(fitted, stride, lower, upper, sample) * leaf.weight / sample.weight;
    leaf.has_state = !uses_batch(leaf);
    builder_.set_node(leaf.node, leaf.weight, leaf.loss, lower, upper);
}

// f_c <- (J - 1)/J (f_c - mean of f), as in LogitBoost.
void Grower::centre_outputs(double* values, std::int64_t n, std::int64_t stride) const {
    const double share = 1.0 / n_outputs_;
    for (std::int64_t i = 0; i < n; ++i) {
        double mean = 0;
        for (int c = 0; c < n_outputs_; ++c) mean += values[c * stride + i] * share;
        for (int c = 0; c < n_outputs_; ++c) values[c * stride + i] = (1 - share) * (values[c * stride + i] - mean);
    }
}

}  // namespace boostforest
