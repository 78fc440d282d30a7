"""The paper's 37 datasets: from Parquet files, else from OpenML, checked either way; ``paper.csv`` lists them."""

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import numpy.typing as npt
import pandas as pd

from boostforest_paper.data import Dataset, Table, register
from boostforest_paper.data.checks import NotAtHandError, as_numbers, check_file, check_fingerprint
from boostforest_paper.data.folder import ANOTHER_FOLDER
from boostforest_paper.types import Floats, Task

# The small datasets of the first experiment (table Ex1), by the paper's abbreviations.
SMALL: dict[Task, tuple[str, ...]] = {
    "classification": (
        "SON", "SEE", "QB", "VC2", "VC3", "MV1", "BCD", "ILP", "BD", "PID", "VS", "QSAR", "DRD", "BA", "WDG",
    ),
    "regression": (
        "CS", "CF", "AMPG", "REV", "NO", "PM", "BH", "CPS", "CCS", "ASN", "ADS", "WQW", "AQ", "CCPP", "EGSS",
    ),
}  # fmt: skip
LIST = Path(__file__).with_name("paper.csv")
# Rows at the end that are the test part of the original publications.
TEST_ROWS = {"MNIST": 10_000, "HIGGS": 500_000, "HIGGS-subset": 4_999}
NOTES = {
    "SUSY-subset": "10,000 of the 5,000,000 rows",
    "HIGGS-subset": "14,999 of the 11,000,000 rows",
    "RLCT-subset": "the first 682 of the 53,500 rows",
}
Entry = dict[str, str]  # a line of the list


class OpenML:
    """Tables from OpenML through scikit-learn, which keeps what it has fetched."""

    def __init__(self) -> None:
        self.fetch: Callable[..., Any] | None = None  # another way to fetch; the tests have no network
        self._reason = ""  # why it cannot be reached: then nobody waits for it again

    def read(self, name: str, data_id: str) -> pd.DataFrame:
        """Return features and target as one frame."""
        if self._reason:
            raise NotAtHandError(self._reason)
        from sklearn.datasets import fetch_openml

        try:
            bunch = (self.fetch or fetch_openml)(data_id=int(data_id), as_frame=True, parser="auto")
        except (URLError, TimeoutError, ConnectionError) as error:
            self._reason = f"OpenML cannot be reached ({error}); {ANOTHER_FOLDER}"
            raise NotAtHandError(self._reason) from error
        frame = bunch.data.apply(as_numbers)
        target = bunch.target
        return frame.assign(target=target.astype(str) if _task(name) == "classification" else as_numbers(target))


OPENML = OpenML()


def _task(name: str) -> Task:
    return "classification" if ENTRIES[name]["task"] == "classification" else "regression"


def read_frame(name: str, folder: Path) -> pd.DataFrame:
    """Return the raw table of one dataset, checked."""
    entry = ENTRIES[name]
    path = folder / entry["file"]
    if path.is_file():
        if entry["sha256"]:
            check_file(name, path, entry["sha256"])
        return pd.read_parquet(path)
    if not entry["openml"]:
        raise NotAtHandError(
            f"{folder} has no {path.name}, and OpenML has no such table that is known here; {ANOTHER_FOLDER}"
        )
    frame = OPENML.read(name, entry["openml"])
    if len(frame) > int(entry["rows"]):  # autoMpg: the paper uses the rows without missing values
        frame = frame.dropna().reset_index(drop=True)
    check_fingerprint(name, f"OpenML (id {entry['openml']})", frame, entry["fingerprint"])
    return frame


def read(name: str, folder: Path) -> Table:
    """Return one dataset as numbers."""
    frame = read_frame(name, folder)
    is_test = None
    if name in TEST_ROWS:
        is_test = np.arange(len(frame)) >= len(frame) - TEST_ROWS[name]
    X, y = as_arrays(frame, _task(name))
    return Table(X, y, is_test)


def _read_first(name: str, n_rows: int, folder: Path) -> Table:
    table = read(name, folder)
    return Table(table.X[:n_rows], table.y[:n_rows])


def as_arrays(frame: pd.DataFrame, task: Task) -> tuple[Floats, npt.NDArray]:
    """Turn a raw table with the column ``target`` into numbers, labels of classes into strings.

    String columns are one-hot encoded with every level, after the numeric ones; missing values are replaced by the mean
    of their column. That mean is over all rows: it concerns four cells of ILP and nothing else, too few to tell the
    test part from the training part.
    """
    frame = frame.drop(columns="split", errors="ignore")
    target = frame.pop("target")
    strings = list(frame.select_dtypes(exclude="number").columns)
    X = pd.get_dummies(frame, columns=strings, dtype=float).astype(float)
    y = target.to_numpy(dtype=str if task == "classification" else float)
    return X.fillna(X.mean()).to_numpy(), y


def _read_list() -> dict[str, Entry]:
    with LIST.open(encoding="utf-8", newline="") as file:
        return {entry["name"]: entry for entry in csv.DictReader(file)}


ENTRIES = _read_list()
for _name, _entry in ENTRIES.items():
    _size = (int(_entry[column]) for column in ("rows", "features", "classes"))
    _subset = f"{_name}-subset"
    register(
        Dataset(
            _name,
            _task(_name),
            *_size,
            partial(read, _name),
            _entry["title"],
            NOTES.get(_name, ""),
            _subset if _subset in ENTRIES else "",
        )
    )
# All 70,000 rows would take seven times as long in the benchmarks of speed, and say the same.
register(
    Dataset(
        "MNIST-10000", "classification", 10_000, 784, 10, partial(_read_first, "MNIST", 10_000),
        ENTRIES["MNIST"]["title"], "the first 10,000 rows",
    )
)  # fmt: skip
