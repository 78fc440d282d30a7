"""Speed of forests on a GPU beside the CPU: fits, out-of-bag sums and predictions of synthetic tables.

python benchmarks/gpu.py                    # all sizes
python benchmarks/gpu.py --rows 100000 --trees 50 --device cuda:1
"""

import argparse
import time
from typing import Any

import numpy as np

from boostforest import BoostForestClassifier, BoostForestRegressor

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def make(n_rows: int, n_features: int, n_classes: int) -> tuple[Any, Any]:
    """Return a table with products, kinks and waves; two and more classes are shares of the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + np.sin(2 * X[:, 3]) + 0.5 * rng.normal(size=n_rows)
    if n_classes == 0:
        return X, y
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))


def measure(device: str, X: Any, y: Any, n_classes: int, n_trees: int, oob: bool) -> tuple[float, float, float]:
    """Return seconds of a fit, of the first prediction, and rows per second of the second."""
    forest: Any = BoostForestRegressor if n_classes == 0 else BoostForestClassifier
    estimator = forest(n_trees, preset="paper", oob_score=oob, device=device, n_jobs=-1, random_state=0)
    begin = time.perf_counter()
    estimator.fit(X, y)
    fitted = time.perf_counter()
    predict = estimator.predict if n_classes == 0 else estimator.predict_proba
    predict(X)
    first = time.perf_counter()
    predict(X)
    return fitted - begin, first - fitted, len(X) / (time.perf_counter() - first)


def main() -> None:
    """Print a line for each size and task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--classes", type=int, nargs="+", default=(0, 2, 4), help="0: regression")
    parser.add_argument("--trees", type=int, default=250)
    parser.add_argument("--device", nargs="+", default=("cpu", "cuda"))
    parser.add_argument("--oob", action="store_true", help="with out-of-bag scores")
    asked = parser.parse_args()
    print(f"{'rows':>9} {'classes':>7} {'device':>8} {'fit s':>8} {'first predict s':>15} {'rows/s':>12}")
    for n_classes in asked.classes:
        for device in asked.device:  # compile what is compiled once
            if device != "cpu":
                measure(device, *make(1000, asked.features, n_classes), n_classes, 2, asked.oob)
        for n_rows in asked.rows:
            X, y = make(n_rows, asked.features, n_classes)
            for device in asked.device:
                fit, first, rate = measure(device, X, y, n_classes, asked.trees, asked.oob)
                line = f"{n_rows:9d} {n_classes:7d} {device:>8} {fit:8.2f} {first:15.2f} {rate:12.0f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
