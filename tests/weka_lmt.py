"""The data on which LMT and SimpleLogistic are compared with Weka's, and the program that records Weka's figures.

python tests/weka_lmt.py [NAME ...]    # into tests/data/weka-lmt.json; needs Java, Weka and the datasets
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks import datasets, weka, weka_logistic

RECORD = Path(__file__).parent / "data" / "weka-lmt.json"
N_FOLDS, N_FOLDS_LARGE = 3, 1  # Weka takes minutes for a tree on these
LARGE = ("MV1", "VS", "QSAR", "DRD", "WDG")


def checkerboard(n=300):
    """Four fields of two classes, one label in ten wrong: little for a linear model."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n, 4)).round(3)
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.4)
    return X, (y ^ (rng.uniform(size=n) < 0.1)).astype(int)


def piecewise(n=300):
    """Three classes; which feature tells them apart hangs on another one."""
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
    """Return the first rows, in deviations: for Weka's C4.5 values that differ by less than 1e-5 are the same."""
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
REAL = datasets.NAMES["classification"]


def folds(name, data_dir=datasets.DATA_DIR):
    """Return the parts of every fold, training rows sorted by class."""
    X, y = GENERATED[name]() if name in GENERATED else datasets.load(name, data_dir)
    n_folds = N_FOLDS_LARGE if name in LARGE else N_FOLDS
    return [weka_logistic.by_class(datasets.fold(X, y, repeat)) for repeat in range(n_folds)]


def record(name, data_dir):
    """Run Weka on one dataset."""
    results = {}
    for classifier in ("LMT", "SimpleLogistic"):
        runs = [weka_logistic.run(classifier, part) for part in folds(name, data_dir)]
        results[classifier] = {"accuracy": [round(r.accuracy, 6) for r in runs]}
        if classifier == "LMT":
            results[classifier]["n_leaves"] = [r.n_leaves for r in runs]
    return results


def main():
    """Record what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*GENERATED, *REAL], metavar="NAME")
    datasets.add_folder(parser)
    args = parser.parse_args()
    content = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {"results": {}}
    content["weka"] = weka.version()
    for name in args.names:
        content["results"][name] = record(name, args.data)
        print(name, content["results"][name], flush=True)  # noqa: T201 - it takes a while
        order = [n for n in (*GENERATED, *REAL) if n in content["results"]]
        content["results"] = {n: content["results"][n] for n in order}
        RECORD.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
