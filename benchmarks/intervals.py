"""Coverage and width of 90 % prediction intervals beside quantile-forest's and MAPIE's, on the same splits.

``python -m benchmarks.intervals`` prints a table in Markdown. Needs quantile-forest and mapie.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks import datasets
from benchmarks.datasets import Floats, Fold
from boostforest import BoostForestRegressor

COVERAGE = 0.9
Intervals = Callable[[Fold, int], Floats]  # fold, seed -> lower and upper ends for the test rows


def boost_forest(fold: Fold, seed: int) -> Floats:
    """Predict by jackknife+ after bootstrap on the paper's forest."""
    return BoostForestRegressor(oob_score=True, random_state=seed).fit(*fold[:2]).predict_interval(fold.X_test)


def boost_forest_best(fold: Fold, seed: int) -> Floats:
    """Take the same of a forest with stages and an adaptive pool."""
    return BoostForestRegressor(preset="best", random_state=seed).fit(*fold[:2]).predict_interval(fold.X_test)


def quantile_forest(fold: Fold, seed: int) -> Floats:
    """Take quantiles of the training targets in the leaves of a random forest."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(250, min_samples_leaf=5, random_state=seed).fit(*fold[:2])
    return forest.predict(fold.X_test, quantiles=[(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])


def mapie(fold: Fold, seed: int) -> Floats:
    """Take MAPIE's jackknife+ after bootstrap: 30 resamplings of a random forest of 50 trees."""
    from mapie.regression import JackknifeAfterBootstrapRegressor

    model = RandomForestRegressor(50, random_state=seed)
    intervals = JackknifeAfterBootstrapRegressor(model, confidence_level=COVERAGE, resampling=30, random_state=seed)
    intervals.fit_conformalize(*fold[:2])
    return intervals.predict_interval(fold.X_test)[1][:, :, 0]


METHODS: dict[str, Intervals] = {
    "BoostForest": boost_forest,
    "preset best": boost_forest_best,
    "quantile-forest": quantile_forest,
    "MAPIE": mapie,
}


def measure(name: str, folder: Path, repeats: int, methods: dict[str, Intervals]) -> dict[str, tuple[float, float]]:
    """Return the mean coverage and the mean width, in deviations of the target, by method."""
    X, y = datasets.load(name, folder)
    figures: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for repeat in range(repeats):
        fold = datasets.fold(X, y, repeat)
        for method, predict in methods.items():
            lower, upper = np.asarray(predict(fold, repeat)).T
            held = ((lower <= fold.y_test) & (fold.y_test <= upper)).mean()
            figures[method].append((held, (upper - lower).mean() / fold.y_train.std()))
    return {method: tuple(np.mean(values, axis=0)) for method, values in figures.items()}


def main(argv: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    datasets.add_arguments(parser)
    parser.set_defaults(datasets=datasets.NAMES["regression"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    args = datasets.parse(parser, argv)
    methods = {name: METHODS[name] for name in args.methods}
    print("| dataset | " + " | ".join(methods) + " |")
    print("|---|" + "---|" * len(methods))
    rows = []
    for name in args.datasets:
        found = measure(name, args.data, args.repeats, methods)
        rows.append(list(found.values()))
        print(
            f"| {name} | " + " | ".join(f"{held:.3f}, {width:.2f}" for held, width in found.values()) + " |", flush=True
        )
    means = np.mean(rows, axis=0)
    print("| **mean** | " + " | ".join(f"**{held:.3f}**, {width:.2f}" for held, width in means) + " |")


if __name__ == "__main__":
    main()
