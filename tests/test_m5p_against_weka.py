"""M5PRegressor against Weka's M5P: live where Weka is installed, and against its recorded figures everywhere."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import weka_m5p
from benchmarks import datasets, m5p, weka
from benchmarks.data import paper
from boostforest.model_trees import M5PRegressor
from weka_m5p import GENERATED, OPTIONS, RECORD, folds, load

needs_weka = pytest.mark.skipif(weka.why_not() is not None, reason=str(weka.why_not()))
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))["results"]

# Weka's options and ours.
SETTINGS = {
    "-N": {"prune": False},
    "-U": {"smooth": False},
    "-N -U": {"prune": False, "smooth": False},
    "-R": {"regression_tree": True},
    "-N -M 12": {"prune": False, "min_samples_leaf": 12},
}


def fit_and_test(part, arguments):
    """Return error on the test rows, number of leaves and seconds of the fit."""
    start = time.perf_counter()
    tree = M5PRegressor(**arguments).fit(part.X_train, part.y_train)
    seconds = time.perf_counter() - start
    return np.sqrt(np.mean((tree.predict(part.X_test) - part.y_test) ** 2)), tree.n_leaves_, seconds


def assert_as_good_and_as_large(ours, theirs):
    """Check the mean errors, and that the trees are of the same order."""
    ratio = np.mean([error for error, _, _ in ours]) / np.mean(theirs["rmse"])
    assert 0.97 < ratio < 1.03
    assert 0.5 < np.mean([n_leaves for _, n_leaves, _ in ours]) / np.mean(theirs["n_leaves"]) < 2


@pytest.fixture(scope="module")
def live():
    """Return Weka's runs on two folds of every dataset, started side by side."""
    parts = {(name, fold): folds(name)[fold] for name in GENERATED for fold in range(2)}
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return parts, dict(zip(parts, pool.map(lambda part: weka.run_m5p(*part), parts.values()), strict=True))


@needs_weka
@pytest.mark.parametrize("name", GENERATED)
def test_errors_and_sizes_are_wekas(name, live):
    parts, runs = live
    theirs = {"rmse": [runs[name, f].rmse for f in range(2)], "n_leaves": [runs[name, f].n_leaves for f in range(2)]}
    ours = [fit_and_test(parts[name, f], {}) for f in range(2)]
    assert_as_good_and_as_large(ours, theirs)


@needs_weka
def test_a_tree_takes_less_time_than_wekas(live):
    parts, runs = live
    assert sum(fit_and_test(part, {})[2] for part in parts.values()) < sum(run.seconds for run in runs.values())


@needs_weka
@pytest.mark.parametrize("options", SETTINGS)
def test_predictions_are_wekas_to_the_last_decimal(options):
    X, y = load("piecewise")  # no ties: there, Weka's choice hangs on its rounding
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.05] = np.nan
    expected = weka.predict_m5p(X[:200], y[:200], X[200:], options.split())
    tree = M5PRegressor(**SETTINGS[options]).fit(X[:200], y[:200])
    assert_allclose(tree.predict(X[200:]), expected, atol=6e-4)


@pytest.mark.parametrize("setting", OPTIONS)
@pytest.mark.parametrize("name", GENERATED)
def test_errors_and_sizes_are_those_recorded_from_weka(name, setting):
    ours = [fit_and_test(part, OPTIONS[setting][1]) for part in folds(name)]
    assert_as_good_and_as_large(ours, RECORDED[name][setting])


@pytest.mark.skipif(not datasets.DATA_DIR.is_dir(), reason="needs the datasets: BOOSTFOREST_DATA names their folder")
@pytest.mark.parametrize("setting", OPTIONS)
def test_errors_and_sizes_on_real_data_are_those_recorded_from_weka(setting):
    for name in weka_m5p.REAL:
        ours = [fit_and_test(part, OPTIONS[setting][1]) for part in folds(name)]
        assert_as_good_and_as_large(ours, RECORDED[name][setting])


def test_tables_are_written_for_weka_with_all_digits(tmp_path):
    weka.write_arff(tmp_path / "t.arff", np.array([[0.1, np.nan]]), np.array([1 / 3]))
    lines = (tmp_path / "t.arff").read_text().splitlines()
    assert lines[1:4] == ["@attribute x0 numeric", "@attribute x1 numeric", "@attribute y numeric"]
    assert lines[-1] == "0.1,?,0.3333333333333333"


def test_the_benchmark_prints_a_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(paper.ENTRIES["CS"], "sha256", "")  # of the paper's data
    pd.DataFrame({"a": np.arange(30.0), "target": np.arange(30.0) ** 2}).to_parquet(tmp_path / "CS.parquet")
    m5p.main(["--data", str(tmp_path), "--datasets", "CS", "--repeats", "1", "--no-weka"])
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.startswith("| dataset | rows | features | M5P | leaves |")
    assert row.startswith("| CS | 30 | 1 | 0.")
