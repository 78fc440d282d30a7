"""GBDT-PL in the core against the slow twin, and against other boosters where they do the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from boostforest_paper.baselines import GBDTPLClassifier, GBDTPLRegressor
from boostforest_paper.baselines.gbdt_pl_bins import make_bins
from models import on_every_instruction_set
from twin_gbdt_pl import Twin

SETTINGS = {
    "plain": {},
    "constant leaves": {"max_var": 0},
    "one regressor": {"max_var": 1, "max_leaf_nodes": 6},
    "shallow": {"max_depth": 1, "learning_rate": 1.0},
    "one leaf": {"max_leaf_nodes": 1},
    "large leaves": {"min_samples_leaf": 20, "min_child_weight": 0.5},
    "few bins": {"max_bins": 7},
    "a little L1": {"reg_alpha": 0.01},
    "much L1": {"reg_alpha": 2.0},
    "one leaf, L1": {"max_leaf_nodes": 1, "reg_alpha": 1.0},
    "no penalty": {"reg_lambda": 0.0, "max_var": 1, "min_samples_leaf": 10},
}


def table(n_classes, n=36, d=3):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(n, d - 1)) * [3.0, 0.1], rng.integers(0, 4, n)])
    score = np.abs(X[:, 0]) + 20 * X[:, 1] * X[:, 2] + rng.normal(size=n)
    if n_classes == 0:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)


def fit(n_classes, **params):
    X, y = table(n_classes)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    params = {"max_leaf_nodes": 4, "min_samples_leaf": 3, "reg_lambda": 0.1, **params}
    make = GBDTPLClassifier if n_classes else GBDTPLRegressor
    return make(2, **params).fit(X, y, weight), X, y, weight


def scores_of(model, X):
    return model.predict(X)[:, None] if isinstance(model, GBDTPLRegressor) else model._scores(X)


@pytest.mark.parametrize("n_classes", [0, 2, 3], ids=["regression", "two classes", "three classes"])
@pytest.mark.parametrize("name", SETTINGS)
def test_scores_are_those_of_the_twin(n_classes, name):
    model, X, y, weight = fit(n_classes, **SETTINGS[name])
    scaled = (X - model.feature_mean_) / model.feature_scale_
    rules = {"n_classes": n_classes, **model.get_params()}
    rules["max_depth"] = np.inf if rules["max_depth"] is None else rules["max_depth"]
    twin = Twin(scaled, make_bins(scaled, weight, model.max_bins), weight, **rules)
    assert_allclose(scores_of(model, X), twin.boost(y, model.base_score_, 2), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_every_instruction_set_gives_the_same_model(n_classes, alpha):
    first, *others = on_every_instruction_set(lambda: scores_of(*fit(n_classes, reg_alpha=alpha)[:2]))
    for other in others:
        assert_allclose(other, first, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n_classes", [0, 2, 3], ids=["regression", "two classes", "three classes"])
def test_without_regressors_it_is_scikit_learns_histogram_booster(n_classes):
    X, y = table(n_classes, n=200)  # fewer values than bins: the bins are the same
    same = {"max_leaf_nodes": 8, "min_samples_leaf": 5, "learning_rate": 0.2}
    ours = (GBDTPLClassifier if n_classes else GBDTPLRegressor)(20, max_var=0, reg_lambda=0.5, **same).fit(X, y)
    make = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    theirs = make(max_iter=20, l2_regularization=0.5, early_stopping=False, **same).fit(X, y)
    if n_classes == 0:
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)  # their gradients are float32
    else:
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-4, atol=1e-4)


def test_without_regressors_it_is_as_good_as_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(0, n=2000)
    same = {"n_estimators": 50, "min_child_weight": 1e-3, "reg_lambda": 0.5}
    ours = GBDTPLRegressor(max_var=0, max_leaf_nodes=8, min_samples_leaf=5, **same).fit(X[:1000], y[:1000])
    theirs = lightgbm.LGBMRegressor(num_leaves=8, min_child_samples=5, verbosity=-1, n_jobs=1, **same)
    theirs.fit(X[:1000], y[:1000])
    ours, theirs = (np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) for model in (ours, theirs))
    assert_allclose(ours, theirs, rtol=0.05)  # other bins


def test_with_one_leaf_it_is_a_boosted_linear_model():
    X, y = table(0)
    model = GBDTPLRegressor(200, max_leaf_nodes=1, reg_lambda=0.0, learning_rate=0.5).fit(X, y)
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9, atol=1e-9)


def test_with_one_leaf_it_takes_newton_steps_of_a_logistic_regression():
    X, y = table(2)
    model = GBDTPLClassifier(4, max_leaf_nodes=1, reg_lambda=0.3, learning_rate=0.5).fit(X, y)
    Z = np.column_stack([np.ones(len(y)), (X - X.mean(axis=0)) / X.std(axis=0)])
    score = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
    for _ in range(4):
        p = 1 / (1 + np.exp(-score))
        hessian = Z.T @ ((p * (1 - p))[:, None] * Z) + 0.3 * np.eye(4)
        score = score + 0.5 * Z @ np.linalg.solve(hessian, Z.T @ (y - p))
    assert_allclose(model.decision_function(X), score, rtol=1e-9, atol=1e-9)
