"""One fit of the benchmarks: its parts, its measures, its choice of parameters."""

from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from boostforest_paper import data, learners
from boostforest_paper.data.splits import split
from boostforest_paper.learners import Learner, Settings
from boostforest_paper.running import fits
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.problem import Problem, divide
from boostforest_paper.running.tuning import Tuning, seed_of

NOWHERE = Path("no folder is needed")
NO_SETTINGS = Settings("regression", 100, 0, 0, 1)


class Spy(Ridge):
    """Writes down what it is fitted to."""

    fitted = []  # noqa: RUF012

    def fit(self, X, y):
        self.fitted.append((self.alpha, len(X)))
        return super().fit(X, y)


@pytest.fixture
def register(monkeypatch):
    """Register a learner for one test."""

    def register(name, make, **options):
        monkeypatch.setitem(learners.LEARNERS, name, Learner(name, make, "scikit-learn", **options))

    return register


# --- Parts ---


def test_parts_are_60_20_20_and_the_rest_is_as_before():
    table = data.load("diabetes", NOWHERE)
    parts = divide(table, repeat=3)
    n = len(table.y)
    assert [len(part) for part in parts] == [n - 2 * -(-n // 5), -(-n // 5), -(-n // 5)]
    assert sorted(np.concatenate(parts)) == list(range(n))
    train, test = split(n, 3)
    np.testing.assert_array_equal(parts.both, train)
    np.testing.assert_array_equal(parts.test, test)


def test_given_test_part_is_kept():
    table = data.load("iris", NOWHERE)._replace(is_test=np.arange(150) >= 100)
    parts = divide(table, repeat=0)
    np.testing.assert_array_equal(parts.test, np.arange(100, 150))
    assert len(parts.validation) == 20
    assert set(parts.both) == set(range(100))
    assert not np.array_equal(divide(table, repeat=1).both, parts.both)


# --- Measures, against scikit-learn's ---


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_classification_measures(name):
    table = data.load(name, NOWHERE)
    parts = divide(table, 0)
    problem = Problem(table, "classification", parts.both, parts.test, raw=False)
    model = LogisticRegression().fit(problem.X, problem.y)
    probability = model.predict_proba(problem.X_judge)
    found = problem.score(problem.output(model))
    assert found["accuracy"] == model.score(problem.X_judge, problem.y_judge)
    np.testing.assert_allclose(found["log_loss"], metrics.log_loss(problem.y_judge, probability))
    area = metrics.roc_auc_score(
        problem.y_judge, probability[:, 1] if name == "breast_cancer" else probability, multi_class="ovr"
    )
    np.testing.assert_allclose(found["auc"], area)
    np.testing.assert_allclose(problem.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.X.std(axis=0), 1)


def test_columns_with_missing_values_are_scaled_by_the_values_that_are_there():
    table = data.load("wide_gaps", NOWHERE)
    parts = divide(table, 0)
    problem = Problem(table, "regression", parts.both, parts.test, raw=False)
    np.testing.assert_array_equal(np.isnan(problem.X), np.isnan(table.X[parts.both]))
    np.testing.assert_allclose(np.nanmean(problem.X, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(problem.X, axis=0), 1)


@pytest.mark.parametrize("raw", [False, True])
def test_regression_measures_are_in_deviations_of_the_fitted_part(raw):
    table = data.load("diabetes", NOWHERE)
    parts = divide(table, 0)
    problem = Problem(table, "regression", parts.both, parts.test, raw)
    model = Ridge(1e-9).fit(problem.X, problem.y)
    found = problem.score(problem.output(model))
    y, y_test = table.y[parts.both], table.y[parts.test]
    predicted = Ridge(1e-9).fit(table.X[parts.both], y).predict(table.X[parts.test])
    np.testing.assert_allclose(found["rmse"], metrics.root_mean_squared_error(y_test, predicted) / y.std(), rtol=1e-5)
    np.testing.assert_allclose(found["mae"], metrics.mean_absolute_error(y_test, predicted) / y.std(), rtol=1e-5)
    np.testing.assert_allclose(found["r2"], metrics.r2_score(y_test, predicted), rtol=1e-5)


def test_class_that_was_never_seen_is_an_error():
    table = data.Table(np.zeros((6, 1)), np.array(list("bcbcad")))
    problem = Problem(table, "classification", np.arange(4), np.arange(2, 6), raw=True)
    model = DummyClassifier(strategy="prior").fit(problem.X, problem.y)
    assert problem.y_judge.tolist() == [0, 1, -1, -1]
    found = problem.score(problem.output(model))
    assert found["accuracy"] == 0.25
    np.testing.assert_allclose(found["log_loss"], -np.log([0.5, 0.5, np.finfo(float).eps, np.finfo(float).eps]).mean())
    assert problem.score(model.predict(problem.X_judge))["log_loss"] is None, "no probabilities, no log-loss"


# --- Tuning ---


def test_tuning_is_read_as_written():
    for written in ("none", "grid", "random:20"):
        assert str(Tuning.parse(written)) == written
    for wrong in ("", "random", "random:0", "random:x", "grid:3", "best"):
        with pytest.raises(ValueError, match="must be none, random:N with N of at least 1, or grid; got"):
            Tuning.parse(wrong)


def test_candidates_are_drawn_without_replacement_and_repeat():
    grid = {"a": [1, 2, 3], "b": "xy"}
    every = Tuning.parse("grid").candidates(grid, [0])
    assert {tuple(c.values()) for c in every} == {(a, b) for a in (1, 2, 3) for b in "xy"}
    drawn = Tuning.parse("random:4").candidates(grid, seed_of("XGBoost", "SON", 0))
    assert len({tuple(c.values()) for c in drawn}) == 4
    assert drawn == Tuning.parse("random:4").candidates(grid, seed_of("XGBoost", "SON", 0))
    assert len(Tuning.parse("random:99").candidates(grid, [0])) == 6
    assert Tuning.parse("none").candidates(grid, [0]) == []


def test_validation_part_chooses_and_both_are_refitted(register):
    Spy.fitted.clear()
    register("spy", lambda settings, **params: Spy(**params), grid=lambda settings: {"alpha": [1e9, 1.0, 1e8]})
    outcome = fits.run(Job("diabetes", 0, "spy", "", "grid"), NOWHERE)
    assert Spy.fitted == [(1e9, 264), (1.0, 264), (1e8, 264), (1.0, 353)]
    assert (outcome.params, outcome.n_candidates) == ({"alpha": 1.0}, 3)
    assert outcome.metrics["rmse"] < 0.8
    assert outcome.model_bytes > 100
    assert min(outcome.tune_seconds, outcome.fit_seconds, outcome.predict_seconds, outcome.cpu_seconds) > 0


def test_fixed_parameters_are_not_tried(register):
    grid = {"grid": lambda settings: {"alpha": [1.0, 2.0], "solver": ["svd", "lsqr"]}}
    register("fixed", lambda settings, **params: Ridge(**params), fixed={"alpha": 5.0}, **grid)
    outcome = fits.run(Job("diabetes", 0, "fixed", "", "grid"), NOWHERE)
    assert outcome.n_candidates == 2
    assert outcome.params.keys() == {"solver"}


@pytest.mark.parametrize("dataset", ["iris", "diabetes"])
def test_out_of_bag_choice_is_that_of_forests_fitted_one_by_one(dataset):
    """The benchmarks grow one forest through all its sizes."""
    outcome = fits.run(Job(dataset, 0, "RandomForest", "", "random:6"), NOWHERE)
    fitting = fits._Fitting(Job(dataset, 0, "RandomForest", "", "random:6"), NOWHERE, 1)
    problem = fitting.problem(fitting.parts.both, fitting.parts.test)
    models = [
        fitting.build({**params, "oob_score": True}).fit(problem.X, problem.y) for params in fitting.candidates({})
    ]
    best = max(models, key=lambda model: model.oob_score_)
    assert outcome.n_candidates == len(models) == 6
    assert outcome.params == {name: getattr(best, name) for name in ("min_samples_leaf", "n_estimators")}
    assert outcome.metrics == problem.score(problem.output(best))


@pytest.mark.parametrize("name", ["XGBoost", "LightGBM"])
def test_early_stopping_says_how_many_rounds_the_refit_has(name):
    pytest.importorskip(name.lower())
    outcome = fits.run(Job("iris", 0, name, "", "random:2"), NOWHERE)
    assert 1 <= outcome.params["n_estimators"] <= 250
    assert outcome.metrics["accuracy"] > 0.7


# --- Settings ---


@pytest.mark.parametrize("name", ["BoostForest", "RandomForest", "XGBoost", "LightGBM"])
@pytest.mark.parametrize("dataset", ["iris", "diabetes"])
def test_point_of_a_curve_is_an_ensemble_of_that_size(name, dataset, monkeypatch):
    if name in ("XGBoost", "LightGBM"):
        pytest.importorskip(name.lower())
    curve = fits.run(Job(dataset, 1, name, "sizes:3,10", "none"), NOWHERE).curve
    base = learners.find(name)
    monkeypatch.setitem(
        learners.LEARNERS, "small", Learner("small", base.make, "scikit-learn", fixed={"n_estimators": 3})
    )
    if base.scales_itself:
        small = Learner("small", base.make, "scikit-learn", fixed={"n_estimators": 3}, scales_itself=True)
        monkeypatch.setitem(learners.LEARNERS, "small", small)
    alone = fits.run(Job(dataset, 1, "small", "", "none"), NOWHERE).metrics
    for metric, value in alone.items():
        np.testing.assert_allclose(curve[0][metric], value, rtol=1e-6)


def test_every_size_has_the_parameters_that_are_best_for_it(register):
    """One parameter makes few members good, the other many."""

    class Ensemble:
        def __init__(self, many):
            self.many = many

        def fit(self, X, y):
            self.mean = y.mean()
            return self

    def staged(model, X, sizes):
        for size in sizes:
            yield np.full(len(X), model.mean if (size > 5) == model.many else model.mean + 9)

    make = lambda settings, many, n_estimators: Ensemble(many)  # noqa: E731
    register("ensemble", make, grid=lambda settings: {"many": [True, False]}, staged=staged)
    curve = fits.run(Job("diabetes", 0, "ensemble", "sizes:3,10", "grid"), NOWHERE).curve
    assert [point["rmse"] < 2 for point in curve] == [True, True]


@pytest.mark.parametrize("name", ["BoostForest", "RandomForest", "Extra-Trees", "XGBoost", "LightGBM"])
def test_leaves_are_limited(name, monkeypatch):
    if name in ("XGBoost", "LightGBM"):
        pytest.importorskip(name.lower())
    monkeypatch.setattr(fits, "N_ESTIMATORS", 5)
    sizes = [fits.run(Job("diabetes", 0, name, f"leaves:{n}", "none"), NOWHERE).model_bytes for n in (2, 16)]
    assert sizes[0] < sizes[1]


def test_grids_are_the_papers():
    for name, task, n_rows, size in [
        ("RandomForest", "regression", 100, 20),
        ("XGBoost", "classification", 100, 7 * 7 * 2 * 5 * 4),
        ("XGBoost", "regression", 100, 7 * 7 * 2 * 3 * 4),
        ("LightGBM", "regression", 20_000, 7 * 7 * 2 * 3 * 4),
        ("DeepBoosting", "classification", 100, 4 * 5 * 7 * 6),
        ("SVR", "regression", 100, 25),
    ]:
        grid = learners.find(name).grid_of(NO_SETTINGS._replace(task=task, n_rows=n_rows))
        assert Tuning.parse("grid").n_candidates(grid) == size
    assert max(learners.grids.lightgbm(NO_SETTINGS._replace(n_rows=20_000))["num_leaves"]) == 1024


def test_missing_package_is_said_not_raised():
    entry = Learner("absent", lambda settings: __import__("no_such_package"), "no_such_package")
    assert entry.missing() == "No module named 'no_such_package'"
    assert entry.version() == "unknown"
    assert learners.find("RandomForest").missing() is None


def test_learner_that_compiles_itself_is_warmed_up_once_per_table(register):
    Spy.fitted.clear()
    register("spy", lambda settings: Spy(), warm_up=True)
    warm = set()
    for repeat in range(2):
        fits.warm_up(Job("diabetes", repeat, "spy", "", "none"), warm, NOWHERE, 1)
    assert len(Spy.fitted) == 1
    fits.warm_up(Job("diabetes", 0, "SVR", "", "none"), warm, NOWHERE, 1)
    assert warm == {("spy", "diabetes")}
