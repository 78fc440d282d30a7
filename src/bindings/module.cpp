#include "bindings.hpp"

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false);  // a model that lives until the interpreter ends, in a notebook say, is no leak
    module.doc() = "The compiled core of boostforest. Internal: its functions change without notice.";
    boostforest::register_expected(module);     // what missing values are expected to be
    boostforest::register_fit(module);          // fit: trees from a table
    boostforest::register_gbdt_pl(module);      // boosted piecewise linear trees: fit and prediction
    boostforest::register_l1_logistic(module);  // logistic regressions of nodes
    boostforest::register_lmt(module);          // logistic model trees: fit and prediction
    boostforest::register_model(module);        // Model: prediction with the columns of a forest
    boostforest::register_model_trees(module);  // M5': fit and prediction
    boostforest::register_table(module);        // Table: single nodes, for trees with models in Python
    boostforest::register_parts(module);        // BLAS, kernels, and single parts for the tests
}
