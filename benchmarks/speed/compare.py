"""``python -m benchmarks.speed compare``: this working tree against another revision, built and run side by side."""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.speed import tables
from benchmarks.speed.children import ROOT, Child, ChildError, closing_all, in_turns
from benchmarks.speed.learners import BASE
from benchmarks.speed.measure import TIMES
from benchmarks.speed.results import Measured, median, number, ratio, write_json

SIDES = ("base", "head")
FIT_CALLS = 20  # short fits are repeated: it takes more than one to see a few percent
SHOWN_LINES = 20  # of a build that fails
END_SECONDS = 10  # for a build that is to end
LEARNERS = (BASE, "BoostForest-best")  # the paper's forest, and the default with its own number of trees
GATED = ("fit_seconds", "predict_seconds")  # single rows take microseconds: shown, but too noisy to fail for


class BuildError(Exception):
    """A revision could not be found, built or run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--base", required=True, metavar="REV", help="revision to compare with")
    parser.add_argument("--limit-percent", type=float, default=10, help="how much slower the working tree may be")
    parser.add_argument("--datasets", nargs="+", choices=tables.BUILT_IN, default=tables.BUILT_IN, metavar="NAME")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7, help="rounds in which both have their turn")
    parser.add_argument("--estimators", type=int, default=100, help="trees of a forest")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement here")


def _call(*command: str | Path) -> None:
    """Run a command silently; only if it fails, what it printed last is shown."""
    # In a session of its own, so that an interruption ends its compilers too before their folder is removed.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        _end(process)
        raise
    if process.returncode != 0:
        last = "\n".join(output.strip().splitlines()[-SHOWN_LINES:])
        raise BuildError(f"{' '.join(map(str, command[:4]))} failed with status {process.returncode}: {last}")


def _end(process: subprocess.Popen[str]) -> None:
    """End a command and what it has started: as Ctrl-C does, since Ninja's compilers are only ended by Ninja itself."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    try:
        process.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def worktree(revision: str, folder: Path) -> Iterator[Path]:
    """Check a revision out into a folder of its own, and forget it at the end."""
    try:
        _call("git", "worktree", "add", "--detach", folder, revision)
        yield folder
    finally:
        try:
            _call("git", "worktree", "remove", "--force", folder)
        except BuildError:  # only half there, after Ctrl-C within the command above, or not at all
            shutil.rmtree(folder, ignore_errors=True)
            _call("git", "worktree", "prune")


def build(source: Path, prefix: Path, build_dir: Path) -> Path:
    """Install a source tree into a prefix, with this environment's build tools and a build folder outside the tree."""
    options = ["--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check"]
    settings = f"--config-settings=build-dir={build_dir}"
    _call(sys.executable, "-m", "pip", "install", *options, settings, "--target", prefix, source)
    return prefix


def build_sides(base: str, folder: Path) -> dict[str, Path]:
    """Build the base revision and the working tree; return where they are."""
    with worktree(base, folder / "source") as source:
        print(f"building {base} and the working tree", file=sys.stderr, flush=True)
        sources = {"base": source, "head": ROOT}
        return {side: build(sources[side], folder / side, folder / f"build-{side}") for side in SIDES}


def run_sides(prefixes: dict[str, Path], learner: str, args: argparse.Namespace, folder: Path) -> dict[str, Measured]:
    """Measure both sides in turns on all tables."""
    results = {}
    started = {side: Child(learner, 1, args.estimators, prefixes[side]) for side in SIDES}
    with closing_all(started) as children:
        for child in children.values():
            child.hello()
        for table in args.datasets:
            stored = tables.store(table, folder, folder / table)
            results[table] = in_turns(children, stored, args.repeats, FIT_CALLS)
            cells = ""
            for quantity in TIMES:
                own = number(1e3 * median(results[table], "base", quantity))
                cells += f"{own:>12}{ratio([results[table]], 'head', 'base', quantity)!s:>15}"
            print(f"{table:<12}{cells}", flush=True)
    return results


def verdict(results: dict[str, Measured], limit_percent: float) -> tuple[dict[str, float], bool]:
    """Print the geometric means of head / base; return them, and whether one is over the limit."""
    means = {}
    is_slower = False
    for quantity in TIMES:
        mean = ratio(results.values(), "head", "base", quantity)
        means[quantity] = mean.median
        state = ""
        if quantity in GATED:
            over = mean.median > 1 + limit_percent / 100
            state = f"more than {limit_percent:g} % slower" if over else f"within {limit_percent:g} %"
            is_slower = is_slower or over
        name = quantity.removesuffix("_seconds")
        print(f"{name:<8}head / base {mean.median:.3f} ({mean.q1:.3f} to {mean.q3:.3f})  {state}".rstrip())
    return means, is_slower


@contextlib.contextmanager
def clean_end() -> Iterator[None]:
    """Treat the end of a cancelled job like Ctrl-C, so that it cleans up too."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark; 1 if the working tree is too slow, 2 if there was nothing to compare."""
    if args.repeats < 1 or args.estimators < 1:
        parser.error("--repeats and --estimators must be at least 1")
    try:
        with clean_end(), tempfile.TemporaryDirectory(prefix="boostforest-compare-") as name:
            folder = Path(name)
            prefixes = build_sides(args.base, folder)
            results = {}
            for learner in args.learners:
                titles = ("fit ms", "predict ms", "row ms")
                print(f"{learner:<12}" + "".join(f"{title:>12}{'head / base':>15}" for title in titles))
                results[learner] = run_sides(prefixes, learner, args, folder / "tables" / learner)
    except (BuildError, ChildError) as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "Interrupted; nothing is left behind.\n")
    means, is_slower = {}, False
    for learner, of_learner in results.items():
        print(learner)
        means[learner], is_over = verdict(of_learner, args.limit_percent)
        is_slower = is_slower or is_over
    if args.json:
        write_json(args.json, args, {"measured": results, "head_over_base": means})
    return int(is_slower)
