"""``python -m benchmarks.speed defaults``: whole models at their defaults, by the processor time of one thread.

Other programs may run on the machine: time is that of the process, and learners have their turns. RandomForest and
Extra-Trees have 250 trees; of tables where that takes minutes they grow a part, which stands for as many more.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.measure import seconds_of
from benchmarks.speed.results import write_json
from boostforest_paper import data, generators
from boostforest_paper.data.folder import add_folder
from boostforest_paper.data.paper import SMALL
from boostforest_paper.learners import Settings, find
from boostforest_paper.running.problem import Problem, divide
from boostforest_paper.types import Task

N_TREES = 250
ONE_ROW_CALLS = 1000
_LONG_WORK = 4e6  # rows × features: above, forests of scikit-learn grow a tenth of the trees
_OURS = ("best", "paper", "fast")
_FORESTS: dict[str, dict[str, Any]] = {"RandomForest": {}, "Extra-Trees": {"bootstrap": False}}
_OTHERS = (*_FORESTS, "LightGBM", "CatBoost")


class Gate(NamedTuple):
    """A line of the table: on some tables, their time over ours has to be at least so much."""

    tables: tuple[str, ...]
    preset: str
    bounds: dict[str, float]  # by learner


_SMALL = (*SMALL["classification"], *SMALL["regression"])
GATES = {
    "small": Gate(_SMALL, "best", {"RandomForest": 3, "CatBoost": 10}),
    "small-paper": Gate(_SMALL, "paper", {"RandomForest": 15, "Extra-Trees": 10, "LightGBM": 1}),
    "LR": Gate(("LR",), "best", {"RandomForest": 1}),
    "YB": Gate(("YB",), "best", {"RandomForest": 0.5}),
    "MNIST": Gate(("MNIST-10000",), "best", {"RandomForest": 0.3}),
    "wide": Gate(("5000x1000",), "best", {"RandomForest": 6, "Extra-Trees": 2}),
    "wide-paper": Gate(("5000x1000",), "paper", {"RandomForest": 6, "Extra-Trees": 2}),
    "rows": Gate(("EGSS", "PTS", "16000x10x2", "50000x30"), "best", {"CatBoost": 2}),
    "boosters": Gate(("30000x30", "50000x30"), "best", {"LightGBM": 0.1}),
    "boosters-fast": Gate(("30000x30", "50000x30"), "fast", {"LightGBM": 0.5}),
}
ROW_BOUNDS = {"paper": 100, "fast": 100, "best": 150}  # microseconds
_ROW_TABLES = ("BH", "PID", "VS", "CCS", "WDG")


class Outcome(NamedTuple):
    """What one learner needs for one table, and how good it is."""

    seconds: float
    loss: float | None  # test RMSE in standard deviations, or log-loss
    accuracy: float | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--gates", nargs="+", choices=[*GATES, "row"], default=[*GATES, "row"], metavar="NAME")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="only these tables of the gates")
    parser.add_argument("--without", nargs="+", choices=_OTHERS, default=[], metavar="LEARNER")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each, the median of which counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")
    add_folder(parser)


def problem_of(name: str, folder: Path) -> Problem:
    """Return a table with its training and its test part; ROWSxFEATURES[xCLASSES] are made here."""
    if name in data.DATASETS:
        table, task = data.load(name, folder), data.find(name).task
    else:
        shape = tuple(int(part) for part in name.split("x"))
        task = "classification" if len(shape) == 3 else "regression"
        make_table = generators.classification if len(shape) == 3 else generators.regression
        table = data.Table(*make_table(*shape))
    parts = divide(table, repeat=0)
    return Problem(table, task, parts.both, parts.test, raw=True)


def make(learner: str, task: Task, seed: int, n_trees: int) -> Any:
    """Make an unfitted model for one thread; ours are called by their preset."""
    settings = Settings(task, 0, 2 if task == "classification" else 0, seed, 1)
    if learner in _OURS:
        return find("BoostForest").build(settings, {"preset": learner})
    params = {"n_estimators": n_trees, **_FORESTS[learner]} if learner in _FORESTS else {}
    return find(learner).build(settings, params)


def judge(model: Any, problem: Problem) -> tuple[float | None, float | None]:
    """Return the loss on the test part and, of classes, the accuracy."""
    found = problem.score(problem.output(model))
    return (found["log_loss"], found["accuracy"]) if problem.task == "classification" else (found["rmse"], None)


def run_table(name: str, learners: list[str], repeats: int, folder: Path) -> dict[str, Outcome]:
    """Fit all learners in turns, with other seeds; the median time of each counts, and how good its first model is."""
    problem = problem_of(name, folder)
    n_trees = N_TREES if problem.X.size <= _LONG_WORK else N_TREES // 10
    seconds: dict[str, list[float]] = {learner: [] for learner in learners}
    models: dict[str, Any] = {}
    for seed in range(repeats):
        for learner in learners:
            model = make(learner, problem.task, seed, n_trees)
            factor = N_TREES / n_trees if learner in _FORESTS else 1.0
            spent = seconds_of(lambda: model.fit(problem.X, problem.y), process_time)  # noqa: B023 - called at once
            seconds[learner].append(factor * spent)
            models.setdefault(learner, model)
    # Not the quickest: what an adaptive fit does depends on its seed.
    return {learner: Outcome(median(seconds[learner]), *judge(models[learner], problem)) for learner in learners}


def run_gate(name: str, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure one line of the table, and print it table by table."""
    gate = GATES[name]
    rivals = [learner for learner in gate.bounds if learner not in args.without]
    ratios: dict[str, list[float]] = {rival: [] for rival in rivals}
    for table in gate.tables:
        if args.datasets and table not in args.datasets:
            continue
        found = run_table(table, [gate.preset, *rivals], args.repeats, args.data)
        for rival in rivals:
            ratios[rival].append(found[rival].seconds / found[gate.preset].seconds)
        words = [f"{learner} {o.seconds:.3g} s, loss {o.loss:.4f}" + _accuracy(o) for learner, o in found.items()]
        print(f"  {name:14} {table:12} {'; '.join(words)}", flush=True)
        yield {"gate": name, "table": table, "outcomes": {learner: o._asdict() for learner, o in found.items()}}
    for rival in rivals:
        if ratios[rival]:
            mean = float(np.exp(np.mean(np.log(ratios[rival]))))
            verdict = "met" if mean >= gate.bounds[rival] else "missed"
            n = len(ratios[rival])
            print(f"{name}, {gate.preset}: {rival} {mean:.3g}, at least {gate.bounds[rival]:g}: {verdict} ({n} tables)")


def _accuracy(outcome: Outcome) -> str:
    return "" if outcome.accuracy is None else f", accuracy {outcome.accuracy:.4f}"


def run_rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure one row, as a caller would predict it."""
    for preset, bound in ROW_BOUNDS.items():
        medians = []
        for table in _ROW_TABLES:
            if args.datasets and table not in args.datasets:
                continue
            problem = problem_of(table, args.data)
            model = make(preset, problem.task, 0, N_TREES).fit(problem.X, problem.y)
            rows = [problem.X_judge[i : i + 1] for i in range(len(problem.X_judge))]
            times = []
            for call in range(ONE_ROW_CALLS):
                start = perf_counter()  # the clock of processor time is too coarse, and a median forgets interruptions
                model.predict(rows[call % len(rows)])
                times.append(perf_counter() - start)
            medians.append(1e6 * float(np.median(times)))
            print(f"  row            {table:12} {preset} {medians[-1]:.0f} µs", flush=True)
            yield {"gate": "row", "table": table, "preset": preset, "microseconds": medians[-1]}
        if medians:
            verdict = "met" if np.median(medians) <= bound else "missed"
            print(f"row, {preset}: {np.median(medians):.0f} µs, at most {bound}: {verdict} ({len(medians)} tables)")


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Measure all lines that were asked for."""
    if args.repeats < 1:
        parser.error("--repeats must be at least 1")
    warnings.simplefilter("ignore")
    measured: list[dict[str, Any]] = []
    for name in args.gates:
        for outcome in run_rows(args) if name == "row" else run_gate(name, args):
            measured.append(outcome)
            if args.json:
                write_json(args.json, args, {"measured": measured})
    return 0
