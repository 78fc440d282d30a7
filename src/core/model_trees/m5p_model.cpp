#include "m5p_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "../kernels/kernels.hpp"

namespace boostforest::m5p {

namespace {

constexpr double kRidge = 1e-8;         // keeps features that repeat each other solvable; Weka's value
constexpr double kMaxSlope = 1.5;       // a larger standardised slope is a sign of such features
constexpr double kPerfect = 1e-13;      // share of the squares that counts as no error: the sums are not more exact
constexpr double kNoDeviation = 1e-13;  // a feature is constant if its standard deviation is less than this
                                        //   share of its size

}  // namespace

// Least squares on standardised features, kept as the triangular factor R of XᵀX + ridge and u = R⁻ᵀ Xᵀy: a feature is
// taken out by a few rotations instead of starting anew.
class ModelFitter::Regression {
   public:
    // gram: XᵀX, upper triangle, and u: Xᵀy; both are overwritten. y_squares: Σ y². features: their positions.
    Regression(double* gram, double* u, double y_squares, std::vector<int> features)
        : r_(gram),
          ld_(static_cast<int>(features.size())),
          u_(u),
          y_squares_(y_squares),
          features_(std::move(features)) {
        factorise();
        solve();
    }

    int size() const { return static_cast<int>(features_.size()); }
    const std::vector<int>& features() const { return features_; }
    const std::vector<double>& slopes() const { return slopes_; }

    // |y - Xb|² = |y|² - |u|² - ridge |b|².
    double squared_error() const {
        double error = y_squares_;
        for (int j = 0; j < size(); ++j) error -= u_[j] * u_[j] + kRidge * slopes_[j] * slopes_[j];
        return std::max(error, kPerfect * y_squares_);
    }

    // Takes out the feature at position k: its column goes, and rotations make R triangular again.
    void remove(int k) {
        const int n = size() - 1;
        for (int i = 0; i <= n; ++i)
            for (int j = std::max(k, i - 1); j < n; ++j) r_[i * ld_ + j] = r_[i * ld_ + j + 1];
        for (int i = k; i < n; ++i) {
            double *upper = r_ + i * ld_, *lower = upper + ld_;
            const double length = std::hypot(upper[i], lower[i]), c = upper[i] / length, s = lower[i] / length;
            const auto rotate = [c, s](double& a, double& b) {
                std::tie(a, b) = std::pair(c * a + s * b, c * b - s * a);
            };
            for (int j = i; j < n; ++j) rotate(upper[j], lower[j]);
            rotate(u_[i], u_[i + 1]);
        }
        features_.erase(features_.begin() + k);
        solve();
    }

   private:
    void factorise() {
        const int n = size();
        for (int j = 0; j < n; ++j) r_[j * ld_ + j] += kRidge;
        for (int i = 0; i < n; ++i) {
            double* row = r_ + i * ld_;
            const double pivot = std::sqrt(std::max(row[i], kRidge));  // in a large table rounding may exceed the ridge
            for (int j = i; j < n; ++j) row[j] /= pivot;
            row[i] = pivot;
            u_[i] /= pivot;
            for (int k = i + 1; k < n; ++k) {
                for (int j = k; j < n; ++j) r_[k * ld_ + j] -= row[k] * row[j];
                u_[k] -= row[k] * u_[i];
            }
        }
    }

    void solve() {
        slopes_.assign(u_, u_ + size());
        for (int i = size(); i-- > 0;) {
            for (int j = i + 1; j < size(); ++j) slopes_[i] -= r_[i * ld_ + j] * slopes_[j];
            slopes_[i] /= r_[i * ld_ + i];
        }
    }

    double* r_;
    int ld_;
    double* u_;
    double y_squares_;
    std::vector<int> features_;
    std::vector<double> slopes_;  // of the standardised features, in units of the target
};

namespace {

bool is_smaller(double a, double b) {
    return std::abs(a) < std::abs(b);
}

int largest(const std::vector<double>& slopes) {
    return static_cast<int>(std::max_element(slopes.begin(), slopes.end(), is_smaller) - slopes.begin());
}

int smallest(const std::vector<double>& slopes) {
    return static_cast<int>(std::min_element(slopes.begin(), slopes.end(), is_smaller) - slopes.begin());
}

}  // namespace

// The node's rows, next to each other and around zero: a node may be a small box far from it.
void ModelFitter::gather(const NodeRows& node, const std::vector<std::int32_t>& features, int width) {
    const int d = static_cast<int>(features.size());
    double *x = x_.get(static_cast<std::size_t>(node.n) * width), *y = y_.get(node.n), *w = weight_.get(node.n);
    double* mean = mean_.get(width);
    std::fill_n(mean, width, 0.0);
    for (std::int64_t i = 0; i < node.n; ++i) {
        const std::int64_t row = node.rows[i];
        w[i] = node.weight[row];
        y[i] = node.y[row] - node.y_mean;
        for (int k = 0; k < d; ++k) {
            x[i * width + k] = node.x[row * node.n_features + features[k]];
            mean[k] += w[i] * x[i * width + k];
        }
        std::fill(x + i * width + d, x + (i + 1) * width, 0.0);
    }
    for (int k = 0; k < d; ++k) mean[k] /= node.total_weight;
    for (std::int64_t i = 0; i < node.n; ++i)
        for (int k = 0; k < d; ++k) x[i * width + k] -= mean[k];
}

// The regression on all features that are not constant in the node.
ModelFitter::Regression ModelFitter::standardise(const NodeRows& node, int n_features, int width) {
    double *gram = gram_.get(static_cast<std::size_t>(width) * width), *xy = sum_xy_.get(width);
    double* deviation = deviation_.get(width);
    kernels().normal_equations(x_.data(), node.n, width, n_features, weight_.data(), y_.data(), gram, sum_x_.get(width),
                               xy);
    std::vector<int> used;
    for (int k = 0; k < n_features; ++k) {
        deviation[k] = std::sqrt(gram[k * width + k] / (node.total_weight - 1));
        if (deviation[k] > kNoDeviation * (1 + std::abs(mean_.data()[k]))) used.push_back(k);
    }
    const int size = static_cast<int>(used.size());
    double *factor = factor_.get(static_cast<std::size_t>(size) * size), *rotated = rotated_.get(size);
    for (int i = 0; i < size; ++i) {
        for (int j = i; j < size; ++j)
            factor[i * size + j] = gram[used[i] * width + used[j]] / (deviation[used[i]] * deviation[used[j]]);
        rotated[i] = xy[used[i]] / deviation[used[i]];
    }
    return {factor, rotated, node.y_squares, std::move(used)};
}

LinearModel ModelFitter::fit(const NodeRows& node, const std::vector<std::int32_t>& features) {
    LinearModel model{node.y_mean, node.y_squares, {}, {}};
    if (features.empty() || node.y_squares <= 0) return model;
    const int n_features = static_cast<int>(features.size()), width = padded_width(n_features);
    gather(node, features, width);
    Regression regression = standardise(node, n_features, width);

    const double limit = kMaxSlope * std::sqrt(node.y_squares / (node.total_weight - 1));
    for (int k; regression.size() > 0 && std::abs(regression.slopes()[k = largest(regression.slopes())]) > limit;)
        regression.remove(k);

    // Akaike's criterion, relative to the error of the full model.
    const double full_error = regression.squared_error(), freedom = node.total_weight - regression.size() - 1;
    const auto criterion = [&] {
        return regression.squared_error() / full_error * freedom + 2.0 * (regression.size() + 1);
    };
    std::vector<int> kept;
    std::vector<double> slopes;
    double best = std::numeric_limits<double>::infinity();
    for (double now = criterion(); now < best; now = criterion()) {
        best = now;
        kept = regression.features();
        slopes = regression.slopes();
        model.squared_error = regression.squared_error();
        if (kept.empty()) break;
        regression.remove(smallest(slopes));
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        model.features.push_back(features[kept[i]]);
        model.slopes.push_back(slopes[i] / deviation_.data()[kept[i]]);
        model.intercept -= model.slopes.back() * mean_.data()[kept[i]];
    }
    return model;
}

}  // namespace boostforest::m5p
