// What a tree minimises. A loss is anything convex and twice differentiable in the score F.
//
// What a loss needs to know of a row besides its label is the row's state: a few numbers that change with every step.
// They are kept in the order of the rows in their nodes and move with them, so that nothing is computed twice.
// Arrays of several values per row lie one after another: value k of row i is at [k * stride + i].
//
// To add a loss: derive from Loss in losses/NAME.cpp, which CMakeLists.txt lists, and give its make_NAME a line in
// kLosses at the end of this file: its place there is its code, and Python gets it as _core.LossCode.NAME.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "../base/buffer.hpp"
#include "../kernels/kernels.hpp"
#include "link.hpp"

namespace boostforest {

// Rows that something is computed on: a whole node, or a batch of one.
struct Sample {
    const std::int32_t* rows = nullptr;  // their numbers in the table
    std::int64_t n = 0;                  // how many
    double weight = 0;                   // Σ w
    const double* w = nullptr;           // weight of each
    const double* y = nullptr;           // label of each
    double* state = nullptr;             // Loss::n_state() values of each
    std::int64_t stride = 0;             // from one value of the state to the next
};

// The regression that a node model solves (FitModel): labels and weights, one set per output.
struct PseudoLabels {
    const double* z;
    const double* v;
    std::int64_t stride;        // from the labels of one output to those of the next
    std::int64_t v_stride = 0;  // the same for the weights; 0: all outputs have the same
    bool one_by_one = false;    // outputs of the same weights are too few to be solved side by side
};

// Scratch of one thread.
struct LossWorkspace {
    Buffer<double> statistics, z, v;
};

// A node's model is taken times `factor`, from 0 to 1, plus `shift`.
struct Adjustment {
    double factor = 1, shift = 0;
};

class Loss {
   public:
    virtual ~Loss() = default;

    // Scores per row: 1, or the number of classes if there are more than two; of several targets those of all.
    virtual int n_outputs() const { return 1; }

    // Targets, and the labels of one of them.
    virtual int n_targets() const { return 1; }
    virtual void labels(const Sample& sample, int, double* out) const { std::copy_n(sample.y, sample.n, out); }

    // Whether trees may keep the outputs of a node's model within the range of its pseudo-labels (TreeParams::clip).
    virtual bool clips() const { return false; }

    // Whether h = 1 everywhere: pseudo-labels then have the weights of their rows, at every node.
    virtual bool has_unit_curvature() const { return false; }

    // Values of a row's state.
    virtual int n_state() const = 0;

    // Whether labels are looked at once the state is there, by steps, derivatives and pseudo-labels.
    virtual bool reads_labels() const { return true; }

    // Writes the state of the rows at the scores f (outputs × n); returns Σ w · loss.
    virtual double start(const double* f, std::int64_t f_stride, const Sample& sample) const = 0;

    // Adds fitted (outputs × n), kept within [lower, upper], to the scores; returns Σ w · loss after that.
    virtual double step(const double* fitted, std::int64_t fitted_stride, double lower, double upper,
                        const Sample& sample) const = 0;

    // The same where the state is not looked at again: it may stay as it is.
    virtual double last_step(const double* fitted, std::int64_t fitted_stride, double lower, double upper,
                             const Sample& sample) const {
        return step(fitted, fitted_stride, lower, upper, sample);
    }

    // For each output w g and w h, first and second derivative of the loss by F times the weight. Fills
    // out[2 k] and out[2 k + 1] with pointers to n values each.
    virtual void statistics(const Sample& sample, LossWorkspace& work, const double** out) const = 0;

    // z = -g/h, kept within ±4 as in LogitBoost, with weight v = w · max(h, 2 eps). Squared error: z = y - F, v = w.
    virtual PseudoLabels pseudo_labels(const Sample& sample, LossWorkspace& work) const = 0;

    // The range that trees keep the outputs of a node's model in, if they do: that of its pseudo-labels, or narrower.
    virtual void output_range(const Sample& sample, const PseudoLabels& labels, double& lower, double& upper) const {
        kernels().value_range(labels.z, sample.n, lower, upper);
    }

    // What makes more of a fitted model (one output) than a Newton step does: the loss is not a parabola.
    virtual Adjustment adjust(const double*, const Sample&, LossWorkspace&) const { return {}; }

    // Newton steps at the most of a tree of a single node. With many it ends at the penalised least loss of all linear
    // models: a generalised linear model.
    virtual int most_steps() const { return 1; }

    // The most that a leaf of a boosted tree may change a score by, before the learning rate.
    virtual double longest_step() const { return std::numeric_limits<double>::infinity(); }

    // The scores of the rows; losses of one output.
    virtual void scores(const Sample& sample, double* f) const { std::copy_n(sample.state, sample.n, f); }

    // The same with one weight per row for all outputs, whose h is the largest of them.
    virtual PseudoLabels shared_pseudo_labels(const Sample& sample, LossWorkspace& work) const {
        return pseudo_labels(sample, work);
    }

    // Centres the outputs of each of n fitted models or values (outputs × n), where only their differences count.
    virtual void centre(double*, std::int64_t, std::int64_t) const {}
};

// Values that a vector of n is padded to, so that whole SIMD vectors can be written.
constexpr std::int64_t padded_rows(std::int64_t n) {
    return (n + 7) / 8 * 8;
}

// Loss::statistics of one output: derivatives(i) returns w g and w h of a row.
template <class Derivatives>
void write_statistics(const Sample& s, LossWorkspace& work, const double** out, Derivatives derivatives) {
    const std::int64_t stride = padded_rows(s.n);
    double* wg = work.statistics.get(2 * stride);
    double* wh = wg + stride;
    for (std::int64_t i = 0; i < s.n; ++i) std::tie(wg[i], wh[i]) = derivatives(i);
    out[0] = wg;
    out[1] = wh;
}

// Loss::pseudo_labels of one output: label(i) returns z and v of a row.
template <class Label>
PseudoLabels write_labels(const Sample& s, LossWorkspace& work, Label label) {
    double* z = work.z.get(padded_rows(s.n));
    double* v = work.v.get(padded_rows(s.n));
    for (std::int64_t i = 0; i < s.n; ++i) std::tie(z[i], v[i]) = label(i);
    return {.z = z, .v = v, .stride = padded_rows(s.n)};
}

// What a loss is made for.
struct LossSettings {
    int n_classes = 0;                // 0 if labels are numbers, or of several targets
    const double* numbers = nullptr;  // LossEntry::n_numbers of them; their meaning is the loss's own
    const double* targets = nullptr;  // several targets: labels, rows × targets; must outlive the loss
    int n_targets = 1;
};

std::unique_ptr<Loss> make_squared_error(const LossSettings& settings);
std::unique_ptr<Loss> make_logistic(const LossSettings& settings);
std::unique_ptr<Loss> make_softmax(const LossSettings& settings);
std::unique_ptr<Loss> make_poisson(const LossSettings& settings);
std::unique_ptr<Loss> make_gamma(const LossSettings& settings);
std::unique_ptr<Loss> make_tweedie(const LossSettings& settings);
std::unique_ptr<Loss> make_huber(const LossSettings& settings);
std::unique_ptr<Loss> make_quantile(const LossSettings& settings);
std::unique_ptr<Loss> make_aft(const LossSettings& settings);
std::unique_ptr<Loss> make_own(const LossSettings& settings);
std::unique_ptr<Loss> make_squared_errors(const LossSettings& settings);
std::unique_ptr<Loss> make_class_targets(const LossSettings& settings);

// The losses there are. Codes are places here: append, never insert.
enum class LossCode : std::uint8_t {};
struct LossEntry {
    const char* name;  // in Python
    std::unique_ptr<Loss> (*make)(const LossSettings& settings);
    int fewest_classes, most_classes;  // that it can be made for; 0: labels are numbers
    std::size_t n_numbers = 0;         // that it wants besides; several targets: of each
    bool several = false;              // targets
};
inline constexpr LossEntry kLosses[] = {
    {"SQUARED_ERROR", make_squared_error, 0, 0},
    {"LOGISTIC", make_logistic, 2, 2},
    {"SOFTMAX", make_softmax, 3, (1 << 24) - 1},
    {"POISSON", make_poisson, 0, 0, 1},
    {"GAMMA", make_gamma, 0, 0, 1},
    {"TWEEDIE", make_tweedie, 0, 0, 2},
    {"HUBER", make_huber, 0, 0, 1},
    {"QUANTILE", make_quantile, 0, 0, 1},
    {"AFT", make_aft, 0, 0, 2},
    {"OWN", make_own, 0, 0, 2},
    {"SQUARED_ERRORS", make_squared_errors, 0, 0, 0, true},
    {"CLASS_TARGETS", make_class_targets, 0, 0, 1, true},  // the number: classes of the target, two at least
};

// targets: labels of several targets, rows × targets; null: there is one.
inline std::unique_ptr<Loss> make_loss(std::int64_t code, int n_classes, const std::vector<double>& numbers,
                                       const double* targets = nullptr, int n_targets = 1) {
    if (code < 0 || code >= std::ssize(kLosses)) throw std::invalid_argument("no such loss");
    const LossEntry& entry = kLosses[code];
    if (n_classes < entry.fewest_classes || n_classes > entry.most_classes)
        throw std::invalid_argument("n_classes does not fit the loss");
    if (entry.several != (targets != nullptr))
        throw std::invalid_argument("the number of targets does not fit the loss");
    if (numbers.size() != entry.n_numbers * n_targets) throw std::invalid_argument("loss_numbers do not fit the loss");
    return entry.make({.n_classes = n_classes, .numbers = numbers.data(), .targets = targets, .n_targets = n_targets});
}

}  // namespace boostforest
