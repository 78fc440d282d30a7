"""SimpleLogisticClassifier and LMTClassifier against their slow twin, and the core by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

import twin_lmt
from boostforest.model_trees import LMTClassifier, SimpleLogisticClassifier
from models import on_every_instruction_set


def table(n_classes, seed=0, n=150):
    """Return features, classes and weights."""
    X, y = make_classification(n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=seed)
    return X, y, np.random.RandomState(seed).randint(1, 4, size=n).astype(float)


def scores(F):
    """Return the twin's class functions as decision_function does."""
    return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("n_iter", [0, 1, 30])
def test_simple_logistic_is_the_twins(n_classes, n_iter):
    X, y, w = table(n_classes)
    model = SimpleLogisticClassifier(n_iter=n_iter).fit(X, y, w)
    *_, twin = twin_lmt.boost(np.zeros((n_classes, 6)), X, y, w, n_iter)
    expected = twin[1:] - twin[:1] if n_classes == 2 else twin
    assert_allclose(model.coef_, expected[:, 1:], rtol=1e-8, atol=1e-8)
    assert_allclose(model.intercept_, expected[:, 0], rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict_proba(X), twin_lmt.softmax(twin_lmt.values(twin, X)), atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_number_of_iterations_is_the_twins(n_classes):
    X, y, w = table(n_classes, n=100)
    start = np.zeros((n_classes, 6))
    for arguments, patience, on_probabilities in (
        ({}, 50, False),
        ({"n_iter_no_change": 4}, 4, False),
        ({"n_iter_no_change": 0}, np.inf, False),
        ({"error_on_probabilities": True}, 50, True),
    ):
        chosen = twin_lmt.choose_by_cross_validation(start, X, y, w, 60, patience, on_probabilities)
        model = SimpleLogisticClassifier(max_iter=60, shuffle=False, **arguments).fit(X, y, w)
        assert model.n_iter_ == chosen
    assert SimpleLogisticClassifier(use_aic=True).fit(X, y, w).n_iter_ == twin_lmt.choose_by_aic(start, X, y, w, 60)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_the_twins(n_classes, prune, weighted):
    X, y, w = table(n_classes, seed=1)
    w = w if weighted else np.ones(len(y))
    tree = LMTClassifier(n_iter=3, prune=prune, min_samples_split=8, min_samples_leaf=3, shuffle=False).fit(X, y, w)
    twin = twin_lmt.fit_tree(X, y, w, n_classes, twin_lmt.Rules(3, min_split=8, min_leaf=3), prune)
    assert tree.n_leaves_ == len(twin_lmt.leaves(twin)) > 1
    assert_allclose(tree.decision_function(X), scores(twin_lmt.tree_values(twin, X)), rtol=1e-8, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 10**6),
    n_iter=st.integers(0, 3),
    min_leaf=st.integers(1, 6),
    whole=st.booleans(),
)
def test_unpruned_trees_on_tables_with_ties_are_the_twins(n_classes, seed, n_iter, min_leaf, whole):
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 9, size=(60, 3)).astype(float)
    y = np.minimum((X[:, 0] + rng.randint(0, 6, size=60)) // 5, n_classes - 1).astype(int)
    y[:n_classes] = np.arange(n_classes)
    w = rng.randint(1, 4, size=60).astype(float) if whole else rng.uniform(0.5, 2, size=60)
    tree = LMTClassifier(n_iter=n_iter, prune=False, min_samples_split=10, min_samples_leaf=min_leaf).fit(X, y, w)
    twin = twin_lmt.fit_tree(X, y, w, n_classes, twin_lmt.Rules(n_iter, 10, min_leaf), prune=False)
    assert tree.n_leaves_ == len(twin_lmt.leaves(twin))
    assert_allclose(tree.decision_function(X), scores(twin_lmt.tree_values(twin, X)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_instruction_set_gives_the_same_trees(n_classes):
    X, y, w = table(n_classes)
    tree = LMTClassifier(n_iter=10, prune=False)
    first, *others = on_every_instruction_set(lambda: tree.fit(X, y, w).decision_function(X))
    for other in others:
        assert_allclose(other, first, rtol=1e-9, atol=1e-9)
