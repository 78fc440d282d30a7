#include "bindings.hpp"

namespace boostforest {

namespace {

// An enumeration of Python whose members are integers.
template <class T>
nb::enum_<T> integers(nb::module_& module, const char* name, const char* doc) {
    return nb::enum_<T>(module, name, nb::is_arithmetic(), doc);
}

// Codes and seed tags: Python takes them from here and types no number again.
void register_codes(nb::module_& module) {
    auto losses = integers<LossCode>(module, "LossCode", "Losses.");
    for (std::size_t i = 0; i < std::size(kLosses); ++i) losses.value(kLosses[i].name, static_cast<LossCode>(i));
    integers<Link>(module, "Link", "How scores become what a forest averages and predicts.")
        .value("IDENTITY", Link::kIdentity)
        .value("LOG", Link::kLog)
        .value("SIGMOID", Link::kSigmoid)
        .value("SOFTMAX", Link::kSoftmax);
    auto fits = integers<NodeFit>(module, "NodeFit", "How node models are fitted.");
    for (std::size_t i = 0; i < std::size(kNodeFits); ++i) fits.value(kNodeFits[i].name, static_cast<NodeFit>(i));
    integers<ModelKind>(module, "ModelKind", "What is stored of node models; part of the file format.")
        .value("CONSTANT", ModelKind::kConstant)
        .value("LINEAR", ModelKind::kLinear)
        .value("HIDDEN", ModelKind::kHidden)
        .value("PYTHON", ModelKind::kPython);
    integers<Criterion>(module, "Criterion", "What splits are judged by.")
        .value("XGB", Criterion::kXgb)
        .value("MSE", Criterion::kMse)
        .value("GINI", Criterion::kGini)
        .value("C45", Criterion::kC45);
    integers<TreeTag>(module, "TreeTag", "What is drawn under a tree's seed; see base/random.hpp.")
        .value("BOOTSTRAP", kBootstrap)
        .value("ROOT", kRoot)
        .value("POOLS", kPools)
        .value("MEMBER_COLUMNS", kMemberColumns)
        .value("MEMBER_SEEDS", kMemberSeeds)
        .value("TREE_MODELS", kTreeModels)
        .value("HIDDEN_LAYER", kHiddenLayer)
        .value("BOOSTING", kBoosting);
    integers<NodeTag>(module, "NodeTag", "What is drawn under a node's key.")
        .value("LEFT_CHILD", kLeftChild)
        .value("RIGHT_CHILD", kRightChild)
        .value("MODEL_BATCH", kModelBatch)
        .value("FIRST_ATTEMPT", kFirstAttempt)
        .value("MODEL_SEED", kModelSeed);
    integers<AttemptTag>(module, "AttemptTag", "What is drawn under the key of an attempt to split a node.")
        .value("SPLIT_BATCH", kSplitBatch)
        .value("FEATURE_ORDER", kFeatureOrder)
        .value("CUTS", kCuts);
    module.attr("MAX_ROOT_ATTEMPTS") = kMaxRootAttempts;
}

}  // namespace

}  // namespace boostforest

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false);  // a model that lives until the interpreter ends, in a notebook say, is not a leak
    module.doc() = "The compiled core of boostforest. Internal: its functions change without notice.";
    boostforest::register_codes(module);           // codes and seed tags
    boostforest::register_expected(module);        // what missing values are expected to be
    boostforest::register_explain(module);         // contributions of columns to predictions
    boostforest::register_gbdt_pl(module);         // boosted piecewise linear trees: fit and prediction
    boostforest::register_l1_logistic(module);     // logistic regressions of nodes
    boostforest::register_lmt(module);             // logistic model trees: fit and prediction
    boostforest::register_model(module);           // Model: prediction with the columns of a forest
    boostforest::register_model_trees(module);     // M5': fit and prediction
    boostforest::register_parts(module);           // BLAS, kernels, and single parts for the tests
    boostforest::register_training_table(module);  // TrainingTable: trees, or single nodes for models in Python
}
