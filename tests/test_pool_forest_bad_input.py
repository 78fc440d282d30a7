"""What a pool forest cannot be made of is refused with a message that names the member, and nothing half-done stays."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier, ExtraTreeRegressor

import models
from boostforest import ETForestRegressor, PoolForestClassifier, PoolForestRegressor
from twin import example_data

X, NUMBERS = example_data("regression", n=60)
LABELS = example_data("binary", n=60)[1]
TARGETS = {PoolForestRegressor: NUMBERS, PoolForestClassifier: LABELS, ETForestRegressor: NUMBERS}


class FailsOnce(BaseEstimator):
    """A regressor that does not like one of its own seeds."""

    def __init__(self, error=KeyError, random_state=None):
        self.error = error
        self.random_state = random_state

    def fit(self, X, y):
        if self.random_state % 5 == 0:
            raise self.error("no luck")
        return self

    def predict(self, X):
        return np.zeros(len(X))


def assert_refused(cls, match, params=None, error=ValueError, **data):
    make = partial(cls, n_estimators=3, random_state=0)
    models.assert_refused(make, X, TARGETS[cls], match, params, error, **data)


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        ([], "^estimator is an empty list"),
        (ExtraTreeRegressor, "^estimator must be an estimator; got the class ExtraTreeRegressor"),
        ([Ridge(), "tree"], r"^estimator\[1\] \(str\) must be a scikit-learn estimator .* no such methods"),
        ([Ridge(), StandardScaler()], r"^estimator\[1\] \(StandardScaler\) .*; it has no predict\.$"),
        ([Ridge(), LogisticRegression()], r"^estimator\[1\] \(LogisticRegression\) must be a regressor.* a classifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), r"^estimator \(Pipeline\) must be a regressor"),
        (KMeans(), r"^estimator \(KMeans\) must be a regressor.* it is a clusterer"),
    ],
    ids=str,
)
def test_what_is_no_regressor_is_refused(estimator, match):
    assert_refused(PoolForestRegressor, match, {"estimator": estimator}, error=(TypeError, ValueError))


def test_a_regressor_in_a_classifiers_forest_is_refused():
    estimators = [ExtraTreeClassifier(), Ridge()]
    match = r"^estimator\[1\] \(Ridge\) must be a classifier, as this forest is for classification; it is a regressor"
    assert_refused(PoolForestClassifier, match, {"estimator": estimators})


@pytest.mark.parametrize(
    ("pools", "match"),
    [
        ({"min_samples_leafs": [1, 2]}, r"'min_samples_leafs', which estimator\[0\] \(ExtraTreeRegressor\) .*_leaf'"),
        ([None, {"depth": 3}], r"'depth', which estimator\[1\] \(Ridge\) does not have; it has 'alpha', 'copy_X'"),
        ({"min_samples_leaf": [5, 10]}, r"estimator\[1\] \(Ridge\) does not have"),
        ([{"min_samples_leaf": [1]}], "list of 2 such dicts"),
        ([{"min_samples_leaf": [1]}, [5]], "list of 2 such dicts"),
        ("min_samples_leaf", "^pools must be a dict"),
        ([None, {"alpha": []}], r"^pools\['alpha'\] is an empty pool"),
    ],
    ids=str,
)
def test_pools_of_unknown_parameters_and_other_nonsense_are_refused(pools, match):
    params = {"estimator": [ExtraTreeRegressor(), Ridge()], "pools": pools}
    assert_refused(PoolForestRegressor, match, params)


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], [1, 0], [1, -1], [1, np.nan], [1, "2"], 1, "12"], ids=str)
def test_bad_weights_of_a_mixture_are_refused(weights):
    params = {"estimator": [ExtraTreeRegressor(), Ridge()], "weights": weights}
    assert_refused(PoolForestRegressor, "^weights must be None or a list of 2 positive numbers", params)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_estimators", [0, 2.5, True, None]),
        ("n_jobs", [0, "all"]),
        ("max_samples", [0, 1.5, "half"]),
        ("max_features", [0, 1.5, "all", [2, 0]]),
        ("bootstrap", [1, None]),
        ("warm_start", [1]),
        ("oob_score", ["yes"]),
        ("verbose", [-1]),
        ("random_state", [-1, "seed"]),
    ],
)
def test_bad_forest_parameters_are_refused(name, values):
    for value in values:
        assert_refused(PoolForestClassifier, f"^{name} must be", {name: value})


@pytest.mark.parametrize("params", [{"oob_score": True}, {"max_samples": 0.5}], ids=str)
def test_what_only_a_bootstrap_has_is_refused_without_one(params):
    assert_refused(ETForestRegressor, f"^{next(iter(params))} needs bootstrap=True", {"bootstrap": False, **params})


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("pool", [[5, 0], stats.randint(-1, 2)], ids=["list", "distribution"])
def test_a_member_that_cannot_be_fitted_is_named_with_what_it_has_drawn(pool, n_jobs):
    match = r"^Member \d+ \(ExtraTreeRegressor, min_samples_leaf=(0|-1)\) could not be fitted: The 'min_samples_leaf'"
    params = {"estimator": ExtraTreeRegressor(), "pools": {"min_samples_leaf": pool}, "n_estimators": 30}
    assert_refused(PoolForestRegressor, match, {**params, "n_jobs": n_jobs})
    assert_refused(ETForestRegressor, match, {"min_samples_leaf": pool, "n_estimators": 30})


@pytest.mark.parametrize(
    ("raised", "expected"), [(KeyError, RuntimeError), (TypeError, TypeError), (MemoryError, MemoryError)]
)
def test_errors_of_members_keep_their_kind_and_cause(raised, expected):
    forest = PoolForestRegressor(FailsOnce(raised), 50, random_state=0)
    with pytest.raises(expected, match="no luck") as caught:
        forest.fit(X, NUMBERS)
    assert raised is MemoryError or isinstance(caught.value.__cause__, raised)
    assert not hasattr(forest, "estimators_")


def test_a_replica_that_lacks_classes_is_named_as_the_reason():
    y = np.arange(60) < 2
    match = r"^Member \d+ \(LogisticRegression\) could not be fitted to a replica with 1 of 2 classes: "
    assert_refused(PoolForestClassifier, match, {"estimator": LogisticRegression(), "n_estimators": 30}, y=y)


def test_weights_that_members_do_not_take_are_refused():
    pipeline = make_pipeline(StandardScaler(), Ridge())
    match = r"^Weights without bootstrap .* estimator\[1\] \(Pipeline\) takes no sample_weight"
    params = {"estimator": [Ridge(), pipeline], "bootstrap": False}
    assert_refused(PoolForestRegressor, match, params, sample_weight=np.ones(60))
    assert PoolForestRegressor(pipeline, 3).fit(X, NUMBERS, np.ones(60)), "with bootstrap they are draw probabilities"
    voters = make_pipeline(StandardScaler(), LogisticRegression())
    match = r"^class_weight='balanced_subsample' .* estimator \(Pipeline\) takes no sample_weight"
    assert_refused(PoolForestClassifier, match, {"estimator": voters, "class_weight": "balanced_subsample"})


def test_bad_tables_and_targets_are_refused():
    assert_refused(
        PoolForestRegressor, r"^Member 0 \(Ridge\) .*NaN", {"estimator": Ridge()}, X=np.where(X > 1, np.nan, X)
    )
    assert_refused(PoolForestRegressor, "inconsistent numbers of samples", y=NUMBERS[:-1])
    assert_refused(PoolForestRegressor, "y should be a 1d array", y=np.column_stack([NUMBERS, NUMBERS]))
    assert_refused(PoolForestRegressor, "Input y contains NaN", y=np.where(X[:, 0] > 1, np.nan, NUMBERS))
    assert_refused(PoolForestClassifier, "Unknown label type: continuous", y=NUMBERS)
    assert_refused(PoolForestRegressor, "zero everywhere", sample_weight=np.zeros(60))


def test_a_warm_start_keeps_classes_and_columns():
    forest = PoolForestClassifier(DecisionTreeClassifier(), 3, warm_start=True).fit(X, LABELS)
    forest.set_params(n_estimators=5)
    with pytest.raises(ValueError, match="no other classes"):
        forest.fit(X, LABELS + 1)
    with pytest.raises(ValueError, match="X has 3 features"):
        forest.fit(X[:, :3], LABELS)
    with pytest.raises(ValueError, match="n_estimators=2 must be at least the 3 members"):
        forest.set_params(n_estimators=2).fit(X, LABELS)
    assert len(forest.estimators_) == 3
