#include "logit_boost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../kernels/kernels.hpp"

namespace boostforest {

// ----------------------------------------------------------------------------------------------------------- the rows

void ScoredRows::gather(const LogisticTable& table, const std::int32_t* rows, std::int64_t n, const double* centre,
                        const double* scores) {
    table_ = &table;
    n_ = n;
    stride_ = (n + 7) / 8 * 8;
    const int d = table.n_features, outputs = table.n_outputs();
    double* x = x_.get(d * stride_);
    for (int j = 0; j < d; ++j, x += stride_) {
        const double* column = table.scaled + j * table.n_rows;
        for (std::int64_t i = 0; i < n; ++i) x[i] = column[rows[i]] - centre[j];
        std::fill(x + n, x + stride_, 0.0);
    }
    double* y = y_.get(stride_);
    double* w = w_.get(stride_);
    double* f = f_.get(outputs * stride_);
    std::fill_n(y, stride_, 0.0);
    std::fill_n(w, stride_, 0.0);
    std::fill_n(f, outputs * stride_, 0.0);
    weight_ = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        y[i] = table.y[rows[i]];
        w[i] = table.weight[rows[i]];
        weight_ += w[i];
        for (int c = 0; c < outputs; ++c) f[c * stride_ + i] = scores[c * table.n_rows + rows[i]];
    }
    rest_.get(stride_);
    if (outputs > 1) p_.get(outputs * stride_);
    update_probabilities();
}

void ScoredRows::scatter_scores(const std::int32_t* rows, double* scores) const {
    for (int c = 0; c < table_->n_outputs(); ++c)
        for (std::int64_t i = 0; i < n_; ++i) scores[c * table_->n_rows + rows[i]] = f_.data()[c * stride_ + i];
}

void ScoredRows::update_probabilities() {
    double* rest = rest_.data();
    const double *f = f_.data(), *y = y_.data();
    if (table_->n_classes == 2) {
        for (std::int64_t i = 0; i < stride_; ++i) rest[i] = y[i] == 1 ? -f[i] : f[i];
        kernels().sigmoid(rest, n_, rest);
        return;
    }
    kernels().softmax(f, stride_, n_, table_->n_classes, p_.data(), stride_);
    std::fill_n(rest, stride_, 0.0);
    for (int c = 0; c < table_->n_classes; ++c) {
        const double* p = p_.data() + c * stride_;
        for (std::int64_t i = 0; i < n_; ++i) rest[i] += y[i] == c ? 0.0 : p[i];
    }
}

void ScoredRows::add(const Iteration& iteration) {
    double* f = f_.data();
    for (const SimpleRegression& regression : iteration) {
        const double* x = x_.data() + regression.feature * stride_;
        for (std::int64_t i = 0; i < n_; ++i) f[i] += regression.intercept + regression.slope * x[i];
        f += stride_;
    }
    update_probabilities();
}

void ScoredRows::add_model(const double* params) {
    const int d = table_->n_features;
    for (int c = 0; c < table_->n_outputs(); ++c, params += 1 + d) {
        double* f = f_.data() + c * stride_;
        for (std::int64_t i = 0; i < n_; ++i) f[i] += params[0];
        for (int j = 0; j < d; ++j) {
            const double slope = params[1 + j];
            const double* x = x_.data() + j * stride_;
            if (slope != 0)  // most are
                for (std::int64_t i = 0; i < n_; ++i) f[i] += slope * x[i];
        }
    }
    update_probabilities();
}

// Of equally probable classes the first one is predicted.
bool ScoredRows::is_wrong(std::int64_t i) const {
    const double *f = f_.data() + i, y = y_.data()[i];
    if (table_->n_classes == 2) return (f[0] > 0) != (y == 1);
    int top = 0;
    for (int c = 1; c < table_->n_classes; ++c)
        if (f[c * stride_] > f[top * stride_]) top = c;
    return top != static_cast<int>(y);
}

double ScoredRows::wrong() const {
    double total = 0;
    for (std::int64_t i = 0; i < n_; ++i) total += is_wrong(i) ? w_.data()[i] : 0.0;
    return total;
}

// What the other classes have too much is what the own one lacks.
double ScoredRows::absolute_error() const {
    double total = 0;
    for (std::int64_t i = 0; i < n_; ++i) total += w_.data()[i] * rest_.data()[i];
    return 2 * total / table_->n_classes;
}

double ScoredRows::log_loss() const {
    double total = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
        const double p = std::max(1 - rest_.data()[i], std::numeric_limits<double>::min());
        total -= w_.data()[i] * std::log(p);
    }
    return total;
}

// ---------------------------------------------------------------------------------------------------------- iterations

LogitBoost::LogitBoost(const LogisticTable& table)
    : table_(table), centre_(table.n_features), iteration_(table.n_outputs()), sums_(3 * table.n_features) {}

// A feature that is the same in all rows is centred to exact zeros, so that no rounding is taken for a signal.
void LogitBoost::set_centre(const std::int32_t* rows, std::int64_t n) {
    double weight = 0;
    for (std::int64_t i = 0; i < n; ++i) weight += table_.weight[rows[i]];
    for (int j = 0; j < table_.n_features; ++j) {
        const double* column = table_.scaled + j * table_.n_rows;
        double total = 0;
        bool differ = false;
        for (std::int64_t i = 0; i < n; ++i) {
            total += table_.weight[rows[i]] * column[rows[i]];
            differ = differ || column[rows[i]] != column[rows[0]];
        }
        centre_[j] = differ ? total / weight : column[rows[0]];
    }
}

// Fits the next regression of every output to the rows as they stand; false if there is nothing to fit.
bool LogitBoost::next_iteration(const ScoredRows& rows, Worker& worker) {
    const int classes = table_.n_classes;
    double* v = v_.get(rows.stride());
    double* vz = vz_.get(rows.stride());
    bool found = false;
    for (int c = 0; c < table_.n_outputs(); ++c) {
        const int label = classes == 2 ? 1 : c;
        kernels().logit_responses(rows.rest(), rows.p(c), rows.y(), label, rows.w(), rows.n(), v, vz);
        found = best_regression(rows, iteration_[c]) || found;
        worker.check(rows.n() * table_.n_features);
    }
    // With more than two classes (J - 1) / J of the regressions less their mean is added. The mean of the outputs does
    // not move the probabilities; it is taken out of the finished model.
    const double step = classes == 2 ? 1.0 : (classes - 1.0) / classes;
    for (SimpleRegression& regression : iteration_) {
        regression.slope *= step;
        regression.intercept *= step;
    }
    return found;
}

// Mean weight of the rows below which nothing is left to fit: all probabilities are 1 but for rounding.
constexpr double kNothingLeft = 0x1p-53;

// The weighted simple regression of the responses (in v_, vz_) with the least squared error; false if no feature
// varies, or nothing is left to fit.
bool LogitBoost::best_regression(const ScoredRows& rows, SimpleRegression& best) {
    const std::int64_t n = rows.n(), stride = rows.stride();
    const double *v = v_.data(), *vz = vz_.data();
    const double total = kernels().sum(v, n), total_z = kernels().sum(vz, n);
    best = {};
    if (total <= kNothingLeft * rows.weight()) return false;
    kernels().regression_sums(rows.x(), stride, n, table_.n_features, v, vz, sums_.data());
    constexpr double kTie = 1 + 1e-10;  // the first of several features that differ by rounding only
    double best_gain = -1;
    for (int j = 0; j < table_.n_features; ++j) {
        const double mean = sums_[3 * j] / total;
        double xx = sums_[3 * j + 1] - mean * sums_[3 * j];  // Σ v (x - mean)²
        double xz = sums_[3 * j + 2] - mean * total_z;       // Σ v z (x - mean)
        if (xx < 1e-3 * sums_[3 * j + 1]) {                  // too much cancels: a second pass
            const double* x = rows.x() + j * stride;
            xx = xz = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                xx += v[i] * (x[i] - mean) * (x[i] - mean);
                xz += (vz[i] - total_z / total * v[i]) * (x[i] - mean);
            }
        }
        const double gain = xz * xz / xx;
        if (!(xx > 0) || !(gain > best_gain * (best_gain > 0 ? kTie : 1))) continue;
        best_gain = gain;
        // In a node of one class the responses may be all the same: then a slope is rounding and nothing else.
        const double slope = gain > 1e-24 * total_z * total_z / total ? xz / xx : 0;
        best = {j, slope, total_z / total - slope * mean};
    }
    return best_gain >= 0;
}

std::int64_t LogitBoost::fit(const std::int32_t* rows, std::int64_t n, const IterationRules& rules, Worker& worker,
                             double* scores, double* params) {
    const std::int64_t wanted = choose(rows, n, rules, worker, scores);
    set_centre(rows, n);
    train_.gather(table_, rows, n, centre_.data(), scores);
    const int d = table_.n_features, outputs = table_.n_outputs();
    std::vector<double> model(table_.n_params(), 0.0);
    std::int64_t done = 0;
    for (; done < wanted && next_iteration(train_, worker); ++done) {
        train_.add(iteration_);
        for (int c = 0; c < outputs; ++c) {
            model[c * (1 + d)] += iteration_[c].intercept;
            model[c * (1 + d) + 1 + iteration_[c].feature] += iteration_[c].slope;
        }
    }
    train_.scatter_scores(rows, scores);
    for (int c = 0; c < outputs; ++c)
        for (int j = 0; j < d; ++j) model[c * (1 + d)] -= model[c * (1 + d) + 1 + j] * centre_[j];
    for (int k = 0; k < 1 + d; ++k) {  // the outputs of more than two classes add up to zero
        double mean = 0;
        for (int c = 0; c < outputs && outputs > 1; ++c) mean += model[c * (1 + d) + k] / outputs;
        for (int c = 0; c < outputs; ++c) params[c * (1 + d) + k] += model[c * (1 + d) + k] - mean;
    }
    return done;
}

// ------------------------------------------------------------------------------------------------- number of
// iterations

std::int64_t LogitBoost::choose(const std::int32_t* rows, std::int64_t n, const IterationRules& rules, Worker& worker,
                                const double* scores) {
    if (rules.fixed >= 0) return rules.fixed;
    set_centre(rows, n);
    return rules.use_aic ? choose_by_aic(rows, n, rules, worker, scores)
                         : choose_by_cross_validation(rows, n, rules, worker, scores);
}

namespace {

// Counts iterations without a new minimum.
class Patience {
   public:
    explicit Patience(std::int64_t limit) : limit_(limit) {}

    // True when it is spent; the error is that of one more iteration.
    bool is_spent(double error) {
        if (limit_ > 0 && since_ > limit_) return true;
        since_ = error < least_ ? 0 : since_ + 1;
        least_ = std::min(least_, error);
        return false;
    }

   private:
    std::int64_t limit_, since_ = 0;
    double least_ = std::numeric_limits<double>::infinity();
};

std::int64_t position_of_minimum(const std::vector<double>& values) {
    return std::min_element(values.begin(), values.end()) - values.begin();
}

}  // namespace

// As Weka does it: the folds run one after another and add to the same errors, so that later folds stop by the sum; an
// iteration counts if all folds have reached it.
std::int64_t LogitBoost::choose_by_cross_validation(const std::int32_t* rows, std::int64_t n,
                                                    const IterationRules& rules, Worker& worker, const double* scores) {
    const std::vector<std::int32_t> fold = deal_folds(table_, rows, n);
    std::vector<double> errors(rules.maximum + 1, 0.0);
    const auto add_error = [&](std::int64_t iteration) {
        const double error = rules.error_on_probabilities ? held_out_.absolute_error() : held_out_.wrong();
        return errors[iteration] += error / held_out_.weight();
    };
    for (int f = 0; f < std::min<std::int64_t>(kFolds, n); ++f) {
        in_.clear();
        out_.clear();
        for (std::int64_t i = 0; i < n; ++i) (fold[i] == f ? out_ : in_).push_back(rows[i]);
        train_.gather(table_, in_.data(), static_cast<std::int64_t>(in_.size()), centre_.data(), scores);
        held_out_.gather(table_, out_.data(), static_cast<std::int64_t>(out_.size()), centre_.data(), scores);
        add_error(0);
        Patience patience(rules.patience);
        const auto last = static_cast<std::int64_t>(errors.size()) - 1;
        std::int64_t done = 0;
        while (done < last && next_iteration(train_, worker)) {
            train_.add(iteration_);
            held_out_.add(iteration_);
            if (patience.is_spent(add_error(++done))) break;
        }
        errors.resize(done + 1);
    }
    return position_of_minimum(errors);
}

std::int64_t LogitBoost::choose_by_aic(const std::int32_t* rows, std::int64_t n, const IterationRules& rules,
                                       Worker& worker, const double* scores) {
    train_.gather(table_, rows, n, centre_.data(), scores);
    std::vector<double> criteria{2 * train_.log_loss()};
    Patience patience(rules.patience);
    for (std::int64_t done = 1; done <= rules.maximum && next_iteration(train_, worker); ++done) {
        train_.add(iteration_);
        criteria.push_back(2 * train_.log_loss() + 2 * static_cast<double>(done));
        if (patience.is_spent(criteria.back())) break;
    }
    return position_of_minimum(criteria);
}

std::vector<std::int32_t> deal_folds(const LogisticTable& table, const std::int32_t* rows, std::int64_t n) {
    std::vector<std::int64_t> next(table.n_classes + 1, 0);  // position of the next row of each class
    for (std::int64_t i = 0; i < n; ++i) ++next[static_cast<int>(table.y[rows[i]]) + 1];
    for (int c = 0; c < table.n_classes; ++c) next[c + 1] += next[c];
    std::vector<std::int32_t> fold(n);
    for (std::int64_t i = 0; i < n; ++i)
        fold[i] = static_cast<std::int32_t>(next[static_cast<int>(table.y[rows[i]])]++ % kFolds);
    return fold;
}

}  // namespace boostforest
