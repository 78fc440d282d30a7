"""Speed and size of BoostForest beside scikit-learn's RandomForest, one thread each.

Run as ``python -m benchmarks.first_speed``. The two take turns in one process, so that whatever else the
machine does hits both; every ratio is BoostForest / RandomForest, below 1 where BoostForest needs less.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from threadpoolctl import threadpool_limits

from benchmarks import datasets, report
from benchmarks.datasets import Floats, Fold, Task
from boostforest import BoostForestClassifier, BoostForestRegressor

FORESTS: dict[str, dict[Task, Callable[..., Any]]] = {
    "BoostForest": {"classification": BoostForestClassifier, "regression": BoostForestRegressor},
    "RandomForest": {"classification": RandomForestClassifier, "regression": RandomForestRegressor},
}
QUANTITIES = ("fit_seconds", "predict_seconds", "model_bytes")
PREDICT_CALLS = 3  # a small test part takes milliseconds: one call alone is mostly chance


class Result(NamedTuple):
    """All repeats on one dataset; `values[model]` has a row per repeat and a column per quantity."""

    name: str
    n: int
    d: int
    values: dict[str, Floats]

    def ratios(self) -> Floats:
        """BoostForest / RandomForest for every repeat and quantity."""
        return self.values["BoostForest"] / self.values["RandomForest"]


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = perf_counter()
    call()
    return perf_counter() - start


def model_bytes(model: Any) -> int:
    """Size of a fitted model: its own count where it keeps one, else its pickle's length."""
    own = getattr(model, "model_size_", None)
    return len(pickle.dumps(model, protocol=5)) if own is None else int(own)


def measure(model: Any, data: Fold) -> list[float]:
    """Fit once and predict the test part; return the values of `QUANTITIES`."""
    gc.collect()  # the previous model's garbage is not this one's time
    fit_seconds = timed(lambda: model.fit(data.X_train, data.y_train))
    predict_seconds = [timed(lambda: model.predict(data.X_test)) for _ in range(PREDICT_CALLS)]
    return [fit_seconds, float(np.median(predict_seconds)), float(model_bytes(model))]


def measure_both(task: Task, data: Fold, repeat: int, n_estimators: int) -> dict[str, list[float]]:
    """Measure both forests on one split; each goes first in every second repeat."""
    names = list(FORESTS) if repeat % 2 == 0 else list(FORESTS)[::-1]
    values = {}
    for name in names:
        model = FORESTS[name][task](n_estimators=n_estimators, n_jobs=1, random_state=repeat)
        values[name] = measure(model, data)
    return values


def run_dataset(name: str, args: argparse.Namespace) -> Result:
    """Run all repeats on one dataset."""
    X, y = datasets.load(name, args.data)
    task = datasets.TASKS[name]
    repeats = [
        measure_both(task, datasets.fold(X, y, repeat), repeat, args.estimators) for repeat in range(args.repeats)
    ]
    values = {model: np.array([values[model] for values in repeats]) for model in FORESTS}
    return Result(name, X.shape[0], X.shape[1], values)


def warm_up() -> None:
    """Fit and predict once each, so that no first call's lazy imports are timed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    targets: dict[Task, npt.NDArray] = {"classification": X[:, 0] > 0, "regression": X[:, 0]}
    for task, y in targets.items():
        measure_both(task, Fold(X, y, X, y), 0, 5)


def header() -> str:
    """Both head lines of the table."""
    groups = f"{'':<20}{'fit s':^23}{'ms per tree':^16}{'predict ms':^23}{'model KB':^25}"
    pair = f"{'Boost':>8}{'Random':>8}{'ratio':>7}"
    columns = f"{'dataset':<8}{'n':>7}{'d':>5}{pair}{'Boost':>8}{'Random':>8}{pair}"
    return f"{groups.rstrip()}\n{columns}{'Boost':>9}{'Random':>9}{'ratio':>7}"


def line(result: Result, n_estimators: int) -> str:
    """One dataset's line: medians over the repeats, and the median of the paired ratios."""
    boost, random = (np.median(result.values[model], axis=0) for model in FORESTS)
    ratio = np.median(result.ratios(), axis=0)
    per_tree = 1e3 / n_estimators
    return (
        f"{result.name:<8}{result.n:>7}{result.d:>5}"
        f"{boost[0]:>8.3f}{random[0]:>8.3f}{ratio[0]:>7.2f}"
        f"{boost[0] * per_tree:>8.3f}{random[0] * per_tree:>8.3f}"
        f"{boost[1] * 1e3:>8.2f}{random[1] * 1e3:>8.2f}{ratio[1]:>7.2f}"
        f"{boost[2] / 1e3:>9.0f}{random[2] / 1e3:>9.0f}{ratio[2]:>7.2f}"
    )


def summarise(results: list[Result]) -> dict[str, dict[str, float]]:
    """Average the ratios geometrically over the datasets within each repeat; quartiles over the repeats."""
    logs = np.log([result.ratios() for result in results])  # datasets x repeats x quantities
    quartiles = np.quantile(np.exp(logs.mean(axis=0)), [0.25, 0.5, 0.75], axis=0)
    return {
        quantity: dict(zip(("q1", "median", "q3"), quartiles[:, column].tolist(), strict=True))
        for column, quantity in enumerate(QUANTITIES)
    }


def print_summary(results: list[Result]) -> dict[str, dict[str, float]]:
    """Print and return the geometric means of the ratios."""
    summary = summarise(results)
    print(f"\nBoostForest / RandomForest, geometric mean over {len(results)} datasets (quartiles over repeats):")
    for quantity, q in summary.items():
        print(f"  {quantity:<16}{q['median']:>7.3f}  ({q['q1']:.3f} to {q['q3']:.3f})")
    return summary


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_speed", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="timed fits per dataset and model")
    parser.add_argument("--estimators", type=int, default=250, help="trees of one forest")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")
    datasets.add_arguments(parser)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    args = datasets.parse(make_parser(), argv)
    print(header())
    results = []
    # boostforest is imported by now: the limit reaches only thread pools that are already loaded.
    with threadpool_limits(limits=1):
        warm_up()
        for name in args.datasets:
            results.append(run_dataset(name, args))
            print(line(results[-1], args.estimators), flush=True)
    summary = print_summary(results)
    if args.json:
        rows = {
            result.name: {"n": result.n, "d": result.d, **{k: v.tolist() for k, v in result.values.items()}}
            for result in results
        }
        report.write_json(args.json, args, {"quantities": QUANTITIES, "datasets": rows, "ratios": summary})
    return 0


if __name__ == "__main__":
    sys.exit(main())
