"""LMTClassifier and SimpleLogisticClassifier against Weka's: live where that is installed, and against a record."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import datasets, weka, weka_logistic
from boostforest.model_trees import LMTClassifier, SimpleLogisticClassifier
from weka_lmt import GENERATED, REAL, RECORD, folds

needs_weka = pytest.mark.skipif(weka.why_not() is not None, reason=str(weka.why_not()))
RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))["results"]
OURS = {"LMT": LMTClassifier, "SimpleLogistic": SimpleLogisticClassifier}
LIVE = [name for name in GENERATED if name not in ("breast-cancer", "digits")]  # Weka takes seconds for these

# Weka's options and ours.
SETTINGS = [
    ("LMT", "piecewise", "-I 2", {"n_iter": 2}),
    ("LMT", "steps", "-M 40", {"min_samples_split": 41}),
    ("LMT", "checkerboard", "-P", {"error_on_probabilities": True}),
    ("LMT", "clusters", "-A", {"use_aic": True}),
    ("SimpleLogistic", "steps", "-M 20 -P", {"max_iter": 20, "error_on_probabilities": True}),
    ("SimpleLogistic", "clusters", "-H 5", {"n_iter_no_change": 5}),
]


def fit_and_test(classifier, part, arguments):
    """Return accuracy on the test rows, number of leaves and seconds of the fit."""
    start = time.perf_counter()
    model = OURS[classifier](**arguments).fit(part.X_train, part.y_train)
    seconds = time.perf_counter() - start
    return model.score(part.X_test, part.y_test), getattr(model, "n_leaves_", 1), seconds


@cache
def our_figures(classifier, name, **arguments):
    return [fit_and_test(classifier, part, arguments) for part in folds(name)]


# ------------------------------------------------------------------------------
# Live.


@pytest.fixture(scope="module")
def live():
    """Return one fold of every dataset and Weka's runs on them, made side by side."""
    parts = {(classifier, name): folds(name)[0] for classifier in OURS for name in LIVE}
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        runs = pool.map(lambda key: weka_logistic.run(key[0], parts[key]), parts)
        return parts, dict(zip(parts, runs, strict=True))


@needs_weka
@pytest.mark.parametrize("classifier", OURS)
def test_with_wekas_folds_accuracies_and_sizes_are_wekas(classifier, live):
    parts, runs = live
    for name in LIVE:
        accuracy, n_leaves, _ = fit_and_test(classifier, parts[classifier, name], {"shuffle": False})
        assert accuracy == pytest.approx(runs[classifier, name].accuracy, abs=0.01)
        assert abs(n_leaves - runs[classifier, name].n_leaves) <= 1  # ties of the pruning may be broken otherwise


@needs_weka
def test_a_tree_takes_less_time_than_wekas(live):
    parts, runs = live
    ours = sum(fit_and_test("LMT", part, {})[2] for (classifier, _), part in parts.items() if classifier == "LMT")
    assert ours < sum(run.seconds for (classifier, _), run in runs.items() if classifier == "LMT")


@needs_weka
@pytest.mark.parametrize(("classifier", "name", "options", "arguments"), SETTINGS)
def test_with_wekas_folds_probabilities_are_wekas_to_the_last_decimal(classifier, name, options, arguments):
    part = folds(name)[1]
    expected = weka_logistic.probabilities(classifier, part, options.split())
    model = OURS[classifier](shuffle=False, **arguments).fit(part.X_train, part.y_train)
    assert_allclose(model.predict_proba(part.X_test), expected, atol=6e-7)


# ------------------------------------------------------------------------------
# Against the record.


def recorded(classifier, name, figure):
    return np.array(RECORDED[name][classifier][figure])


@pytest.mark.parametrize("classifier", OURS)
@pytest.mark.parametrize("name", GENERATED)
def test_with_wekas_folds_accuracies_and_sizes_are_those_recorded(classifier, name):
    accuracy, n_leaves, _ = zip(*our_figures(classifier, name, shuffle=False), strict=True)
    assert_allclose(accuracy, recorded(classifier, name, "accuracy"), atol=0.02)  # one row of the test part
    if classifier == "LMT":
        assert_allclose(n_leaves, recorded(classifier, name, "n_leaves"), atol=1)


def assert_as_good_and_as_large(classifier, names, n_seeds):
    """Check means over datasets, folds and seeds: accuracy within a point of Weka's, trees of the same order."""
    ours = [[run for seed in range(n_seeds) for run in our_figures(classifier, n, random_state=seed)] for n in names]
    accuracy, size = np.mean([np.mean(runs, axis=0)[:2] for runs in ours], axis=0)
    assert accuracy == pytest.approx(np.mean([recorded(classifier, n, "accuracy").mean() for n in names]), abs=0.01)
    if classifier == "LMT":
        assert 0.5 < size / np.mean([recorded(classifier, n, "n_leaves").mean() for n in names]) < 2


@pytest.mark.parametrize("classifier", OURS)
def test_with_shuffled_folds_the_mean_accuracy_is_within_a_point(classifier):
    assert_as_good_and_as_large(classifier, list(GENERATED), n_seeds=5)


@pytest.mark.skipif(not datasets.DATA_DIR.is_dir(), reason="needs the datasets: BOOSTFOREST_DATA names their folder")
@pytest.mark.parametrize("classifier", OURS)
def test_on_real_data_the_mean_accuracy_is_within_a_point(classifier):
    names = [name for name in REAL if name in RECORDED]  # the largest take Weka many minutes
    assert len(names) >= 6
    assert_as_good_and_as_large(classifier, names, n_seeds=2)
