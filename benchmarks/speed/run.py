"""``python -m benchmarks.speed run``: BoostForest beside the other learners, each in a process of its own, in turns."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import joblib

from benchmarks.speed import tables
from benchmarks.speed.children import Child, ChildError, closing_all, in_turns
from benchmarks.speed.learners import BASE, LEARNERS
from benchmarks.speed.results import Measured, median, number, ratio, write_json
from benchmarks.speed.tables import SUITES
from boostforest_paper import data
from boostforest_paper.data.folder import add_folder

UNITS = {
    "fit_seconds": ("fit, ms", 1e3),
    "predict_seconds": ("predict the test fifth, ms", 1e3),
    "row_seconds": ("predict one row, µs", 1e6),
    "peak_bytes": ("peak memory of the fit, MB", 1e-6),
    "model_bytes": ("model size, MB", 1e-6),
}
LEGEND = f"""\
{BASE}'s own values, and what the others have of them as a multiple: above 1, {BASE} is faster or smaller. Medians over
the repeats; ± half the distance of the quartiles. Ratios are taken within each repeat, means over the tables as well.
The memory is what the process grew by; below 1 MB it tells more of the allocator than of the learner."""


def thread_list(value: str) -> list[str]:
    """Read 1,all and the like."""
    threads = value.split(",")
    if not all(item == "all" or (item.isdecimal() and int(item) > 0) for item in threads):
        raise argparse.ArgumentTypeError(f"must be numbers of at least 1 or 'all', with commas between; got {value!r}")
    return threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    known = [name for suite in SUITES.values() for name in suite]
    parser.add_argument("--suite", choices=[*SUITES, "all"], default="small", help="tables to run; default: small")
    parser.add_argument("--datasets", nargs="+", choices=known, metavar="NAME", help="these tables instead of a suite")
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS), metavar="NAME")
    parser.add_argument("--threads", type=thread_list, default=["1", "all"], metavar="1,all")
    parser.add_argument("--repeats", type=int, default=5, help="rounds in which every learner has its turn")
    parser.add_argument("--estimators", type=int, default=250, help="trees of a forest")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")
    add_folder(parser)


def start(names: list[str], threads: int, n_estimators: int) -> dict[str, Child]:
    """Start the workers, all at once; who cannot be started is left out."""
    children = {name: Child(name, threads, n_estimators) for name in names}
    for name, child in list(children.items()):
        try:
            child.hello()
        except ChildError as error:
            print(f"{name} is left out: {error}")
            children.pop(name).close()
    return children


def lines(title: str, measured: list[Measured], others: list[str]) -> str:
    """Return a line per quantity: of one table, or geometric means over several."""
    written = []
    for quantity, (name, factor) in UNITS.items():
        own = [number(factor * median(measured[0], BASE, quantity))] if len(measured) == 1 else [""]
        cells = own + [str(ratio(measured, other, BASE, quantity)) for other in others]
        written.append(f"| {title} | {name} | {' | '.join(cells)} |")
    return "\n".join(written)


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark; all results so far are written after each table: a run of hours may be cut short."""
    if args.repeats < 1 or args.estimators < 1:
        parser.error("--repeats and --estimators must be at least 1")
    suites = SUITES.values() if args.suite == "all" else [SUITES[args.suite]]
    names = args.datasets or [table for suite in suites for table in suite]
    try:
        data.require(names, args.data)
    except data.DataError as error:
        parser.exit(2, f"{error}\n")
    learners = [name for name in LEARNERS if name in {BASE, *args.learners}]
    record: dict[str, dict[str, Any]] = {}
    print(LEGEND)
    for threads in args.threads:
        count = joblib.cpu_count() if threads == "all" else int(threads)
        with closing_all(start(learners, count, args.estimators)) as children:
            others = [name for name in children if name != BASE]
            print(f"\n| table, threads {threads} | quantity | {BASE} | {' | '.join(others)} |" + "\n|", end="")
            print("---|" * (3 + len(others)))
            of_threads = record.setdefault(threads, {})
            for table in names:
                with tempfile.TemporaryDirectory() as folder:
                    stored = tables.store(table, args.data, Path(folder, table))
                    of_threads[table] = in_turns(children, stored, args.repeats)
                print(lines(table, [of_threads[table]], others), flush=True)
                if args.json:
                    write_json(args.json, args, {"measured": record})
            print(lines("geometric mean", list(of_threads.values()), others))
    return 0
