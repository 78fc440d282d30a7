"""Command line of the paper's program: ``boostforest-paper COMMAND …``."""

import argparse
import sys
from pathlib import Path

from joblib import cpu_count

from boostforest_paper import commands, plugins
from boostforest_paper.data.checks import DataError
from boostforest_paper.data.folder import ANOTHER_FOLDER, add_folder
from boostforest_paper.experiments import real
from boostforest_paper.names import UnknownNameError
from boostforest_paper.running.store import StoreError
from boostforest_paper.running.tuning import Tuning
from boostforest_paper.studies import STUDIES, positive

RESULTS = Path("paper", "results")
COMMANDS = {
    "run": "do the fits of experiments that are not done yet",
    "status": "say what is done, and how long the rest will take",
    "report": "write one HTML page, and tables in Markdown",
    "check": "hold our figures against the paper's and the targets",
    "forget": "delete results, so that they are made anew",
    "list": "list experiments, learners, datasets and studies",
    "study": "answer another question with one table",
}


def _processes(text: str) -> int:
    return cpu_count() if text == "all" else positive(text)


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {text!r}")
    return value


def _tuning(text: str) -> str:
    try:
        return str(Tuning.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _add_choice(parser: argparse.ArgumentParser, *, needs_name: bool) -> None:
    """Add the options that choose fits."""
    parser.add_argument("experiments", nargs="+" if needs_name else "*", metavar="EXPERIMENT")
    parser.add_argument(
        "--datasets", nargs="+", default=[], metavar="NAME", help="only these; also others than the experiment's"
    )
    parser.add_argument(
        "--learners", nargs="+", default=[], metavar="NAME", help="only these; also others than the experiment's"
    )
    parser.add_argument(
        "--tuning", type=_tuning, metavar="HOW", help="none, random:N or grid; default: the experiment's"
    )
    parser.add_argument("--repeats", type=positive, metavar="N", help="default: the experiment's, ten as a rule")
    parser.add_argument(
        "--store", type=Path, default=RESULTS / "store.sqlite", metavar="FILE", help="default: %(default)s"
    )
    parser.add_argument("--plugin", type=commands.plugin_path, action="append", default=[], metavar="FILE.py",
                        help="run a file that registers datasets, learners or experiments")  # fmt: skip


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(
        prog="boostforest-paper", description="The paper's experiments, and today's field."
    )
    subparsers = parser.add_subparsers(dest="command", required=True)
    made = {name: subparsers.add_parser(name, help=text, description=text) for name, text in COMMANDS.items()}
    for name in ("run", "status", "report", "check", "forget"):
        _add_choice(made[name], needs_name=name not in ("report",))
        add_folder(made[name])
    run = made["run"]
    run.add_argument("--processes", type=_processes, default=1, metavar="N", help="fits at once, or all (default: 1)")
    run.add_argument("--threads", type=positive, default=1, metavar="N", help="threads of one fit (default: 1)")
    run.add_argument("--minutes", type=_above_zero, metavar="M", help="begin no fit after so many minutes")
    run.add_argument("--limit", type=_above_zero, metavar="S", help="a fit that takes more seconds has failed")
    run.add_argument("--retry-failed", action="store_true", help="try failed fits again")
    report = made["report"]
    report.add_argument(
        "--html", type=Path, default=RESULTS / "report.html", metavar="FILE", help="default: %(default)s"
    )
    report.add_argument("--markdown", type=Path, metavar="DIR", help="also write NAME.md and NAME.csv here")
    made["list"].add_argument(
        "what", nargs="?", default="all", choices=["all", "experiments", "learners", "datasets", "studies"]
    )
    studies = made["study"].add_subparsers(dest="study", required=True)
    for name, module in STUDIES.items():
        summary = (module.__doc__ or "").splitlines()[0]
        listed = summary.replace("%", "%%")  # argparse puts values into help, not into descriptions
        module.add_arguments(studies.add_parser(name, help=listed, description=summary))
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command; status 2 and one sentence for what cannot be done as asked."""
    parser = make_parser()
    args = parser.parse_args(argv)
    try:
        for plugin in getattr(args, "plugin", []):
            plugins.load(plugin)
        if real.NAME in getattr(args, "experiments", []) and not real.use_folder(args.data):
            raise DataError(f"{args.data} has no manifest.json that lists tables of mixed columns: {ANOTHER_FOLDER}.")
        command = commands.show_list if args.command == "list" else getattr(commands, args.command)
        return command(args)
    except (UnknownNameError, DataError, StoreError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
