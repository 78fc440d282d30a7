"""scikit-learn's own checks on the baselines."""

import importlib.util

import pytest
from sklearn.naive_bayes import GaussianNB

from boostforest.nodes.torch import MLP
from boostforest_paper.baselines import (
    BaggedLightGBMClassifier,
    BaggedLightGBMRegressor,
    BaggedNetworksClassifier,
    BaggedNetworksRegressor,
    BaggedTAOClassifier,
    BaggedXGBoostClassifier,
    BaggedXGBoostRegressor,
    DeepBoostClassifier,
    ELMClassifier,
    ELMRegressor,
    FilterBoostClassifier,
    GBDTPLClassifier,
    GBDTPLRegressor,
    LogitBoostClassifier,
    MultiBoostClassifier,
    TAOClassifier,
)
from models import all_checks

ESTIMATORS = [
    LogitBoostClassifier(n_estimators=3),
    MultiBoostClassifier(GaussianNB(), 3),
    FilterBoostClassifier(n_estimators=4, n_filtered=100, max_edge_samples=200),
    DeepBoostClassifier(2, 3),
    ELMRegressor(),
    ELMClassifier(),
    GBDTPLRegressor(10),
    GBDTPLRegressor(10, min_samples_leaf=2, max_leaf_nodes=4, reg_alpha=0.1, n_jobs=2),
    GBDTPLClassifier(10),
    GBDTPLClassifier(10, min_samples_leaf=2, max_leaf_nodes=4, max_var=0),
    TAOClassifier(),
    TAOClassifier(max_depth=2, init="random", loss="zero_one", class_weight="balanced"),
    BaggedTAOClassifier(4, max_depth=2, random_state=0),
]
OPTIONAL = {
    "xgboost": [BaggedXGBoostRegressor(2, n_rounds=3), BaggedXGBoostClassifier(2, n_rounds=3)],
    "lightgbm": [BaggedLightGBMRegressor(2, n_rounds=10), BaggedLightGBMClassifier(2, n_rounds=3)],
    "torch": [
        BaggedNetworksRegressor(MLP(hidden=8), 1, epochs=10, batch_size=32, device="cpu"),
        BaggedNetworksClassifier(MLP(hidden=8), 1, epochs=10, batch_size=32, device="cpu"),
    ],
}
ESTIMATORS += [e for package, some in OPTIONAL.items() if importlib.util.find_spec(package) for e in some]


def expected_failed_checks(estimator):
    """Return the checks that an estimator fails, and why."""
    check = "check_sample_weight_equivalence_on_dense_data"
    if hasattr(estimator, "bootstrap"):
        checks = [check]
        if estimator.__sklearn_tags__().input_tags.sparse:
            checks.append("check_sample_weight_equivalence_on_sparse_data")
        return dict.fromkeys(checks, "weights are the probabilities to be drawn: repeating a row changes the draws")
    if isinstance(estimator, LogitBoostClassifier):
        return {check: "which of equally good stumps is taken depends on rounding; so with GradientBoostingClassifier"}
    if isinstance(estimator, MultiBoostClassifier):
        return {check: "repeating a row changes which random numbers the rows get"}
    return {}


@pytest.mark.filterwarnings("ignore:y has one class only:UserWarning")
@all_checks(ESTIMATORS, expected_failed_checks)
def test_scikit_learns_check_passes(estimator, check):
    check(estimator)
