"""ELM and linear SVR at the nodes against the slow twin: the same trees, node by node, and the same predictions."""

import numpy as np
import pytest

import twin
from boostforest.nodes import ELM, LinearSVR, Ridge
from test_against_twin import FORESTS, TREES, assert_same_predictions, bootstrap_sample, compare, fit_pair
from twin import example_data

MODELS = {
    "elm": ELM(n_hidden=9, reg_lambda=0.01),
    "svr": LinearSVR(C=0.5, epsilon=0.05),
    "stiff-svr": LinearSVR(C=30.0, epsilon=0.3, intercept_scaling=1.0),
}
SETTINGS = {
    "plain": {},
    "unclipped": {"clip": False},
    "few-features": {"max_features": 2, "n_cuts": 2},
    "batches": {"batch_size": 45, "max_leaf_nodes": 6},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TREES)
def test_tree_equals_twin(task, model, setting):
    X, y = example_data(task, n=120, d=4)
    _, roots, _ = compare(TREES[task], X, y, task, {"node_model": MODELS[model], **SETTINGS[setting]})
    assert len(twin.nodes_by_path(roots[0])) >= 5


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TREES)
def test_tree_of_weighted_rows_with_gaps_equals_twin(task, model):
    X, y = example_data(task, n=150, d=4)
    X[np.random.default_rng(1).random(X.shape) < [0.0, 0.1, 0.4, 0.0]] = np.nan
    weight = np.random.default_rng(4).choice([0.5, 1.0, 1.75, 3.0], size=len(X))
    weight /= weight.mean()  # as a fit does with weights that are not multiples of the smallest
    settings = {"node_model": MODELS[model], "missing_indicator": False}
    compare(TREES[task], X, y, task, settings, weight)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", TREES)
@pytest.mark.filterwarnings("ignore:min_samples_leaf=31 needs")
def test_root_that_cannot_split_equals_twin(task, model):
    X, y = example_data(task, n=60)
    _, roots, _ = compare(TREES[task], X, y, task, {"node_model": MODELS[model], "min_samples_leaf": 31})
    assert roots[0].left is None


@pytest.mark.parametrize("task", FORESTS)
def test_forest_of_drawn_models_equals_twin(task):
    X, y = example_data(task, n=100)
    pool = [ELM(n_hidden=[3, 8, 12], reg_lambda=[0.01, 0.1]), LinearSVR(C=[0.1, 1.0]), Ridge([1.0, 2.0]), "ridge"]
    settings = {"n_estimators": 8, "node_model": pool}
    est, _, _ = compare(FORESTS[task], X, y, task, settings, None, bootstrap_sample(X, y, len(X)))
    assert len({str(drawn["node_model"]) for drawn in est.tree_params_}) >= 4


@pytest.mark.filterwarnings("ignore:min_samples_leaf=800 needs")
def test_units_that_are_too_many_to_keep_are_computed_again():
    # 2^22 units are kept: these are more, the small sample of the tree is not.
    X, y = example_data("regression", n=4000, d=3)
    settings = {"node_model": ELM(n_hidden=1100), "batch_size": 60, "min_samples_leaf": 800}
    est, roots, all_params = fit_pair(TREES["regression"], X, y, "regression", settings)
    assert est.forest_.n_inputs[0] * len(X) > 2**22
    assert_same_predictions(est, roots, all_params, X[:200])
