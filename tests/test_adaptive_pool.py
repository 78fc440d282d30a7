"""Pools that learn: what out-of-bag losses say about the settings of trees decides how the rest is grown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss, mean_squared_error

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest._grow import adaptive, boosted
from boostforest._grow.adaptive import _least_mixture
from models import FORESTS, paper_classifier, paper_regressor
from twin import example_data


def steps_table(n=1000):
    """Return a table of steps, on which more thresholds per feature are better than slopes."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 6))
    return X, 3 * np.floor(4 * X[:, 0]) + 2 * np.floor(3 * X[:, 1]) + 0.3 * rng.normal(size=n)


def test_it_finds_what_a_table_needs():
    X, y = steps_table()
    plain = paper_regressor(150).fit(X[:500], y[:500])
    learned = paper_regressor(150, pool="adaptive").fit(X[:500], y[:500])
    assert mean_squared_error(y[500:], learned.predict(X[500:])) < 0.8 * mean_squared_error(
        y[500:], plain.predict(X[500:])
    )
    used = [row["settings"] for row in learned.pool_report_ if row["share"] > 0.2]
    assert all("n_cuts" in settings for settings in used), used


def test_it_finds_large_leaves_where_there_is_mostly_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8))
    y = (rng.random(1200) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    plain = paper_classifier(100).fit(X[:600], y[:600])
    learned = paper_classifier(100, pool="adaptive").fit(X[:600], y[:600])
    assert log_loss(y[600:], learned.predict_proba(X[600:])) < log_loss(y[600:], plain.predict_proba(X[600:]))
    assert learned.n_leaves_.mean() < plain.n_leaves_.mean()


def test_larger_leaves_are_taken_where_boosted_trees_make_up_for_them(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.random((1200, 5))
    y = np.floor(5 * X[:, 0]) + np.floor(4 * X[:, 1]) + 0.3 * rng.normal(size=1200)
    monkeypatch.setattr(boosted, "_RELIED_ON", 0.0)  # they count little here

    def fit():
        return paper_regressor(150, pool="adaptive", boost=True).fit(X, y)

    small = fit()
    monkeypatch.setattr(adaptive, "_AS_GOOD", -np.inf)
    large = fit()
    (chosen,) = (row for row in small.pool_report_ if row["share"] > 0)
    assert min(chosen["settings"]["min_samples_leaf"]) >= 10
    first = [
        int(forest.forest_.tree_start[forest.stages_.ends[0]]) / forest.stages_.ends[0] for forest in (small, large)
    ]
    assert first[0] < 0.8 * first[1]
    assert small.oob_losses_[-1] < 1.01 * large.oob_losses_[-1]


@pytest.mark.parametrize("relied_on", [0.0, np.inf])
def test_larger_leaves_are_taken_only_beside_boosted_trees_that_count(relied_on, monkeypatch):
    X, y = steps_table()
    for name in ("_AS_GOOD", "_HARDLY_TELLS", "_FAIR"):  # any leaves would do
        monkeypatch.setattr(adaptive, name, np.inf)
    monkeypatch.setattr(boosted, "_RELIED_ON", relied_on)
    forest = paper_regressor(150, pool="adaptive", boost=True).fit(X, y)
    leaves = [row["settings"].get("min_samples_leaf", (0,)) for row in forest.pool_report_ if row["share"] > 0]
    assert any(min(of_setting) >= 150 for of_setting in leaves) == (relied_on == 0)


def table_of_few_features(n):
    """Return a table with thirty features, of which the first four matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 30))
    y = 2 * np.sign(X[:, 0]) * (X[:, 1] > 0.5) + np.abs(X[:, 2]) + np.cos(3 * X[:, 3])
    return X, y + 0.2 * rng.normal(size=n)


def test_it_cuts_only_features_that_matter_where_they_are_few(monkeypatch):
    X, y = table_of_few_features(1600)
    forest = BoostForestRegressor(preset="best", random_state=0).fit(X[:600], y[:600])
    monkeypatch.setattr("boostforest._grow.adaptive._HALVINGS", 0)
    without = BoostForestRegressor(preset="best", random_state=0).fit(X[:600], y[:600])
    errors = [mean_squared_error(y[600:], f.predict(X[600:])) for f in (forest, without)]
    assert errors[0] < 0.95 * errors[1], errors  # other seeds: 0.85 to 0.96
    choices = [set(r["settings"]["split_features"]) for r in forest.pool_report_ if "split_features" in r["settings"]]
    assert [len(choice) for choice in choices] == [15, 7, 3]  # the last one is too small, and says so
    assert choices[0] > choices[1] > {0, 1, 2, 3}
    assert forest.pool_report_[-1]["share"] == 0
    assert forest.forest_.split_features is None


def test_features_are_not_chosen_for_a_user_who_has_done_so():
    X, y = table_of_few_features(400)
    forest = BoostForestRegressor(preset="best", split_features=range(10), random_state=0).fit(X, y)
    assert all("split_features" not in row["settings"] for row in forest.pool_report_)
    assert forest.forest_.feature.max() < 10


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_the_report_has_every_setting_and_the_shares_are_those_of_the_trees(task):
    X, y = example_data(task)
    forest = FORESTS[task](120, pool="adaptive", random_state=0).fit(X, y)
    report = forest.pool_report_
    assert report[0]["settings"] == {} and report[0]["round"] == 0 and report[0]["change"] == 0
    assert sum(row["share"] for row in report) == pytest.approx(1)
    assert sum(row["n_trees"] for row in report) <= 0.8 * 120
    n = forest.forest_.n_trees
    assert 8 <= n <= 120
    cuts = np.array([p["n_cuts"] for p in forest.tree_params_])
    shares = {c: sum(r["share"] for r in report if r["settings"].get("n_cuts", 1) == c) for c in set(cuts)}
    for value, share in shares.items():
        assert (cuts == value).mean() == pytest.approx(share, abs=0.1)


def test_parameters_that_the_user_has_set_are_left_alone():
    X, y = example_data("regression")
    forest = paper_regressor(100, pool="adaptive", min_samples_leaf=7, n_cuts=2).fit(X, y)
    assert all(not {"min_samples_leaf", "n_cuts"} & row["settings"].keys() for row in forest.pool_report_)
    assert {p["min_samples_leaf"] for p in forest.tree_params_} == {7}
    same = paper_regressor(100, pool="adaptive", min_samples_leaf=tuple(range(5, 16))).fit(X, y)
    assert any("min_samples_leaf" in row["settings"] for row in same.pool_report_)


def test_monotonic_constraints_hold_with_stages_and_an_adaptive_pool():
    X, y = steps_table(400)
    forest = BoostForestRegressor(80, preset="best", monotonic_cst=[1, 0, 0, 0, 0, -1], random_state=0).fit(X, y)
    rows = np.repeat(X[:20], 30, axis=0)
    rows[:, 0] = np.tile(np.linspace(-0.5, 1.5, 30), 20)
    assert (np.diff(forest.predict(rows).reshape(20, 30), axis=1) >= -1e-9).all()
    assert all(row["settings"].get("node_model") != "elm" for row in forest.pool_report_)


def test_the_mixture_with_the_least_error_is_found():
    assert_allclose(_least_mixture(np.diag([1.0, 1.0])), [0.5, 0.5], atol=1e-5)
    assert_allclose(_least_mixture(np.diag([1.0, 3.0])), [0.75, 0.25], atol=1e-5)
    assert_allclose(_least_mixture(np.array([[1.0, 1.0], [1.0, 9.0]])), [1, 0], atol=1e-5)
    assert_allclose(_least_mixture(np.zeros((2, 2))).sum(), 1)


def test_many_classes_and_rows_have_fewer_trees_in_one_stage():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3200, 4))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=3200), np.linspace(-1.5, 1.5, 7))
    forest = BoostForestClassifier(60, boost=False, random_state=0).fit(X, y)
    assert forest.n_stages_ == 1
    assert all(row["n_trees"] == 5 for row in forest.pool_report_)
    tried = [row["settings"] for row in forest.pool_report_]
    assert not any(settings.get("node_model") == "constant" for settings in tried)
