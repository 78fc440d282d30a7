"""The data on which LMT and SimpleLogistic are compared with Weka's, and the program that records Weka's figures.

python tests/weka_lmt.py [NAME ...]    # into tests/data/weka-lmt.json; needs Java and Weka

The paper's datasets may be named too, with ``--data DIR`` and boostforest-paper installed.
"""

import time
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

import weka
from boostforest.model_trees import LMTClassifier, SimpleLogisticClassifier

RECORD = Path(__file__).parent / "data" / "weka-lmt.json"
OURS = {"LMT": LMTClassifier, "SimpleLogistic": SimpleLogisticClassifier}
N_FOLDS, N_FOLDS_LARGE = 3, 1  # Weka takes minutes for a tree on these
LARGE = ("MV1", "VS", "QSAR", "DRD", "WDG")


def checkerboard(n=300):
    """Four fields of two classes, one label in ten wrong: little for a linear model."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n, 4)).round(3)
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.4)
    return X, (y ^ (rng.uniform(size=n) < 0.1)).astype(int)


def piecewise(n=300):
    """Three classes; which feature tells them apart depends on another one."""
    rng = np.random.RandomState(1)
    X = rng.normal(size=(n, 5)).round(3)
    score = np.where(X[:, 0] < 0.3, X[:, 1] - X[:, 2], X[:, 3] + X[:, 2]) + 0.4 * rng.normal(size=n)
    return X, np.digitize(score, [-0.7, 0.7])


def steps(n=300):
    """Whole numbers, some missing, and two classes."""
    rng = np.random.RandomState(2)
    X = rng.randint(0, 8, size=(n, 5)).astype(float)
    y = (X[:, 0] > 3) & (X[:, 1] > 2) | (X[:, 2] + X[:, 3] > 9) | (rng.uniform(size=n) < 0.05)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, y.astype(int)


def clusters(n=300):
    """Four classes of two clusters each."""
    X, y = make_classification(n, 6, n_informative=4, n_classes=4, class_sep=1.5, flip_y=0.05, random_state=1)
    return X.round(3), y


def some_rows(loaded, n):
    """Return the first rows, in standard deviations: to Weka's C4.5, values less than 1e-5 apart are the same."""
    X, y = loaded
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    return ((X - X.mean(axis=0)) / scale)[:n].round(3), y[:n]


GENERATED = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: some_rows(load_wine(return_X_y=True), 200),
    "breast-cancer": lambda: some_rows(load_breast_cancer(return_X_y=True), 300),
    "digits": lambda: some_rows(load_digits(n_class=5, return_X_y=True), 200),
    "checkerboard": checkerboard,
    "piecewise": piecewise,
    "steps": steps,
    "clusters": clusters,
}


def folds(name, data_dir=None):
    """Return the parts of every fold, training rows sorted by class."""
    X, y = GENERATED[name]() if name in GENERATED else weka.papers_data(name, data_dir)
    n_folds = N_FOLDS_LARGE if name in LARGE else N_FOLDS
    return [weka.by_class(weka.fold(X, y, repeat)) for repeat in range(n_folds)]


def fit_and_test(classifier, part, arguments):
    """Return accuracy on the test rows, number of leaves and seconds of the fit."""
    start = time.perf_counter()
    model = OURS[classifier](**arguments).fit(part.X_train, part.y_train)
    seconds = time.perf_counter() - start
    return model.score(part.X_test, part.y_test), getattr(model, "n_leaves_", 1), seconds


@cache
def our_figures(classifier, name, data_dir=None, **arguments):
    """Return what `fit_and_test` does, of every fold."""
    return [fit_and_test(classifier, part, arguments) for part in folds(name, data_dir)]


def recorded(classifier, name, figure):
    """Return one of Weka's figures, of every fold."""
    return np.array(weka.read_record(RECORD)[name][classifier][figure])


def assert_as_good_and_as_large(classifier, names, n_seeds, data_dir=None):
    """Check means over datasets, folds and seeds: accuracy within a point of Weka's, trees of the same order."""
    seeds = range(n_seeds)
    ours = [[run for s in seeds for run in our_figures(classifier, n, data_dir, random_state=s)] for n in names]
    accuracy, size = np.mean([np.mean(runs, axis=0)[:2] for runs in ours], axis=0)
    theirs = np.mean([recorded(classifier, n, "accuracy").mean() for n in names])
    assert abs(accuracy - theirs) <= 0.01
    if classifier == "LMT":
        assert 0.5 < size / np.mean([recorded(classifier, n, "n_leaves").mean() for n in names]) < 2


def record(name, data_dir):
    """Run Weka on one dataset."""
    results = {}
    for classifier in OURS:
        runs = [weka.run(classifier, part) for part in folds(name, data_dir)]
        results[classifier] = {"accuracy": [round(r.score, 6) for r in runs]}
        if classifier == "LMT":
            results[classifier]["n_leaves"] = [r.n_leaves for r in runs]
    return results


if __name__ == "__main__":
    weka.record_from_command_line(RECORD, __doc__, GENERATED, record)
