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
    elif kind == "far from zero":
        X += 1e6
    elif kind == "constant within nodes":
        X[:, :6] = np.sign(X[:, :6]) * (rng.random((n_rows, 6)) < 0.1)
    elif kind == "one giant":
        X[5, 0] = 1e8
    elif kind == "constant":
        X[:, 3] = 5.0
    y = np.tanh(X[:, 0]) * X[:, 7] + X[:, 8] + rng.normal(size=n_rows)
    return X, y / np.std(y)


@pytest.mark.parametrize(
    "kind", ["normal", "collinear", "heavy tails", "far from zero", "constant within nodes", "constant", "one giant"]
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
            10, node_model=node_model, min_samples_leaf=20, batch_size=500, max_leaf_nodes=limit, random_state=0
        ).fit(X, y)
        for limit in (None, NO_LIMIT)
    ]
    assert_allclose(forests[0].predict(X), forests[1].predict(X), atol=1e-8)
