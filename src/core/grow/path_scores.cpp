#include "path_scores.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest {

void PathScores::start(NodeInputs& inputs, bool is_clipped) {
    inputs_ = &inputs;
    is_clipped_ = is_clipped;
    const int width = inputs.indicators() == nullptr ? inputs.width() : inputs.indicators()->width;
    std::fill_n(slopes_.get(width), width, 0.0);
}

void PathScores::score(std::int32_t node, const Sample& sample, double* f, std::int64_t stride) {
    const int n_outputs = data_.loss.n_outputs();
    std::fill_n(f, n_outputs * stride, 0.0);
    if (data_.start != nullptr) {
        for (std::int64_t i = 0; i < sample.n; ++i)
            for (int c = 0; c < n_outputs; ++c)
                f[c * stride + i] = data_.start[std::int64_t{sample.rows[i]} * n_outputs + c];
    }
    if (node < 0 || builder_.model(node) == nullptr) return;
    if (data_.monotone != nullptr) return add_monotone(node, see(sample), f);
    const Seen seen = see(sample);
    if (inputs_->indicators() != nullptr) return add_models(node, seen, f, stride);
    add_blocks(node, seen, f, stride);
}

PathScores::Seen PathScores::see(const Sample& sample) {
    if (const Indicators* table = inputs_->indicators(); table != nullptr) {
        lists_.read(*table, sample.rows, sample.n);
        return {.x = table->x.data(), .width = table->width, .rows = sample.rows, .n = sample.n};
    }
    Sample numbered = sample;
    const double* x = inputs_->find(numbered);
    return {.x = x, .width = inputs_->width(), .rows = numbered.rows, .n = sample.n};
}

// Output of one model; good until the next call.
const double* PathScores::evaluate(const double* params, const Seen& seen) {
    double* slopes = slopes_.data();
    double* out = out_.get(seen.n);
    const Indicators* table = inputs_->indicators();
    if (table == nullptr) {
        std::copy_n(params + 1, inputs_->n(), slopes);
        kernels().linear_rows(seen.x, seen.rows, seen.n, seen.width, slopes, params[0], out);
        return out;
    }
    double* steps = steps_.get(table->n());
    double intercept = params[0];
    for (int j = 0; j < table->n_rest(); ++j) slopes[j] = params[1 + table->rest[j]];
    for (int m = 0; m < table->n(); ++m) {
        const double slope = params[1 + table->feature[m]];
        intercept += slope * table->frequent[m];
        steps[m] = slope * (table->rare[m] - table->frequent[m]);
    }
    kernels().linear_rows(seen.x, seen.rows, seen.n, seen.width, slopes, intercept, out);
    const std::uint16_t* member = lists_.member.data();
    const std::int32_t* owner = lists_.owner.data();
    for (std::int64_t i = 0; i < lists_.n_members; ++i) out[owner[i]] += steps[member[i]];
    return out;
}

// Clipped models are added up from the node to the root; otherwise the node has the sum of the path.
void PathScores::add_models(std::int32_t node, const Seen& seen, double* f, std::int64_t stride) {
    for (; node >= 0 && builder_.model(node) != nullptr; node = is_clipped_ ? builder_.parent(node) : -1) {
        const double* params = builder_.model(node);
        const double low = builder_.lower(node), high = builder_.upper(node);
        for (int c = 0; c < data_.loss.n_outputs(); ++c, params += 1 + inputs_->n()) {
            const double* out = evaluate(params, seen);
            for (std::int64_t i = 0; i < seen.n; ++i) f[c * stride + i] += std::min(std::max(out[i], low), high);
        }
    }
}

// The same a few rows at a time: their inputs stay in the cache for the models of all outputs and nodes.
void PathScores::add_blocks(std::int32_t node, const Seen& seen, double* f, std::int64_t stride) {
    constexpr std::int64_t kRows = 64;
    const int n_outputs = data_.loss.n_outputs(), n = inputs_->n();
    path_.clear();
    for (; node >= 0 && builder_.model(node) != nullptr; node = is_clipped_ ? builder_.parent(node) : -1)
        path_.push_back(node);
    const std::int64_t n_models = std::ssize(path_) * n_outputs, width = seen.width;
    double* slopes = padded_.get(n_models * (width + 1));
    double* intercepts = slopes + n_models * width;
    for (std::int64_t m = 0; m < n_models; ++m) {
        const double* params = builder_.model(path_[m / n_outputs]) + m % n_outputs * (1 + n);
        intercepts[m] = params[0];
        std::copy_n(params + 1, n, slopes + m * width);
        std::fill(slopes + m * width + n, slopes + (m + 1) * width, 0.0);
    }
    for (std::int64_t first = 0; first < seen.n; first += kRows) {
        const std::int64_t n_rows = std::min(kRows, seen.n - first);
        for (std::int64_t m = 0; m < n_models; m += n_outputs) {
            const std::int32_t step = path_[m / n_outputs];
            kernels().add_clipped_rows(seen.x, seen.rows + first, n_rows, seen.width, slopes + m * width,
                                       intercepts + m, n_outputs, builder_.lower(step), builder_.upper(step), f + first,
                                       stride);
        }
    }
}

// Under constraints all nodes have the sum of their path: no score leaves the parent's by more than the clip range.
void PathScores::add_monotone(std::int32_t node, const Seen& seen, double* f) {
    path_.assign(1, node);
    for (node = builder_.parent(node); is_clipped_ && node >= 0 && builder_.model(node) != nullptr;
         node = builder_.parent(node))
        path_.push_back(node);
    double* own = own_.get(seen.n);
    std::fill_n(own, seen.n, 0.0);
    for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
        const double low = builder_.lower(*step), high = builder_.upper(*step);
        const double* out = evaluate(builder_.model(*step), seen);
        for (std::int64_t i = 0; i < seen.n; ++i) own[i] = std::min(std::max(out[i], own[i] + low), own[i] + high);
    }
    for (std::int64_t i = 0; i < seen.n; ++i) f[i] += own[i];
}

void PathScores::take_totals(std::int32_t node, const Sample& sample, double* fitted) {
    const double* out = evaluate(builder_.model(node), see(sample));
    double* scores = own_.get(sample.n);
    data_.loss.scores(sample, scores);
    for (std::int64_t i = 0; i < sample.n; ++i) {
        const double start = data_.start == nullptr ? 0.0 : data_.start[sample.rows[i]];
        fitted[i] = start + out[i] - scores[i];
    }
}

}  // namespace boostforest
