"""Models in Python at the nodes: a ridge regression written in Python must give the trees of the core."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_classification, make_regression

from boostforest import _core, nodes
from models import FORESTS, output


class PlainRidge(RegressorMixin, BaseEstimator):
    """Weighted ridge regression as the core defines it, by the normal equations."""

    def __init__(self, reg_lambda=0.1):
        self.reg_lambda = reg_lambda

    def fit(self, X, y, sample_weight=None):
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        mean = np.average(X, axis=0, weights=w)
        target = np.average(y, weights=w)
        A = (X - mean) * w[:, None]
        self.slopes_ = np.linalg.solve(A.T @ (X - mean) + self.reg_lambda * np.eye(X.shape[1]), A.T @ (y - target))
        self.intercept_ = target - self.slopes_ @ mean
        return self

    def predict(self, X):
        return X @ self.slopes_ + self.intercept_


N_ROWS = 200
WEIGHTS = np.random.default_rng(5).integers(0, 4, N_ROWS).astype(float)

SETTINGS = {
    "defaults": {},
    "batches": {"batch_size": 60},
    "batches and leaves": {"batch_size": 40, "max_leaf_nodes": 7},
    "best first": {"max_leaf_nodes": 6},
    "shallow": {"max_depth": 2, "min_samples_leaf": 3},
    "some features, several cuts": {"max_features": "sqrt", "n_cuts": 3},
    "pools": {"min_samples_leaf": (5, 10, 20), "max_leaf_nodes": (3, None), "batch_size": (50, None)},
    "no bootstrap": {"bootstrap": False, "max_features": 2},
    "no scaling": {"scale": False},
    "root that cannot split": {"min_samples_leaf": 10**6},
}


def table(task, missing):
    if task == "regression":
        X, y = make_regression(N_ROWS, 5, noise=20.0, random_state=1)
    else:
        n_classes = 2 if task == "binary" else 4
        X, y = make_classification(N_ROWS, 5, n_informative=4, n_redundant=1, n_classes=n_classes, random_state=1)
    if missing:
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    return X, y


def forests(task, settings):
    """Return a forest of the core and its twin with models in Python."""
    cls = FORESTS[task]
    settings = {"n_estimators": 3, "reg_lambda": 0.1, "random_state": 3, **settings}
    return [cls(node_model=model, **settings) for model in ("ridge", PlainRidge())]


def assert_same(core, python, X):
    """The same trees: structure to the bit, figures and predictions to rounding."""
    for name in ("tree_start", "feature", "left", "missing_left"):
        np.testing.assert_array_equal(getattr(core.forest_, name), getattr(python.forest_, name), err_msg=name)
    for name in ("threshold", "gain", "loss", "n_samples", "lower", "upper"):
        ours, theirs = getattr(core.forest_, name), getattr(python.forest_, name)
        rtol = 1e-8 if ours.dtype == np.float64 else 2e-7
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(output(core, X), output(python, X), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(core.apply(X), python.apply(X))


@pytest.mark.filterwarnings("ignore:min_samples_leaf=.* needs at least:UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_ridge_in_python_grows_the_trees_of_the_core(task, name):
    X, y = table(task, missing=True)
    core, python = forests(task, SETTINGS[name])
    assert_same(core.fit(X, y), python.fit(X, y), X)


@pytest.mark.parametrize("task", ["regression", "multiclass"])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_sample_weights_reach_splits_and_models(task, bootstrap):
    X, y = table(task, missing=True)
    core, python = forests(task, {"bootstrap": bootstrap, "batch_size": 100})
    assert_same(core.fit(X, y, WEIGHTS), python.fit(X, y, WEIGHTS), X)


def test_classes_are_balanced_within_replicas():
    X, y = table("binary", missing=False)
    core, python = forests("binary", {"class_weight": "balanced_subsample"})
    keep = (y == 0) | (np.arange(len(y)) % 4 == 0)
    assert_same(core.fit(X[keep], y[keep]), python.fit(X[keep], y[keep]), X)


def test_without_clip_outputs_are_not_limited():
    X, y = table("regression", missing=True)
    core, python = (forest.set_params(clip=False).fit(X, y) for forest in forests("regression", {}))
    np.testing.assert_allclose(core.predict(3 * X), python.predict(3 * X), rtol=1e-8)
    assert np.isinf(python.forest_.lower).all()


@pytest.mark.parametrize("criterion", ["mse", "gini", "c45"])
def test_other_criteria_give_the_same_trees(criterion):
    task = "regression" if criterion == "mse" else "multiclass"
    X, y = table(task, missing=True)
    core, python = forests(task, {"criterion": criterion})
    assert_same(core.fit(X, y), python.fit(X, y), X)


def test_a_pool_mixes_models_of_the_core_and_in_python():
    X, y = table("regression", missing=True)
    pools = (["ridge", "constant", "ridge"], [PlainRidge(), nodes.Constant(), "ridge"])
    core, mixed = (forests("regression", {"n_estimators": 12})[0].set_params(node_model=p).fit(X, y) for p in pools)
    assert 0 < mixed.forest_.in_python.sum() < 12
    np.testing.assert_allclose(core.predict(X), mixed.predict(X), rtol=1e-8)
    np.testing.assert_array_equal(core.apply(X), mixed.apply(X))


def test_the_cores_table_refuses_what_would_lead_outside():
    rows, weights, scores = np.arange(4, dtype=np.int32), np.ones(4), np.zeros((1, 4))
    table_ = _core.TrainingTable(np.ones((4, 2)), np.zeros(2), np.ones(2), np.zeros(4), 0, 0)
    for node in [
        (rows + 1, weights, scores),
        (rows, weights[:3], scores),
        (rows, weights, np.zeros((2, 4))),
        (rows[:0], weights[:0], scores[:, :0]),
    ]:
        with pytest.raises(ValueError, match=r"no such row|a node is its rows, their weights and their scores"):
            table_.losses([node], 1)
    with pytest.raises(ValueError, match="rules and keys need one entry per node"):
        table_.find_splits([(rows, weights, scores)], np.zeros((2, 5)), np.zeros(1, dtype=np.uint64), 1)
    with pytest.raises(ValueError, match="no such feature"):
        table_.is_missing(rows, 2)
    with pytest.raises(ValueError, match="y needs one value per row"):
        _core.TrainingTable(np.ones((4, 2)), np.zeros(2), np.ones(2), np.zeros(3), 0, 0)
    assert not table_.values.flags.writeable
    values = table_.values
    del table_
    np.testing.assert_array_equal(values, 1.0)  # they outlive the table


def test_trees_with_models_in_python_are_not_evaluated_by_the_core():
    X, y = table("regression", missing=False)
    forest = forests("regression", {})[1].fit(X, y)
    with pytest.raises(ValueError, match="tree 0 has its models in Python"):
        forest.forest_.model.predict(X, np.zeros(5), np.ones(5), False, 0, 3, 1, np.zeros((len(X), 1)))


def test_one_hot_columns_are_searched_as_in_the_core():
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(30)[rng.integers(30, size=400)], rng.normal(size=(400, 2))])
    y = X @ rng.normal(size=32) + rng.normal(size=400)
    core, python = forests("regression", {})
    assert_same(core.fit(X, y), python.fit(X, y), X)
