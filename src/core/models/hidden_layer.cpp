#include "hidden_layer.hpp"

#include <algorithm>
#include <cmath>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr double kLargestBias = 2;
constexpr double kRounding = 1e-12;  // standard deviations below this part of the values count as 0

double symmetric(Key key, std::uint64_t i) {
    return 2 * uniform(key, i) - 1;
}

}  // namespace

void HiddenLayer::draw(Key key, int n_units, const double* x, int width, int n_features, const Sample& sample,
                       Worker& worker) {
    n_units_ = n_units;
    n_features_ = n_features;
    const int stride = hidden_width(n_units);
    double* layer = padded_.get(static_cast<std::size_t>(1 + n_features) * stride);
    std::fill_n(layer, static_cast<std::size_t>(1 + n_features) * stride, 0.0);
    std::vector<double> weights(width, 0.0), mean(width, 0.0), rows(static_cast<std::size_t>(sample.n) * width),
        projected(padded_rows(sample.n) + 8);
    kernels().gather_centred(x, sample.rows, sample.n, width, sample.w, sample.weight, mean.data(), rows.data());
    for (int k = 0; k < n_units; ++k) {
        worker.check(sample.n * width);
        const Key unit = child(key, k);
        for (int j = 0; j < n_features; ++j) weights[j] = symmetric(unit, 1 + j);
        kernels().linear(rows.data(), sample.n, width, weights.data(), 0.0, projected.data());
        double squares = 0, size = 0, centre = 0;
        for (std::int64_t i = 0; i < sample.n; ++i) squares += sample.w[i] * projected[i] * projected[i];
        for (int j = 0; j < n_features; ++j) size += std::abs(weights[j] * mean[j]);
        const double deviation = std::sqrt(squares / sample.weight);
        const double factor = deviation > kRounding * size ? 1 / deviation : 0;  // constant features say nothing
        for (int j = 0; j < n_features; ++j) {
            layer[(1 + j) * stride + k] = weights[j] * factor;
            centre += layer[(1 + j) * stride + k] * mean[j];
        }
        layer[k] = kLargestBias * symmetric(unit, 0) - centre;
    }
}

void HiddenLayer::load(const double* values, int n_units, int n_features) {
    n_units_ = n_units;
    n_features_ = n_features;
    const int stride = hidden_width(n_units);
    double* layer = padded_.get(static_cast<std::size_t>(1 + n_features) * stride);
    for (int j = 0; j <= n_features; ++j, layer += stride, values += n_units) {
        std::copy_n(values, n_units, layer);
        std::fill(layer + n_units, layer + stride, 0.0);
    }
}

std::vector<double> HiddenLayer::values() const {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(1 + n_features_) * n_units_);
    for (int j = 0; j <= n_features_; ++j) {
        const double* row = padded_.data() + static_cast<std::ptrdiff_t>(j) * hidden_width(n_units_);
        values.insert(values.end(), row, row + n_units_);
    }
    return values;
}

void HiddenLayer::evaluate(const double* x, const std::int32_t* rows, std::int64_t n, int width, Worker& worker,
                           double* out) const {
    constexpr std::int64_t kRows = 1024;                // between looks at the worker
    const std::int64_t step = rows == nullptr ? 1 : 0;  // without a list, rows and units move on by themselves
    for (std::int64_t i = 0; i < n; i += kRows) {
        const std::int64_t n_here = std::min(kRows, n - i);
        worker.check(n_here * n_units_ * n_features_);
        kernels().hidden_units(x + step * i * width, rows == nullptr ? nullptr : rows + i, n_here, width, n_features_,
                               padded_.data(), n_units_, out + step * i * hidden_width(n_units_));
    }
}

}  // namespace boostforest
