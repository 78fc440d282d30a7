"""What fewer digits of the coefficients save in memory, and what they cost: the tables of docs/results/engine.md.

``python -m benchmarks.memory --trees 25 50`` fits forests to a million rows, each in a process of its own;
``--accuracy`` compares the types on the small datasets instead.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import datasets
from benchmarks.speed.synthetic import regression
from boostforest import BoostForestClassifier, BoostForestRegressor

DTYPES = ("float64", "float32", "float16")


def fit_once(rows: int, features: int, trees: int, dtype: str, threads: int) -> dict[str, float]:
    """Fit a forest in this process; return nodes, gigabytes of the model and of the process, and seconds."""
    X, y = regression(rows, features)
    start = time.perf_counter()
    forest = BoostForestRegressor(trees, dtype=dtype, n_jobs=threads, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    nodes = int(forest.n_nodes_.sum())
    return {"nodes": nodes, "model": forest.model_size_ / 1e9, "peak": peak / 1e9, "seconds": seconds}


def print_peaks(options: argparse.Namespace) -> None:
    """Print a line for every number of trees and type."""
    print("| trees | dtype | million nodes | bytes per node | model, GB | peak, GB | fit, s |")
    print("|---|---|---|---|---|---|---|")
    for trees in options.trees:
        for dtype in options.dtype:
            arguments = [options.rows, options.features, trees, dtype, options.threads]
            call = f"from benchmarks.memory import *; print(json.dumps(fit_once(*{arguments})))"
            out = subprocess.run([sys.executable, "-c", call], check=True, capture_output=True, text=True).stdout
            f = json.loads(out)
            per_node = 1e9 * f["model"] / f["nodes"]
            print(f"| {trees} | {dtype} | {f['nodes'] / 1e6:.2f} | {per_node:.0f} | {f['model']:.2f} ", end="")
            print(f"| {f['peak']:.2f} | {f['seconds']:.0f} |", flush=True)


def moved(name: str, folder: Path, repeat: int) -> list[tuple[float, float]]:
    """Return for each type the test error, and how far a prediction moves at the most.

    Errors are RMSE or shares of wrong labels; predictions are in deviations of the target, or probabilities.
    """
    fold = datasets.fold(*datasets.load(name, folder), repeat)
    make, scale = BoostForestClassifier, 1.0
    if is_regression := datasets.TASKS[name] == "regression":
        make, scale = BoostForestRegressor, float(fold.y_train.std())
    errors, outputs = [], []
    for dtype in DTYPES:
        forest = make(dtype=dtype, n_jobs=-1, random_state=repeat).fit(fold.X_train, fold.y_train)
        labels = forest.predict(fold.X_test)
        outputs.append(labels / scale if is_regression else forest.predict_proba(fold.X_test))
        wrong = ((labels - fold.y_test) / scale) ** 2 if is_regression else labels != fold.y_test
        errors.append(float(np.sqrt(wrong.mean()) if is_regression else wrong.mean()))
    return [(error, float(np.abs(o - outputs[0]).max())) for error, o in zip(errors, outputs, strict=True)]


def print_accuracy(folder: Path, repeats: int) -> None:
    """Print the mean error of each type, and the largest move of a prediction."""
    print("| | dtype | mean error | a prediction moves at most |")
    print("|---|---|---|---|")
    for task, names in datasets.NAMES.items():
        figures = np.array([[moved(name, folder, repeat) for repeat in range(repeats)] for name in names])
        for i, dtype in enumerate(DTYPES):
            error, move = figures[:, :, i, 0].mean(), figures[:, :, i, 1].max()
            print(f"| {task if i == 0 else ''} | {dtype} | {error:.6f} | {move:.1e} |", flush=True)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--trees", type=int, nargs="+", default=[25, 50])
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=DTYPES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--accuracy", action="store_true", help="compare the types on the small datasets instead")
    parser.add_argument("--repeats", type=int, default=3, help="splits of each small dataset (default: 3)")
    datasets.add_folder(parser)
    options = parser.parse_args()
    if options.accuracy:
        datasets.check_data(parser, options.data, list(datasets.TASKS))
        print_accuracy(options.data, options.repeats)
    else:
        print_peaks(options)


if __name__ == "__main__":
    main()
