"""Roles and constraints of columns: the library against its slow twin, node by node."""

import numpy as np
import pytest

import twin
from test_against_twin import CRITERIA, FORESTS, TREES, assert_same_predictions, bootstrap_sample, compare, fit_pair
from twin import example_data

ROLES = {
    "apart": {"split_features": [0, 3], "model_features": [1, 2, 4]},
    "overlapping": {"split_features": [1, 2, 4], "model_features": [0, 1, 2]},
    "few-cut": {"split_features": [2, 4], "max_features": 1, "n_cuts": 2},
    "few-seen": {"model_features": [3]},
    "none-seen": {"model_features": []},
}
CONSTRAINTS = {
    "one": {"monotonic_cst": [0, 1, 0, 0, 0]},
    "several": {"monotonic_cst": [1, -1, 0, 1, 0]},
    "against-the-signal": {"monotonic_cst": [-1, -1, 0, 0, 0]},
    "constants": {"monotonic_cst": [1, 1, -1, 0, 0], "node_model": "constant"},
    "unclipped": {"monotonic_cst": [1, 1, 1, 1, 1], "clip": False},
    "batches": {"monotonic_cst": [1, 1, 0, 0, -1], "batch_size": 45},
    "leaf-limit": {"monotonic_cst": [1, 1, 0, -1, 1], "max_leaf_nodes": 5},
    "small-leaves": {"monotonic_cst": [1, 0, 0, -1, 0], "min_samples_leaf": 3, "reg_lambda": 1e-3},
    "with-roles": {
        "monotonic_cst": [1, -1, 1, 0, 0],
        "split_features": [0, 2, 3],
        "model_features": [1, 2, 4],
        "n_cuts": 3,
    },
}


def with_gaps(X):
    """Return the table with some values missing."""
    return np.where(np.random.default_rng(1).random(X.shape) < [0.0, 0.1, 0.3, 0.1, 0.05], np.nan, X)


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize(("task", "criterion"), [*CRITERIA[::2], ("multiclass", "xgb")])
def test_tree_with_roles_equals_twin(task, criterion, roles):
    X, y = example_data(task, n=160, d=5)
    X = with_gaps(X) if roles == "apart" else X
    _, roots, _ = compare(TREES[task], X, y, task, {"criterion": criterion, **ROLES[roles]})
    assert len(twin.nodes_by_path(roots[0])) >= 5


@pytest.mark.parametrize("roles", ["apart", "overlapping", "none-seen"])
@pytest.mark.parametrize("node_model", ["elm", "svr"])
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_other_node_models_with_roles_equal_twin(task, node_model, roles):
    X, y = example_data(task, n=120, d=5)
    compare(TREES[task], X, y, task, {"node_model": node_model, **ROLES[roles]})


@pytest.mark.parametrize("max_features", [None, 3])
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_one_hot_columns_with_roles_equal_twin(task, max_features):
    X, y = example_data(task, n=200, d=5)
    rng = np.random.default_rng(2)
    levels = [rng.choice(k, p=np.arange(1, k + 1) * 2 / (k * (k + 1)), size=len(X)) for k in (12, 13, 14)]
    X = np.hstack([np.eye(12)[levels[0]], X[:, :3], np.eye(13)[levels[1]], X[:, 3:], np.eye(14)[levels[2]]])
    weight = rng.uniform(0.5, 1.5, size=len(X))
    weight /= weight.mean()  # as a fit does with weights that are not multiples of the smallest
    settings = {"max_depth": 3, "max_features": max_features, "split_features": [*range(2, 9), 13, 20, 29, 35]}
    settings["model_features"] = [0, *range(3, 41)]
    compare(TREES[task], X, y, task, settings, weight)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_constrained_tree_equals_twin(task, constraints):
    X, y = example_data(task, n=160, d=5)
    est, roots, all_params = compare(TREES[task], X, y, task, CONSTRAINTS[constraints])
    nodes = twin.nodes_by_path(roots[0])
    signs = CONSTRAINTS[constraints]["monotonic_cst"]
    assert len(nodes) >= 5 and any(node.left and signs[node.feature] for node in nodes.values())
    assert_same_predictions(est, roots, all_params, 5 * X)  # where clip ranges and boundaries matter


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_boundaries_of_large_nodes_equal_those_of_the_twin(task, gaps):
    X, y = example_data(task, n=900, d=5)
    X = with_gaps(X) if gaps else X
    settings = {"monotonic_cst": [1, 1, 0, 0, 0], "min_samples_leaf": 40, "max_depth": 4}
    settings |= {"n_estimators": 3, "bootstrap": False}
    est, roots, all_params = fit_pair(FORESTS[task], X, y, task, settings)
    nodes = [node for root in roots for node in twin.nodes_by_path(root).values()]
    splits = [node for node in nodes if node.left and node.signs[node.feature]]
    sides = [(split, side) for split in splits for side in (split.left, split.right)]
    assert any(twin.node_at_cut(side, split, x) is not side for split, side in sides for x in X[:50])
    assert_same_predictions(est, roots, all_params, X[:200])


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_constrained_tree_of_missing_values_equals_twin(task):
    X, y = example_data(task, n=200, d=5)
    X = with_gaps(X)
    est, roots, all_params = compare(TREES[task], X, y, task, CONSTRAINTS["several"])
    assert_same_predictions(est, roots, all_params, with_gaps(3 * X[::-1]))


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_constrained_bootstrap_forest_with_roles_equals_twin(task):
    X, y = example_data(task, n=120, d=5)
    settings = {"n_estimators": 3, "max_features": 2, **CONSTRAINTS["with-roles"]}
    compare(FORESTS[task], X, y, task, settings, None, bootstrap_sample(X, y, len(X)))
