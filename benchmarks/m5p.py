"""M5P on the paper's regression datasets: beside Weka's M5P, and 250 bagged trees, as a table in Markdown.

    python -m benchmarks.m5p [--repeats N] [--no-weka] [--datasets NAME ...]

Weka's time is the one it prints, without the start of Java; ours is the whole fit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import datasets, weka
from boostforest.model_trees import M5PRegressor

N_TREES = 250
LEAST = range(5, 16)  # the pool of the paper's ModelForest
TIMES = ("M5P, ms", "250 bagged, s", "Weka, ms")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def rmse(prediction: datasets.Floats, part: datasets.Fold) -> float:
    """Return the error on the test part, in deviations of the training target."""
    return float(np.sqrt(np.mean((prediction - part.y_test) ** 2)) / part.y_train.std())


def bagged(part: datasets.Fold, seed: int) -> datasets.Floats:
    """Predict with 250 unpruned trees on bootstrap replicas, their least size from the pool, one after another."""
    rng = np.random.default_rng(seed)
    n = len(part.y_train)
    total = np.zeros(len(part.y_test))
    for _ in range(N_TREES):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        tree = M5PRegressor(prune=False, min_samples_leaf=int(rng.choice(LEAST)))
        total += tree.fit(part.X_train, part.y_train, counts).predict(part.X_test)
    return total / N_TREES


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return means over the repeats, of the times the medians."""
    X, y = datasets.load(name, args.data)
    y = y * (1000 / y.std())  # Weka prints four decimals
    rows: list[dict[str, float]] = []
    for repeat in range(args.repeats):
        part = datasets.fold(X, y, repeat)
        tree, seconds = timed(lambda part=part: M5PRegressor().fit(part.X_train, part.y_train))
        forest, forest_seconds = timed(lambda part=part, repeat=repeat: bagged(part, repeat))
        row = {"M5P": rmse(tree.predict(part.X_test), part), "leaves": tree.n_leaves_, "M5P, ms": 1000 * seconds}
        row |= {"250 bagged": rmse(forest, part), "250 bagged, s": forest_seconds}
        if not args.no_weka:
            run = weka.run_m5p(*part)
            row |= {"Weka": run.rmse / part.y_train.std(), "its leaves": run.n_leaves, "Weka, ms": 1000 * run.seconds}
        rows.append(row)
    middle = {key: float((np.median if key in TIMES else np.mean)([row[key] for row in rows])) for key in rows[0]}
    return {"dataset": name, "rows": len(y), "features": X.shape[1], **middle}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    datasets.add_arguments(parser)
    parser.set_defaults(datasets=datasets.NAMES["regression"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-weka", action="store_true", help="our own figures only")
    args = datasets.parse(parser, argv)
    if not args.no_weka and (reason := weka.why_not()):
        parser.exit(2, f"{reason}; or use --no-weka.\n")
    for i, name in enumerate(args.datasets):
        row = measure(name, args)
        if i == 0:
            print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
        print(
            "| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()) + " |", flush=True
        )


if __name__ == "__main__":
    main()
