"""``python -m benchmarks.speed boosting``: boosted trees beside LightGBM, at equal rows, rounds and leaves.

Ours are oblivious, LightGBM's grow leaf by leaf.
"""

import argparse
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.measure import seconds_of
from benchmarks.speed.results import write_json
from boostforest import _core
from boostforest_paper.types import Floats

MOST = 1.5  # times LightGBM's time
BINS, RATE, PENALTY = 127, 0.1, 1.0  # of both
DRAWN = 1 - np.exp(-1)  # share of the rows that a bag has: LightGBM gets as many
NOTE = """\
Processor seconds of one thread, bins included, the least of the repeats. A bag also follows the rows that it has not
drawn."""


class Ratio(NamedTuple):
    """One size of table, and one number of leaves."""

    rows: int
    leaves: int
    classes: int  # 0: regression
    ours: float  # seconds
    lightgbm: float

    @property
    def ratio(self) -> float:
        """How many times LightGBM's time the core takes."""
        return self.ours / self.lightgbm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--leaves", type=int, nargs="+", default=[16, 32], help="powers of two")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3, help="in turns, of which the best counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the seconds here")


def table(n_rows: int, n_features: int, n_classes: int) -> tuple[Floats, Floats]:
    """Return features and a target with a slope, a wave and an interaction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, max(n_features, 4)))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=n_rows)
    return X, (y > 0).astype(float) if n_classes else y


def boost(X: Floats, y: Floats, n_classes: int, leaves: int, rounds: int) -> None:
    """Boost one bag in the core."""
    rules = {"max_leaves": leaves, "reg_lambda": PENALTY, "overshoot": 0.0, "learning_rate": RATE, "most_bins": BINS}
    rules |= {"feature_share": 1.0, "row_share": 1.0, "max_rounds": rounds, "patience": rounds}
    code = _core.LossCode.LOGISTIC if n_classes else _core.LossCode.SQUARED_ERROR
    compiled = _core.TrainingTable(X, X.mean(axis=0), X.std(axis=0), y, code, n_classes)
    bags = compiled.boost(rules, np.array([1], dtype=np.uint64), len(y), None, None, False, 1, None, None)
    assert bags["n_rounds"][0] == rounds, "a bag has ended early"


def boost_by_lightgbm(X: Floats, y: Floats, n_classes: int, leaves: int, rounds: int) -> None:
    """Boost as many rows with LightGBM."""
    import lightgbm

    n = round(DRAWN * len(y))
    params = {"objective": "binary" if n_classes else "l2", "num_leaves": leaves, "learning_rate": RATE, "verbose": -1}
    params |= {"max_bin": BINS, "lambda_l2": PENALTY, "num_threads": 1}
    lightgbm.train(params, lightgbm.Dataset(X[:n], y[:n], params=params), rounds)


def measure(n_rows: int, n_features: int, n_classes: int, leaves: int, rounds: int, repeats: int) -> Ratio:
    """Time both in turns on one table."""
    X, y = table(n_rows, n_features, n_classes)
    own, others = [], []
    for _ in range(repeats):
        own.append(seconds_of(lambda: boost(X, y, n_classes, leaves, rounds), process_time))
        others.append(seconds_of(lambda: boost_by_lightgbm(X, y, n_classes, leaves, rounds), process_time))
    return Ratio(n_rows, leaves, n_classes, min(own), min(others))


def line(ratio: Ratio) -> str:
    """One size's line."""
    task = "two classes" if ratio.classes else "regression"
    state = "met" if ratio.ratio <= MOST else "missed"
    seconds = f"{ratio.ours:>8.2f}{ratio.lightgbm:>10.2f}{ratio.ratio:>7.2f}"
    return f"{ratio.rows:>8}{ratio.leaves:>8}  {task:<12}{seconds}  {state}"


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark."""
    if min(*args.rows, *args.leaves, args.rounds, args.repeats) < 1:
        parser.error("--rows, --leaves, --rounds and --repeats must be at least 1")
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        parser.error("LightGBM is not installed: pip install lightgbm")
    print(f"{'rows':>8}{'leaves':>8}  {'':<12}{'ours':>8}{'LightGBM':>10}{'ratio':>7}  (at most {MOST})")
    ratios = []
    for n_rows, leaves, n_classes in product(args.rows, args.leaves, (0, 2)):
        ratios.append(measure(n_rows, args.features, n_classes, leaves, args.rounds, args.repeats))
        print(line(ratios[-1]), flush=True)
    print(NOTE)
    if args.json:
        found: list[dict[str, Any]] = [{**r._asdict(), "ratio": r.ratio} for r in ratios]
        write_json(args.json, args, {"boosting": found})
    return 0
