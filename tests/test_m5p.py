"""M5PRegressor: against its slow twin, and what a user can rely on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, make_friedman1

import twin_m5p
from boostforest.model_trees import M5PRegressor
from weka_m5p import piecewise_linear

SETTINGS = [
    {},
    {"prune": False},
    {"smooth": False},
    {"prune": False, "smooth": False},
    {"regression_tree": True},
    {"prune": False, "min_samples_leaf": 12},
]


# ----------------------------------------------------------------------------------------------------- against the twin


@pytest.mark.parametrize("arguments", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_is_the_twins(arguments, weighted):
    X, y = piecewise_linear(150)
    weight = np.random.RandomState(0).randint(0, 4, size=len(y)) if weighted else None
    tree = M5PRegressor(**arguments).fit(X, y, weight)
    twin = twin_m5p.M5P(**arguments).fit(X, y, weight)
    assert tree.n_leaves_ == len(twin.leaves())
    assert_allclose(tree.predict(X), twin.predict(X), rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 6), st.booleans())
def test_small_tables_with_ties_and_repeated_features_give_the_twins_tree(seed, n, d, prune):
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 5, size=(n, d)) + 0.0
    if d > 2:
        X[:, 0] = X[:, 1] - 2 * X[:, 2]
    y = X.sum(axis=1) * rng.randint(0, 2, size=n) + rng.normal(size=n)
    tree = M5PRegressor(prune=prune).fit(X, y)
    twin = twin_m5p.M5P(prune=prune).fit(X, y)
    assert tree.n_leaves_ == len(twin.leaves())
    assert_allclose(tree.predict(X), twin.predict(X), rtol=1e-6, atol=1e-6)


def test_elimination_drops_features_that_say_nothing_and_features_that_repeat_others():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 5))
    X[:, 1] = X[:, 0] + 0.2 * rng.normal(size=200)
    noise = rng.normal(size=200)
    noise -= X @ np.linalg.lstsq(X, noise)[0]  # or chance may keep one of the last two
    y = 5 * (X[:, 0] - X[:, 1]) + X[:, 2] + 0.1 * noise  # large slopes that cancel: they are taken for repetition
    tree, twin = M5PRegressor().fit(X, y), twin_m5p.M5P().fit(X, y)
    assert tree.n_leaves_ == 1
    assert {0, 1} < twin.root.tested  # both were there to choose from
    assert_array_equal(np.flatnonzero(tree.tree_.slopes[0]), [2])  # without one, the other is useless
    assert_allclose(tree.tree_.slopes[0], twin.root.slopes * twin.y_scale / twin.scale, rtol=1e-9)


# ---------------------------------------------------------------------------------------------- what a user can rely on


X, y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("arguments", SETTINGS, ids=str)
def test_weights_are_the_same_as_repeated_rows(arguments):
    X, y = make_friedman1(120, noise=0.5, random_state=0)
    weight = np.random.RandomState(0).randint(0, 4, size=len(y))
    weighted = M5PRegressor(**arguments).fit(X, y, weight)
    repeated = M5PRegressor(**arguments).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_units_of_features_and_target_do_not_matter():
    X, y = piecewise_linear()
    expected = M5PRegressor().fit(X, y).predict(X)
    scale, shift = 10.0 ** np.arange(-3, 3), np.arange(6) * 1e3
    tree = M5PRegressor().fit(X * scale + shift, y * 1e-9 - 1e-6)
    assert_allclose(tree.predict(X * scale + shift), expected * 1e-9 - 1e-6, rtol=1e-6, atol=1e-15)


def test_a_feature_that_is_always_missing_does_no_harm():
    X, y = piecewise_linear()
    with_gap = np.column_stack([np.full(len(y), np.nan), X])
    assert_allclose(M5PRegressor().fit(with_gap, y).predict(with_gap), M5PRegressor().fit(X, y).predict(X), rtol=1e-9)


def test_pruning_makes_the_tree_smaller_and_a_larger_least_size_does_too():
    sizes = [M5PRegressor(prune=False, min_samples_leaf=m).fit(X, y).n_leaves_ for m in (2, 4, 12, 100, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert M5PRegressor().fit(X, y).n_leaves_ < sizes[1]


def test_every_leaf_has_two_rows_and_more_than_a_fifth_of_the_node_above():
    tree = M5PRegressor(prune=False).fit(X, y).tree_
    inner = np.flatnonzero(tree.feature >= 0)
    for child in (tree.left[inner], tree.left[inner] + 1):
        assert (tree.n_samples[child] >= 2).all()
        assert (tree.n_samples[child] > tree.n_samples[inner] // 5).all()
        assert (child > inner).all()


def test_smoothing_without_pruning_helps_on_new_rows():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    scores = [M5PRegressor(prune=False, smooth=s).fit(X[:200], y[:200]).score(X[200:], y[200:]) for s in (False, True)]
    assert scores[1] > scores[0] + 0.1


def test_importances_name_the_features_that_are_tested():
    X, y = piecewise_linear()
    importances = M5PRegressor().fit(X, y).feature_importances_
    assert_allclose(importances.sum(), 1)
    assert importances[4:].sum() < 0.1
    assert_array_equal(M5PRegressor().fit(X, X[:, 0]).feature_importances_, 0)  # one model says it all
