"""How large single models are, in memory and in files: the second table of docs/results/small.md."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import data, studies
from boostforest_paper.running.problem import Problem, divide

_LOSS = {"classification": "log_loss", "regression": "rmse"}
_PAPER_TREES = 10  # of 250: they are all alike, and take their time on 50,000 rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, ("VS", "CCS", "EGSS"), repeats=10, trees=250)


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per table: means over the splits, and the loss against that of float64."""
    yield _line("digits, 80 % for training", *_digits(args.trees))
    for dataset, table in studies.tables(args):
        found = [_split(dataset, table, repeat, args.trees) for repeat in range(args.repeats)]
        yield _line(f"{dataset.name}, {args.repeats} splits", *map(float, np.mean(found, axis=0)))
    yield _line("1,000 rows, two text columns, 100 classes", *_text(args.trees))
    yield _line("50,000 × 30, preset='paper', dtype='int8'", *_many_rows(args.trees))


def _line(table: str, memory: float, file: float, short: float = 0.0, exact: float = 0.0) -> dict[str, Any]:
    change = f"{short / exact - 1:+.2%}" if exact else ""
    return {"table": table, "in memory, MB": memory / 1e6, "file, MB": file / 1e6, "loss over float64's": change}


def _sizes(forest: Any) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        forest.save_model(path)
        return float(forest.forest_.nbytes), float(path.stat().st_size)


def _compared(fit: Callable[[str | None], Any], loss: Callable[[Any], float]) -> tuple[float, float, float, float]:
    forest = fit(None)
    return *_sizes(forest), loss(forest), loss(fit("float64"))


def _digits(trees: int) -> tuple[float, ...]:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1437], order[1437:]
    return _compared(
        lambda dtype: BoostForestClassifier(trees, dtype=dtype, random_state=0).fit(X[train], y[train]),
        lambda forest: float(log_loss(y[test], forest.predict_proba(X[test]))),
    )


def _split(dataset: data.Dataset, table: data.Table, repeat: int, trees: int) -> tuple[float, ...]:
    parts = divide(table, repeat)
    problem = Problem(table, dataset.task, parts.both, parts.test, raw=True)
    own = BoostForestRegressor if dataset.task == "regression" else BoostForestClassifier
    return _compared(
        lambda dtype: own(trees, dtype=dtype, random_state=repeat).fit(problem.X, problem.y),
        lambda forest: float(problem.score(problem.output(forest))[_LOSS[dataset.task]] or 0.0),
    )


def _text(trees: int) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 500, (1000, 2))
    X = pd.DataFrame({name: [f"{name}{v}" for v in levels[:, j]] for j, name in enumerate("ab")})
    y = (levels.sum(axis=1) + rng.integers(0, 20, 1000)) % 100
    return _sizes(BoostForestClassifier(trees, random_state=0).fit(X, y))


def _many_rows(trees: int) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 30))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] + 0.5 * rng.normal(size=50_000)
    forest = BoostForestRegressor(_PAPER_TREES, preset="paper", dtype="int8", random_state=0).fit(X, y)
    return tuple(n * trees / _PAPER_TREES for n in _sizes(forest))
