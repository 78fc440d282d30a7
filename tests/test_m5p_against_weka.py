"""M5PRegressor against Weka's M5P: live where Weka is installed, and against its recorded figures everywhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import weka
from boostforest.model_trees import M5PRegressor
from weka_m5p import GENERATED, OPTIONS, RECORD, assert_as_good_and_as_large, fit_and_test, folds, load

needs_weka = pytest.mark.skipif(weka.why_not() is not None, reason=str(weka.why_not()))
RECORDED = weka.read_record(RECORD)

# Weka's options and ours.
SETTINGS = {
    "-N": {"prune": False},
    "-U": {"smooth": False},
    "-N -U": {"prune": False, "smooth": False},
    "-R": {"regression_tree": True},
    "-N -M 12": {"prune": False, "min_samples_leaf": 12},
}


@pytest.fixture(scope="module")
def live():
    """Return Weka's runs on two folds of every dataset, started side by side."""
    parts = {(name, fold): folds(name)[fold] for name in GENERATED for fold in range(2)}
    return parts, weka.run_all({key: ("M5P", part) for key, part in parts.items()})


@needs_weka
@pytest.mark.parametrize("name", GENERATED)
def test_errors_and_sizes_are_wekas(name, live):
    parts, runs = live
    theirs = {"rmse": [runs[name, f].score for f in range(2)], "n_leaves": [runs[name, f].n_leaves for f in range(2)]}
    ours = [fit_and_test(parts[name, f], {}) for f in range(2)]
    assert_as_good_and_as_large(ours, theirs)


@needs_weka
def test_a_tree_takes_less_time_than_wekas(live):
    parts, runs = live
    assert sum(fit_and_test(part, {})[2] for part in parts.values()) < sum(run.seconds for run in runs.values())


@needs_weka
@pytest.mark.parametrize("options", SETTINGS)
def test_predictions_are_wekas_to_the_last_decimal(options):
    X, y = load("piecewise")  # no ties: there, Weka's choice depends on its rounding
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.05] = np.nan
    expected = weka.predict_m5p(weka.Fold(X[:200], y[:200], X[200:], y[200:]), options.split())
    tree = M5PRegressor(**SETTINGS[options]).fit(X[:200], y[:200])
    assert_allclose(tree.predict(X[200:]), expected, atol=6e-4)


@pytest.mark.parametrize("setting", OPTIONS)
@pytest.mark.parametrize("name", GENERATED)
def test_errors_and_sizes_are_those_recorded_from_weka(name, setting):
    ours = [fit_and_test(part, OPTIONS[setting][1]) for part in folds(name)]
    assert_as_good_and_as_large(ours, RECORDED[name][setting])


def test_tables_are_written_for_weka_with_all_digits(tmp_path):
    part = weka.Fold(np.array([[0.1, np.nan]]), np.array([1 / 3]), np.array([[2.0, 3.0]]), np.array([4.0]))
    train, _ = weka.write_parts(tmp_path, "M5P", part)
    with open(train, encoding="ascii") as file:
        lines = file.read().splitlines()
    assert lines[1:4] == ["@attribute x0 numeric", "@attribute x1 numeric", "@attribute y numeric"]
    assert lines[-1] == "0.1,?,0.3333333333333333"
