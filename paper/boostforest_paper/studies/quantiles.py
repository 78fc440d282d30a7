"""Quantiles, distributions and intervals beside those of other libraries: the table of docs/results/quantiles.md."""

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from boostforest import BoostForestRegressor
from boostforest_paper import studies
from boostforest_paper.data.paper import SMALL
from boostforest_paper.data.splits import Fold, fold
from boostforest_paper.types import Floats

LEVELS = (0.1, 0.5, 0.9)
COVERAGE = 0.9
INTERVALS = ("local", "jackknife+")
_FINE = (np.arange(100) + 0.5) / 100  # levels that a distribution is known at


class Forecast(NamedTuple):
    """What a learner says of the test targets."""

    quantiles: Floats  #: rows × levels
    crps: Floats | None = None  #: per row; None: it has no distributions
    intervals: tuple[Floats, ...] = ()  #: lower and upper ends, by the methods of ``INTERVALS``


Learner = Callable[[Fold, int, int], Forecast]  # fold, seed, trees


def boost_forest(part: Fold, seed: int, trees: int) -> Forecast:
    """Take all from one fit."""
    forest = BoostForestRegressor(trees, random_state=seed).fit(*part[:2])
    ends = tuple(forest.predict_interval(part.X_test, COVERAGE, method=method) for method in INTERVALS)
    distribution = forest.predict_distribution(part.X_test)
    return Forecast(distribution.quantile(LEVELS), distribution.crps(part.y_test), ends)


def boost_forest_quantiles(part: Fold, seed: int, trees: int) -> Forecast:
    """Fit a forest for each level."""
    forests = [BoostForestRegressor(trees, loss="quantile", quantile=q, random_state=seed) for q in LEVELS]
    return Forecast(np.column_stack([f.fit(*part[:2]).predict(part.X_test) for f in forests]))


def lightgbm(part: Fold, seed: int, trees: int) -> Forecast:
    """Fit a booster for each level, with its default settings."""
    from lightgbm import LGBMRegressor

    boosters = [LGBMRegressor(objective="quantile", alpha=q, random_state=seed, verbose=-1) for q in LEVELS]
    return Forecast(np.column_stack([b.fit(*part[:2]).predict(part.X_test) for b in boosters]))


def quantile_forest(part: Fold, seed: int, trees: int) -> Forecast:
    """Take quantiles of the training targets in the leaves of a random forest."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(trees, min_samples_leaf=5, random_state=seed).fit(*part[:2])
    found = forest.predict(part.X_test, quantiles=[*LEVELS, *_FINE])
    return Forecast(found[:, :3], 2 * pinball(found[:, 3:], part.y_test, _FINE).mean(axis=1))


def ngboost(part: Fold, seed: int, trees: int) -> Forecast:
    """Take normal distributions, with its default settings."""
    from ngboost import NGBRegressor

    found = NGBRegressor(random_state=seed, verbose=False).fit(*part[:2]).pred_dist(part.X_test).params
    mean, sigma = found["loc"], found["scale"]
    quantiles = mean[:, None] + sigma[:, None] * stats.norm.ppf(LEVELS)
    z = (part.y_test - mean) / sigma
    crps = sigma * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    return Forecast(quantiles, crps)


LEARNERS: dict[str, tuple[Learner, str]] = {
    "BoostForest": (boost_forest, "boostforest"),
    'loss="quantile"': (boost_forest_quantiles, "boostforest"),
    "LightGBM": (lightgbm, "lightgbm"),
    "quantile-forest": (quantile_forest, "quantile_forest"),
    "NGBoost": (ngboost, "ngboost"),
}  # and the package that it needs


def pinball(quantiles: Floats, y: Floats, levels: Any = LEVELS) -> Floats:
    """Return the pinball loss of every row and level."""
    above = y[:, None] - quantiles
    return np.maximum(np.asarray(levels) * above, (np.asarray(levels) - 1) * above)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, SMALL["regression"], repeats=3, trees=250)
    parser.add_argument(
        "--rows", type=studies.positive, default=2000, metavar="N", help="of a training part, at most; default: 2000"
    )
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS), metavar="NAME")


def measure(part: Fold, forecast: Forecast) -> dict[str, float]:
    """Return mean pinball loss and CRPS, and of intervals coverage and mean width, in standard deviations."""
    deviation = part.y_train.std()
    figures = {"pinball": pinball(forecast.quantiles, part.y_test).mean() / deviation}
    if forecast.crps is not None:
        figures["CRPS"] = forecast.crps.mean() / deviation
    for method, ends in zip(INTERVALS, forecast.intervals, strict=False):
        lower, upper = ends.T
        figures[f"{method}, held"] = ((lower <= part.y_test) & (part.y_test <= upper)).mean()
        figures[f"{method}, width"] = (upper - lower).mean() / deviation
    return figures


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the figures of all learners, dataset by dataset, and their means."""
    tables = list(studies.tables(args))
    names = [name for name in args.learners if _is_there(name)]
    lines = []
    for dataset, table in tables:
        parts = [_thinned(fold(table.X, table.y, repeat), args.rows) for repeat in range(args.repeats)]
        found: dict[str, list[float]] = {}
        for seed, part in enumerate(parts):
            for name in names:
                figures = measure(part, LEARNERS[name][0](part, seed, args.trees))
                for what, figure in figures.items():
                    found.setdefault(what if what.startswith(INTERVALS) else f"{what}, {name}", []).append(figure)
        lines.append({what: float(np.mean(figures)) for what, figures in found.items()})
        yield {"dataset": dataset.name, "rows": len(parts[0].y_train), **_in_order(lines[-1])}
    means = {what: float(np.mean([line[what] for line in lines])) for what in lines[0]}
    yield {"dataset": "mean", "rows": "", **_in_order(means)}


def _in_order(line: dict[str, float]) -> dict[str, float]:
    """Return the figures of one kind side by side."""
    kinds = ("pinball", "CRPS", *INTERVALS)
    return {what: line[what] for kind in kinds for what in line if what.startswith(kind)}


def _is_there(name: str) -> bool:
    package = LEARNERS[name][1]
    if find_spec(package) is None:
        print(f"{name} is left out: {package} is not installed", file=sys.stderr)
        return False
    return True


def _thinned(part: Fold, most: int) -> Fold:
    """Return at most so many training rows: the first ones, which are in random order."""
    return part._replace(X_train=part.X_train[:most], y_train=part.y_train[:most])
