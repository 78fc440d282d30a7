"""scikit-learn's own checks on the baselines."""

import importlib.util

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostforest.nodes.torch import MLP
from boostforest_paper.baselines import (
    BaggedLightGBMClassifier,
    BaggedLightGBMRegressor,
    BaggedNetworksClassifier,
    BaggedNetworksRegressor,
    BaggedXGBoostClassifier,
    BaggedXGBoostRegressor,
    DeepBoostClassifier,
    ELMClassifier,
    ELMRegressor,
    FilterBoostClassifier,
    LogitBoostClassifier,
    MultiBoostClassifier,
)

ESTIMATORS = [
    LogitBoostClassifier(n_estimators=3),
    MultiBoostClassifier(GaussianNB(), 3),
    FilterBoostClassifier(n_estimators=4, n_filtered=100, max_edge_samples=200),
    DeepBoostClassifier(2, 3),
    ELMRegressor(),
    ELMClassifier(),
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


def all_checks(estimators):
    """Return scikit-learn's mark, its argument values as a list: 1.6 gives a generator, of which pytest 9 warns."""
    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failed_checks)
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs)


@pytest.mark.filterwarnings("ignore:y has one class only:UserWarning")
@all_checks(ESTIMATORS)
def test_scikit_learns_check_passes(estimator, check):
    check(estimator)
