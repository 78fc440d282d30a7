"""``python -m benchmarks.speed run``: BoostForest beside the other learners."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import joblib

from benchmarks import datasets, report
from benchmarks.speed import tables, text
from benchmarks.speed.children import Child
from benchmarks.speed.learners import BASE, LEARNERS
from benchmarks.speed.measure import TIMES
from benchmarks.speed.results import TableResult, geometric_mean
from benchmarks.speed.runner import Runner
from benchmarks.speed.tables import SUITES, Table
from benchmarks.speed.targets import TARGETS, evaluate

Plan = dict[str, list[Table]]  # tables to run, by suite


def thread_list(value: str) -> list[str]:
    """Read 1,all and the like."""
    threads = value.split(",")
    if not all(item == "all" or (item.isdecimal() and int(item) > 0) for item in threads):
        raise argparse.ArgumentTypeError(f"must be numbers of at least 1 or 'all', with commas between; got {value!r}")
    return threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    known = tables.names()
    parser.add_argument("--suite", choices=[*SUITES, "all"], help="default: small, or those of --datasets")
    parser.add_argument("--datasets", nargs="+", choices=known, metavar="NAME", help="only these tables")
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS), metavar="NAME")
    parser.add_argument("--threads", type=thread_list, default=["1", "all"], metavar="1,all")
    parser.add_argument("--repeats", type=int, default=5, help="rounds in which every learner has its turn")
    parser.add_argument("--estimators", type=int, default=250, help="trees of a forest")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a fit, or of the predictions after it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")
    datasets.add_folder(parser)


def make_plan(parser: argparse.ArgumentParser, args: argparse.Namespace) -> Plan:
    """Choose the tables; what cannot be run is said before anything is."""
    if args.repeats < 1 or args.estimators < 1 or args.limit <= 0:
        parser.error("--repeats and --estimators must be at least 1, --limit above 0")
    suite = args.suite or ("all" if args.datasets else "small")
    chosen = {name: SUITES[name] for name in (SUITES if suite == "all" else [suite])}
    if args.datasets:
        chosen = {name: [table for table in members if table.name in args.datasets] for name, members in chosen.items()}
    plan = {name: members for name, members in chosen.items() if members}
    if not plan:
        parser.error(f"the suite {suite} has none of the tables {', '.join(args.datasets)}")
    files = [table.name for members in plan.values() for table in members if table.has_file]
    if files:
        datasets.check_data(parser, args.data, files)
    return plan


def run_threads(threads: str, plan: Plan, args: argparse.Namespace, record: Record) -> None:
    """Run all suites with one number of threads; print each when it is done."""
    count = joblib.cpu_count() if threads == "all" else int(threads)
    learners = [learner for name, learner in LEARNERS.items() if name in {BASE, *args.learners}]
    with Runner(learners, lambda learner: Child(learner, count, args.estimators), args.limit) as runner:
        record.learners |= runner.versions
        for name, why in runner.left_out.items():
            print(f"{name} is left out: {why}")
        for suite, members in plan.items():
            results = []
            for table in members:
                results.append(run_table(runner, suite, table, threads, args))
                record.add(results[-1])
            print(f"{text.suite_text(results)}\n", flush=True)


def run_table(runner: Runner, suite: str, table: Table, threads: str, args: argparse.Namespace) -> TableResult:
    """Run one table; a line on standard error says that it is done, as a suite takes its time."""
    start = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        stored = tables.store(table, args.data, Path(folder, table.name))
        outcomes = runner.run(stored, args.repeats)
    print(f"{suite}, threads {threads}: {table.name} took {perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return TableResult(suite, table.name, threads, stored.size, outcomes)


class Record:
    """All results so far, written anew after each table: a run of hours may be cut short."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.results: list[TableResult] = []
        self.learners: dict[str, str | None] = {}
        self._args = args

    def add(self, result: TableResult) -> None:
        """Take one more table."""
        self.results.append(result)
        if self._args.json:
            report.write_json(self._args.json, self._args, self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "learners": self.learners,
            "tables": [result.as_json() for result in self.results],
            "geometric_means": list(self._means()),
            "targets": [evaluate(target, self.results).as_json() for target in TARGETS],
        }

    def _means(self) -> Any:
        groups = dict.fromkeys((result.suite, result.threads) for result in self.results)
        for suite, threads in groups:
            members = [result for result in self.results if (result.suite, result.threads) == (suite, threads)]
            for learner in self.learners:
                for quantity in TIMES:
                    mean = geometric_mean(members, learner, quantity)
                    if mean is not None and learner != BASE:
                        head = {"suite": suite, "threads": threads, "learner": learner, "quantity": quantity}
                        yield {**head, **mean.ratio._asdict(), "n_tables": mean.n_tables}


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark."""
    plan = make_plan(parser, args)
    record = Record(args)
    for threads in args.threads:
        run_threads(threads, plan, args, record)
    print(f"{text.LEGEND}\n\nTargets:")
    for target in TARGETS:
        print(evaluate(target, record.results))
    return 0
