"""Targets that are far off under squared error: the default forest bounds what they count."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_friedman1

from boostforest import BoostForestRegressor
from boostforest._grow.far_off import bounded_by

FEW = {"n_estimators": 40, "random_state": 0}


def table(contamination="none", n=500):
    """Return training rows, some of whose targets are wrong, and clean ones."""
    X, y = make_friedman1(n + 300, n_features=8, noise=1.0, random_state=0)
    wrong = np.random.default_rng(1).choice(n, 5, replace=False)
    if contamination == "times 100":
        y[wrong] *= 100
    elif contamination != "none":
        y[wrong[:3]] = float(contamination)
    return X[:n], y[:n], X[n:], y[n:], wrong


def median_error(forest, X, y, offset=None):
    """Return the median absolute error."""
    return np.median(np.abs(forest.predict(X, offset) - y))


@pytest.mark.parametrize("preset", ["best", "fast"])
@pytest.mark.parametrize("contamination", ["times 100", "1e6", "1e40"])
def test_far_off_targets_do_not_ruin_the_predictions_of_other_rows(contamination, preset):
    X, y, X_test, y_test, _ = table()
    clean = BoostForestRegressor(preset=preset, **FEW).fit(X, y)
    X, y, X_test, y_test, _ = table(contamination)
    with pytest.warns(UserWarning, match=r"[35] of 500 targets are far off what the other rows say"):
        forest = BoostForestRegressor(preset=preset, **FEW).fit(X, y)
    assert median_error(forest, X_test, y_test) < 1.2 * median_error(clean, X_test, y_test)


def test_residuals_too_large_for_a_heavy_tail_are_far_off_without_a_wide_gap():
    rng = np.random.default_rng(0)
    apart = np.array([20.0, 37.0, 176.0, 227.0, 490.0])  # each less than five times the one below
    labels = np.append(rng.normal(size=494), [4.5, *apart])
    assert_array_equal(bounded_by(np.zeros(500), labels, np.ones(500, bool)) != labels, labels >= 20)
    tail = rng.pareto(1.5, size=(50, 500))
    assert sum((bounded_by(np.zeros(500), errors, np.ones(500, bool)) != errors).any() for errors in tail) <= 2


def test_a_right_target_is_not_moved_to_what_a_wrong_one_says():
    rng = np.random.default_rng(0)
    labels, expected = np.append(rng.normal(size=497), [1e6] * 3), np.zeros(500)
    expected[0] = 9e4  # the mean of trees, one of which is bent
    assert np.abs(bounded_by(expected, labels, np.ones(500, bool))).max() < 10


def test_rows_beside_wrong_targets_are_told_from_them():
    rng = np.random.default_rng(17)
    X = rng.uniform(size=(500, 6))
    y = X @ [9, -6, 3, 1.5, 0, 0] + 0.5 * rng.normal(size=500)
    X_test, _ = rng.uniform(size=(2000, 6)), rng.normal(size=2000)
    wrong = rng.choice(500, 5, replace=False)
    y[wrong] *= 100  # trees of Huber's loss are bent beside them
    with pytest.warns(UserWarning, match=r"5 of 500 targets are far off what the other rows say"):
        forest = BoostForestRegressor(**FEW).fit(X, y)
    assert median_error(forest, X_test, X_test @ [9, -6, 3, 1.5, 0, 0]) < 0.25


def test_the_papers_forest_takes_targets_as_they_are():
    X, y, X_test, y_test, _ = table("1e6")
    assert median_error(BoostForestRegressor(preset="paper", **FEW).fit(X, y), X_test, y_test) > 100


@pytest.mark.parametrize("settings", [{"bootstrap": False}, {"warm_start": True}, {"loss": "huber"}])
def test_what_cannot_be_judged_or_is_robust_itself_is_left_alone(settings):
    X, y, *_ = table("1e6")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoostForestRegressor(10, random_state=0, **settings).fit(X, y)


def test_offsets_weights_and_categories_go_with_it():
    pd = pytest.importorskip("pandas")
    X, y, X_test, y_test, _ = table("times 100")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X).add_prefix("x").assign(city=pd.Categorical([f"c{c}" for c in rng.integers(0, 9, 500)]))
    test = pd.DataFrame(X_test).add_prefix("x").assign(city=pd.Categorical(["c1"] * 300))
    offset, weight = rng.normal(scale=5, size=500), rng.uniform(0.5, 2, size=500)
    y = y + offset
    y[7], weight[7] = 1e30, 0.0
    with pytest.warns(UserWarning, match="5 of 500 targets are far off"):
        forest = BoostForestRegressor(**FEW).fit(frame, y, sample_weight=weight, offset=offset)
    assert median_error(forest, test, y_test, np.zeros(300)) < 1.5


def test_figures_out_of_bag_are_those_of_the_targets_as_they_are():
    X, y, *_, wrong = table("times 100")
    with pytest.warns(UserWarning, match="far off"):
        forest = BoostForestRegressor(oob_score=True, **FEW).fit(X, y)
    assert forest.oob_score_ < 0.1
    near = np.setdiff1d(np.arange(500), wrong)
    assert np.corrcoef(forest.oob_prediction_[near], y[near])[0, 1] > 0.9
    assert (np.diff(forest.predict_interval(X, 0.9)) < 10).all()  # no row beside a wrong target is much less certain


def test_compress_judges_by_the_rows_that_are_not_far_off():
    X, y, X_test, y_test, _ = table("1e6")
    with pytest.warns(UserWarning, match="far off"):
        forest = BoostForestRegressor(**FEW).fit(X, y)
    y_test[7] = -1e6
    for rows in ((X, y), (X_test, y_test)):
        small = forest.compress(X=rows[0], y=rows[1])
        losses = [row["loss"] for row in small.compression_report_]
        assert 0.5 < losses[0] * np.std(y_test[:7]) < 5 and losses[-1] <= 1.001 * losses[0]


def test_the_bound_is_that_of_the_rows_that_count():
    """Most rows are off by 5, most of the weight by 1."""
    rest = np.append(np.tile([1.0, 5.0, 5.0], 40), 1000.0)
    weight = np.where(rest == 1.0, 10.0, 1.0)
    every = np.ones(len(rest), dtype=bool)
    bounds = [bounded_by(np.zeros(len(rest)), rest, every, w)[-1] for w in (None, weight)]
    assert bounds[0] == pytest.approx(5 * bounds[1]) and bounds[1] < 5


HONEST = {
    "heavy tails": lambda X, rng: X[:, 0] + 0.5 * rng.standard_t(2, size=len(X)),
    "amounts": lambda X, rng: np.exp(X[:, 0] + 1.5 * rng.normal(size=len(X))),
    "a group of its own": lambda X, rng: X[:, 0] + 1000 * (X[:, 1] > 2.2) + 0.3 * rng.normal(size=len(X)),
    "rare claims": lambda X, rng: np.where(rng.uniform(size=len(X)) < 0.02, rng.gamma(2, 5000, size=len(X)), 0.0),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_targets_are_left_alone(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = HONEST[name](X, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoostForestRegressor(**FEW).fit(X, y)


def test_the_same_seed_gives_the_same_forest_for_any_number_of_threads():
    X, y, X_test, *_ = table("times 100")
    with pytest.warns(UserWarning, match="far off"):
        one, two = (BoostForestRegressor(n_jobs=n, **FEW).fit(X, y).predict(X_test) for n in (1, 2))
    assert_array_equal(one, two)
