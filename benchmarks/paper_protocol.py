"""The paper's first experiment: default BoostForest on 30 datasets, ten random splits each.

Run as ``python -m benchmarks.paper_protocol``. Exit status 1 when a full run misses a target.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks import datasets, report
from benchmarks.datasets import Floats, Fold, Task
from boostforest import BoostForestClassifier, BoostForestRegressor

PAPER_TABLES = datasets.SHARED_DIR / "paper" / "tables.csv"
FULL_REPEATS = 10


class Goal(NamedTuple):
    """What a task is measured by and has to reach on average."""

    metric: str
    published: float  # BoostForest's average in table Ex1 of the paper (IEEE TPAMI 2022)
    target: float  # the average that a full run must reach
    higher_is_better: bool

    def is_met(self, average: float) -> bool:
        """Whether this average reaches the target."""
        return average >= self.target if self.higher_is_better else average <= self.target


GOALS: dict[Task, Goal] = {
    "classification": Goal("accuracy", 0.8669, 0.861, True),
    "regression": Goal("RMSE", 0.4455, 0.455, False),
}


class Figure(NamedTuple):
    """A mean and the deviation over the repeats; the paper gives none for some rows."""

    mean: float
    std: float | None

    def __str__(self) -> str:
        return f"{self.mean:.4f}" if self.std is None else f"{self.mean:.4f} ({self.std:.4f})"


class Result(NamedTuple):
    """All repeats on one dataset."""

    name: str
    n: int
    d: int
    scores: Floats
    fit_seconds: Floats


def figure(values: Floats) -> Figure:
    """Mean and population deviation: the paper's deviations divide by n (those of SEE allow nothing else)."""
    return Figure(float(np.mean(values)), float(np.std(values)))


def read_paper(path: Path) -> dict[str, Figure] | None:
    """Read BoostForest's own figures in table Ex1 by row name; None where there is no such file."""
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "Ex1" and row["method"] == "BoostForest"]
    # "Average rank" and the like stand once per task under the same name; only these averages are unique.
    wanted = {*datasets.TASKS, *(f"Average {goal.metric}" for goal in GOALS.values())}
    return {
        row["row"]: Figure(float(row["mean"]), float(row["std"]) if row["std"] else None)
        for row in rows
        if row["row"] in wanted
    }


def score_fold(task: Task, data: Fold, repeat: int, args: argparse.Namespace) -> tuple[float, float]:
    """Fit one default BoostForest; return its test score and the seconds the fit took."""
    forest_class = BoostForestClassifier if task == "classification" else BoostForestRegressor
    model = forest_class(n_estimators=args.estimators, n_jobs=args.n_jobs, random_state=repeat)
    start = perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = perf_counter() - start
    predicted = model.predict(data.X_test)
    if task == "classification":
        return float(np.mean(predicted == data.y_test)), seconds
    # Labels z-scored with the training part's mean and deviation: the mean cancels in the error.
    return float(np.sqrt(np.mean((predicted - data.y_test) ** 2)) / np.std(data.y_train)), seconds


def run_dataset(name: str, args: argparse.Namespace) -> Result:
    """Run all repeats on one dataset."""
    X, y = datasets.load(name, args.data)
    folds = (datasets.fold(X, y, repeat) for repeat in range(args.repeats))
    pairs = [score_fold(datasets.TASKS[name], data, repeat, args) for repeat, data in enumerate(folds)]
    scores, seconds = np.array(pairs).T
    return Result(name, X.shape[0], X.shape[1], scores, seconds)


def header(metric: str, with_paper: bool) -> str:
    """Head line of one task's table."""
    columns = f"{'dataset':<8}{'n':>7}{'d':>5}  {metric + ' (std)':>17}"
    if with_paper:
        columns += f"  {'paper (std)':>17}{'apart':>7}"
    return columns + f"{'fit s':>9}"


def line(result: Result, paper: dict[str, Figure] | None) -> str:
    """One dataset's line of the table."""
    ours = figure(result.scores)
    columns = f"{result.name:<8}{result.n:>7}{result.d:>5}  {ours!s:>17}"
    if paper is not None:
        columns += f"  {_paper_columns(ours, paper.get(result.name))}"
    return columns + f"{np.mean(result.fit_seconds):>9.3f}"


def _paper_columns(ours: Figure, theirs: Figure | None) -> str:
    if theirs is None:
        return f"{'-':>17}{'-':>7}"
    # QB and BA have deviation 0 in the paper: there is no unit to count the distance in.
    apart = f"{(ours.mean - theirs.mean) / theirs.std:+.1f}" if theirs.std else "-"
    return f"{theirs!s:>17}{apart:>7}"


def paper_average(task: Task, names: list[str], paper: dict[str, Figure] | None) -> Figure | None:
    """Average the paper's figures over the same datasets; with its deviation only for all of the task's."""
    row = f"Average {GOALS[task].metric}"
    if paper is None or any(name not in paper for name in names):
        return None
    if names == datasets.NAMES[task] and row in paper:
        return paper[row]
    return Figure(float(np.mean([paper[name].mean for name in names])), None)


def summarise(task: Task, results: list[Result], paper: dict[str, Figure] | None) -> tuple[str, Figure]:
    """Average a task's datasets within each repeat; return the line to print and mean (std) over repeats."""
    goal = GOALS[task]
    average = figure(np.mean([result.scores for result in results], axis=0))
    text = f"average {goal.metric} over {len(results)} of {len(datasets.NAMES[task])} datasets: {average}"
    names = [result.name for result in results]
    theirs = paper_average(task, names, paper)
    if theirs is not None:
        text += f", paper {theirs}"
    if names == datasets.NAMES[task]:
        sign = ">=" if goal.higher_is_better else "<="
        verdict = "met" if goal.is_met(average.mean) else "missed"
        text += f", published {goal.published}" if theirs is None else ""
        text += f", target {sign} {goal.target}: {verdict}"
    return text, average


def run_task(task: Task, args: argparse.Namespace, paper: dict[str, Figure] | None) -> list[Result]:
    """Run one task's datasets and print its table line by line, as the run takes minutes."""
    names = [name for name in args.datasets if datasets.TASKS[name] == task]
    if not names:
        return []
    print(header(GOALS[task].metric, paper is not None))
    results = []
    for name in names:
        results.append(run_dataset(name, args))
        print(line(results[-1], paper), flush=True)
    return results


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_protocol", description=__doc__)
    parser.add_argument("--repeats", type=int, default=FULL_REPEATS, help="random splits per dataset")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads of one fit")
    parser.add_argument("--estimators", type=int, default=250, help="trees of one forest")
    parser.add_argument("--paper", type=Path, default=PAPER_TABLES, metavar="FILE", help="the paper's tables.csv")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every score and time here")
    datasets.add_arguments(parser)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 if a full run misses a target, else 0."""
    args = datasets.parse(make_parser(), argv)
    paper = read_paper(args.paper)
    start = perf_counter()
    record: dict[str, dict] = {"datasets": {}, "averages": {}}
    missed = False
    for task, goal in GOALS.items():
        results = run_task(task, args, paper)
        if not results:
            continue
        text, average = summarise(task, results, paper)
        print(text, end="\n\n")
        missed = missed or not goal.is_met(average.mean)
        record["averages"][goal.metric] = average._asdict()
        for result in results:
            fields = {key: np.asarray(value).tolist() for key, value in result._asdict().items()}
            record["datasets"][result.name] = {"metric": goal.metric, **fields}
    seconds = perf_counter() - start
    if paper is not None:
        print("apart: (our mean - the paper's) / the paper's std; + is better for accuracy, worse for RMSE")
    print(f"total time {seconds:.1f} s")
    if args.json:
        report.write_json(args.json, args, {**record, "total_seconds": seconds})
    is_full = len(args.datasets) == len(datasets.TASKS) and args.repeats >= FULL_REPEATS
    return int(is_full and missed)


if __name__ == "__main__":
    sys.exit(main())
