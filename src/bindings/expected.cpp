#include "../core/table/expected.hpp"

#include <algorithm>
#include <cmath>

#include "../core/kernels/kernels.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

// Scaled rows with their missing values filled, rows × features.
auto filled_rows(const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
                 const Fill& fill) {
    const std::size_t n = x.shape(0), d = x.shape(1);
    require(mean.shape(0) == d && scale.shape(0) == d, "mean and scale need one value per feature");
    const auto normal = normal_of(fill, d);
    const RawRows rows{.x = x.data(),
                       .n_rows = static_cast<std::int64_t>(n),
                       .n_features = static_cast<int>(d),
                       .mean = mean.data(),
                       .scale = scale.data(),
                       .normal = normal.get()};
    const int width = padded_width(rows.n_features);
    Buffer<double> scaled;
    double* values = scaled.get(n * width);
    if (scale_rows(rows, 0, rows.n_rows, values)) fill_missing(rows, rows.n_rows, values);
    auto out = new_array<double>(n * d);
    for (std::size_t i = 0; i < n; ++i) std::copy_n(values + i * width, d, out.data() + i * d);
    return out;
}

// Σ w x and Σ w E[x xᵀ], the latter as one row after another.
nb::tuple moments(const Array<double, 2>& x, const Array<double, 2>& fill,
                  const std::optional<Array<double, 1>>& weight, int n_threads) {
    const std::size_t n = x.shape(0), d = x.shape(1);
    require(!weight || weight->shape(0) == n, "weight needs one value per row");
    require(!weight || all_finite(*weight), "weight must be finite");
    const auto normal = normal_of(fill, d);
    auto sum = new_array<double>(d), products = new_array<double>(d * d);
    run_without_gil(nb::none(), [&](Control& control) {
        expected_moments(*normal, x.data(), weight ? weight->data() : nullptr, static_cast<std::int64_t>(n), n_threads,
                         control, sum.data(), products.data());
    });
    return nb::make_tuple(sum, products);
}

}  // namespace

std::unique_ptr<const Normal> normal_of(const Fill& fill, std::size_t n_features) {
    if (!fill) return {};
    require(n_features < std::size_t{1} << 31, "up to 2^31 - 1 features");
    require(fill->shape(0) == n_features + 1 && fill->shape(1) == n_features,
            "fill must have a row for the centre and one per feature");
    return std::make_unique<Normal>(fill->data(), fill->data() + n_features, static_cast<int>(n_features));
}

void register_expected(nb::module_& module) {
    module.def("filled_rows", &filled_rows, "x"_array, "mean"_array, "scale"_array, "fill"_array.none(),
               "Rows as node models see them, one after another: scaled, missing values filled.");
    module.def("expected_moments", &moments, "x"_array, "fill"_array, "weight"_array.none(), "n_threads"_a,
               "Sums of the rows and of their products, where those of missing values are expected ones.");
}

}  // namespace boostforest
