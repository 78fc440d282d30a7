"""The data on which M5P is compared with Weka's, and the program that records Weka's figures.

python tests/weka_m5p.py [NAME ...]    # into tests/data/weka-m5p.json; needs Java and Weka

The paper's datasets may be named too, with ``--data DIR`` and boostforest-paper installed.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

import weka
from boostforest.model_trees import M5PRegressor

RECORD = Path(__file__).parent / "data" / "weka-m5p.json"
N_FOLDS = 3
OPTIONS = {"default": ((), {}), "unpruned": (("-N",), {"prune": False})}  # Weka's and ours


def piecewise_linear(n=300):
    """Four planes with a jump between them, and two features that say nothing."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n, 6))
    left = np.where(X[:, 1] < 0.3, 2 * X[:, 2], 3 - X[:, 3])
    right = np.where(X[:, 2] < -0.2, -1 + X[:, 1], 4 * X[:, 3] - 2 * X[:, 2])
    return X, np.where(X[:, 0] < 0, left, right) + 0.2 * rng.normal(size=n)


def steps(n=300):
    """Whole numbers as features, and a target of steps, a product and noise: many ties."""
    rng = np.random.RandomState(1)
    X = rng.randint(0, 10, size=(n, 5)).astype(float)
    return X, np.floor(X[:, 0] / 3) * 2 + X[:, 1] * X[:, 2] / 10 + rng.normal(size=n)


def outliers(n=300):
    """A smooth curve with a few far outliers and a target of long tails."""
    rng = np.random.RandomState(2)
    X = rng.normal(size=(n, 4)) * [1, 10, 100, 1000]
    y = np.exp(X[:, 0] / 2) + np.abs(X[:, 1]) / 10 + X[:, 2] / 200
    return X, y + rng.standard_t(3, size=n) / 3


GENERATED = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(300, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(300, noise=50.0, random_state=0),
    "friedman3": lambda: make_friedman3(300, noise=0.1, random_state=0),
    "piecewise": piecewise_linear,
    "steps": steps,
    "outliers": outliers,
}


def load(name, data_dir=None):
    """Return a dataset, its target scaled so that Weka's four decimals are enough."""
    X, y = GENERATED[name]() if name in GENERATED else weka.papers_data(name, data_dir)
    return X, y * (1000 / y.std())


def folds(name, data_dir=None):
    """Return the parts of every fold."""
    X, y = load(name, data_dir)
    return [weka.fold(X, y, repeat) for repeat in range(N_FOLDS)]


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


def record(name, data_dir):
    """Run Weka on one dataset."""
    results = {}
    parts = folds(name, data_dir)
    for setting, (options, _) in OPTIONS.items():
        runs = [weka.run("M5P", part, options) for part in parts]
        results[setting] = {
            "rmse": [run.score for run in runs],
            "n_leaves": [run.n_leaves for run in runs],
        }
    return results


if __name__ == "__main__":
    weka.record_from_command_line(RECORD, __doc__, GENERATED, record)
