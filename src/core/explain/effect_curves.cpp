#include "effect_curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "../kernels/kernels.hpp"
#include "../models/hidden_layer.hpp"

namespace boostforest {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kError = 1e-13;         // that a curve may be off, where its slopes add up to 1
constexpr double kStrip = 0.9;           // of the way to a pole of the sigmoid: bounds of curves hold up to there
constexpr std::int64_t kSlack = 32;      // add_curve reads four vectors at a time
constexpr std::int64_t kCurveRows = 16;  // rows whose units are known at a time: they stay near

// Bound of the error of a polynomial through n Chebyshev points (Trefethen, Approximation Theory, theorem 8.2) of
// sigmoid(a + reach t), which has poles at a distance of π / reach from the real axis.
double curve_error(double reach, int n) {
    if (reach == 0) return 0;
    const double height = kStrip * std::numbers::pi / reach, rho = height + std::sqrt(height * height + 1);
    return 4 / std::sin(kStrip * std::numbers::pi) * std::pow(rho, -(n - 1)) / (rho - 1);
}

std::int64_t padded(std::int64_t n) {
    return (n + 7) / 8 * 8;
}

}  // namespace

EffectCurves::EffectCurves(const Grid& grid, const PreparedRows& rows, const double* row_weights)
    : grid_(grid),
      rows_(rows),
      each_(row_weights == nullptr),
      stride_(padded(grid.n())),
      middle_(0.5 * (grid.values()[0] + grid.values()[grid.n() - 1])),
      half_(0.5 * (grid.values()[grid.n() - 1] - grid.values()[0])),
      walk_(grid, rows, row_weights),
      sums_(static_cast<std::size_t>((each_ ? rows.n() : 1) * stride_ + kSlack)) {}

void EffectCurves::give(double* out) const {
    const std::int64_t n = each_ ? rows_.n() : 1;
    for (std::int64_t first = 0; first < n * stride_; first += stride_)
        for (std::int64_t i = 0; i < grid_.n(); ++i) *out++ += sums_[first + i];
}

// The hidden layer as rows see it whose number is in the middle of the grid; without it where that is too far off.
void EffectCurves::read_layer(const TreeView& tree) {
    n_units_ = tree.n_inputs;
    const std::int64_t stride = hidden_width(n_units_), n_rows = 1 + std::int64_t{tree.n_model_features};
    std::fill_n(layer_.get(n_rows * stride), n_rows * stride, 0.0);
    for (std::int64_t j = 0; j < n_rows; ++j)
        std::copy_n(tree.hidden + j * n_units_, n_units_, layer_.data() + j * stride);
    reach_.assign(n_units_, 0.0);
    weights_.assign(n_units_, 0.0);
    as_factors_ = true;
    if (grid_.inputs().empty()) return;
    double* own = layer_.data() + (1 + grid_.inputs()[0]) * stride;
    double most = 0;
    for (int k = 0; k < n_units_; ++k) most = std::max(most, std::abs(own[k] * half_));
    as_factors_ = most <= kMostReach;
    for (int k = 0; k < n_units_; ++k) {
        if (as_factors_) layer_.data()[k] += own[k] * middle_;
        reach_[k] = own[k] * half_;
        weights_[k] = own[k];
        own[k] = 0;
    }
}

// As many points as it takes for the scores of all nodes.
void EffectCurves::find_points(const TreeView& tree, NodeModels& models) {
    std::vector<double> share(n_units_);  // of a unit in what slopes add up to: the largest of all nodes
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {
        if (!models.load(node)) continue;
        const double* slopes = models.slopes(0);
        double total = 0;
        for (int k = 0; k < n_units_; ++k) total += std::abs(slopes[k]);
        for (int k = 0; k < n_units_ && total > 0; ++k) share[k] = std::max(share[k], std::abs(slopes[k]) / total);
    }
    int n = 8;
    for (; n < stride_; n += 8) {
        double error = 0;
        for (int k = 0; k < n_units_; ++k) error += share[k] * curve_error(std::abs(reach_[k]), n);
        if (error <= kError) break;
    }
    take_points(n);
    const std::int64_t n_units = padded(n_units_);
    std::fill_n(moves_.get(n_units * n_points_), n_units * n_points_, 0.0);
    for (int k = 0; k < n_units_; ++k)
        for (int p = 0; p < n_points_; ++p) {
            const double value =
                are_values_ ? grid_.values()[std::min<std::int64_t>(p, grid_.n() - 1)] : middle_ + half_ * points_[p];
            moves_.data()[k * n_points_ + p] =
                as_factors_ ? std::exp(-weights_[k] * (value - middle_)) : weights_[k] * value;
        }
}

void EffectCurves::take_points(int n) {
    if (n_points_ == n) return;
    n_points_ = n;
    are_values_ = n >= stride_;
    if (are_values_) return;
    points_.assign(n, 0.0);
    std::vector<double> weights(n);
    for (int p = 0; p < n; ++p) {
        const double angle = (2 * p + 1) * std::numbers::pi / (2 * n);
        points_[p] = std::cos(angle);
        weights[p] = (p % 2 == 0 ? 1 : -1) * std::sin(angle);
    }
    std::fill_n(basis_.get(n * stride_ + kSlack), n * stride_ + kSlack, 0.0);
    for (std::int64_t i = 0; i < grid_.n(); ++i) {  // the barycentric formula
        const double at = (grid_.values()[i] - middle_) / half_;
        double total = 0;
        int met = -1;
        for (int p = 0; p < n; ++p) {
            if (at == points_[p]) met = p;
            total += weights[p] / (at - points_[p]);
        }
        for (int p = 0; p < n; ++p)
            basis_.data()[p * stride_ + i] =
                met >= 0 ? static_cast<double>(p == met) : weights[p] / (at - points_[p]) / total;
    }
}

void EffectCurves::add_tree(const TreeView& tree, Link link, double weight, Worker& worker) {
    NodeModels models(tree, link, rows_.input_width());
    models_ = &models;
    weight_ = weight;
    read_layer(tree);
    find_points(tree, models);
    of_nodes_.assign((each_ ? rows_.n() : tree.n_nodes) * n_points_, 0.0);
    ranges_.assign(tree.n_nodes, {0, 0});
    for (std::int64_t first = 0; first < rows_.n(); first += kCurveRows) {
        const std::int64_t n = std::min(kCurveRows, rows_.n() - first);
        worker.check(n * n_units_ * n_points_);
        add_rows(tree, first, n);
    }
    for (std::int32_t node = 0; !each_ && node < tree.n_nodes; ++node)
        add_curve(of_nodes_.data() + std::int64_t{node} * n_points_, ranges_[node], -kInfinite, kInfinite, weight_,
                  sums_.data());
}

void EffectCurves::add_rows(const TreeView& tree, std::int64_t first, std::int64_t n) {
    const int width = rows_.input_width();
    first_row_ = first;
    units_.get(n * padded(n_units_) * n_points_);
    kernels().unit_curves(rows_.inputs(first), n, width, tree.n_model_features, layer_.data(), n_units_, moves_.data(),
                          n_points_, as_factors_ ? kMostReach + kBeyond : 0, powers_.get(padded(n_units_)),
                          units_.data());
    walk_.walk(
        tree, first, n,
        [&](std::int32_t node, const std::int32_t* rows, std::int64_t n_rows, GridRange range) {
            if (models_->load(node)) add_model(node, rows, n_rows, range);
        },
        [&](const std::int32_t* rows, std::int64_t n_rows, GridRange range) {
            for (std::int64_t i = 0; each_ && i < n_rows; ++i) {
                double* own = of_nodes_.data() + std::int64_t{rows[i]} * n_points_;
                add_curve(own, range, -kInfinite, kInfinite, weight_, sums_of(rows[i]));
                std::fill_n(own, n_points_, 0.0);
            }
        });
}

void EffectCurves::add_model(std::int32_t node, const std::int32_t* rows, std::int64_t n, GridRange range) {
    const bool is_clipped = models_->shape() == Shape::kClipped;
    const double* slopes = models_->slopes(0);
    double between = 0;  // how far a curve may go beyond its values at the points
    const double step = std::numbers::pi / n_points_, end = 1 - std::cos(step / 2);
    for (int k = 0; k < n_units_ && is_clipped && !are_values_; ++k) {  // |sigmoid''| < 0.0963, sigmoid' <= 1 / 4
        const double reach = std::abs(reach_[k]);
        between += std::abs(slopes[k]) * reach * (0.0963 / 8 * reach * step * step + 0.25 * end);
    }
    ranges_[node] = range;
    const CurveModel model{.intercept = models_->intercept(0),
                           .slopes = slopes,
                           .n_units = n_units_,
                           .n_points = n_points_,
                           .lower = is_clipped ? models_->lower() : -kInfinite,
                           .upper = is_clipped ? models_->upper() : kInfinite,
                           .between = between};
    const std::int64_t per_row = padded(n_units_) * n_points_;
    const double* weights = each_ ? nullptr : walk_.weights(rows, n);
    double *scores = scores_.get(n * n_points_),
           *sums = of_nodes_.data() + (each_ ? 0 : node) * std::int64_t{n_points_};
    const std::int64_t n_bent = kernels().curve_sums(model, units_.data(), per_row, first_row_, rows, n, weights, sums,
                                                     each_ ? n_points_ : 0, scores, bent_.get(n));
    for (std::int64_t k = 0; k < n_bent; ++k) {
        const std::int32_t i = bent_.data()[k];
        add_curve(scores + k * n_points_, range, model.lower, model.upper, weight_ * (each_ ? 1.0 : weights[i]),
                  sums_of(rows[i]));
    }
}

void EffectCurves::add_curve(const double* at_points, GridRange range, double lower, double upper, double weight,
                             double* out) {
    if (!are_values_) {
        kernels().add_curve(at_points, n_points_, basis_.data(), stride_, range.begin, range.end, lower, upper, weight,
                            out);
        return;
    }
    for (std::int32_t i = range.begin; i < range.end; ++i)
        out[i] += weight * std::min(std::max(at_points[i], lower), upper);
}

}  // namespace boostforest
