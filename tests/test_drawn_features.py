"""Node models that see some of the features, drawn for each tree: Ridge(max_features=...), and where presets use it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor
from boostforest.nodes import Ridge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 20))
Y = X[:, 0] * X[:, 1] + X @ RNG.normal(size=20)


def drawn(model):
    columns = model.columns
    slopes = columns.coefficients().reshape(-1, 1 + columns.n_features)[:, 1:]  # of all outputs
    return np.flatnonzero((slopes != 0).any(axis=0))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
@pytest.mark.parametrize("clip", [True, False])
def test_a_tree_is_that_of_a_table_whose_models_see_the_drawn_features(dtype, clip):
    settings = {"random_state": 3, "dtype": dtype, "clip": clip}
    tree = BoostTreeRegressor(node_model=Ridge(max_features=6), **settings).fit(X, Y)
    seen = drawn(tree._model)
    assert len(seen) == 6
    expected = BoostTreeRegressor(model_features=seen.tolist(), **settings).fit(X, Y)
    assert_array_equal(tree._model.columns.threshold, expected._model.columns.threshold)
    assert_allclose(tree.predict(X), expected.predict(X), rtol=1e-12, atol=1e-12)


def test_rows_that_are_too_many_to_keep_are_copied_node_by_node():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(33_000, 130))
    y = table[:, 0] + table[:, 1] * table[:, 2]
    settings = {"random_state": 0, "max_depth": 2, "batch_size": None, "max_features": 2}
    tree = BoostTreeRegressor(node_model=Ridge(max_features=128), **settings).fit(table, y)
    expected = BoostTreeRegressor(model_features=drawn(tree._model).tolist(), **settings).fit(table, y)
    assert len(drawn(tree._model)) == 128
    assert_allclose(tree.predict(table[:500]), expected.predict(table[:500]), rtol=1e-10, atol=1e-10)


def test_features_that_are_drawn_differ_from_tree_to_tree_and_not_with_threads():
    labels = (Y > 0).astype(int) + (X[:, 2] > 0)
    forests = [
        BoostForestClassifier(8, preset="paper", node_model=Ridge(max_features=5), random_state=0, n_jobs=n)
        for n in (1, 2)
    ]
    one, two = (forest.fit(X, labels) for forest in forests)
    assert_array_equal(one._model.columns.params, two._model.columns.params)
    assert len({tuple(drawn(one._model.take(t, t + 1))) for t in range(8)}) > 1


def test_files_keep_them(reloaded):
    forest = BoostForestRegressor(4, preset="paper", node_model=Ridge(max_features=[4, 6]), random_state=0).fit(X, Y)
    loaded = reloaded(forest)
    assert loaded.tree_params_ == forest.tree_params_
    assert_array_equal(loaded.predict(X), forest.predict(X))


def test_all_features_are_drawn_where_there_are_no_more():
    own = BoostTreeRegressor(node_model=Ridge(max_features=20), random_state=0).fit(X, Y)
    assert_array_equal(own.predict(X), BoostTreeRegressor(random_state=0).fit(X, Y).predict(X))


@pytest.mark.parametrize("constraint", [{"monotonic_cst": [1] + 19 * [0]}, {"interaction_cst": "no_interactions"}])
def test_constraints_need_all_features(constraint):
    tree = BoostTreeRegressor(node_model=Ridge(max_features=6), clip=False, **constraint)
    with pytest.raises(ValueError, match=r"_cst needs models of all features; got Ridge\("):
        tree.fit(X, Y)


@pytest.mark.parametrize("value", [0, 1.5, True])
def test_wrong_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"Ridge\.max_features must be an integer from 1"):
        BoostTreeRegressor(node_model=Ridge(max_features=value)).fit(X, Y)


def node_models(n_rows, n_features, preset="fast", levels=False, missing=False, **arguments):
    table = np.random.default_rng(2).normal(size=(n_rows, n_features))
    table = np.where(table > 1, 1.0, 0.0) if levels else table
    y = table[:, :5].sum(axis=1)
    table[::7, 3] = np.nan if missing else table[::7, 3]
    forest = BoostForestRegressor(2, preset=preset, random_state=0, max_leaf_nodes=2, **arguments).fit(table, y)
    return {params["node_model"] for params in forest.tree_params_}


def test_presets_draw_features_of_wide_tables_only():
    assert node_models(5100, 600) == {Ridge(max_features=75)}
    assert node_models(5100, 600, preset="paper") == {"ridge"}
    assert node_models(5100, 600, levels=True) == {"ridge"}  # no level stands for another
    assert node_models(5100, 600, levels=True, missing=True) == {"ridge"}
    assert node_models(500, 600) == {"ridge"}
    assert node_models(5100, 600, model_features=list(range(100))) == {"ridge"}
    assert node_models(5100, 600, node_model="constant") == {"constant"}
