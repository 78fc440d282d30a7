"""What monotonic constraints gain and cost where they are true: the tables of docs/constraints.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.data import paper
from benchmarks.datasets import add_folder, check_data
from boostforest import BoostForestClassifier, BoostForestRegressor

Table = tuple[pd.DataFrame, Any, Any]

# What one would say before having seen the data.
CONSTRAINTS = {
    "AMPG": {"weight": -1, "horsepower": -1, "model_year": 1},
    "BH": {"RM": 1, "LSTAT": -1, "CRIM": -1, "PTRATIO": -1},
    "CCPP": {"AT": -1, "V": -1},
    "CCS": {"cement": 1, "blast_furnace_slag": 1, "water": -1, "age": 1},
    "CS": {"cement": 1, "slag": 1, "water": -1},
    "NO": {"log_cars_per_hour": 1, "wind_speed": -1},
    "PID": {"glucose": 1, "bmi": 1, "pregnancies": 1, "pedigree": 1, "age": 1},
}
SIGNALS: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "linear": (lambda X: X[:, 0] + 3 * X[:, 1], [1, 0, 0, 0, 0, 0]),
    "curved": (lambda X: np.logaddexp(0, 2 * X[:, 0]) - np.exp(-X[:, 2]) + 2 * X[:, 1], [1, 0, 1, 0, 0, 0]),
    "root, absolute": (lambda X: 3 * np.cbrt(X[:, 0]) + 3 * np.abs(X[:, 1]), [1, 0, 0, 0, 0, 0]),
    "step, sine": (lambda X: 3 * (X[:, 0] > 0.3) + 3 * X[:, 1] + np.sin(3 * X[:, 1]), [1, 0, 0, 0, 0, 0]),
    "product": (lambda X: 2 * np.exp(0.7 * X[:, 0]) * (np.sin(2 * X[:, 1]) + 1.2) + X[:, 2], [1, 0, 1, 0, 0, 0]),
}


def learners(trees: int, seed: int, constraints: Any, classify: bool) -> dict[str, Any]:
    """Return the learners to compare."""
    forest = BoostForestClassifier if classify else BoostForestRegressor
    booster = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return {
        "free": forest(trees, random_state=seed),
        "constrained": forest(trees, random_state=seed, monotonic_cst=constraints),
        "HGB": booster(random_state=seed),
        "HGB constrained": booster(random_state=seed, monotonic_cst=constraints),
    }


def measure(train: Table, test: Table, constraints: Any, trees: int, seed: int) -> dict[str, tuple[float, ...]]:
    """Return per learner: error (RMSE in deviations, or log-loss), seconds to fit, seconds to predict."""
    (X, y), (X_new, y_new, deviation) = train[:2], test
    figures = {}
    for name, learner in learners(trees, seed, constraints, classify=deviation is None).items():
        begin = time.perf_counter()
        learner.fit(X, y)
        fitted = time.perf_counter()
        output = learner.predict(X_new) if deviation is not None else learner.predict_proba(X_new)
        done = time.perf_counter()
        error = log_loss(y_new, output) if deviation is None else np.sqrt(np.mean((output - y_new) ** 2)) / deviation
        figures[name] = float(error), fitted - begin, done - fitted
    return figures


def real_tables(folder: Path, share: float, seeds: range) -> Iterator[tuple[str, Any, list[tuple[Table, Table]]]]:
    """Yield the datasets with their constraints, cut at random."""
    for name, constraints in CONSTRAINTS.items():
        frame = paper.read_frame(name, folder)
        target = frame.pop("target")
        frame, deviation = frame.select_dtypes("number"), None
        if pd.api.types.is_float_dtype(target):
            deviation = target.std()
        parts = []
        for seed in seeds:
            X, X_new, y, y_new = train_test_split(frame, target, train_size=share, random_state=seed)
            parts.append(((X, y, deviation), (X_new, y_new, deviation)))
        yield f"{name} ({int(share * len(frame))} rows)", constraints, parts


def made_up_tables(n: int, noise: float, seeds: range) -> Iterator[tuple[str, Any, list[tuple[Table, Table]]]]:
    """Yield functions that are known, seen through noise; the error is that of the function itself."""
    for name, (signal, constraints) in SIGNALS.items():
        parts = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            X, X_new = rng.normal(size=(n, 6)), rng.normal(size=(2000, 6))
            deviation = signal(X_new).std()
            y = signal(X) + noise * deviation * rng.normal(size=n)
            parts.append(((X, y, deviation), (X_new, signal(X_new), deviation)))
        yield f"{name} ({n} rows, noise {noise:g})", constraints, parts


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_folder(parser)
    parser.add_argument("--repeats", type=int, default=10, help="random splits, or tables (default: 10)")
    parser.add_argument("--trees", type=int, default=100, help="trees of a forest (default: 100)")
    options = parser.parse_args()
    check_data(parser, options.data, list(CONSTRAINTS), fetch=False)  # other sources name their columns otherwise
    seeds = range(options.repeats)
    groups = [real_tables(options.data, share, seeds) for share in (0.8, 0.2)]
    groups += [made_up_tables(n, noise, seeds) for n in (300, 1500) for noise in (0.3, 1.0)]
    print("| table | free | constrained | difference | HGB | HGB constrained | fit | predict |")
    print("|---|---|---|---|---|---|---|---|")
    for group in groups:
        for name, constraints, parts in group:
            runs = [measure(*part, constraints, options.trees, seed) for seed, part in enumerate(parts)]
            error, fit, predict = np.array([[run[k] for k in run] for run in runs]).transpose(2, 1, 0)
            change = error[1] - error[0]
            spread = change.std(ddof=1) / np.sqrt(len(change))
            free, bound, other, other_bound = error.mean(axis=1)
            times = [np.median(t[1]) / np.median(t[0]) for t in (fit, predict)]
            print(
                f"| {name} | {free:.4f} | {bound:.4f} | {change.mean():+.4f} ± {spread:.4f} | {other:.4f} "
                f"| {other_bound:.4f} | × {times[0]:.2f} | × {times[1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
