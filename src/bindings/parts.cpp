// Single parts of the core: BLAS and kernel selection, and what the tests check alone against an oracle.
#include <cstring>
#include <stdexcept>

#include "../core/forest.hpp"
#include "../core/kernels.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

// The function behind one of SciPy's capsules, whose name is its C signature. Only 32-bit integers will do.
template <class Function>
void take(const nb::dict& capsules, const char* name, Function*& function) {
    PyObject* capsule = nb::object(capsules[name]).ptr();
    const char* signature = PyCapsule_GetName(capsule);
    if (signature == nullptr || std::strncmp(signature, "void (char *", 12) != 0 ||
        std::strstr(signature, "int *") == nullptr || std::strstr(signature, "64") != nullptr ||
        std::strstr(signature, "long") != nullptr)
        throw std::invalid_argument(std::string("unexpected signature of ") + name);
    function = reinterpret_cast<Function*>(PyCapsule_GetPointer(capsule, signature));
}

void set_blas_from_capsules(const nb::dict& capsules) {
    Blas blas;
    take(capsules, "dsyrk", blas.dsyrk);
    take(capsules, "dpotrf", blas.dpotrf);
    take(capsules, "dpotrs", blas.dpotrs);
    set_blas(blas);
}

auto bootstrap_counts(std::uint64_t seed, std::int64_t n_rows, std::int64_t n_draws,
                      const std::optional<Array<double, 1>>& cumulative) {
    auto counts = new_array<std::int32_t>(n_rows);
    draw_bootstrap(seed, n_rows, {true, n_draws, cumulative ? cumulative->data() : nullptr, nullptr, false},
                   counts.data());
    return counts;
}

auto batch_positions(std::uint64_t key, std::int64_t n, std::int64_t b) {
    auto positions = new_array<std::int64_t>(b);
    Buffer<std::int64_t> taken;
    draw_batch(key, n, b, taken, positions.data());
    return positions;
}

// Intercept and slopes of a weighted ridge regression, the rows centred as the node model does it.
auto ridge(const Array<double, 2>& x, const Array<double, 1>& z, const Array<double, 1>& v, double reg_lambda) {
    const auto n = static_cast<std::int64_t>(x.shape(0));
    const int d = static_cast<int>(x.shape(1)), width = padded_width(d);
    const std::vector<double> zeros(width, 0.0), ones(std::max(width, static_cast<int>(n)), 1.0);
    Buffer<double> padded;
    scale_rows({x.data(), n, d, zeros.data(), ones.data()}, 0, n, padded.get(static_cast<std::size_t>(n) * width));
    std::vector<std::int32_t> rows(n);
    for (std::int64_t i = 0; i < n; ++i) rows[i] = static_cast<std::int32_t>(i);
    auto params = new_array<double>(d + 1);
    std::vector<double> fitted(n);
    NodeWorkspace work;
    make_ridge_model()->fit(
        {padded.data(), rows.data(), n, width, d, 1, ones.data(), z.data(), v.data(), n, reg_lambda}, work,
        params.data(), fitted.data());
    return params;
}

// Value, gradient and hessian of a loss; scores are outputs × rows.
nb::tuple loss(int task, int n_classes, const Array<double, 2>& scores, const Array<double, 1>& y,
               const Array<double, 1>& w) {
    const auto loss = make_loss(static_cast<Task>(task), n_classes);
    const auto n = static_cast<std::int64_t>(scores.shape(1));
    auto g = new_array<double>(scores.size()), h = new_array<double>(scores.size());
    std::fill_n(h.data(), scores.size(), 1.0);
    loss->derivatives(scores.data(), n, y.data(), n, g.data(), h.data(), n);
    return nb::make_tuple(loss->value(scores.data(), n, y.data(), w.data(), n), g, h);
}

auto probabilities(const Array<double, 2>& scores) {
    const auto n = static_cast<std::int64_t>(scores.shape(1));
    auto p = new_array<double>(scores.size());
    if (scores.shape(0) == 1) {
        kernels().sigmoid(scores.data(), n, p.data());
    } else {
        kernels().softmax(scores.data(), n, n, static_cast<int>(scores.shape(0)), p.data(), n);
    }
    return p;
}

}  // namespace

void register_parts(nb::module_& module) {
    module.def("set_blas", &set_blas_from_capsules, nb::arg("capsules"), "Use these BLAS and LAPACK functions.");
    module.def("kernels", [] { return kernels().name; }, "Name of the instruction set in use.");
    module.def(
        "select_kernels", [](const char* name) { return select_kernels(name); }, nb::arg("name"),
        "Use another instruction set from now on; False if this machine has none of that name.");
    module.def("bootstrap_counts", &bootstrap_counts, nb::arg("seed"), nb::arg("n_rows"), nb::arg("n_draws"),
               nb::arg("cumulative").noconvert().none(), "How often a tree drew each row.");
    module.def("batch_positions", &batch_positions, nb::arg("key"), nb::arg("n"), nb::arg("b"),
               "The positions that a batch takes.");
    module.def("ridge", &ridge, nb::arg("x").noconvert(), nb::arg("z").noconvert(), nb::arg("v").noconvert(),
               nb::arg("reg_lambda"), "Intercept and slopes of one ridge node.");
    module.def("loss", &loss, nb::arg("task"), nb::arg("n_classes"), nb::arg("scores").noconvert(),
               nb::arg("y").noconvert(), nb::arg("w").noconvert(), "Value, gradient and hessian of a loss.");
    module.def("probabilities", &probabilities, nb::arg("scores").noconvert(), "Sigmoid or softmax of the scores.");
}

}  // namespace boostforest
