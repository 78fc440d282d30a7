"""Fit time of GBDT-PL beside LightGBM's linear trees at equal rounds, leaves and bins, as a table in Markdown.

    python -m benchmarks.gbdt_pl [--repeats N] [--datasets NAME ...]

One thread each, one after the other within a repeat; medians. Synthetic tables come last.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks import datasets
from boostforest_paper.baselines import GBDTPLClassifier, GBDTPLRegressor

N_ROUNDS, N_LEAVES = 100, 31
LAMBDA = 0.01
DATASETS = ["BH", "WQW", "CCPP", "EGSS", "BCD", "QSAR", "BA"]
SYNTHETIC = [(20_000, 20), (100_000, 20)]


def learners(is_classifier: bool) -> dict[str, Any]:
    """Return ours and theirs, unfitted."""
    import lightgbm

    ours = GBDTPLClassifier if is_classifier else GBDTPLRegressor
    theirs = lightgbm.LGBMClassifier if is_classifier else lightgbm.LGBMRegressor
    same = {"num_leaves": N_LEAVES, "max_bin": 255, "min_child_samples": 20, "verbosity": -1, "n_jobs": 1}
    linear = {"linear_tree": True, "linear_lambda": LAMBDA}
    return {
        "GBDT-PL": ours(N_ROUNDS, max_leaf_nodes=N_LEAVES, reg_lambda=LAMBDA),
        "LightGBM, linear": theirs(n_estimators=N_ROUNDS, **same, **linear),
        "LightGBM": theirs(n_estimators=N_ROUNDS, **same),
    }


def measure(name: str, X: Any, y: Any, is_classifier: bool, repeats: int) -> dict[str, Any]:
    """Return the median seconds of each learner, and what ours takes of theirs."""
    seconds: dict[str, list[float]] = {}
    for _ in range(repeats):
        for learner, model in learners(is_classifier).items():
            start = time.perf_counter()
            model.fit(X, y)
            seconds.setdefault(learner, []).append(time.perf_counter() - start)
    ratio = np.median(np.divide(seconds["GBDT-PL"], seconds["LightGBM, linear"]))
    medians = {learner: float(np.median(s)) for learner, s in seconds.items()}
    return {"table": name, "rows": len(y), "features": X.shape[1], **medians, "ratio": float(ratio)}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    datasets.add_arguments(parser)
    parser.set_defaults(datasets=DATASETS)
    parser.add_argument("--repeats", type=int, default=5)
    args = datasets.parse(parser, argv)
    tables = [(name, *datasets.load(name, args.data)) for name in args.datasets]
    tables += [(f"made, {n:,}", *make_friedman1(n, d, noise=1.0, random_state=0)) for n, d in SYNTHETIC]
    for i, (name, X, y) in enumerate(tables):
        row = measure(name, X, y, name in datasets.NAMES["classification"], args.repeats)
        if i == 0:
            print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
        print(
            "| " + " | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()) + " |", flush=True
        )


if __name__ == "__main__":
    main()
