#include <algorithm>
#include <memory>

#include "../kernels/kernels.hpp"
#include "grower.hpp"

namespace boostforest::gbdt_pl {

namespace {

template <class T>
void append(const std::vector<T>& from, std::vector<T>& to) {
    to.insert(to.end(), from.begin(), from.end());
}

// Adds trees behind others. The starts of a part do not have the leading 0.
void append(const Columns& part, Columns& all) {
    const auto n_nodes = static_cast<std::int64_t>(all.feature.size());
    const auto n_terms = static_cast<std::int64_t>(all.term_feature.size());
    for (const std::int64_t start : part.tree_start) all.tree_start.push_back(n_nodes + start);
    for (const std::int64_t start : part.term_start) all.term_start.push_back(n_terms + start);
    append(part.feature, all.feature);
    append(part.threshold, all.threshold);
    append(part.left, all.left);
    append(part.gain, all.gain);
    append(part.n_samples, all.n_samples);
    append(part.intercept, all.intercept);
    append(part.term_feature, all.term_feature);
    append(part.term_slope, all.term_slope);
}

class Booster {
   public:
    Booster(const Table& table, int n_classes, const double* start, const Rules& rules, int n_threads)
        : table_(table),
          n_classes_(n_classes),
          n_outputs_(n_classes > 2 ? n_classes : 1),
          stride_(padded_rows(table.n_rows)),
          // Trees of several classes run side by side; a single one shares out its features instead.
          growers_(n_outputs_ > 1 ? std::clamp(n_threads, 1, std::min(n_outputs_, kMaxThreads)) : 1) {
        const std::int64_t size = n_outputs_ * stride_;
        double* scores = scores_.get(size);
        std::fill_n(p_.get(size), size, 0.0);
        g_.get(size);
        h_.get(size);
        for (int c = 0; c < n_outputs_; ++c) std::fill_n(scores + c * stride_, stride_, start[c]);
        copy_padded(table.y, y_);
        copy_padded(table.weight, weight_);
        for (auto& grower : growers_) grower = std::make_unique<Grower>(table_, rules, n_outputs_ > 1 ? 1 : n_threads);
    }

    void round(Columns& columns, Control& control, Worker& worker) {
        differentiate();
        if (n_outputs_ == 1) {
            growers_[0]->grow({.g = g_.data(), .h = h_.data()}, scores_.data(), columns, control, worker);
            return;
        }
        std::vector<Columns> parts(n_outputs_);
        parallel_for(n_outputs_, static_cast<int>(growers_.size()), control, [&](std::int64_t c, Worker& own) {
            const std::int64_t first = c * stride_;
            growers_[own.number()]->grow({.g = g_.data() + first, .h = h_.data() + first}, scores_.data() + first,
                                         parts[c], control, own);
        });
        for (const Columns& part : parts) append(part, columns);
    }

   private:
    // Kernels read and write whole vectors.
    void copy_padded(const double* values, Buffer<double>& out) {
        std::fill_n(std::copy_n(values, table_.n_rows, out.get(stride_)), stride_ - table_.n_rows, 0.0);
    }

    void differentiate() {
        const std::int64_t n = table_.n_rows;
        if (n_classes_ == 0) {
            for (std::int64_t i = 0; i < n; ++i) {
                g_.data()[i] = weight_.data()[i] * (scores_.data()[i] - y_.data()[i]);
                h_.data()[i] = weight_.data()[i];
            }
            return;
        }
        if (n_classes_ == 2)
            kernels().sigmoid(scores_.data(), n, p_.data());
        else
            kernels().softmax(scores_.data(), stride_, n, n_outputs_, p_.data(), stride_);
        for (int c = 0; c < n_outputs_; ++c) {
            const std::int64_t first = c * stride_;
            kernels().class_statistics(p_.data() + first, y_.data(), n_classes_ == 2 ? 1 : c, weight_.data(), n,
                                       g_.data() + first, h_.data() + first);
        }
    }

    const Table& table_;
    int n_classes_;  // 0 in regression
    int n_outputs_;
    std::int64_t stride_;
    std::vector<std::unique_ptr<Grower>> growers_;
    Buffer<double> scores_, p_, g_, h_, y_, weight_;
};

}  // namespace

Columns fit(const Table& table, int n_classes, const double* start, const Rules& rules, int n_threads,
            Control& control) {
    Booster booster(table, n_classes, start, rules, n_threads);
    Columns columns;
    columns.tree_start.push_back(0);
    columns.term_start.push_back(0);
    Worker worker(control, 0);
    for (int round = 0; round < rules.n_rounds; ++round) booster.round(columns, control, worker);
    if (control.stopped()) throw Cancelled();
    return columns;
}

}  // namespace boostforest::gbdt_pl
