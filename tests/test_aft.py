"""Censored times: against maximum likelihood, the slow twin, scikit-survival, and what they are for."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import gumbel_l, logistic, norm

import twin
from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, export_text
from boostforest._losses import AcceleratedFailureTime
from boostforest._losses.aft import _MEDIANS, DISTRIBUTIONS, concordance, read_times
from models import assert_refused
from test_against_twin import compare

NOISE = {"normal": norm, "logistic": logistic, "extreme_value": gumbel_l}


def table(n=300, distribution="normal", seed=0):
    """Return a table, and times with events."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = 0.7 * NOISE[distribution].rvs(size=n, random_state=seed + 1)
    time = np.exp(2 + X @ [0.5, -0.3, 0.0] + 0.5 * (X[:, 2] > 0) + noise)
    censored = np.exp(rng.normal(2.5, 1, size=n))
    return X, np.column_stack([np.minimum(time, censored), time <= censored])


# ------------------------------------------------------------------------------------------------------------- the loss


@pytest.mark.parametrize("family", DISTRIBUTIONS.values())
def test_derivatives_and_pseudo_labels_equal_numeric_ones_and_the_twins(family):
    rng = np.random.default_rng(0)
    scores, w = rng.normal(scale=2, size=(1, 60)), rng.uniform(0.1, 3, size=60)
    y = np.exp(rng.normal(size=60)) * rng.choice([-1.0, 1.0], size=60)
    params = twin.Params("times", spread=0.8, family=family)
    value, g, h, z, v = _core.loss(_core.LossCode.AFT, 0, scores, y, w, [0.8, family])
    loss = AcceleratedFailureTime(spread=0.8, family=float(family))
    assert_allclose(value, w @ twin.losses(y, scores.T, params), rtol=1e-9)
    assert_allclose(loss.losses(y, scores.T), twin.losses(y, scores.T, params), rtol=1e-9)
    assert_allclose([g, h], np.array(twin.derivatives(y, scores.T, params))[:, :, 0], rtol=1e-6, atol=1e-12)
    assert_allclose([z, v], np.array(twin.pseudo_labels(y, scores.T, np.ones(60), params))[:, :, 0], rtol=1e-6)
    step = 1e-5
    above, below = (loss.losses(y, scores.T + sign * step) for sign in (1, -1))
    assert_allclose(loss.gradient(y, scores.T)[:, 0], (above - below) / (2 * step), rtol=1e-4, atol=1e-6)
    assert_allclose(g, 0.8**2 * loss.gradient(y, scores.T)[:, 0], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("distribution", NOISE)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_of_depth_0_is_the_likeliest_linear_model(distribution):
    X, y = table(distribution=distribution)
    noise, A = NOISE[distribution], np.column_stack([np.ones(300), X])
    seen = y[:, 1] > 0

    def negative_log_likelihood(b):
        z = (np.log(y[:, 0]) - A @ b[1:]) / np.exp(b[0])
        return -np.where(seen, noise.logpdf(z) - b[0], noise.logsf(z)).sum()

    found = minimize(negative_log_likelihood, np.r_[0, 2, 0, 0, 0], method="BFGS", options={"gtol": 1e-5})
    options = {"xatol": 1e-11, "fatol": 1e-13, "maxiter": 20000, "maxfev": 20000}
    found = minimize(negative_log_likelihood, found.x, method="Nelder-Mead", options=options)
    settings = {"min_samples_leaf": 1000, "reg_lambda": 0.0, "clip": False, "scale": False}
    forest = BoostForestRegressor(1, preset="paper", bootstrap=False, loss="aft", distribution=distribution, **settings)
    forest.fit(X, y)
    assert forest._model.loss.spread == pytest.approx(np.exp(found.x[0]), rel=1e-6)
    median = np.exp(A @ found.x[1:] + np.exp(found.x[0]) * noise.median())
    assert_allclose(forest.predict(X), median, rtol=1e-6)


@pytest.mark.parametrize("setting", [{}, {"clip": False}, {"node_model": "constant"}, {"batch_size": 45}], ids=str)
@pytest.mark.parametrize("distribution", NOISE)
def test_tree_equals_twin(monkeypatch, distribution, setting):
    family = DISTRIBUTIONS[distribution]
    fixed = {"spread": 0.8, "mean": 0.8 * _MEDIANS[family]}
    monkeypatch.setattr(AcceleratedFailureTime, "settled", lambda self, *_: replace(self, **fixed))
    X, y = table(150, distribution)
    y[:, 0] /= 10
    make = partial(BoostTreeRegressor, loss="aft", distribution=distribution)
    of_twin = {"spread": 0.8, "family": family, **setting}
    compare(make, X, y, "times", of_twin, None, lambda _: (X, read_times(y), np.ones(150)))


# ------------------------------------------------------------------------------------------------------- what it is for


@pytest.mark.parametrize("distribution", NOISE)
@pytest.mark.parametrize("preset", ["paper", "best"])
def test_forest_orders_times_and_predicts_about_their_median(preset, distribution):
    X, y = table(600, distribution)
    settings = {"loss": "aft", "distribution": distribution, "random_state": 0, "oob_score": True}
    forest = BoostForestRegressor(40, preset=preset, **settings).fit(X[:400], y[:400])
    assert forest.score(X[400:], y[400:]) > 0.6
    assert forest.oob_score_ > 0.55
    median = 2 + X @ [0.5, -0.3, 0.0] + 0.5 * (X[:, 2] > 0) + 0.7 * NOISE[distribution].median()
    off = np.log(forest.predict(X[400:])) - median[400:]
    assert abs(np.mean(off)) < 0.25
    assert np.std(off) < 0.8


def test_units_of_time_do_not_matter():
    X, y = table()
    forest = BoostForestRegressor(10, preset="paper", loss="aft", random_state=0)
    days, years = (forest.fit(X, y * [unit, 1]).predict(X) for unit in (1.0, 1 / 365))
    assert_allclose(days, 365 * years, rtol=1e-3)


def test_structured_arrays_are_the_same_as_two_columns():
    X, y = table(100)
    other = np.array([(bool(e), t) for t, e in y], dtype=[("Status", "?"), ("Survival_in_days", "f8")])
    tree = BoostTreeRegressor(loss="aft", random_state=0)
    assert_array_equal(tree.fit(X, y).predict(X), tree.fit(X, other).predict(X))
    assert tree.score(X, y) == tree.score(X, other)


def test_offsets_weights_files_words_and_explanations(reloaded):
    X, y = table()
    offset = np.random.default_rng(0).normal(size=300)
    forest = BoostForestRegressor(40, loss="aft", distribution="logistic", random_state=0)
    forest.fit(X, y * np.exp(offset)[:, None] ** [1, 0], offset=offset)
    plain = BoostForestRegressor(40, loss="aft", distribution="logistic", random_state=0).fit(X, y)
    assert np.median(np.abs(np.log(forest.predict(X) / plain.predict(X)))) < 0.05
    assert_allclose(forest.predict(X, offset), np.exp(offset) * forest.predict(X))
    loaded = reloaded(forest)
    assert_array_equal(loaded.predict(X), forest.predict(X))
    assert loaded.distribution == "logistic"
    found = forest.explain(X[:3], X[:20])
    assert_allclose(found.base_values + found.values.sum(axis=1), forest.predict(X[:3]))
    assert "log(time)" in export_text(BoostTreeRegressor(loss="aft", max_leaf_nodes=3, random_state=0).fit(X, y))


@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_weights_are_as_good_as_repeated_rows():
    X, y = table(100)
    w = np.random.default_rng(0).integers(1, 4, size=100)
    settings = {"loss": "aft", "min_samples_leaf": 1000, "scale": False, "reg_lambda": 0.0}
    own = BoostTreeRegressor(**settings).fit(X, y, sample_weight=w)
    again = BoostTreeRegressor(**settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_allclose(own.predict(X), again.predict(X), rtol=1e-5)
    times = read_times(y)
    repeated = np.repeat(times, w), np.repeat(X[:, 0], w)
    assert concordance(times, X[:, 0], w.astype(float)) == pytest.approx(concordance(*repeated), abs=0.01)


def test_concordance_is_that_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics", reason="needs scikit-survival")
    X, y = table(120)
    found = concordance(read_times(y), np.round(X[:, 0], 1))
    assert found == pytest.approx(metrics.concordance_index_censored(y[:, 1] > 0, y[:, 0], -np.round(X[:, 0], 1))[0])


def test_concordance_is_level_with_scikit_survivals_forest():
    datasets = pytest.importorskip("sksurv.datasets", reason="needs scikit-survival")
    ensemble = pytest.importorskip("sksurv.ensemble", reason="needs scikit-survival")
    X, y = datasets.load_veterans_lung_cancer()
    numbers = X.select_dtypes("number").astype(float)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:90], rows[90:]
    forest = BoostForestRegressor(40, loss="aft", random_state=0).fit(numbers.iloc[train], y[train])
    other = ensemble.RandomSurvivalForest(50, min_samples_leaf=5, random_state=0).fit(numbers.iloc[train], y[train])
    assert forest.score(numbers.iloc[test], y[test]) > other.score(numbers.iloc[test], y[test]) - 0.03


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (np.ones(3), r"y must have two columns, time and event, or be a structured array .* got shape \(3,\)"),
        (np.array([[1, 1], [0, 1], [2, 0]]), "y must have finite times above 0 for loss='aft'; got 0"),
        (np.array([[1, 1], [np.nan, 1], [2, 0]]), "y must have finite times above 0"),
        (np.array([[1, 1], [3, 2], [2, 0]]), "y must have events that are 0 or 1"),
        (np.array([[1, 0], [3, 0], [2, 0]]), "y must have at least one event for loss='aft'; all times are censored"),
        (np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]), "a field of events .bool. and one of times"),
        ([["a", 1]] * 3, "y must hold numbers for loss='aft'"),
    ],
)
def test_bad_targets_are_refused_and_the_fitted_model_stays(y, says):
    X, good = table(60)
    assert_refused(partial(BoostTreeRegressor, loss="aft", random_state=0), X, good, says, X=X[:3], y=y)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "predict_interval needs targets that are known"),
        ({"oob_score": "r2"}, "oob_score must be True or False with loss='aft'"),
        ({"distribution": "gumbel"}, "distribution must be one of 'normal', 'logistic', 'extreme_value'"),
    ],
)
def test_what_censored_times_do_not_have_is_refused(settings, says):
    X, y = table(80)
    with pytest.raises(ValueError, match=says):
        BoostForestRegressor(40, loss="aft", random_state=0, **settings).fit(X, y).predict_interval(X)
