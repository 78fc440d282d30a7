#include "../core/ridge/l1_logistic.hpp"

#include "bindings.hpp"

namespace boostforest {

namespace {

using Out = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

double fit(const Array<double, 2>& x, const Array<std::int32_t, 1>& rows, const Array<double, 1>& y,
           const Array<double, 1>& weight, double alpha, Out& coef, int max_iter, double tolerance) {
    const std::size_t n = rows.shape(0), d = x.shape(1), n_outputs = coef.shape(0);
    require(n > 0 && d > 0 && d < std::size_t{1} << 16, "1 row or more, 1 to 2^16 - 1 features");
    require(y.shape(0) == n && weight.shape(0) == n, "y and weight need a value per row");
    require(n_outputs >= 1 && n_outputs < std::size_t{1} << 16 && coef.shape(1) == 1 + d,
            "coef needs an intercept and a slope per feature for each output");
    require(std::isfinite(alpha) && alpha >= 0, "alpha must not be negative");
    const std::size_t n_classes = n_outputs == 1 ? 2 : n_outputs;
    for (std::size_t i = 0; i < n; ++i) {
        require(rows(i) >= 0 && static_cast<std::size_t>(rows(i)) < x.shape(0), "a row that does not exist");
        require(weight(i) >= 0, "weight must not be negative");
        require(y(i) >= 0 && y(i) < static_cast<double>(n_classes), "y must hold numbers of classes");
    }
    const LogisticProblem problem{.x = x.data(),
                                  .d = static_cast<int>(d),
                                  .rows = rows.data(),
                                  .n = static_cast<std::int64_t>(n),
                                  .y = y.data(),
                                  .weight = weight.data(),
                                  .n_outputs = static_cast<int>(n_outputs),
                                  .alpha = alpha,
                                  .max_iter = max_iter,
                                  .tolerance = tolerance};
    double objective = 0;
    run_without_gil(nb::none(), [&](Control& control) {
        Worker worker(control, 0);
        objective = L1Logistic().fit(problem, worker, coef.data());
        if (control.stopped()) throw Cancelled();
    });
    return objective;
}

}  // namespace

void register_l1_logistic(nb::module_& module) {
    module.def("l1_logistic", &fit, "x"_array, "rows"_array, "y"_array, "weight"_array, "alpha"_a, "coef"_array,
               "max_iter"_a, "tolerance"_a,
               "Fit a logistic regression with an L1 penalty to some rows of x, from the coefficients in coef (outputs "
               "× (intercept, slopes)), which are overwritten; return the objective.");
}

}  // namespace boostforest
