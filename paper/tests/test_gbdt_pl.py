"""GBDTPLRegressor and GBDTPLClassifier: what a user can rely on."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.metrics import log_loss

from boostforest_paper.baselines import GBDTPLClassifier, GBDTPLRegressor
from boostforest_paper.baselines.gbdt_pl_bins import make_bins
from models import assert_refused

X, y = make_friedman1(400, noise=0.5, random_state=0)


def test_one_tree_of_two_leaves_is_an_absolute_value():
    X = np.linspace(-1, 1, 201)[:, None]
    model = GBDTPLRegressor(1, max_leaf_nodes=2, learning_rate=1.0, reg_lambda=0.0).fit(X, np.abs(X[:, 0]))
    assert_allclose(model.predict(X), np.abs(X[:, 0]), atol=1e-12)
    trees = model.trees_
    assert_array_equal(trees.feature, [0, -1, -1])
    assert_allclose(trees.term_slope / model.feature_scale_, [-1, 1])


def test_leaves_have_the_features_split_on_above_them_and_at_most_max_var():
    trees = GBDTPLRegressor(20, max_var=2, max_leaf_nodes=8).fit(X, y).trees_
    assert np.diff(trees.term_start).max() == 2
    for start, end in zip(trees.tree_start, trees.tree_start[1:], strict=False):
        above = {0: set()}
        for node in range(end - start):
            i = start + node
            if trees.feature[i] >= 0:
                for child in (trees.left[i], trees.left[i] + 1):
                    above[child] = above[node] | {trees.feature[i]}
            else:
                assert set(trees.term_feature[trees.term_start[i] : trees.term_start[i + 1]]) <= above[node]


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_the_model_does_not_depend_on_the_number_of_threads(n_classes):
    X, y = make_classification(
        12_000, 40, n_informative=8, n_classes=n_classes or 2, random_state=0
    )  # large enough for the features of a node to be shared out
    make = GBDTPLClassifier if n_classes else GBDTPLRegressor
    one, three = (make(2, max_leaf_nodes=6, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    for name, column in vars(one.trees_).items():
        assert_array_equal(column, getattr(three.trees_, name))
    assert_array_equal(one.predict(X), three.predict(X))


def test_counts_as_weights_are_the_same_as_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = GBDTPLRegressor(10, max_bins=50).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = GBDTPLRegressor(10, max_bins=50).fit(X, y, sample_weight=counts)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)


def test_stages_end_with_the_prediction():
    model = GBDTPLRegressor(7).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ == 7
    assert_array_equal(stages[-1], model.predict(X))
    shorter = GBDTPLRegressor(3).fit(X, y)
    assert_array_equal(stages[2], shorter.predict(X))


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
def test_stages_of_a_classifier_end_with_its_predictions(labels):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < len(labels)], np.array(labels)[y[y < len(labels)]]
    model = GBDTPLClassifier(5).fit(X, y)
    for staged, whole in (
        (model.staged_predict, model.predict),
        (model.staged_predict_proba, model.predict_proba),
        (model.staged_decision_function, model.decision_function),
    ):
        stages = list(staged(X))
        assert len(stages) == 5
        assert_array_equal(stages[-1], whole(X))
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    losses = [log_loss(y, p) for p in model.staged_predict_proba(X)]
    assert np.all(np.diff(losses) < 0)


def test_a_model_survives_pickle_and_clone():
    model = GBDTPLRegressor(5, max_var=3).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


def test_units_do_not_matter():
    scale, shift = np.logspace(-3, 3, X.shape[1]), np.linspace(-50, 50, X.shape[1])
    model = GBDTPLRegressor(10).fit(X, y)
    other = GBDTPLRegressor(10).fit(X * scale + shift, y)
    assert_allclose(other.predict(X * scale + shift), model.predict(X), rtol=1e-6)


def test_importances_name_the_features_that_count():
    importances = GBDTPLRegressor(30).fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances[:5].sum() > 0.9
    assert not GBDTPLRegressor(2, max_leaf_nodes=1).fit(X, y).feature_importances_.any()


def test_a_constant_target_and_constant_features_are_learnt():
    X = np.ones((30, 2))
    assert_allclose(GBDTPLRegressor(3).fit(X, np.full(30, 7.0)).predict(X), 7)
    y = np.arange(30) % 3
    assert_allclose(GBDTPLClassifier(3).fit(X, y).predict_proba(X), 1 / 3)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("n_estimators", 0, "an integer of at least 1"),
        ("max_leaf_nodes", 2.5, "an integer of at least 1"),
        ("max_depth", 0, "an integer of at least 1 or None"),
        ("max_var", -1, "an integer of at least 0"),
        ("max_bins", 257, "an integer from 2 to 256"),
        ("min_samples_leaf", True, "an integer of at least 1"),
        ("reg_lambda", -0.1, "a finite number of at least 0"),
        ("reg_alpha", np.inf, "a finite number of at least 0"),
        ("min_child_weight", "much", "a finite number of at least 0"),
        ("learning_rate", 0.0, "a finite number above 0"),
    ],
)
def test_a_bad_parameter_is_named(name, value, allowed):
    assert_refused(lambda: GBDTPLRegressor(2), X, y, f"^{name} must be {allowed}; got ", {name: value})


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("feature", 0, 99),
        ("left", 0, 0),
        ("left", 0, 10_000),
        ("tree_start", 1, 10_000),
        ("term_start", -1, 10_000),
        ("term_feature", 0, -1),
    ],
)
def test_damaged_columns_are_refused(name, place, value):
    model = GBDTPLRegressor(2).fit(X, y)
    column = getattr(model.trees_, name).copy()
    column[place] = value
    model.trees_ = replace(model.trees_, **{name: column})
    with pytest.raises(ValueError, match="damaged model"):
        model.predict(X)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-20, 20) | st.floats(-1e3, 1e3), min_size=1, max_size=60),
    max_bins=st.integers(2, 12),
    seed=st.integers(0, 9),
)
def test_bins_are_ascending_and_tell_their_values(values, max_bins, seed):
    x = np.array(values, dtype=float)
    weight = np.random.default_rng(seed).integers(1, 5, len(x)).astype(float)
    bins = make_bins(x[:, None], weight, max_bins)
    n, codes, ends = bins.n[0], bins.codes[:, 0], bins.end[0]
    assert 1 <= n <= max_bins
    assert_array_equal(np.unique(codes), np.arange(n))
    assert_array_equal(codes, np.searchsorted(ends[: n - 1], x))
    for code in range(n):
        inside = codes == code
        assert_allclose(bins.mean[0, code], np.average(x[inside], weights=weight[inside]), rtol=1e-9, atol=1e-9)
    if len(np.unique(x)) <= max_bins:
        assert n == len(np.unique(x))


def test_a_common_value_does_not_use_up_the_bins():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(5000) < 0.9, 0.0, rng.normal(size=5000))
    bins = make_bins(x[:, None], np.ones(5000), 64)
    assert bins.n[0] > 55
    assert np.sum(bins.codes[:, 0] == bins.codes[x == 0, 0][0]) == np.sum(x == 0)
