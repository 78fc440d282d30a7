"""Coverage and width of 90 % prediction intervals beside quantile-forest's and MAPIE's, on the same splits."""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from boostforest import BoostForestRegressor
from boostforest_paper import studies
from boostforest_paper.data.paper import SMALL
from boostforest_paper.data.splits import Fold, fold
from boostforest_paper.types import Floats

COVERAGE = 0.9
Intervals = Callable[[Fold, int, int], Floats]  # fold, seed, trees -> lower and upper ends for the test rows


def boost_forest(part: Fold, seed: int, trees: int, preset: str = "paper", method: str = "jackknife+") -> Floats:
    """Predict by jackknife+ after bootstrap, or with local widths."""
    forest = BoostForestRegressor(trees, preset=preset, oob_score=True, random_state=seed)
    return forest.fit(*part[:2]).predict_interval(part.X_test, method=method)


def quantile_forest(part: Fold, seed: int, trees: int) -> Floats:
    """Take quantiles of the training targets in the leaves of a random forest."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(trees, min_samples_leaf=5, random_state=seed).fit(*part[:2])
    return forest.predict(part.X_test, quantiles=[(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])


def mapie(part: Fold, seed: int, trees: int) -> Floats:
    """Take MAPIE's jackknife+ after bootstrap: 30 resamplings of a random forest of a fifth of the trees."""
    from mapie.regression import JackknifeAfterBootstrapRegressor

    model = RandomForestRegressor(max(1, trees // 5), random_state=seed)
    intervals = JackknifeAfterBootstrapRegressor(model, confidence_level=COVERAGE, resampling=30, random_state=seed)
    intervals.fit_conformalize(*part[:2])
    return intervals.predict_interval(part.X_test)[1][:, :, 0]


METHODS: dict[str, Intervals] = {
    "BoostForest": boost_forest,
    "preset best": partial(boost_forest, preset="best"),
    "local widths": partial(boost_forest, preset="best", method="local"),
    "quantile-forest": quantile_forest,
    "MAPIE": mapie,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, SMALL["regression"], repeats=3, trees=250)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS), metavar="NAME")


def measure(part: Fold, seed: int, trees: int, method: str) -> tuple[float, float]:
    """Return the share of the test targets within their intervals, and the mean width in standard deviations."""
    lower, upper = np.asarray(METHODS[method](part, seed, trees)).T
    held = (lower <= part.y_test) & (part.y_test <= upper)
    return held.mean(), (upper - lower).mean() / part.y_train.std()


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield coverage and width of every method, dataset by dataset, and their means."""
    figures = []
    for dataset, table in studies.tables(args):
        parts = [fold(table.X, table.y, repeat) for repeat in range(args.repeats)]
        runs = [[measure(part, seed, args.trees, m) for m in args.methods] for seed, part in enumerate(parts)]
        figures.append(np.mean(runs, axis=0))
        yield _line(dataset.name, args.methods, figures[-1])
    yield _line("mean", args.methods, np.mean(figures, axis=0))


def _line(name: str, methods: list[str], figures: Floats) -> dict[str, Any]:
    written = (f"{held:.3f}, {width:.2f}" for held, width in figures)
    return {"dataset": name, **dict(zip(methods, written, strict=True))}
