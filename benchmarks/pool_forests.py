"""The paper's table of other base learners: each tree alone, its pool forest, and mixtures, on the small datasets.

Run as ``python -m benchmarks.pool_forests``. As in the paper, Extra-Tree is tuned on a validation part (depth and leaf
size) and fitted again to training and validation part; LMT, M5P and BoostTree have fixed settings. Exit status 1 when
a full run misses a target.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

import boostforest as bf
from benchmarks import datasets, report
from benchmarks.datasets import Floats, Fold, Task
from benchmarks.reports.check import FULL_REPEATS
from benchmarks.reports.paper import FIGURES, Figure
from benchmarks.reports.results import figure_of
from benchmarks.reports.text import METRIC_NAMES
from benchmarks.running.problem import HIGHER_IS_BETTER, MAIN
from boostforest import model_trees

TABLE = "Ex_LMT_M5P_SI"
TASKS: dict[str, Task] = {**datasets.TASKS, "YB": "classification"}  # the paper has YB and RLCT as well
TREE_GRID = {"max_depth": [1, 2, 4, 6, 8, 10], "min_samples_leaf": [5, 10, 15]}
LEAVES = {"min_samples_leaf": range(5, 16)}
BOOST_POOLS = {**LEAVES, "reg_lambda": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]}

Scores = dict[str, dict[str, Floats]]  # dataset -> learner -> one score per repeat


class Settings(NamedTuple):
    """What a learner has to know of a run."""

    task: Task
    seed: int
    n_rows: int
    n_estimators: int
    n_jobs: int


def extra_tree(run: Settings) -> Any:
    """Tune an Extra-Tree: a quarter of the training rows (a fifth of all) is the validation part."""
    regression = run.task == "regression"
    tree = (ExtraTreeRegressor if regression else ExtraTreeClassifier)(random_state=run.seed)
    part = np.where(np.arange(run.n_rows) < run.n_rows // 4, 0, -1)  # the rows are shuffled already
    metric = "neg_mean_squared_error" if regression else "accuracy"
    return GridSearchCV(tree, TREE_GRID, scoring=metric, cv=PredefinedSplit(part))


def boost_tree(run: Settings) -> Any:
    """Return a BoostTree with the paper's settings."""
    cls = bf.BoostTreeRegressor if run.task == "regression" else bf.BoostTreeClassifier
    return cls(min_samples_leaf=10, reg_lambda=0.1, random_state=run.seed)


def boost_forest(run: Settings) -> Any:
    """Return a BoostForest."""
    cls = bf.BoostForestRegressor if run.task == "regression" else bf.BoostForestClassifier
    return cls(run.n_estimators, n_jobs=run.n_jobs, random_state=run.seed)


def et_forest(run: Settings) -> Any:
    """Return an ETForest."""
    cls = bf.ETForestRegressor if run.task == "regression" else bf.ETForestClassifier
    return cls(run.n_estimators, n_jobs=run.n_jobs, random_state=run.seed)


def model_tree(run: Settings) -> Any:
    """Return M5P, or LMT, as the paper calls Weka's: ``-M 5``, ``-B -M 5``."""
    if run.task == "regression":
        return model_trees.M5PRegressor(min_samples_leaf=5)
    return model_trees.LMTClassifier(
        min_samples_split=6, random_state=run.seed
    )  # Weka splits nodes of more than 5 rows


def model_forest(run: Settings) -> Any:
    """Return ModelForest or LMForest."""
    cls = bf.ModelForestRegressor if run.task == "regression" else bf.LMForestClassifier
    return cls(run.n_estimators, n_jobs=run.n_jobs, random_state=run.seed)


def mixture(run: Settings) -> Any:
    """Mix BoostTree, M5P or LMT, and Extra-Tree in equal parts, each with the pools of its own forest."""
    if run.task == "regression":
        forest: Any = bf.PoolForestRegressor
        trees = [bf.BoostTreeRegressor(), model_trees.M5PRegressor(prune=False), ExtraTreeRegressor()]
    else:
        forest = bf.PoolForestClassifier
        trees = [bf.BoostTreeClassifier(), model_trees.LMTClassifier(prune=False), ExtraTreeClassifier()]
    pools = [BOOST_POOLS, LEAVES, LEAVES]
    return forest(trees, run.n_estimators, pools=pools, n_jobs=run.n_jobs, random_state=run.seed)


class Learner(NamedTuple):
    """A learner and its names in the paper's table, by task."""

    make: Callable[[Settings], Any]
    names: dict[Task, str]


def _same(name: str) -> dict[Task, str]:
    return {"classification": name, "regression": name}


LEARNERS: dict[str, Learner] = {
    "Extra-Tree": Learner(extra_tree, _same("Extra-Tree")),
    "ETForest": Learner(et_forest, _same("ETForest")),
    "model-tree": Learner(model_tree, {"classification": "LMT", "regression": "M5P"}),
    "model-forest": Learner(model_forest, {"classification": "LMForest", "regression": "ModelForest"}),
    "BoostTree": Learner(boost_tree, _same("BoostTree")),
    "BoostForest": Learner(boost_forest, _same("BoostForest")),
    "mixture": Learner(mixture, _same("mixture")),
}


# Forests and what they are compared with.
DUELS = [
    ("ETForest", "Extra-Tree"),
    ("model-forest", "model-tree"),
    ("BoostForest", "BoostTree"),
    ("mixture", "ETForest"),
    ("mixture", "model-forest"),
    ("mixture", "BoostForest"),
]


class Target(NamedTuple):
    """On how many of the 30 small datasets a forest has to be better than its rival."""

    forest: str
    rival: str
    tasks: tuple[Task, ...]
    n_sets: int


TARGETS = [
    Target("ETForest", "Extra-Tree", ("classification", "regression"), 27),
    Target("model-forest", "model-tree", ("regression",), 14),
]


def read_paper(path: Path) -> dict[tuple[str, str], Figure]:
    """Read the paper's figures by dataset and method; none where there is no such file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == TABLE and row["row"] in TASKS]
    return {(row["row"], row["method"]): Figure(float(row["mean"]), float(row["std"])) for row in rows}


def score_fold(learner: Learner, task: Task, data: Fold, repeat: int, args: argparse.Namespace) -> tuple[float, float]:
    """Fit one learner; return its test score and the seconds the fit took, tuning included."""
    model = learner.make(Settings(task, repeat, len(data.y_train), args.estimators, args.n_jobs))
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small leaves, rare classes: as in the paper, nobody looks
        model.fit(data.X_train, data.y_train)
    seconds = perf_counter() - start
    predicted = model.predict(data.X_test)
    if task == "classification":
        return float(np.mean(predicted == data.y_test)), seconds
    # Labels z-scored with the training part's mean and deviation: the mean cancels in the error.
    return float(np.sqrt(np.mean((predicted - data.y_test) ** 2)) / np.std(data.y_train)), seconds


def run_task(task: Task, args: argparse.Namespace, paper: dict[tuple[str, str], Figure]) -> tuple[Scores, Scores]:
    """Run all learners on one task's datasets and print a line for each; return scores and seconds."""
    names = [name for name in args.datasets if TASKS[name] == task]
    columns = [LEARNERS[key].names[task] for key in args.learners]
    scores: Scores = {}
    seconds: Scores = {}
    if names:
        print(f"{METRIC_NAMES[MAIN[task]] + ', paper':<16}" + "".join(f"{column:>17}" for column in columns))
    for name in names:
        X, y = datasets.load(name, args.data)
        folds = [datasets.fold(X, y, repeat) for repeat in range(args.repeats)]
        scores[name], seconds[name] = {}, {}
        for key in args.learners:
            pairs = [score_fold(LEARNERS[key], task, data, i, args) for i, data in enumerate(folds)]
            scores[name][key], seconds[name][key] = np.array(pairs).T
        print(_line(name, {key: np.mean(scores[name][key]) for key in args.learners}, task, [name], paper), flush=True)
    return scores, seconds


def _line(label: str, means: dict[str, Any], task: Task, names: list[str], paper: dict[tuple[str, str], Figure]) -> str:
    """One line: our figure and, where the paper has them, the mean of the paper's over the same datasets."""
    cells = []
    for key, mean in means.items():
        theirs = [paper.get((name, LEARNERS[key].names[task])) for name in names]
        beside = "-" if None in theirs else f"{np.mean([f.mean for f in theirs if f]):.4f}"
        cells.append(f"{mean:>10.4f} {beside:>6}")
    return f"{label:<16}" + "".join(cells)


def wins(task: Task, scores: Scores, forest: str, rival: str) -> int:
    """Count the small datasets on which the forest's mean score is better."""
    sign = 1 if HIGHER_IS_BETTER[MAIN[task]] else -1
    small = [scores[name] for name in scores if name in datasets.TASKS]
    return sum(bool(sign * (np.mean(of[forest]) - np.mean(of[rival])) > 0) for of in small)


def summarise(
    task: Task, scores: Scores, seconds: Scores, learners: list[str], paper: dict[tuple[str, str], Figure]
) -> None:
    """Print averages, times and sets won."""
    names = list(scores)
    averages = {key: figure_of(np.mean([scores[name][key] for name in names], axis=0)) for key in learners}
    print(_line("average", {key: average.mean for key, average in averages.items() if average}, task, names, paper))
    for label, reduce in (("fit, s", np.mean), ("slowest set, s", np.max)):
        times = [reduce([np.mean(seconds[name][key]) for name in names]) for key in learners]
        print(f"{label:<16}" + "".join(f"{time:>10.3f}       " for time in times))
    n_small = sum(name in datasets.TASKS for name in names)
    for forest, rival in DUELS:
        if {forest, rival} <= set(learners):
            won = wins(task, scores, forest, rival)
            print(
                f"{LEARNERS[forest].names[task]} better than {LEARNERS[rival].names[task]} on {won} of {n_small} sets"
            )
    print()


def misses_target(scores: dict[Task, Scores], learners: list[str]) -> bool:
    """Print what became of the targets of a full run; return whether one was missed."""
    missed = False
    for target in TARGETS:
        if {target.forest, target.rival} <= set(learners):
            won = sum(wins(task, scores[task], target.forest, target.rival) for task in target.tasks)
            missed = missed or won < target.n_sets
            verdict = "met" if won >= target.n_sets else "missed"
            print(f"{target.forest} better than {target.rival}: {won} sets, target {target.n_sets}: {verdict}")
    return missed


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pool_forests", description=__doc__)
    parser.add_argument("--repeats", type=int, default=FULL_REPEATS, help="random splits per dataset")
    parser.add_argument("--n-jobs", type=int, default=-1, help="members of one forest to fit at the same time")
    parser.add_argument("--estimators", type=int, default=250, help="members of one forest")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS), metavar="NAME")
    parser.add_argument("--paper", type=Path, default=FIGURES, metavar="FILE", help="the paper's tables.csv")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every score and time here")
    parser.add_argument("--data", type=Path, default=datasets.DATA_DIR, metavar="DIR", help="folder of Parquet files")
    parser.add_argument("--datasets", nargs="+", default=list(datasets.TASKS), choices=list(TASKS), metavar="NAME")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a full run misses a target, else 0."""
    parser = make_parser()
    args = parser.parse_args(argv)
    datasets.check_files(parser, args.data, args.datasets)
    paper = read_paper(args.paper)
    start = perf_counter()
    scores: dict[Task, Scores] = {}
    record: dict[str, Any] = {}
    for task in MAIN:
        scores[task], seconds = run_task(task, args, paper)
        if scores[task]:
            summarise(task, scores[task], seconds, args.learners, paper)
        for name, of in scores[task].items():
            record[name] = {key: {"scores": of[key].tolist(), "fit_seconds": seconds[name][key].tolist()} for key in of}
    is_full = set(datasets.TASKS) <= set(args.datasets) and args.repeats >= FULL_REPEATS
    missed = is_full and misses_target(scores, args.learners)
    total = perf_counter() - start
    print(f"total time {total:.1f} s")
    if args.json:
        report.write_json(args.json, args, {"datasets": record, "total_seconds": total})
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
