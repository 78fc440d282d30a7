"""A larger child's Gram matrix is taken from its parent's; trees that grow best first sum it over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from boostforest import BoostForestRegressor, BoostTreeRegressor
from boostforest.nodes import ELM

NO_LIMIT = 10**6  # leaves: such a tree grows best first, and is the same tree


def table(kind, n_rows=900, n_features=24):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "collinear":
        X[:, 1::2] = X[:, ::2] + 1e-9 * X[:, 1::2]
    elif kind == "heavy tails":
        X = X**7
    elif kind == "constant within nodes":
        X[:, :6] = np.sign(X[:, :6]) * (rng.random((n_rows, 6)) < 0.1)
    elif kind == "one giant":
        X[5, 0] = 1e8
    elif kind == "constant":
        X[:, 3] = 5.0
    y = np.tanh(X[:, 0]) * X[:, 7] + X[:, 8] + rng.normal(size=n_rows)
    return X, y / np.std(y)


@pytest.mark.parametrize(
    "kind", ["normal", "collinear", "heavy tails", "constant within nodes", "constant", "one giant"]
)
@pytest.mark.parametrize("reg_lambda", [0.0, 1e-13, 1e-4, 1.0])
def test_the_tree_is_the_same(kind, reg_lambda):
    X, y = table(kind)
    tree = BoostTreeRegressor(min_samples_leaf=20, reg_lambda=reg_lambda, random_state=0)
    expected = BoostTreeRegressor(
        min_samples_leaf=20, reg_lambda=reg_lambda, random_state=0, max_leaf_nodes=NO_LIMIT
    ).fit(X, y)
    assert_allclose(tree.fit(X, y).predict(X), expected.predict(X), atol=1e-7)


@pytest.mark.parametrize("n_features", [17, 40, 190, 200])  # the last is BLAS's
def test_any_number_of_features(n_features):
    X, y = table("normal", n_features=n_features)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    trees = [
        BoostTreeRegressor(min_samples_leaf=10, random_state=0, max_leaf_nodes=limit).fit(X, y, sample_weight=weight)
        for limit in (None, NO_LIMIT)
    ]
    assert_allclose(trees[0].predict(X), trees[1].predict(X), atol=1e-9)


@pytest.mark.parametrize("node_model", ["ridge", ELM(n_hidden=30)])
def test_forests_with_batches(node_model):
    X, y = table("normal", 2000)
    forests = [
        BoostForestRegressor(
            10,
            node_model=node_model,
            min_samples_leaf=20,
            batch_size=500,
            max_leaf_nodes=limit,
            random_state=0,
            preset="paper",
        ).fit(X, y)
        for limit in (None, NO_LIMIT)
    ]
    assert_allclose(forests[0].predict(X), forests[1].predict(X), atol=1e-8)


def test_columns_far_from_zero():
    X, y = table("collinear")
    trees = [
        BoostTreeRegressor(min_samples_leaf=20, reg_lambda=0.1, scale=False, random_state=0, max_leaf_nodes=limit)
        for limit in (None, NO_LIMIT)
    ]
    near = trees[0].fit(X, y).predict(X)
    far = [tree.fit(X + 2.0**20, y).predict(X + 2.0**20) for tree in trees]
    assert_allclose(far[0], far[1], atol=1e-6)
    assert_allclose(far[0], near, atol=1e-4)


@pytest.mark.parametrize("ratio", [1e4, 1e10, 1e14, 1e20])
def test_a_row_that_outweighs_all_others(ratio):
    # It is the smaller child of a node whose other child has next to no weight.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 26))
    X[:, 3:14] = X[:, 14:25] + 1e-2 * X[:, 3:14]
    X[:, 0], X[:, 1] = rng.random(900) < 0.5, 0
    y = np.where(X[:, 0] > 0, 3.0, 1.0) + X[:, 13] * X[:, 14] + 0.3 * rng.normal(size=900)
    X[0], y[0] = 2.0, 0.0
    X[0, :2] = 0, 1
    weight = np.ones(900)
    weight[0] = weight[np.flatnonzero(X[:, 0] == 1)[:20]] = ratio
    roles = {"split_features": [0, 1], "model_features": list(range(2, 26))}
    trees = [
        BoostTreeRegressor(
            reg_lambda=0.01, min_samples_leaf=1, max_depth=3, max_leaf_nodes=limit, random_state=0, **roles
        ).fit(X, y, sample_weight=weight)
        for limit in (None, NO_LIMIT)
    ]
    assert_allclose(trees[0].predict(X), trees[1].predict(X), atol=1e-7)


@pytest.mark.parametrize(("n_features", "is_handed_down"), [(16, False), (17, True)])
def test_what_is_compared_here_is_not_the_same_computation(n_features, is_handed_down):
    X, y = table("normal", n_features=n_features)
    first, second = (
        BoostTreeRegressor(min_samples_leaf=20, random_state=0, max_leaf_nodes=limit).fit(X, y).predict(X)
        for limit in (None, NO_LIMIT)
    )
    assert np.array_equal(first, second) != is_handed_down
