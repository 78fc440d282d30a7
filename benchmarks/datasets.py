"""The 30 small datasets of the paper's first experiment (table Ex1) and four larger ones, by its abbreviations."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

Task = Literal["classification", "regression"]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

_CLASSIFICATION = "SON SEE QB VC2 VC3 MV1 BCD ILP BD PID VS QSAR DRD BA WDG"
_REGRESSION = "CS CF AMPG REV NO PM BH CPS CCS ASN ADS WQW AQ CCPP EGSS"
NAMES: dict[Task, list[str]] = {"classification": _CLASSIFICATION.split(), "regression": _REGRESSION.split()}
TASKS: dict[str, Task] = {name: task for task, names in NAMES.items() for name in names}
LARGE: dict[str, Task] = {
    "LR": "classification",
    "PTS": "regression",
    "YB": "classification",
    "MNIST": "classification",
}
_FIRST_ROWS = {"MNIST": 10_000}  # all 70,000 would take seven times as long and say the same

# The datasets are not in the repository: a folder of Parquet files, which git ignores here or which is elsewhere.
DATA_DIR = Path(os.environ.get("BOOSTFOREST_DATA") or Path(__file__).resolve().parents[1] / "datasets")
ANOTHER_FOLDER = "name the folder that has them with --data DIR or BOOSTFOREST_DATA"


class Fold(NamedTuple):
    """One repeat of one dataset, cut into its two parts."""

    X_train: Floats
    y_train: npt.NDArray
    X_test: Floats
    y_test: npt.NDArray


def load(name: str, data_dir: Path = DATA_DIR) -> tuple[Floats, npt.NDArray]:
    """Read one dataset as numbers, otherwise raw; from OpenML where there is no file.

    Parameters
    ----------
    name : str
        Abbreviation, a key of `TASKS` or `LARGE`.
    data_dir : Path
        Folder with one Parquet file per dataset.

    Returns
    -------
    X : ndarray of shape (n, d), float64
        String columns one-hot encoded with every level, after the numeric ones; missing values replaced
        by the mean of their column. That mean is over all rows: it concerns four cells of ILP and nothing
        else, too few to tell the test part from the training part.
    y : ndarray of shape (n,)
        Strings for classification, float64 for regression.
    """
    from benchmarks.data import paper  # which needs this module

    frame = paper.read_frame(name, data_dir)
    return as_arrays(frame.head(_FIRST_ROWS.get(name, len(frame))), (TASKS | LARGE)[name])


def as_arrays(frame: pd.DataFrame, task: Task) -> tuple[Floats, npt.NDArray]:
    """Turn a raw table with the column ``target`` into numbers, as `load` describes."""
    frame = frame.drop(columns="split", errors="ignore")
    target = frame.pop("target")
    strings = list(frame.select_dtypes(exclude="number").columns)
    X = pd.get_dummies(frame, columns=strings, dtype=float).astype(float)
    y = target.to_numpy(dtype=str if task == "classification" else float)
    return X.fillna(X.mean()).to_numpy(), y


def split(n: int, repeat: int, y: npt.ArrayLike | None = None) -> tuple[Rows, Rows]:
    """Divide the rows into train + validation (80 %) and test (20 %).

    The paper divides 60/20/20. BoostForest needs no validation part, and the chosen model is refitted on
    train + validation, so the two are one part here.

    Parameters
    ----------
    n : int
        Number of rows.
    repeat : int
        Seed of the permutation; the same repeat always gives the same parts.
    y : array-like of shape (n,), optional
        Labels to stratify by. The paper divides purely at random, and so do the benchmarks.

    Returns
    -------
    train, test : ndarray of int
        Row numbers. The test part is rounded up: the paper's mean accuracies are multiples of
        1 / (10 ceil(n / 5)), and those of MV1, VS and DRD of no other rounding.
    """
    order = np.random.default_rng(repeat).permutation(n)
    if y is not None:
        # Every fifth row of the shuffled classes laid end to end takes a fifth of each class, within a row.
        order = order[np.argsort(np.asarray(y)[order], kind="stable")]
        is_test = np.arange(n) % 5 == 0
        return order[~is_test], order[is_test]
    n_test = -(-n // 5)
    return order[n_test:], order[:n_test]


def fold(X: Floats, y: npt.NDArray, repeat: int) -> Fold:
    """Cut one dataset into the parts of one repeat."""
    train, test = split(len(y), repeat)
    return Fold(X[train], y[train], X[test], y[test])


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the data folder."""
    text = "folder of Parquet files (default: the one that BOOSTFOREST_DATA names, else %(default)s)"
    parser.add_argument("--data", type=Path, default=DATA_DIR, metavar="DIR", help=text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the datasets."""
    add_folder(parser)
    parser.add_argument("--datasets", nargs="+", default=list(TASKS), choices=list(TASKS), metavar="NAME")


def parse(parser: argparse.ArgumentParser, argv: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line; without the data say so in one sentence and exit with status 2."""
    args = parser.parse_args(argv)
    if args.repeats < 1:
        parser.error("--repeats must be at least 1")
    args.datasets = [name for name in TASKS if name in args.datasets]
    check_data(parser, args.data, args.datasets)
    return args


def check_data(parser: argparse.ArgumentParser, folder: Path, names: list[str], *, fetch: bool = True) -> None:
    """Exit with status 2 and one sentence unless each of these datasets is there, or is fetched and right."""
    from benchmarks.data import DataError, NotAtHandError, paper

    missing = [name for name in names if not (folder / f"{name}.parquet").is_file()]
    lost = [name for name in missing if not (fetch and paper.ENTRIES[name]["openml"])]
    if lost:
        where = f"has no Parquet file for {', '.join(lost)}" if folder.is_dir() else "does not exist"
        parser.exit(2, f"The data folder {folder} {where}; {ANOTHER_FOLDER}.\n")
    for name in missing:
        try:
            paper.read_frame(name, folder)
        except (NotAtHandError, DataError) as error:
            parser.exit(2, f"{name} cannot be fetched: {str(error).rstrip('.')}; {ANOTHER_FOLDER}.\n")
