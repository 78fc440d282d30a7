"""TAOClassifier and BaggedTAOClassifier: what a user can rely on."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from boostforest import _core
from boostforest_paper.baselines import BaggedTAOClassifier, TAOClassifier
from models import assert_refused


def objective(tree, X, y, weight):
    """Compute the objective from the public parts of a fitted tree."""
    p = tree.predict_proba(X)[np.arange(len(y)), np.searchsorted(tree.classes_, y)]
    loss = -np.log(p) if tree.loss == "log_loss" else tree.predict(X) != y
    slopes = np.abs(tree.tree_.decision[:, 1:]).sum() + np.abs(tree.tree_.coef[:, :, 1:]).sum()
    return weight @ loss + tree.reg_alpha * slopes


@settings(max_examples=25, deadline=None)
@given(
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 10_000),
    init=st.sampled_from(["cart", "random"]),
    loss=st.sampled_from(["log_loss", "zero_one"]),
    reg_alpha=st.sampled_from([0.0, 0.01, 0.3, 5.0]),
    rounded=st.booleans(),
)
def test_the_objective_never_rises(n_classes, seed, init, loss, reg_alpha, rounded):
    X, y = make_classification(
        60,
        4,
        n_informative=3,
        n_redundant=1,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.2,
        random_state=seed,
    )
    X = np.round(X) if rounded else X
    weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    tree = TAOClassifier(max_depth=3, init=init, loss=loss, reg_alpha=reg_alpha, random_state=seed).fit(X, y, weight)
    path = tree.objectives_
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    # Without dead ends the penalty can only be smaller.
    assert objective(tree, X, y, weight) <= path[-1] * (1 + 1e-9) + 1e-9


def oblique_data(n, seed):
    """Return rows of a tree with two oblique splits, three leaves and four features; leaf 2 has a linear model."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    first = X[:, 0] + X[:, 1] > 0
    second = X[:, 2] - 2 * X[:, 0] > 0.5
    return X, np.where(first, np.where(second, 1, 0), np.where(X[:, 3] - X[:, 1] > 0, 2, 0))


def test_a_known_oblique_tree_is_recovered():
    X, y = oblique_data(2000, 0)
    X_new, y_new = oblique_data(2000, 1)
    cart = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    tree = TAOClassifier(max_depth=4, random_state=0).fit(X, y)
    assert tree.score(X_new, y_new) > 0.97
    assert tree.score(X_new, y_new) > cart.score(X_new, y_new) + 0.1
    assert tree.n_leaves_ < cart.get_n_leaves()


def test_a_hyperplane_is_found_from_the_wrong_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    side = X @ [1.0, -2.0, 0.5] > 0
    y = np.where(side, np.where(X[:, 0] > 0, 0, 1), np.where(X[:, 0] > 0, 1, 0))  # both leaves are linear
    tree = TAOClassifier(max_depth=1, random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.97


def test_without_a_split_it_is_a_penalised_logistic_regression():
    X, y = load_iris(return_X_y=True)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    tree = TAOClassifier(max_depth=0, reg_alpha=2.0, max_iter=50).fit(X, y)
    theirs = LogisticRegression(l1_ratio=1, C=0.5, solver="saga", tol=1e-6, max_iter=5000).fit(scaled, y)
    assert_allclose(tree.predict_proba(X), theirs.predict_proba(scaled), atol=0.02)
    assert_array_equal(tree.predict(X), theirs.predict(scaled))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_the_cores_logistic_regression_is_at_the_minimum(n_classes, alpha):
    X, y = make_classification(120, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=3)
    coef = np.zeros((1 if n_classes == 2 else n_classes, 7))
    rows, weight = np.arange(0, 120, 2, dtype=np.int32), np.random.default_rng(0).random(60)
    y = y[rows].astype(float)
    value = _core.l1_logistic(X, rows, y, weight, alpha, coef, 200, 1e-12)
    scores = X[rows] @ coef[:, 1:].T + coef[:, 0]
    scores = np.hstack([np.zeros_like(scores), scores]) if n_classes == 2 else scores
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    hit = y[:, None] == np.arange(n_classes)
    assert_allclose(value, -(weight[:, None] * log_p)[hit].sum() + alpha * np.abs(coef[:, 1:]).sum())
    gradient = ((np.exp(log_p) - hit) * weight[:, None])[:, -len(coef) :].T @ np.column_stack([np.ones(60), X[rows]])
    zero = coef[:, 1:] == 0  # where a slope is 0 the penalty outweighs the gradient, elsewhere it balances it
    assert np.all(np.abs(gradient[:, 1:][zero]) <= alpha + 1e-4)
    assert_allclose(gradient[:, 1:][~zero], -alpha * np.sign(coef[:, 1:][~zero]), atol=1e-3)
    assert_allclose(gradient[:, 0], 0, atol=1e-3)


def test_a_larger_penalty_makes_sparser_trees():
    X, y = load_wine(return_X_y=True)
    counts = []
    for reg_alpha in (0.001, 0.1, 3.0):
        tree = TAOClassifier(reg_alpha=reg_alpha, random_state=0).fit(X, y).tree_
        counts.append(np.count_nonzero(tree.decision[:, 1:]) + np.count_nonzero(tree.coef[:, :, 1:]))
    assert counts[0] > counts[1] > counts[2]


def test_leaves_are_those_of_apply_and_a_model_survives_pickle():
    X, y = load_wine(return_X_y=True)
    tree = TAOClassifier(random_state=0).fit(X, y)
    assert set(tree.apply(X)) == set(np.flatnonzero(tree.tree_.left == 0))
    assert_array_equal(pickle.loads(pickle.dumps(tree)).predict_proba(X), tree.predict_proba(X))
    assert_array_equal(tree.predict(X), tree.classes_[np.argmax(tree.predict_log_proba(X), axis=1)])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_depth", 21, "max_depth must be an integer from 0 to 20; got 21"),
        ("max_iter", -1, "max_iter must be an integer of at least 0; got -1"),
        ("reg_alpha", -1.0, "reg_alpha must be a finite number of at least 0; got -1.0"),
        ("init", "best", "init must be one of 'cart', 'random'; got 'best'"),
        ("loss", "hinge", "loss must be one of 'log_loss', 'zero_one'; got 'hinge'"),
    ],
)
def test_a_bad_parameter_is_named(name, value, message):
    for make in (TAOClassifier, lambda: BaggedTAOClassifier(2)):
        assert_refused(make, *load_iris(return_X_y=True), message, {name: value})


def test_bagged_trees_draw_their_parameters_from_pools():
    X, y = load_iris(return_X_y=True)
    forest = BaggedTAOClassifier(12, max_depth=[1, 3], reg_alpha=[0.01, 1.0], random_state=0).fit(X, y)
    drawn = {(tree.max_depth, tree.reg_alpha) for tree in forest.estimators_}
    assert drawn == {(1, 0.01), (1, 1.0), (3, 0.01), (3, 1.0)}
    again = BaggedTAOClassifier(12, max_depth=[1, 3], reg_alpha=[0.01, 1.0], random_state=0).fit(X, y)
    assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    stages = list(forest.staged_predict_proba(X))
    assert len(stages) == 12
    assert_allclose(stages[-1], forest.predict_proba(X))
    assert_allclose(stages[0], forest.estimators_[0].predict_proba(X))
