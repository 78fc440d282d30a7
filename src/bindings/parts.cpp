// Single parts of the core: BLAS and kernel selection, and what the tests check alone against an oracle.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "../core/forest/forest.hpp"
#include "../core/kernels/kernels.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

// The function behind one of SciPy's capsules, whose name is its C signature. Only 32-bit integers will do.
template <class Function>
void take(const nb::dict& capsules, const char* name, Function*& function) {
    require(capsules.contains(name), "capsules: dsyrk, dpotrf and dpotrs are needed");
    const nb::object capsule_object = capsules[name];
    PyObject* capsule = capsule_object.ptr();
    require(PyCapsule_CheckExact(capsule), "capsules: not a capsule");
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
    require(n_rows > 0 && n_draws >= 0 && n_draws < std::int64_t{1} << 31, "1 row or more, fewer than 2^31 draws");
    require(!cumulative || static_cast<std::int64_t>(cumulative->shape(0)) == n_rows,
            "cumulative needs one value per row");
    auto counts = new_array<std::int32_t>(n_rows);
    const Sampling sampling{
        .bootstrap = true, .n_draws = n_draws, .cumulative = cumulative ? cumulative->data() : nullptr};
    run_without_gil(nb::none(), [&](Control& control) {
        Worker worker(control, 0);
        draw_bootstrap(seed, n_rows, sampling, worker, counts.data());
    });
    return counts;
}

auto words_under(const Array<std::uint64_t, 1>& keys, std::uint64_t counter) {
    auto out = new_array<std::uint64_t>(keys.shape(0));
    for (std::size_t k = 0; k < keys.shape(0); ++k) out(k) = word(keys(k), counter);
    return out;
}

auto dealt_seeds(std::uint64_t key, int n_bags, bool mostly_one) {
    require(n_bags >= kLeastDealt && n_bags <= kMostDealt, "3 to 31 bags");
    auto seeds = new_array<std::uint64_t>(n_bags);
    for (int bag = 0; bag < n_bags; ++bag) seeds(bag) = dealt_seed(key, n_bags, bag, mostly_one);
    return seeds;
}

auto bootstrap_draws(std::uint64_t seed, std::int64_t n_rows, std::int64_t n_draws) {
    require(n_rows > 0 && n_draws >= 0 && n_draws < std::int64_t{1} << 31, "1 row or more, fewer than 2^31 draws");
    auto rows = new_array<std::int64_t>(n_draws);
    run_without_gil(nb::none(), [&](Control&) {
        const Key key = child(seed, kBootstrap);
        for (std::int64_t i = 0; i < n_draws; ++i) rows(i) = below(key, i, n_rows);
    });
    return rows;
}

auto batch_positions(std::uint64_t key, std::int64_t n, std::int64_t b) {
    require(n >= 0 && n <= std::int64_t{1} << 32 && b >= 0 && b <= n, "0 to n of at most 2^32 positions");
    auto positions = new_array<std::int64_t>(b);
    Buffer<std::uint64_t> taken;
    const std::uint64_t* bits = draw_batch(key, n, b, taken);
    for (std::int64_t position = 0, next = 0; position < n; ++position)
        if ((bits[position / 64] >> (position % 64) & 1) != 0) positions(next++) = position;
    return positions;
}

// A copy with the room at the end that the kernels want.
class Padded {
   public:
    template <class Source>
    explicit Padded(const Source& source) {
        std::copy_n(source.data(), source.size(), values_.get(source.size()));
    }
    double* data() const { return values_.data(); }

   private:
    Buffer<double> values_;
};

// Intercept and slopes of one node model, and whether it has converged.
auto fit_node(const Array<double, 2>& x, const Array<double, 1>& z, const Array<double, 1>& v, const NodeRules& rules,
              const std::int8_t* monotone = nullptr, const double* path_slopes = nullptr) {
    require(x.shape(0) > 0 && x.shape(0) < std::size_t{1} << 31 && x.shape(1) > 0 && x.shape(1) < std::size_t{1} << 24,
            "1 to 2^31 - 1 rows, 1 to 2^24 - 1 features");
    require(z.shape(0) == x.shape(0) && v.shape(0) == x.shape(0), "z and v need one value per row");
    require(all_finite(x) && all_finite(z) && are_weights(v), "x and z must be finite, v not negative");
    const auto n = static_cast<std::int64_t>(x.shape(0));
    const int d = static_cast<int>(x.shape(1)), width = padded_width(d);
    Buffer<double> padded, fitted;
    double* table = padded.get(static_cast<std::size_t>(n) * width);
    for (std::int64_t i = 0; i < n; ++i)
        std::fill_n(std::copy_n(x.data() + i * d, d, table + i * width), width - d, 0.0);
    const std::vector<double> ones(n, 1.0);
    std::vector<std::int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    const Padded labels(z), weights(v);
    const Sample sample{.rows = rows.data(), .n = n, .weight = static_cast<double>(n), .w = ones.data(), .stride = n};
    const auto indicators = monotone == nullptr ? find_indicators(table, n, d, nullptr) : nullptr;
    auto params = new_array<double>(d + 1);
    NodeWorkspace work;
    entry_of(rules.fit).make_model()->fit({.x = table,
                                           .width = width,
                                           .n_inputs = d,
                                           .n_outputs = 1,
                                           .sample = sample,
                                           .labels = {.z = labels.data(), .v = weights.data(), .stride = n},
                                           .rules = rules,
                                           .indicators = indicators.get(),
                                           .fitted = fitted.get(n),
                                           .fitted_stride = n,
                                           .monotone = monotone,
                                           .path_slopes = path_slopes},
                                          work, params.data());
    return std::pair(params, work.n_unconverged == 0);
}

auto ridge(const Array<double, 2>& x, const Array<double, 1>& z, const Array<double, 1>& v, double reg_lambda,
           const std::optional<Array<std::int8_t, 1>>& monotone, const std::optional<Array<double, 1>>& path_slopes) {
    NodeRules rules;
    rules.reg_lambda = reg_lambda;
    require((!monotone || monotone->shape(0) == x.shape(1)) && (!path_slopes || path_slopes->shape(0) == x.shape(1)),
            "monotone and path_slopes need one value per feature");
    for (std::size_t j = 0; monotone && j < monotone->shape(0); ++j)
        require((*monotone)(j) >= -1 && (*monotone)(j) <= 1, "monotone has values other than -1, 0 and 1");
    require(!path_slopes || all_finite(*path_slopes), "path_slopes must be finite");
    require(std::isfinite(reg_lambda) && reg_lambda >= 0, "reg_lambda must not be negative");
    return fit_node(x, z, v, rules, monotone ? monotone->data() : nullptr, path_slopes ? path_slopes->data() : nullptr)
        .first;
}

nb::tuple linear_svr(const Array<double, 2>& x, const Array<double, 1>& z, const Array<double, 1>& v, double cost,
                     double epsilon, double intercept_penalty, double tolerance, int max_iterations) {
    require(std::isfinite(cost) && cost > 0 && std::isfinite(epsilon) && epsilon >= 0, "cost and epsilon: too small");
    require(std::isfinite(intercept_penalty) && intercept_penalty > 0 && std::isfinite(tolerance) && tolerance > 0,
            "intercept_penalty and tolerance must be above 0");
    NodeRules rules;
    rules.fit = NodeFit::kLinearSvr;
    rules.cost = cost;
    rules.epsilon = epsilon;
    rules.tolerance = tolerance;
    rules.max_iterations = max_iterations;
    rules.intercept_penalty = intercept_penalty;
    auto [params, converged] = fit_node(x, z, v, rules);
    return nb::make_tuple(params, converged);
}

// Value, gradient and hessian of a loss at scores (outputs × rows), and its pseudo-labels with their weights.
nb::tuple loss(int code, int n_classes, const Array<double, 2>& scores, const Array<double, 1>& y,
               const Array<double, 1>& w, const std::vector<double>& loss_numbers, const Targets& targets) {
    const auto loss = loss_of(code, n_classes, loss_numbers, y, targets);
    require(static_cast<int>(scores.shape(0)) == loss->n_outputs() && y.shape(0) == scores.shape(1) &&
                w.shape(0) == scores.shape(1),
            "scores (outputs × rows), y and w need a value per row");
    const auto n = static_cast<std::int64_t>(scores.shape(1));
    const auto n_outputs = static_cast<std::int64_t>(scores.shape(0));
    const Padded f(scores), labels(y), weights(w), ones(std::vector<double>(n, 1.0));
    std::vector<std::int32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    Buffer<double> state;
    Sample sample{.rows = rows.data(),
                  .n = n,
                  .w = weights.data(),
                  .y = labels.data(),
                  .state = state.get(loss->n_state() * padded_rows(n)),
                  .stride = padded_rows(n)};
    const double value = loss->start(f.data(), n, sample);
    sample.w = ones.data();
    LossWorkspace work;
    std::vector<const double*> derivatives(2 * n_outputs);
    loss->statistics(sample, work, derivatives.data());
    auto g = new_array<double>(scores.size()), h = new_array<double>(scores.size());
    auto z = new_array<double>(scores.size()), v = new_array<double>(scores.size());
    const PseudoLabels pseudo = loss->pseudo_labels(sample, work);
    for (std::int64_t c = 0; c < n_outputs; ++c) {
        std::copy_n(derivatives[2 * c], n, g.data() + c * n);
        std::copy_n(derivatives[2 * c + 1], n, h.data() + c * n);
        std::copy_n(pseudo.z + c * pseudo.stride, n, z.data() + c * n);
        std::copy_n(pseudo.v + c * pseudo.v_stride, n, v.data() + c * n);
    }
    return nb::make_tuple(value, g, h, z, v);
}

auto outputs(const Array<double, 2>& scores, int link) {
    require(scores.shape(0) > 0 && scores.shape(0) < std::size_t{1} << 24, "1 to 2^24 - 1 outputs");
    const auto n = static_cast<std::int64_t>(scores.shape(1));
    const int n_outputs = static_cast<int>(scores.shape(0));
    const Link as = link_of(link, n_outputs);
    Buffer<double> values;
    const std::int64_t stride = padded_rows(n);
    double* f = values.get(n_outputs * stride);
    for (int c = 0; c < n_outputs; ++c) std::copy_n(scores.data() + c * n, n, f + c * stride);
    apply_link(as, f, stride, n, n_outputs);
    auto out = new_array<double>(scores.size());
    for (int c = 0; c < n_outputs; ++c) std::copy_n(f + c * stride, n, out.data() + c * n);
    return out;
}

}  // namespace

void register_parts(nb::module_& module) {
    module.attr("BLAS_SIZE") = kBlasSize;
    module.def("set_blas", &set_blas_from_capsules, "capsules"_a, "Use these BLAS and LAPACK functions.");
    module.def("kernels", [] { return kernels().name; }, "Name of the instruction set in use.");
    module.def(
        "select_kernels", [](const char* name) { return select_kernels(name); }, "name"_a,
        "Use another instruction set from now on; False if this machine has none of that name.");
    module.def("word", &words_under, "keys"_array, "counter"_a, "The word with this number under each key.");
    module.def("bootstrap_counts", &bootstrap_counts, "seed"_a, "n_rows"_a, "n_draws"_a, "cumulative"_array.none(),
               "How often a tree drew each row.");
    module.def(
        "dealt_seeds", &dealt_seeds, "key"_a, "n_bags"_a, "mostly_one"_a = false,
        "Seeds of bags to which rows are dealt: each is left out by two of them, or most by one, and once in the "
        "others.");
    module.def(
        "is_dealt", [](std::uint64_t seed) { return read_deal(seed).has_value(); }, "seed"_a,
        "Whether a seed is that of a bag to which rows are dealt.");
    module.def("bootstrap_draws", &bootstrap_draws, "seed"_a, "n_rows"_a, "n_draws"_a,
               "The rows that a tree draws one after the other, all with the same probability.");
    module.def("batch_positions", &batch_positions, "key"_a, "n"_a, "b"_a, "The positions that a batch takes.");
    module.def(
        "ridge", &ridge, "x"_array, "z"_array, "v"_array, "reg_lambda"_a, "monotone"_array.none() = nb::none(),
        "path_slopes"_array.none() = nb::none(),
        "Intercept and slopes of one ridge node; with monotone, slopes that added to path_slopes have its signs.");
    module.def("linear_svr", &linear_svr, "x"_array, "z"_array, "v"_array, "cost"_a, "epsilon"_a, "intercept_penalty"_a,
               "tolerance"_a, "max_iterations"_a,
               "Intercept and slopes of one node of linear support vector regression, and whether it converged.");
    module.def("loss", &loss, "code"_a, "n_classes"_a, "scores"_array, "y"_array, "w"_array,
               "loss_numbers"_a = std::vector<double>(), "targets"_array.none() = nb::none(),
               "Value, gradient, hessian, pseudo-labels and their weights.");
    module.def("outputs", &outputs, "scores"_array, "link"_a, "What the link makes of the scores, outputs × rows.");
}

}  // namespace boostforest
