"""Questions that scores of learners do not answer: ``boostforest-paper study NAME`` prints a table in Markdown.

A study is a module with two functions: ``add_arguments(parser)``, and ``rows(args)``, which yields the lines of its
table, each a dictionary with the same keys. `STUDIES` lists them.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from boostforest_paper import data
from boostforest_paper.data.folder import add_folder


def add_common(parser: argparse.ArgumentParser, datasets: Sequence[str], *, repeats: int, trees: int) -> None:
    """Add the options that all studies have; the datasets are the default."""
    add_folder(parser)
    parser.add_argument("--datasets", nargs="+", default=list(datasets), metavar="NAME")
    parser.add_argument("--repeats", type=positive, default=repeats, metavar="N", help="default: %(default)s")
    parser.add_argument("--trees", type=positive, default=trees, metavar="N", help="of a forest; default: %(default)s")


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1; got {text!r}")
    return int(text)


def tables(args: argparse.Namespace) -> Iterator[tuple[data.Dataset, data.Table]]:
    """Yield the datasets, all of which must be there before the first is used."""
    data.require(args.datasets, args.data)
    for name in args.datasets:
        yield data.find(name), data.load(name, args.data)


def print_table(rows: Iterable[dict[str, Any]]) -> None:
    """Print the lines as they come."""
    for i, row in enumerate(rows):
        if i == 0:
            print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
        cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        print("| " + " | ".join(cells) + " |", flush=True)


from boostforest_paper.studies import categories, constraints, dtypes, intervals, quantiles, sizes, small  # noqa: E402

STUDIES = {
    "categories": categories,
    "constraints": constraints,
    "dtypes": dtypes,
    "intervals": intervals,
    "quantiles": quantiles,
    "sizes": sizes,
    "small": small,
}
