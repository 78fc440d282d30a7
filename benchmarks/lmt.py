"""LMT on the paper's classification datasets: beside Weka's LMT, and 250 bagged trees, as a table in Markdown.

    python -m benchmarks.lmt [--repeats N] [--no-weka] [--no-forest] [--datasets NAME ...]

Weka's time is the one it prints, without the start of Java; ours is the whole fit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import datasets, weka, weka_logistic
from boostforest.model_trees import LMTClassifier, SimpleLogisticClassifier

N_TREES = 250
LEAST = range(5, 16)  # the pool of the paper's LMForest
TIMES = ("LMT, ms", "250 bagged, s", "Weka, ms")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def bagged(part: datasets.Fold, seed: int) -> datasets.Floats:
    """Return the mean probabilities of 250 unpruned trees on bootstrap replicas, one after another."""
    rng = np.random.default_rng(seed)
    n = len(part.y_train)
    total = np.zeros((len(part.y_test), int(part.y_train.max()) + 1))
    for i in range(N_TREES):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        tree = LMTClassifier(prune=False, min_samples_leaf=int(rng.choice(LEAST)), random_state=i)
        total += tree.fit(part.X_train, part.y_train, counts).predict_proba(part.X_test)
    return total / N_TREES


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return means over the repeats, of the times the medians."""
    X, y = datasets.load(name, args.data)
    rows: list[dict[str, float]] = []
    for repeat in range(args.repeats):
        part = weka_logistic.by_class(datasets.fold(X, y, repeat))
        train, test = part[:2], part[2:]
        tree, seconds = timed(lambda train=train: LMTClassifier(random_state=0).fit(*train))
        row = {"SimpleLogistic": SimpleLogisticClassifier(random_state=0).fit(*train).score(*test)}
        row |= {"LMT": tree.score(*test), "leaves": tree.n_leaves_, "LMT, ms": 1000 * seconds}
        if not args.no_forest:
            forest, seconds = timed(lambda part=part, repeat=repeat: bagged(part, repeat))
            row |= {"250 bagged": (forest.argmax(axis=1) == part.y_test).mean(), "250 bagged, s": seconds}
        if not args.no_weka:
            run = weka_logistic.run("LMT", part)
            row |= {"Weka": run.accuracy, "its leaves": run.n_leaves, "Weka, ms": 1000 * run.seconds}
        rows.append(row)
    middle = {key: float((np.median if key in TIMES else np.mean)([row[key] for row in rows])) for key in rows[0]}
    return {"dataset": name, "rows": len(y), "features": X.shape[1], "classes": len(np.unique(y)), **middle}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    datasets.add_arguments(parser)
    parser.set_defaults(datasets=datasets.NAMES["classification"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-weka", action="store_true", help="our own figures only")
    parser.add_argument("--no-forest", action="store_true", help="without the bagged trees")
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
