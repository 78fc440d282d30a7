"""``python -m benchmarks.speed dtypes``: time of prediction with coefficients in int8 over the same in float64."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.results import write_json
from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import data
from boostforest_paper.data.folder import add_folder
from boostforest_paper.types import Floats

MOST = 1.0  # times float64's time
BLOCK_SECONDS = 5e-3  # of calls that are timed together
NOTE = """\
Processor time of one thread: the least of both, and the median ratio of blocks of calls in turns. Both forests have the
same trees and coefficients, those of a fit with dtype="int8"."""


class Ratio(NamedTuple):
    """One forest, and one number of rows that it predicts at once."""

    dataset: str
    preset: str
    trees: int
    rows: int
    int8: float  # seconds, the least
    float64: float
    ratio: float  # median


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--datasets", nargs="+", default=["CCS", "VS", "EGSS", "digits"], metavar="NAME")
    parser.add_argument("--presets", nargs="+", default=["paper", "best", "fast"], metavar="NAME")
    parser.add_argument("--blocks", type=int, default=41, help="blocks of calls of both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the seconds here")
    add_folder(parser)


def pair(name: str, preset: str, folder: Path) -> tuple[Any, Any, Floats]:
    """Return a forest of int8, the same in float64, and the rows of its table."""
    dataset, table = data.find(name), data.load(name, folder)
    own = BoostForestRegressor if dataset.task == "regression" else BoostForestClassifier
    X = np.ascontiguousarray(table.X, dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(X))
    train = rows[: len(rows) * 4 // 5]
    forest = own(preset=preset, dtype="int8", n_jobs=1, random_state=0).fit(X[train], np.asarray(table.y)[train])
    return *of_both(forest), X[rows[::-1]]


def of_both(forest: Any) -> tuple[Any, Any]:
    """Return a forest of int8 and the same in float64, both with columns that were allocated alike."""
    found = []
    for columns in (forest._model.columns, forest._model.columns.astype("float64")):
        copies = {key: value.copy() for key, value in columns.arrays().items()}
        found.append(copy.copy(forest))
        found[-1]._model = replace(forest._model, columns=replace(columns, **copies))
    return found[0], found[1]


def call_of(forest: Any, X: Floats) -> Callable[[], Any]:
    """Return the prediction of some rows."""
    predict = getattr(forest, "predict_proba", forest.predict)
    return lambda: predict(X)


def seconds_of(call: Callable[[], object], number: int) -> float:
    """Processor seconds of some calls, after one that brings the forest into the caches."""
    call()
    start = process_time()
    for _ in range(number):
        call()
    return process_time() - start


def compared(ours: Callable[[], Any], exact: Callable[[], Any], n_blocks: int) -> tuple[float, float, float]:
    """Return the least seconds of a call of both, and the median ratio."""
    np.testing.assert_allclose(ours(), exact(), rtol=1e-9)
    number = max(1, round(BLOCK_SECONDS / max(min(seconds_of(exact, 1) for _ in range(3)), 1e-6)))
    times = np.array([[seconds_of(call, number) / number for call in (ours, exact)] for _ in range(n_blocks)])
    return times[:, 0].min(), times[:, 1].min(), float(np.median(times[:, 0] / times[:, 1]))


def measure(args: argparse.Namespace) -> Iterator[Ratio]:
    """Time all forests with all rows, those that they were not grown on, and one."""
    for name in args.datasets:
        for preset in args.presets:
            ours, exact, X = pair(name, preset, args.data)
            for rows in (len(X), len(X) - len(X) * 4 // 5, 1):
                times = compared(call_of(ours, X[:rows]), call_of(exact, X[:rows]), args.blocks)
                yield Ratio(name, preset, ours._model.n_trees, rows, *times)


def line(ratio: Ratio) -> str:
    """One forest's line."""
    what = f"{ratio.dataset:<8} {ratio.preset:<6}{ratio.trees:>6}{ratio.rows:>7}"
    times = f"{ratio.int8 * 1e6:>11.1f}{ratio.float64 * 1e6:>11.1f}{ratio.ratio:>7.2f}"
    return f"{what}{times}  {'met' if ratio.ratio <= MOST else 'missed'}"


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark."""
    if args.blocks < 1:
        parser.error("--blocks must be at least 1")
    print(f"{'':<15}{'trees':>6}{'rows':>7}{'int8, µs':>11}{'float64':>11}{'ratio':>7}  (at most {MOST})")
    found = []
    for ratio in measure(args):
        found.append(ratio)
        print(line(ratio), flush=True)
    print(NOTE)
    if args.json:
        write_json(args.json, args, {"dtypes": [ratio._asdict() for ratio in found]})
    return 0
