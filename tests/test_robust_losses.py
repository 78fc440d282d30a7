"""Huber's loss, absolute error and quantiles: against optimisers, the slow twin, and what they are for."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, export_text
from boostforest._losses import AbsoluteError, Huber, Quantile
from boostforest._losses.robust import weighted_quantile
from test_against_twin import bootstrap_sample, compare
from twin import example_data

#: Arguments of estimators, and what the twin has in their place.
LOSSES = {
    "huber": ({"loss": "huber"}, {"delta": 0.7}),
    "median": ({"loss": "absolute_error"}, {}),
    "quantile 0.1": ({"loss": "quantile", "quantile": 0.1}, {"quantile": 0.1}),
    "quantile 0.9": ({"loss": "quantile", "quantile": 0.9}, {"quantile": 0.9}),
}
CODES = {
    "huber": (_core.LossCode.HUBER, [0.7], Huber()),
    "median": (_core.LossCode.QUANTILE, [0.5], AbsoluteError()),
    "quantile 0.1": (_core.LossCode.QUANTILE, [0.1], Quantile(quantile=0.1)),
    "quantile 0.9": (_core.LossCode.QUANTILE, [0.9], Quantile(quantile=0.9)),
}


def forest_of(name, n_estimators, **settings):
    return BoostForestRegressor(n_estimators, **({"preset": "paper", "random_state": 0} | LOSSES[name][0] | settings))


def table(n=300, seed=0):
    """Return a table and a target with heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, -0.5, 0.3, 0.0] + (X[:, 3] > 0) + 0.5 * rng.standard_t(3, size=n)


X, y = table()


# ----------------------------------------------------------------------------------------------------------- the losses


@pytest.mark.parametrize("name", CODES)
def test_loss_derivatives_and_pseudo_labels_equal_the_twins(name):
    rng = np.random.default_rng(0)
    scores, y, w = rng.normal(scale=2, size=(1, 40)), rng.normal(size=40), rng.uniform(0.1, 3, size=40)
    code, numbers, loss = CODES[name]
    params = twin.Params("robust", **LOSSES[name][1])
    value, g, h, z, v = _core.loss(code, 0, scores, y, w, numbers)
    assert_allclose(value, w @ twin.losses(y, scores.T, params))
    assert_allclose(loss.losses(y, scores.T), twin.losses(y, scores.T, params), atol=0.03)  # the kink is rounded off
    assert_allclose([g, h], np.array(twin.derivatives(y, scores.T, params))[:, :, 0])
    assert_allclose([z, v], np.array(twin.pseudo_labels(y, scores.T, np.ones(40), params))[:, :, 0])
    step, half = 1e-6, 0.5 if name == "huber" else 1.0
    above, below = (twin.losses(y, scores.T + sign * step, params) for sign in (1, -1))
    assert_allclose(g, half * (above - below) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("name", CODES)
def test_steps_of_a_parabola_from_above_never_raise_the_loss(name):
    params = twin.Params("robust", **LOSSES[name][1])
    y, start = np.zeros(400), np.linspace(-5, 5, 400)[:, None]
    z = twin.pseudo_labels(y, start, np.ones(400), params)[0]
    for part in (0.1, 0.5, 1.0):
        assert (twin.losses(y, start + part * z, params) <= twin.losses(y, start, params) + 1e-12).all()


def test_weighted_quantile_is_that_of_repeated_values():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=50), rng.integers(1, 5, size=50)
    for quantile in (0.1, 0.5, 0.9):
        expected = np.quantile(np.repeat(values, weight), quantile, method="inverted_cdf")
        assert weighted_quantile(values, weight.astype(float), quantile) == expected


# -------------------------------------------------------------------------------------------------------- linear models


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_has_the_penalised_least_loss(name, reg_lambda):
    settings = {"min_samples_leaf": 1000, "reg_lambda": reg_lambda, "clip": False, "scale": False}
    forest = forest_of(name, 1, bootstrap=False, **settings).fit(X, y)
    params = twin.Params("robust", **LOSSES[name][1])
    half = 0.5 if name == "huber" else 1.0

    def objective(b):
        F = (X @ b[1:] + b[0])[:, None]
        g = twin.derivatives(y, F, params)[0][:, 0]
        value = half * twin.losses(y, F, params).sum() + reg_lambda / 2 * b[1:] @ b[1:]
        return value, np.r_[g.sum(), X.T @ g + reg_lambda * b[1:]]

    found = minimize(objective, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    assert_allclose(forest.predict(X), X @ found.x[1:] + found.x[0], atol=1e-6)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_is_nearly_the_linear_quantile_regression(quantile):
    settings = {"min_samples_leaf": 1000, "reg_lambda": 0.0, "clip": False}
    forest = BoostForestRegressor(1, preset="paper", bootstrap=False, loss="quantile", quantile=quantile, **settings)
    forest.fit(X, y)
    other = QuantileRegressor(quantile=quantile, alpha=0).fit(X, y)
    own, least = (mean_pinball_loss(y, model.predict(X), alpha=quantile) for model in (forest, other))
    assert least <= own < 1.005 * least


# ----------------------------------------------------------------------------------------------------- against the twin


@pytest.mark.parametrize(
    "setting",
    [{}, {"clip": False}, {"node_model": "constant"}, {"max_leaf_nodes": 5}, {"batch_size": 45},
     {"monotonic_cst": [1, 0, 0, -1]}, {"min_samples_leaf": 76}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:min_samples_leaf=76 needs")  # a root that cannot be split
def test_tree_equals_twin(name, setting):
    X, y = example_data("robust")
    own, of_twin = LOSSES[name]
    make = partial(BoostTreeRegressor, loss=own["loss"])
    compare(make, X, y, "robust", of_twin | setting)


@pytest.mark.parametrize("name", LOSSES)
def test_bootstrap_forest_equals_twin(name):
    X, y = example_data("robust")
    make = partial(BoostForestRegressor, 3, loss=LOSSES[name][0]["loss"], preset="paper")
    sample = bootstrap_sample(X, y, len(X))
    compare(make, X, y, "robust", LOSSES[name][1], None, sample)


# ---------------------------------------------------------------------------------------------------- what they are for


@pytest.mark.parametrize("loss", ["huber", "absolute_error"])
@pytest.mark.parametrize("bad", [(5, 100.0), (3, 1e6)], ids=str)
def test_few_targets_that_are_far_off_do_not_ruin_the_others(loss, bad):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    f = 2 * X[:, 0] + 2 * X[:, 1] * (X[:, 2] > 0)
    y = f + 0.5 * rng.normal(size=600)
    number, factor = bad
    ruined = np.where(np.arange(400) < number, factor * np.abs(y[:400]), y[:400])

    def error(loss, target):
        forest = BoostForestRegressor(50, loss=loss, random_state=0, preset="paper").fit(X[:400], target)
        return np.median(np.abs(forest.predict(X[400:]) - f[400:]))

    assert error(loss, ruined) < 1.5 * error(loss, y[:400])
    assert error("squared_error", ruined) > 3 * error(loss, ruined)


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_quantiles_hold_their_share_of_the_rows(quantile):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 3))
    y = np.sin(3 * X[:, 0]) + (0.3 + 0.5 * (X[:, 1] + 1)) * rng.normal(size=1500)
    settings = {"loss": "quantile", "quantile": quantile, "random_state": 0}
    for more, off in (({"preset": "best"}, 0.05), ({"node_model": "constant"}, 0.05), ({}, 0.15)):
        forest = BoostForestRegressor(80, **({"preset": "paper"} | settings | more)).fit(X[:1000], y[:1000])
        p = forest.predict(X[1000:])
        assert abs((y[1000:] <= p).mean() - quantile) < off
        constant = mean_pinball_loss(y[1000:], np.full(500, np.quantile(y[:1000], quantile)), alpha=quantile)
        assert mean_pinball_loss(y[1000:], p, alpha=quantile) < constant


@pytest.mark.parametrize("name", LOSSES)
def test_units_of_the_target_do_not_matter(name):
    small, large = (forest_of(name, 10).fit(X, t).predict(X) for t in (y, 1024 * y + 64))
    assert_allclose(large, 1024 * small + 64, rtol=1e-6, atol=1e-6)


def test_a_target_that_is_mostly_one_value_is_scaled_by_its_standard_deviation():
    X, y = table(100)
    y = np.where(np.arange(100) < 80, 3.0, y)
    forest = BoostForestRegressor(5, loss="huber", random_state=0, preset="paper").fit(X, y)
    assert_allclose([forest.target_mean_, forest.target_scale_], [3.0, y.std()])


@pytest.mark.parametrize(
    ("name", "figure"), [("huber", "root of Huber loss"), ("median", "MAE"), ("quantile 0.9", "pinball loss")]
)
def test_words_of_a_tree_name_the_loss(name, figure):
    tree = BoostTreeRegressor(**LOSSES[name][0], max_leaf_nodes=2, random_state=0).fit(X, y)
    assert f"{figure} 0." in export_text(tree) and "y = " in export_text(tree)


@pytest.mark.parametrize("quantile", [0, 1, -0.1, None, "0.5"])
def test_a_quantile_must_be_between_0_and_1(quantile):
    with pytest.raises(ValueError, match="quantile must be a number above 0 and below 1; got"):
        BoostTreeRegressor(loss="quantile", quantile=quantile).fit(*table(60))
