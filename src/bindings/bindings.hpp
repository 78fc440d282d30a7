// What the binding files share. Bindings cast and check what Python hands over and call the core, which checks nothing.
// Fits, and predictions of many trees, run without the GIL and can be interrupted (run_without_gil); predictions of a
// single model tree run without it too; what is small keeps it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "../core/base/parallel.hpp"
#include "../core/forest/forest.hpp"

namespace nb = nanobind;

template <>
struct nanobind::detail::dtype_traits<boostforest::Half> {
    static constexpr dlpack::dtype value{
        .code = static_cast<std::uint8_t>(dlpack::dtype_code::Float), .bits = 16, .lanes = 1};
    static constexpr auto name = const_name("float16");
};

namespace boostforest {

using namespace nb::literals;

// An argument that must be an array as it is: "x"_array, beside nanobind's "n"_a.
inline auto operator""_array(const char* name, std::size_t) {
    return nb::arg(name).noconvert();
}

template <class T, int kDimensions>
using Array = nb::ndarray<const T, nb::numpy, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;

// Every function checks the shapes, ranges and indices that memory or termination depend on; numbers that can only
// spoil the result (infinite features, say) are left to the Python side. tests/test_core_arguments.py calls all of them
// wrongly.
inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// A column of a fitted model.
template <class T, int kDimensions = 1>
Array<T, kDimensions> model_column(const nb::dict& columns, const char* name) {
    Array<T, kDimensions> array;
    require(columns.contains(name) && nb::try_cast<Array<T, kDimensions>>(columns[name], array, false),
            "damaged model: a column is missing or has the wrong type");
    return array;
}

template <class Values>
bool all_finite(const Values& values) {
    const double* data = values.data();
    return std::all_of(data, data + values.size(), [](double value) { return std::isfinite(value); });
}

template <class Values>
bool has_nan(const Values& values) {
    const double* data = values.data();
    return std::any_of(data, data + values.size(), [](double value) { return std::isnan(value); });
}

// Not negative, finite, and not all zero.
template <class Values>
bool are_weights(const Values& values) {
    const double* data = values.data();
    return all_finite(values) && std::none_of(data, data + values.size(), [](double value) { return value < 0; }) &&
           std::any_of(data, data + values.size(), [](double value) { return value > 0; });
}

// Whole numbers that are passed as doubles.
inline std::int64_t whole(double value, std::int64_t low, std::int64_t high, const char* message) {
    require(value >= static_cast<double>(low) && value <= static_cast<double>(high) && value == std::floor(value),
            message);
    return static_cast<std::int64_t>(value);
}

// Labels of several targets, rows × targets; none: there is one.
using Targets = std::optional<Array<double, 2>>;

// A loss by its code; labels of classes must be their numbers.
inline std::unique_ptr<Loss> loss_of(int code, int n_classes, const std::vector<double>& numbers,
                                     const Array<double, 1>& y, const Targets& targets = {}) {
    for (const double number : numbers) require(std::isfinite(number), "loss_numbers must be finite");
    require(!targets || (targets->shape(0) == y.shape(0) && targets->shape(1) > 0 && targets->shape(1) < 1 << 24),
            "targets need a row for each of y, and 1 to 2^24 - 1 columns");
    auto loss = targets ? make_loss(code, n_classes, numbers, targets->data(), static_cast<int>(targets->shape(1)))
                        : make_loss(code, n_classes, numbers);
    for (std::size_t i = 0; targets && !numbers.empty() && i < targets->size(); ++i) {
        const double label = targets->data()[i];
        require(label >= 0 && label < numbers[i % numbers.size()] && label == std::floor(label),
                "targets must hold numbers of classes");
    }
    for (std::size_t i = 0; n_classes > 0 && i < y.shape(0); ++i)
        require(y(i) >= 0 && y(i) < n_classes && y(i) == std::floor(y(i)), "y must hold numbers of classes");
    return loss;
}

// A link by its code; one output has no softmax.
inline Link link_of(int code, int n_outputs) {
    require(code >= 0 && code <= static_cast<int>(Link::kSoftmax), "no such link");
    require(n_outputs > 1 || code != static_cast<int>(Link::kSoftmax), "a softmax needs more than one output");
    return static_cast<Link>(code);
}

// A new NumPy array of n values that owns its memory, not yet filled.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> new_array(std::size_t n) {
    T* data = new T[n > 0 ? n : 1];
    const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner);
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const std::vector<T>& values) {
    auto array = new_array<T>(values.size());
    std::copy(values.begin(), values.end(), array.data());
    return array;
}

// Runs work(control) with the GIL released. About ten times a second, but not more often than the work asks its worker
// whether to go on, the calling thread takes it back to see whether the user pressed Ctrl-C and to call progress(items
// done), if there is one; either may end the work with an exception.
template <class Work>
void run_without_gil(const nb::object& progress, Work work) {
    std::optional<nb::python_error> error;
    Control control([&](std::int64_t done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) {
            error.emplace();
            return false;
        }
        if (progress.is_none()) return true;
        try {
            progress(done);
        } catch (nb::python_error& raised) {
            error.emplace(std::move(raised));
            return false;
        }
        return true;
    });
    try {
        const nb::gil_scoped_release no_gil;
        work(control);
    } catch (const Cancelled&) {
        if (error) throw std::move(*error);
        throw;
    }
}

// Numbers of features, ascending; none: all of them.
using FeatureNumbers = std::optional<Array<std::int32_t, 1>>;
FeatureList feature_list(const FeatureNumbers& numbers, std::size_t n_features);

// What a missing value is filled with: the centre of a normal distribution of the scaled features, then the rows of its
// precision; none: the mean.
using Fill = std::optional<Array<double, 2>>;
std::unique_ptr<const Normal> normal_of(const Fill& fill, std::size_t n_features);

void register_coding(nb::module_& module);
void register_expected(nb::module_& module);
void register_explain(nb::module_& module);
void register_gbdt_pl(nb::module_& module);
void register_l1_logistic(nb::module_& module);
void register_lmt(nb::module_& module);
void register_model(nb::module_& module);
void register_model_trees(nb::module_& module);
void register_parts(nb::module_& module);
void register_training_table(nb::module_& module);

}  // namespace boostforest
