"""What cannot work is refused with a message that names the argument, and leaves the estimator as it was."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse, stats
from sklearn.exceptions import NotFittedError

import models
from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from twin import example_data

ALL = [BoostTreeRegressor, BoostTreeClassifier, BoostForestRegressor, BoostForestClassifier]
FORESTS = [BoostForestRegressor, BoostForestClassifier]
CLASSIFIERS = [BoostTreeClassifier, BoostForestClassifier]

X, LABELS = example_data("binary", n=60)
NUMBERS = example_data("regression", n=60)[1]


def make(cls, **params):
    """Return a small estimator."""
    return cls(**({"n_estimators": 3, "random_state": 0} if cls in FORESTS else {"random_state": 0}) | params)


def target(cls):
    """Return a target of the estimator's kind."""
    return LABELS if cls in CLASSIFIERS else NUMBERS


def assert_refused(cls, match, params=None, error=ValueError, **data):
    models.assert_refused(lambda: make(cls), X, target(cls), match, params, error, **data)


# ----------------------------------------------------------------------------------------------------------- parameters


class Always:
    """A distribution that draws one value."""

    def __init__(self, value):
        self.value = value

    def rvs(self, random_state=None):
        return self.value


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("node_model", ["Ridge", None, 1]),
        ("criterion", ["entropy", None]),
        ("min_samples_leaf", [0, -1, 2.5, 5.0, True, None, "5"]),
        ("reg_lambda", [-0.1, np.nan, np.inf, None, "1", True]),
        ("max_leaf_nodes", [1, 2.5, "all"]),
        ("max_depth", [0, -1, 1.5]),
        ("max_features", [0, 0.0, 1.5, -0.5, "all", True]),
        ("n_cuts", [0, 1.5, None]),
        ("batch_size", [1, 0, 10.0]),
    ],
)
@pytest.mark.parametrize("cls", ALL)
def test_bad_tree_parameters_are_refused_alone_in_a_pool_and_from_a_distribution(cls, name, values):
    good = getattr(make(cls), name)
    good = list(good) if isinstance(good, tuple) else [good]
    for value in values:
        for given in (value, [*good, value], Always(value)):
            assert_refused(cls, f"^{name} must be", {name: given})
    for pool in ([], (), np.array([])):
        assert_refused(cls, f"^{name} .*pool", {name: pool})


@pytest.mark.parametrize("pool", [[[5, 6], [7, 8]], [[5, 6], [7]], np.array(5.5)], ids=["table", "ragged", "0-d"])
def test_what_is_no_pool_is_refused(pool):
    assert_refused(BoostForestRegressor, "min_samples_leaf", {"min_samples_leaf": pool})


def test_more_cuts_than_can_be_counted_are_refused():
    assert_refused(BoostTreeRegressor, "n_cuts", {"n_cuts": 2**31})


@pytest.mark.parametrize(
    "params",
    [{"clip": "yes"}, {"clip": None}, {"clip": 1}, {"reg_lambda": stats.norm()}],
    ids=["text", "None", "number", "distribution"],
)
def test_other_bad_tree_parameters_of_a_regressor_are_refused(params):
    assert_refused(BoostForestRegressor, f"^{next(iter(params))} must be", {**params, "n_estimators": 20})


@pytest.mark.parametrize("given", [lambda c: c, lambda c: ["xgb", c], Always], ids=["alone", "pool", "distribution"])
@pytest.mark.parametrize(
    ("cls", "criterion"),
    [
        (BoostTreeRegressor, "gini"),
        (BoostForestRegressor, "c45"),
        (BoostTreeClassifier, "mse"),
        (BoostForestClassifier, "mse"),
    ],
)
def test_a_criterion_of_the_other_task_is_refused(cls, criterion, given):
    assert_refused(cls, "^criterion must be one of", {"criterion": given(criterion)})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_estimators", [0, -1, 2.5, True, None, "3"]),
        ("n_jobs", [0, "all", 1.5]),
        ("max_samples", [0, -1, 0.0, 1.5, np.nan, True, "half"]),
        ("scale", [1, None, "yes"]),
        ("dtype", ["double", 8, float, np.float32]),
        ("bootstrap", [1, None, "yes"]),
        ("warm_start", [1, None]),
        ("oob_score", ["yes", None, 1]),
        ("verbose", [-1, 0.5, None]),
        ("max_one_hot", [-1, 2.5, True, "all"]),
        ("missing_indicator", ["yes", None, 1]),
        ("missing_fill", ["zero", None, True]),
        ("random_state", [-1, 1.5, "seed"]),
    ],
)
@pytest.mark.parametrize("cls", FORESTS)
def test_bad_forest_parameters_are_refused(cls, name, values):
    for value in values:
        assert_refused(cls, f"^{name} must be", {name: value})


@pytest.mark.parametrize("params", [{"scale": 1}, {"dtype": "f4"}, {"random_state": -1}], ids=str)
def test_other_bad_parameters_of_a_tree_are_refused(params):
    assert_refused(BoostTreeRegressor, f"^{next(iter(params))} must be", params)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("params", [{"oob_score": True}, {"max_samples": 0.5}])
def test_what_only_a_bootstrap_has_is_refused_without_one(cls, params):
    assert_refused(cls, f"^{next(iter(params))} needs bootstrap=True", {"bootstrap": False, **params})


@pytest.mark.parametrize(("cls", "params"), [(BoostTreeClassifier, {}), (BoostForestClassifier, {"bootstrap": False})])
def test_balanced_subsample_is_refused_without_bootstrap(cls, params):
    params = {**params, "class_weight": "balanced_subsample"}
    assert_refused(cls, "class_weight='balanced_subsample' needs bootstrap=True", params)


@pytest.mark.parametrize(
    "class_weight",
    ["even", [1.0, 2.0], {0: 1.0, 7: 1.0}, {0: -1.0, 1: 3.0}, {0: np.nan, 1: 1.0}, {0: 0.0, 1: 0.0}, {0: "a", 1: 1.0}],
    ids=str,
)
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_bad_class_weights_are_refused(cls, class_weight):
    assert_refused(cls, "class_weight", {"class_weight": class_weight})


# ------------------------------------------------------------------------------------------ tables, targets and weights


def changed(values, value):
    """Return a copy with one value changed."""
    values = np.array(values, dtype=float)
    values.flat[7] = value
    return values


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(cls, value):
    assert_refused(cls, "Input X contains infinity", X=changed(X, value))
    assert_refused(cls, "Input y contains infinity", y=changed(target(cls), value))
    fitted = make(cls).fit(X, target(cls))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fitted.predict(changed(X, value))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_missing_labels_are_named(cls):
    labels = np.where(LABELS == 1, "yes", "no").astype(object)
    labels[7] = None
    assert_refused(cls, r"y has missing labels \(None\)", y=labels)


@pytest.mark.parametrize("cls", ALL)
def test_a_missing_target_is_refused_though_missing_features_are_not(cls):
    assert_refused(cls, "Input y contains NaN", y=changed(target(cls), np.nan))
    fitted = make(cls).fit(changed(X, np.nan), target(cls))
    assert len(fitted.predict(changed(X, np.nan))) == len(X)


@pytest.mark.parametrize("cls", ALL)
def test_wrong_shapes_and_kinds_are_refused(cls):
    y = target(cls)
    assert_refused(cls, "Expected 2D array, got 1D", X=X[:, 0])
    assert_refused(cls, "dim 3", X=X[None])
    assert_refused(cls, "0 feature", X=X[:, :0])
    assert_refused(cls, "0 sample", X=X[:0], y=y[:0])
    assert_refused(cls, "inconsistent numbers of samples", y=y[:-1])
    assert_refused(cls, r"y must have shape \(n_samples,\) or \(n_samples, n_targets\)", y=y[:, None, None])
    assert_refused(
        cls, "X contains NaN: a sparse matrix must not have", X=sparse.csr_matrix(np.where(X > 1, np.nan, X))
    )
    assert_refused(
        cls, "Column 1 of X holds text, such as 'red'", X=np.where([False, True], "red", X[:, :2].astype(object))
    )
    assert_refused(cls, "Complex data not supported", X=X + 1j)


def test_targets_of_the_other_task_are_refused():
    assert_refused(BoostForestClassifier, "Unknown label type: continuous", y=NUMBERS)
    assert_refused(BoostForestRegressor, "could not convert string to float", y=np.where(LABELS, "a", "b"))


@pytest.mark.parametrize("factor", [1e200, 1e307])
def test_features_too_large_to_compute_with_are_refused_without_scaling(factor):
    assert_refused(BoostTreeRegressor, "X or y has values too large", {"scale": False}, X=X * factor)


@pytest.mark.parametrize("factor", [5e-324, 1e-310, 1e154, 1e200, 1e307])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_features_whose_squares_overflow_are_refused_or_predicted_from(factor):
    try:
        tree = BoostTreeRegressor().fit(X * factor, NUMBERS)
    except ValueError as error:
        assert "X" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(tree.predict(X * factor)).all()


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (-np.ones(60), "sample_weight"),
        (np.zeros(60), "sample_weight must not be zero everywhere"),
        (changed(np.ones(60), np.nan), "sample_weight must be finite"),
        (changed(np.ones(60), np.inf), "sample_weight must be finite"),
        (np.ones(59), "sample_weight"),
        (np.ones((60, 1)), "sample_weight must be 1D"),
        (["heavy"] * 60, "sample_weight"),
    ],
    ids=["negative", "zero", "nan", "infinite", "short", "2-d", "text"],
)
def test_bad_sample_weights_are_refused(cls, weight, match):
    assert_refused(cls, match, sample_weight=weight)


# -------------------------------------------------------------------------------------------------------- after the fit

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "decision_path")


@pytest.mark.parametrize("cls", ALL)
def test_predicting_from_other_columns_is_refused(cls):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted, named = make(cls).fit(X, target(cls)), make(cls).fit(frame, target(cls))
    for method in [m for m in METHODS if hasattr(fitted, m)]:
        with pytest.raises(ValueError, match=rf"X has 3 features, but {cls.__name__} is expecting 4 features"):
            getattr(fitted, method)(X[:, :3])
        with pytest.raises(ValueError, match=r"feature names should match .*: 'a' is missing, 'e' is unknown"):
            getattr(named, method)(frame.rename(columns={"a": "e"}))


USES = {method: lambda fitted, method=method: getattr(fitted, method)(X) for method in METHODS}
USES |= {
    "attributes": lambda fitted: [fitted.feature_importances_, fitted.slope_importances_, fitted.tree_params_],
    "sizes": lambda fitted: [fitted.n_nodes_, fitted.n_leaves_, fitted.model_size_],
    "to_dataframe": lambda fitted: fitted.to_dataframe(),
    "get_tree": lambda fitted: fitted.get_tree(0),
    "staged_predict": lambda fitted: next(fitted.staged_predict(X)),
    "staged_predict_proba": lambda fitted: next(fitted.staged_predict_proba(X)),
}


@pytest.mark.parametrize(
    ("cls", "name"), [(c, name) for c in ALL for name in USES if name in ("attributes", "sizes") or hasattr(c, name)]
)
def test_an_unfitted_estimator_says_so(cls, name):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        USES[name](make(cls))


@pytest.mark.parametrize("i", [3, -4, 10**9])
def test_a_tree_that_is_not_there_is_refused(i):
    with pytest.raises(IndexError, match="tree"):
        make(BoostForestRegressor).fit(X, NUMBERS).get_tree(i)


# -------------------------------------------------------------------------------------- what works, but hardly as meant


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"min_samples_leaf": 31}, "min_samples_leaf=31 needs at least 62 rows"),
        ({"min_samples_leaf": 20, "batch_size": 39}, "at least 40 rows to split, and batch_size=39 takes fewer"),
    ],
)
@pytest.mark.parametrize("cls", ALL)
def test_too_few_rows_for_a_split_are_a_warning_that_points_at_the_caller(cls, params, match):
    with pytest.warns(UserWarning, match=match) as caught:
        fitted = make(cls, **params).fit(X, target(cls))
    assert [w.filename for w in caught] == [__file__]
    assert_array_equal(fitted.n_leaves_, 1)
    assert np.isfinite(fitted.score(X, target(cls)))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_single_class_is_a_warning_that_points_at_the_caller(cls):
    with pytest.warns(UserWarning, match=r"y has one class only \('a'\)") as caught:
        fitted = make(cls).fit(X, ["a"] * len(X))
    assert [w.filename for w in caught] == [__file__]
    assert_array_equal(fitted.predict(X), "a")
    assert_array_equal(fitted.predict_proba(X), np.ones((len(X), 1)))
