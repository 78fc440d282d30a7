"""scikit-learn's own checks, on all estimators with settings that take different ways through the code."""

import warnings

import pytest
from sklearn.base import is_regressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    ETForestClassifier,
    ETForestRegressor,
    PoolForestClassifier,
    PoolForestRegressor,
)
from boostforest.model_trees import LMTClassifier, M5PRegressor, SimpleLogisticClassifier
from boostforest.nodes import ELM
from models import all_checks

POOLS = {
    "node_model": ["ridge", "constant"],
    "min_samples_leaf": range(2, 6),
    "max_features": ["sqrt", 1, 0.5, None],
    "max_leaf_nodes": (2, 8, None),
}
STUMPS = DecisionTreeRegressor(max_depth=2)
SMOOTH = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
# Where an estimator takes categories, as by default, scikit-learn checks it with whole numbers; else with any.
NUMBERS = {"categorical_features": None}
# No distributions among the pools: their repr has an address in it, and the names of tests must not change.
ESTIMATORS = [
    BoostTreeRegressor(),
    BoostTreeRegressor(node_model="constant", criterion="mse", min_samples_leaf=2, max_depth=3, **NUMBERS),
    BoostTreeRegressor(clip=False, scale=False, reg_lambda=1.0, max_features="sqrt", n_cuts=3),
    BoostTreeRegressor(node_model="elm"),
    BoostTreeRegressor(node_model="svr", **NUMBERS),
    BoostTreeClassifier(),
    BoostTreeClassifier(node_model="elm", **NUMBERS),
    BoostTreeClassifier(node_model="svr"),
    BoostTreeClassifier(node_model="constant", criterion="gini", min_samples_leaf=2, max_leaf_nodes=5, **NUMBERS),
    BoostTreeClassifier(criterion="c45", scale=False, reg_lambda=1.0, max_features="sqrt", class_weight="balanced"),
    BoostForestRegressor(5),
    BoostForestRegressor(5, **NUMBERS),
    BoostForestRegressor(5, loss="poisson", **NUMBERS),
    BoostTreeRegressor(loss="gamma"),
    BoostTreeRegressor(loss="huber"),
    BoostForestRegressor(5, loss="quantile", **NUMBERS),
    BoostForestRegressor(5, criterion="mse", batch_size=40, clip=False, n_jobs=2),
    BoostForestRegressor(5, max_samples=0.7, n_cuts=3, max_features="log2"),
    BoostForestRegressor(5, bootstrap=False, **POOLS),
    BoostForestRegressor(50),
    BoostForestClassifier(5),
    BoostForestClassifier(5, criterion=["gini", "c45"], batch_size=40, class_weight="balanced_subsample", n_jobs=2),
    BoostForestClassifier(5, **NUMBERS),
    BoostForestClassifier(5, max_samples=0.7, n_cuts=3, scale=False, max_leaf_nodes=6),
    BoostForestClassifier(5, bootstrap=False, **POOLS),
    BoostForestClassifier(50),
    BoostForestClassifier(5, preset="fast"),
    BoostForestClassifier(5, preset="paper"),
    BoostForestRegressor(5, node_model=[ELM(n_hidden=[5, 10]), "svr"]),
    BoostForestClassifier(5, node_model=[ELM(n_hidden=[5, 10]), "svr"]),
    # With a seed: without one, a check may miss its bad cell in a row that no member has drawn.
    ETForestRegressor(5, random_state=0),
    ETForestClassifier(5, class_weight="balanced_subsample", random_state=0),
    PoolForestRegressor([LinearRegression(), BoostTreeRegressor()], 4, max_features=0.9, bootstrap=False),
    PoolForestClassifier(
        [GaussianNB(), ExtraTreeClassifier()], 5, pools=[None, {"max_depth": [5, 6]}], weights=[2, 1], random_state=0
    ),
    BoostTreeRegressor(node_model=STUMPS),
    BoostTreeRegressor(node_model=SMOOTH),
    BoostTreeClassifier(node_model=STUMPS),
    BoostTreeClassifier(node_model=SMOOTH, min_samples_leaf=30),
    M5PRegressor(),
    M5PRegressor(prune=False),
    M5PRegressor(regression_tree=True),
    SimpleLogisticClassifier(),
    SimpleLogisticClassifier(n_iter=5),
    SimpleLogisticClassifier(use_aic=True, class_weight="balanced"),
    LMTClassifier(),
    LMTClassifier(prune=False, n_iter=3, min_samples_split=5),
    LMTClassifier(fast_regression=False, error_on_probabilities=True, max_iter=10, shuffle=False),
]


def expected_failed_checks(estimator):
    """Return the checks that an estimator fails, and why."""
    if isinstance(estimator, SimpleLogisticClassifier | LMTClassifier) and estimator._needs_folds():
        return {"check_sample_weight_equivalence_on_dense_data": "repeated rows may be dealt into different folds"}
    if not getattr(estimator, "bootstrap", False):
        return {}
    # scikit-learn's forests say the same of their own.
    reason = "weights are the probabilities to be drawn: repeating a row changes which rows the seed draws"
    checks = ["check_sample_weight_equivalence_on_dense_data"]
    if estimator.__sklearn_tags__().input_tags.sparse:
        checks.append("check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, reason)


# What the library has to say about tables as small as those of the checks; any other warning is an error.
@pytest.mark.filterwarnings("ignore:min_samples_leaf=.* needs at least:UserWarning")
@pytest.mark.filterwarnings("ignore:y has one class only:UserWarning")
@pytest.mark.filterwarnings("ignore:.* rows were drawn by every tree:UserWarning")
@all_checks(ESTIMATORS, expected_failed_checks)
def test_scikit_learns_check_passes(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def random_forest_failures():
    """Return what scikit-learn's own forests fail: {is regressor: names of checks}."""
    failed = {}
    for forest in (RandomForestRegressor(5), RandomForestClassifier(5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs are not our business
            results = check_estimator(forest, on_fail=None, on_skip=None)
        failed[is_regressor(forest)] = {r["check_name"] for r in results if r["status"] == "failed"}
    return failed


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=range(len(ESTIMATORS)))
def test_random_forest_fails_every_check_that_ours_may_fail(estimator, random_forest_failures):
    assert set(expected_failed_checks(estimator)) <= random_forest_failures[is_regressor(estimator)]


def test_tags_say_what_the_tables_may_hold():
    def tags(estimator):
        found = estimator.__sklearn_tags__().input_tags
        return found.categorical, found.string, found.allow_nan

    for estimator in (BoostTreeRegressor(), BoostTreeClassifier(), BoostForestRegressor(), BoostForestClassifier()):
        assert tags(estimator) == (True, True, True)
        assert tags(estimator.set_params(categorical_features=None)) == (False, False, True)
    assert tags(PoolForestRegressor(BoostTreeRegressor())) == (True, True, True)
    assert tags(PoolForestRegressor([BoostTreeRegressor(), LinearRegression()])) == (False, False, False)
    for numbers_only in (M5PRegressor(), LMTClassifier(), ETForestClassifier()):
        assert tags(numbers_only) == (False, False, True)
