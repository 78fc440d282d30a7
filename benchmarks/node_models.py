"""The paper's table of other node models: BoostTree and BoostForest with ridge, ELM and SVR nodes, for regression.

Run as ``python -m benchmarks.node_models``. Fits of one repeat stand next to each other in time, so that their ratios
mean something on a busy machine. Exit status 1 when a full run misses a target.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks import datasets, report
from benchmarks.datasets import Floats, Fold
from benchmarks.paper_protocol import FULL_REPEATS, PAPER_TABLES, figure
from boostforest import BoostForestRegressor, BoostTreeRegressor

TABLE = "Ex7_SI"
MODELS = ("ridge", "elm", "svr")
KINDS = ("tree", "forest")


class Target(NamedTuple):
    """What a full run must reach with one node model."""

    rmse: float  # average of the forest over the 15 sets
    n_better: int  # sets on which the forest is better than the tree
    time: float  # fit time of the forest over that of the ridge forest, median over the sets


TARGETS = {"elm": Target(0.462, 14, 6.0), "svr": Target(0.477, 14, 10.0)}

Figures = dict[str, Floats]  # "elm tree", "svr forest" … -> one value per repeat


class Result(NamedTuple):
    """All repeats on one dataset."""

    rmse: Figures
    fit_seconds: Figures
    predict_seconds: Figures
    megabytes: Figures


def read_paper(path: Path) -> dict[tuple[str, str], float]:
    """Read the paper's errors by dataset and method; none where there is no such file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == TABLE]
    return {(row["row"], row["method"]): float(row["mean"]) for row in rows if row["row"] in datasets.TASKS}


def paper_method(model: str, kind: str) -> str:
    """Return the paper's name of a learner."""
    return f"Boost{kind.capitalize()}-{model.upper()}"


def measure(model: str, kind: str, data: Fold, repeat: int, args: argparse.Namespace) -> tuple[float, ...]:
    """Fit one learner; return error, seconds of fit and prediction, and megabytes."""
    shared = {"node_model": model, "random_state": repeat}
    learner: Any
    if kind == "tree":
        learner = BoostTreeRegressor(**shared)
    else:
        learner = BoostForestRegressor(args.estimators, n_jobs=args.n_jobs, **shared)
    start = perf_counter()
    learner.fit(data.X_train, data.y_train)
    fitted = perf_counter()
    predicted = learner.predict(data.X_test)
    end = perf_counter()
    # Labels z-scored with the training part's mean and deviation: the mean cancels in the error.
    rmse = np.sqrt(np.mean((predicted - data.y_test) ** 2)) / np.std(data.y_train)
    return float(rmse), fitted - start, end - fitted, learner.model_size_ / 1e6


def run_dataset(name: str, args: argparse.Namespace) -> Result:
    """Run all learners on one dataset, one repeat after the other."""
    X, y = datasets.load(name, args.data)
    keys = [(model, kind) for kind in KINDS for model in MODELS]
    values = np.array(
        [[measure(*key, datasets.fold(X, y, repeat), repeat, args) for key in keys] for repeat in range(args.repeats)]
    )
    return Result(*({f"{m} {k}": values[:, i, part] for i, (m, k) in enumerate(keys)} for part in range(4)))


def line(name: str, result: Result, paper: dict[tuple[str, str], float]) -> str:
    """One dataset's line: errors, the paper's beside those it has, and the times of the forests over ridge's."""
    cells = [f"{np.mean(result.rmse[f'ridge {kind}']):>14.4f}" for kind in KINDS]
    for model in MODELS[1:]:
        for kind in KINDS:
            theirs = paper.get((name, paper_method(model, kind)))
            beside = "-" if theirs is None else f"{theirs:.4f}"
            cells.append(f"{np.mean(result.rmse[f'{model} {kind}']):>12.4f} {beside:>6}")
    times = [f"{time_ratio(result, model):>10.2f}" for model in MODELS[1:]]
    return f"{name:<8}" + "".join(cells + times)


def time_ratio(result: Result, model: str) -> float:
    """Fit time of a forest over that of the ridge forest, median over the repeats."""
    return float(np.median(result.fit_seconds[f"{model} forest"] / result.fit_seconds["ridge forest"]))


def summarise(results: dict[str, Result]) -> bool:
    """Print averages and, if all sets are there, what became of the targets; return whether one was missed."""
    missed = False
    for model in MODELS:
        forest, tree = (np.array([r.rmse[f"{model} {kind}"] for r in results.values()]) for kind in ("forest", "tree"))
        average = figure(forest.mean(axis=0))
        better = int((forest.mean(axis=1) < tree.mean(axis=1)).sum())
        time = float(np.median([time_ratio(result, model) for result in results.values()]))
        size = median_ratio([r.megabytes for r in results.values()], model)
        predict = median_ratio([r.predict_seconds for r in results.values()], model)
        print(f"{model:<6} forest {average}, tree {figure(tree.mean(axis=0))}, forest better on {better} sets")
        print(f"       against the ridge forest, medians: fit {time:.2f}, predict {predict:.2f}, size {size:.2f}")
        if model in TARGETS and len(results) == len(datasets.NAMES["regression"]):
            goal = TARGETS[model]
            met = {
                f"RMSE <= {goal.rmse}": average.mean <= goal.rmse,
                f"better than the tree on {goal.n_better}": better >= goal.n_better,
                f"fit <= {goal.time:g}": time <= goal.time,
            }
            missed = missed or not all(met.values())
            print("       " + "; ".join(f"{text}: {'met' if good else 'missed'}" for text, good in met.items()))
    return missed


def median_ratio(figures: list[Figures], model: str) -> float:
    """Return a forest's figure over that of the ridge forest, median over the datasets."""
    return float(np.median([np.mean(f[f"{model} forest"]) / np.mean(f["ridge forest"]) for f in figures]))


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.node_models", description=__doc__)
    parser.add_argument("--repeats", type=int, default=FULL_REPEATS, help="random splits per dataset")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of one fit")
    parser.add_argument("--estimators", type=int, default=250, help="trees of one forest")
    parser.add_argument("--paper", type=Path, default=PAPER_TABLES, metavar="FILE", help="the paper's tables.csv")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure here")
    parser.add_argument("--data", type=Path, default=datasets.DATA_DIR, metavar="DIR", help="folder of Parquet files")
    names = datasets.NAMES["regression"]
    parser.add_argument("--datasets", nargs="+", default=names, choices=names, metavar="NAME")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a full run misses a target, else 0."""
    parser = make_parser()
    args = parser.parse_args(argv)
    datasets.check_files(parser, args.data, args.datasets)
    paper = read_paper(args.paper)
    heads = [f"{f'ridge {kind}':>14}" for kind in KINDS]
    heads += [f"{f'{model} {kind}':>12} {'paper':>6}" for model in MODELS[1:] for kind in KINDS]
    heads += [f"{f'{model} time':>10}" for model in MODELS[1:]]
    print(f"{'RMSE':<8}" + "".join(heads))
    results = {}
    for name in args.datasets:
        results[name] = run_dataset(name, args)
        print(line(name, results[name], paper), flush=True)
    missed = summarise(results)
    if args.json:
        record = {
            name: {part: {key: v.tolist() for key, v in of.items()} for part, of in result._asdict().items()}
            for name, result in results.items()
        }
        report.write_json(args.json, args, {"datasets": record})
    is_full = set(args.datasets) == set(datasets.NAMES["regression"]) and args.repeats >= FULL_REPEATS
    return int(is_full and missed)


if __name__ == "__main__":
    sys.exit(main())
