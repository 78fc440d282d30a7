"""The library against its slow twin: the same trees, node by node, and the same predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor
from models import FORESTS, TREES
from twin import Params, example_data, table_of_ties

CRITERIA = [
    ("regression", "xgb"),
    ("regression", "mse"),
    ("binary", "xgb"),
    ("binary", "gini"),
    ("binary", "c45"),
    ("multiclass", "xgb"),
    ("multiclass", "gini"),
    ("multiclass", "c45"),
]
SETTINGS = {
    "plain": {},
    "unclipped": {"clip": False},
    "three-cuts": {"n_cuts": 3},
    "few-features": {"max_features": 2},
    "leaf-limit": {"max_leaf_nodes": 5},
    "depth-limit": {"max_depth": 2},
    "batches": {"batch_size": 45},
    "shared-hessian": {"shared_hessian": True},
    "all-at-once": {
        "clip": False,
        "n_cuts": 3,
        "max_features": 2,
        "max_leaf_nodes": 6,
        "max_depth": 4,
        "batch_size": 60,
        "shared_hessian": True,
    },
}
BASE = {"min_samples_leaf": 10, "reg_lambda": 0.1, "scale": False, "missing_fill": "mean", "missing_indicator": False}
TOLERANCE = {"rtol": 1e-8, "atol": 1e-10}
SINGLE = 1e-7  # relative error of what is stored in single precision: losses, gains, weights of nodes


# -------------------------------------------------------------------------------------------------------------- helpers


def twin_params(est, tree, task, settings):
    """Return the twin's parameters: the settings of the test, and what the library drew for this tree."""
    drawn = est.tree_params_[tree]
    known = {k: v for k, v in settings.items() if k in Params.__dataclass_fields__}
    known |= {k: drawn[k] for k in ("min_samples_leaf", "reg_lambda", "max_features")}
    if not isinstance(drawn["node_model"], str):
        known |= node_params(drawn["node_model"])
    return Params(task=task, n_classes=3 if task == "multiclass" else 2, **known)


def node_params(model):
    """Return the twin's parameters of a node model."""
    names = {"reg_lambda": "node_lambda", "C": "cost"}
    own = {names.get(name, name): value for name, value in model.get_params().items()}
    kind = {"Constant": "constant", "Ridge": "ridge", "ELM": "elm", "LinearSVR": "svr"}[type(model).__name__]
    return {"node_model": kind} | {name: value for name, value in own.items() if name in Params.__dataclass_fields__}


def tolerance_of(params):
    """Return how closely both agree: linear systems to rounding, steps of an iteration to the sum of many."""
    return {"rtol": 1e-6, "atol": 1e-8} if params.node_model == "svr" else TOLERANCE


def fit_pair(make, X, y, task, settings, sample_weight=None, twin_sample=None, seed=0):
    """Fit the library and its twin; return the estimator, the twin's roots and their parameters.

    twin_sample(seed) gives the expanded X, y and weights of one tree; None: the rows and weights as they are.
    """
    if twin_sample is None:
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        twin_sample = lambda seed: (X, y, weight)  # noqa: E731
    settings = {**BASE, **settings}
    known = {name: value for name, value in settings.items() if name in make().get_params()}  # clip: regressors only
    est = make(**known, random_state=seed).fit(X, y, sample_weight=sample_weight)
    seeds = [int(seed) for seed in est.tree_seeds_]
    all_params = [twin_params(est, tree, task, settings) for tree in range(len(seeds))]
    roots = [twin.grow(*twin_sample(s), s, p) for s, p in zip(seeds, all_params, strict=True)]
    return est, roots, all_params


def bootstrap_sample(X, y, n_draws, weights=None):
    """Return the twin_sample of a bootstrap forest."""

    def sample(seed):
        rows = twin.bootstrap_rows(seed, len(X), n_draws, weights)
        return X[rows], y[rows], np.ones(n_draws)

    return sample


def library_nodes(forest, tree):
    """Return {path: index into the columns} of one tree of the library."""
    start = forest.tree_start[tree]
    paths = {}
    todo = [("", 0)]
    while todo:
        path, node = todo.pop()
        paths[path] = start + node
        if forest.feature[start + node] >= 0:
            left = forest.left[start + node]
            todo += [(path + "L", left), (path + "R", left + 1)]
    return paths


def stored_model(forest, begin, params, d):
    """Return the model stored at a place of params as coef (J, inputs), zero for constants, and intercept (J,)."""
    width = 1 if params.node_model == "constant" else 1 + d
    table = forest.params[begin : begin + params.n_outputs * width].reshape(params.n_outputs, width)
    coef = np.zeros((params.n_outputs, d)) if params.node_model == "constant" else table[:, 1:]
    return coef, table[:, 0]


def expected_model(root, node, params, d):
    """Return the model the library should keep at a node, or None: its own, or the path's sum in a leaf.

    With constraints it is the path's sum at all nodes.
    """
    if params.monotonic_cst is not None:
        return None if node.intercept is None else twin.summed_model(root, node.path, d)
    if params.clips:
        if node.intercept is None:
            return None
        return (np.zeros((params.n_outputs, d)) if node.coef is None else node.coef), node.intercept
    return twin.summed_model(root, node.path, d) if node.left is None else None


def assert_same_tree(forest, tree, root, params, d):
    """Compare structure, statistics and models of a tree of the library with the twin's, by path."""
    paths = library_nodes(forest, tree)
    nodes = twin.nodes_by_path(root)
    d = d if params.model_features is None else len(params.model_features)
    d = params.n_hidden if params.node_model == "elm" and d > 0 else d
    tolerance = tolerance_of(params)
    single = tolerance | {"rtol": max(tolerance["rtol"], SINGLE)}
    param_start = forest.param_start
    assert paths.keys() == nodes.keys()
    assert len(paths) == forest.tree_start[tree + 1] - forest.tree_start[tree]
    for path, node in nodes.items():
        i = paths[path]
        assert forest.feature[i] == node.feature, path
        assert forest.n_samples[i] == pytest.approx(node.n_samples, rel=SINGLE), path
        assert_allclose(forest.loss[i], node.loss, **single, err_msg=path)
        if node.left is not None:
            assert_allclose(forest.threshold[i], node.threshold, rtol=1e-12, atol=1e-12, err_msg=path)
            assert_allclose(forest.gain[i], node.gain, **single, err_msg=path)
            assert forest.missing_left[i] == node.missing_left, path
        model = expected_model(root, node, params, d)
        assert (param_start[i] >= 0) == (model is not None), path
        if model is not None:
            coef, intercept = stored_model(forest, param_start[i], params, d)
            assert_allclose(coef, model[0], **tolerance, err_msg=path)
            assert_allclose(intercept, model[1], **tolerance, err_msg=path)
        if params.clips and model is not None:
            assert_allclose([forest.lower[i], forest.upper[i]], [node.lower, node.upper], **tolerance)


def assert_same_predictions(est, roots, all_params, X):
    """Compare what users see: predict, and for classifiers predict_proba and one tree's scores."""
    params = all_params[0]
    tolerance = max((tolerance_of(p) for p in all_params), key=lambda t: t["rtol"])
    expected = twin.forest_predict(roots, X, params)
    if params.task in ("regression", "several", "robust", "counts", "times"):
        assert_allclose(est.predict(X) / est._model.loss.output_unit, expected, **tolerance)
        return
    assert_allclose(est.predict_proba(X), expected, **tolerance)
    assert_array_equal(est.predict(X), est.classes_[expected.argmax(axis=1)])
    if len(roots) == 1:
        scores = twin.predict_scores(roots[0], X)
        expected = scores[:, 0] if params.task == "binary" else scores
        assert_allclose(est.decision_function(X), expected, **tolerance)


def assert_same(est, roots, all_params, X):
    """Compare all trees, and the predictions for training rows and for rows far outside."""
    assert len(est.forest_.tree_start) == len(roots) + 1
    for tree, (root, params) in enumerate(zip(roots, all_params, strict=True)):
        assert_same_tree(est.forest_, tree, root, params, X.shape[1])
    new = np.random.default_rng(99).normal(scale=2.0, size=(50, X.shape[1]))
    assert_same_predictions(est, roots, all_params, np.vstack([X, new]))


def compare(make, X, y, task, settings, sample_weight=None, twin_sample=None, seed=0):
    """Fit the library and its twin, assert that they are the same, and return what was fitted."""
    pair = fit_pair(make, X, y, task, settings, sample_weight, twin_sample, seed)
    assert_same(*pair, X)
    return pair


# --------------------------------------------------------------------------------------------------------- single trees


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
def test_tree_equals_twin(task, criterion, node_model, setting):
    X, y = example_data(task, n=160, d=5)
    settings = {"criterion": criterion, "node_model": node_model, **SETTINGS[setting]}
    _, roots, _ = compare(TREES[task], X, y, task, settings)
    assert len(twin.nodes_by_path(roots[0])) >= 5


@pytest.mark.parametrize(("n", "d"), [(60, 40), (150, 11)])  # solved in the rows, and in the features
def test_wide_tree_of_a_shared_hessian_equals_twin(n, d):
    X, y = example_data("multiclass", n=n, d=d)
    compare(TREES["multiclass"], X, y, "multiclass", {"shared_hessian": True})


@pytest.mark.parametrize("setting", ["plain", "unclipped", "three-cuts", "few-features", "batches", "all-at-once"])
@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
def test_tree_of_missing_values_equals_twin(task, criterion, setting):
    X, y = example_data(task, n=200, d=5)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < [0.0, 0.05, 0.3, 0.6, 0.1]] = np.nan  # one column is complete
    X[X[:, 0] > 1, 1] = np.nan  # and one is missing for a reason
    settings = {"criterion": criterion, **SETTINGS[setting]}
    est, roots, all_params = fit_pair(TREES[task], X, y, task, settings)
    sides = {node.missing_left for node in twin.nodes_by_path(roots[0]).values() if node.left}
    assert sides == {False, True} or setting == "all-at-once"  # the smallest tree need not have both
    assert_same(est, roots, all_params, X)
    new = np.where(rng.random(X.shape) < 0.5, np.nan, rng.normal(size=X.shape))  # the complete column misses values too
    assert_same_predictions(est, roots, all_params, new)


@pytest.mark.parametrize("setting", ["plain", "unclipped", "few-features", "batches"])
@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
def test_tree_of_one_hot_columns_equals_twin(task, criterion, setting):
    X, y = example_data(task, n=200, d=5)
    rng = np.random.default_rng(2)
    levels = [rng.choice(k, p=np.arange(1, k + 1) * 2 / (k * (k + 1)), size=len(X)) for k in (9, 7, 6)]
    X = np.hstack([np.eye(9)[levels[0]], X[:, :3], np.eye(7)[levels[1]], X[:, 3:], np.eye(6)[levels[2]]])
    y = y + 0.3 * levels[0] if task == "regression" else np.where((levels[1] > 4) & (rng.random(len(X)) < 0.5), 1, y)
    weight = rng.uniform(0.5, 1.5, size=len(X))  # class counts alone would tie
    weight /= weight.mean()  # as a fit does with weights that are not multiples of the smallest
    # Shallow: deep down two levels are left of a variable, and their columns give the same split.
    settings = {"criterion": criterion, "max_depth": 3, **SETTINGS[setting]}
    compare(TREES[task], X, y, task, settings, weight)


def test_column_without_any_value_is_left_alone():
    X, y = example_data("regression", n=120, d=4)
    X[:, 2] = np.nan
    est = BoostTreeRegressor(random_state=0).fit(X, y)
    without = BoostTreeRegressor(random_state=0).fit(np.where(np.isnan(X), 7.0, X), y)
    assert 2 not in est.forest_.feature
    assert_allclose(est.predict(X), without.predict(np.where(np.isnan(X), 7.0, X)), rtol=1e-12)


@pytest.mark.parametrize("reg_lambda", [1e-4, 1.0])
@pytest.mark.parametrize("task", TREES)
def test_tree_of_small_leaves_equals_twin(task, reg_lambda):
    # Leaves of fewer rows than features: the library may solve the dual problem there.
    X, y = example_data(task, n=100, d=6)
    settings = {"min_samples_leaf": 4, "reg_lambda": reg_lambda}
    compare(TREES[task], X, y, task, settings)


@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
@pytest.mark.parametrize("batch_size", [1000, 60])
def test_sample_weights_equal_twin(task, criterion, batch_size):
    X, y = example_data(task, n=200)
    # No multiples of the smallest, so the mean of those above 0 counts as a row. Weight 0 drops the row.
    weight = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 1.75, 3.0], size=len(X))
    kept = weight > 0
    weight /= weight[kept].mean()
    settings = {"criterion": criterion, "batch_size": batch_size}
    sample = X[kept], y[kept], weight[kept]
    compare(TREES[task], X, y, task, settings, weight, lambda seed: sample)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_class_weights_multiply_sample_weights(task):
    X, y = example_data(task)
    class_weight = {0: 1.0, 1: 2.5, 2: 0.5} if task == "multiclass" else {0: 1.0, 1: 2.5}
    sample_weight = np.random.default_rng(4).choice([1.0, 2.0, 4.0], size=len(X))
    weight = sample_weight * np.array([class_weight[c] for c in y])
    settings = {"class_weight": class_weight}
    compare(TREES[task], X, y, task, settings, sample_weight, lambda seed: (X, y, weight))


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.parametrize("batch_size", [1000, 30])
@pytest.mark.parametrize("task", TREES)
@pytest.mark.filterwarnings("ignore:min_samples_leaf=31 needs")
def test_root_that_cannot_split_equals_twin(task, batch_size, node_model):
    X, y = example_data(task, n=60)
    settings = {"min_samples_leaf": 31, "batch_size": batch_size, "node_model": node_model}
    _, roots, _ = compare(TREES[task], X, y, task, settings)
    assert roots[0].left is None


@pytest.mark.parametrize("random_state", range(5))
@pytest.mark.parametrize("min_samples_leaf", [34, 37])
def test_root_is_tried_again_as_in_the_twin(min_samples_leaf, random_state):
    # A threshold has to fall between the middle rows, so the first attempts fail; with 37 of 75 perhaps all do.
    X, y = example_data("regression", n=75, d=3)
    compare(BoostTreeRegressor, X, y, "regression", {"min_samples_leaf": min_samples_leaf}, seed=random_state)


@pytest.mark.parametrize("max_features", [None, 2])
def test_first_of_equal_gains_wins_as_in_the_twin(max_features):
    # Copies of a 0/1 feature are split alike whatever is drawn: the first one tried has to win.
    X, y = example_data("regression", n=100)
    X = np.column_stack([X[:, :1] > 0] * 4).astype(float)
    for random_state in range(10):
        pair = fit_pair(BoostTreeRegressor, X, y, "regression", {"max_features": max_features}, seed=random_state)
        assert pair[0].forest_.feature[0] == pair[1][0].feature
        assert_same_predictions(*pair, X)


@pytest.mark.parametrize("setting", ["plain", "three-cuts", "few-features", "leaf-limit"])
@pytest.mark.parametrize(("task", "criterion"), CRITERIA)
def test_splits_that_are_worth_the_same_are_settled_as_in_the_twin(task, criterion, setting):
    X, y = table_of_ties(task)
    settings = {**SETTINGS[setting], "criterion": criterion, "min_samples_leaf": 4}
    compare(TREES[task], X, y, task, settings)


def test_the_older_of_leaves_with_the_same_loss_is_split():
    # Both sides of the first split have the same rows, and targets that differ by a constant: so only by rounding.
    X, y = example_data("regression", n=60)
    X = np.column_stack([np.repeat([0.0, 1.0], 60), np.tile(X[:, 0], 2)])
    settings = {**BASE, "max_leaf_nodes": 3, "node_model": "constant", "min_samples_leaf": 1}
    for random_state in range(10):
        both = np.concatenate([y + 100.3 * random_state, y - 70.1])
        est = BoostTreeRegressor(**settings, random_state=random_state).fit(X, both)
        assert est.forest_.feature[:3].tolist() == [0, 1, -1]


@pytest.mark.parametrize("task", TREES)
def test_scaled_tree_equals_twin_on_z_scores(task):
    X, y = example_data(task)
    X = X * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, -2.0, 100.0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    shift, factor = (y.mean(), y.std()) if task == "regression" else (0.0, 1.0)
    target = (y - shift) / factor if task == "regression" else y
    sample = Z, target, np.ones(len(X))
    est, [root], [params] = fit_pair(TREES[task], X, y, task, {"scale": True}, None, lambda seed: sample)
    if task == "regression":
        assert_allclose(est.predict(X), shift + factor * twin.predict_scores(root, Z)[:, 0], rtol=1e-8)
    else:
        assert_allclose(est.predict_proba(X), twin.predict_proba(root, Z, params), rtol=1e-8)


# -------------------------------------------------------------------------------------------------------------- forests


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.parametrize("batch_size", [1000, 45])
@pytest.mark.parametrize("task", FORESTS)
def test_bootstrap_forest_equals_twin(task, batch_size, node_model):
    X, y = example_data(task, n=120)
    settings = {"n_estimators": 3, "batch_size": batch_size, "node_model": node_model}
    est, _, _ = compare(FORESTS[task], X, y, task, settings, None, bootstrap_sample(X, y, len(X)))
    assert len(set(est.tree_seeds_.tolist())) == 3


@pytest.mark.parametrize("task", FORESTS)
def test_forest_of_drawn_parameters_equals_twin(task):
    X, y = example_data(task, n=120)
    pools = {"min_samples_leaf": [8, 10, 12, 14], "reg_lambda": [0.01, 0.1, 1.0], "max_features": [2, 3, 4]}
    settings = {"n_estimators": 4, **pools}
    est, _, _ = compare(FORESTS[task], X, y, task, settings, None, bootstrap_sample(X, y, len(X)))
    for name, pool in pools.items():
        assert {drawn[name] for drawn in est.tree_params_} <= set(pool)
    assert len({tuple(drawn[name] for name in pools) for drawn in est.tree_params_}) > 1


@pytest.mark.parametrize("task", FORESTS)
def test_forest_weights_are_draw_probabilities(task):
    X, y = example_data(task, n=120)
    weight = np.random.default_rng(4).choice([0.0, 0.3, 1.0, 2.2], size=len(X))
    settings = {"n_estimators": 3, "max_samples": 90}
    compare(FORESTS[task], X, y, task, settings, weight, bootstrap_sample(X, y, 90, weight))


def test_forest_without_bootstrap_grows_every_tree_on_all_rows():
    X, y = example_data("regression", n=120)
    settings = {"n_estimators": 3, "bootstrap": False, "preset": "paper"}
    compare(BoostForestRegressor, X, y, "regression", settings)
