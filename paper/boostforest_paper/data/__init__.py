"""The datasets that experiments name, in one registry.

To add one, register a `Dataset`: its name, task and size, and a function that reads it. ::

    from boostforest_paper.data import Dataset, Table, register

    register(Dataset("moons", "classification", 500, 2, 2, lambda folder: Table(*make_moons(500, random_state=0))))

A file with these lines is enough: ``boostforest-paper run EXPERIMENT --plugin FILE.py --datasets moons``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from boostforest_paper.data.checks import DataError, NotAtHandError
from boostforest_paper.names import Registry
from boostforest_paper.types import Floats, Task

__all__ = [
    "DATASETS",
    "DataError",
    "Dataset",
    "NotAtHandError",
    "Table",
    "find",
    "load",
    "prepare",
    "register",
    "require",
]


class Table(NamedTuple):
    """All rows of a dataset."""

    X: Floats | pd.DataFrame  # a frame of numbers and text where learners get the table as it comes
    y: npt.NDArray  # class names or numbers
    is_test: npt.NDArray[np.bool_] | None = None  # where the test part is given with the data, not drawn


@dataclass(frozen=True)
class Dataset:
    """A dataset before it is read. Its size is checked when it is."""

    name: str
    task: Task
    n_rows: int
    n_features: int  # as numbers, one-hot columns counted; columns of a frame
    n_classes: int  # 0 for regression
    read: Callable[[Path], Table]  # gets the data folder; raises NotAtHandError where the data cannot be had
    title: str = ""
    note: str = ""  # what a reader of the figures has to know: a part of the original, synthetic data
    subset: str = ""  # name of a dataset that may stand in where this one is not at hand


DATASETS: Registry[Dataset] = Registry("dataset")
register, find = DATASETS.register, DATASETS.find
SMALL_BYTES = 20_000_000


class _Cache:
    """Tables that were read: all small ones and the last large one, as a run goes round the datasets."""

    def __init__(self) -> None:
        self._small: dict[tuple[str, Path], Table] = {}
        self._large: dict[tuple[str, Path], Table] = {}

    def get(self, name: str, folder: Path) -> Table:
        key = (name, folder)
        table = self._small.get(key) or self._large.get(key)
        if table is None:
            self._large.clear()
            table = _read(name, folder)
            (self._small if _n_bytes(table) <= SMALL_BYTES else self._large)[key] = table
        return table

    def clear(self) -> None:
        self._small.clear()
        self._large.clear()


def _n_bytes(table: Table) -> int:
    return int(table.X.memory_usage(deep=True).sum()) if isinstance(table.X, pd.DataFrame) else table.X.nbytes


_CACHE = _Cache()


def load(name: str, folder: Path) -> Table:
    """Read a dataset and check its size; what was read lately is kept."""
    return _CACHE.get(name, folder)


def _read(name: str, folder: Path) -> Table:
    dataset = find(name)
    table = dataset.read(folder)
    n_classes = len(np.unique(table.y)) if dataset.task == "classification" else 0
    found, expected = (*table.X.shape, n_classes), (dataset.n_rows, dataset.n_features, dataset.n_classes)
    if found != expected:
        sizes = "{:,} rows, {:,} features and {} classes"
        raise DataError(f"{name} is refused: it has {sizes.format(*found)}, not {sizes.format(*expected)}.")
    return table


class Prepared(NamedTuple):
    """What became of the datasets that a run wants."""

    usable: dict[str, str]  # name wanted -> name of what is there, itself or its subset
    left_out: dict[str, str]  # name wanted -> why


def prepare(wanted: Iterable[str], folder: Path) -> Prepared:
    """Read every dataset once, so that wrong data are refused and missing ones are said before the first fit."""
    prepared = Prepared({}, {})
    for name in dict.fromkeys(wanted):
        reason = _reason_missing(name, folder)
        subset = find(name).subset
        if reason is None:
            prepared.usable[name] = name
        elif subset and _reason_missing(subset, folder) is None:
            prepared.usable[name] = subset
        else:
            prepared.left_out[name] = reason
    _CACHE.clear()  # the worker processes read what they need
    return prepared


def require(wanted: Iterable[str], folder: Path) -> None:
    """Raise DataError unless every one of these datasets is there, or is fetched and right."""
    for name in wanted:
        reason = _reason_missing(name, folder)
        if reason is not None:
            raise DataError(f"{name} is not at hand: {reason}.")


def _reason_missing(name: str, folder: Path) -> str | None:
    try:
        load(name, folder)
    except NotAtHandError as error:
        return str(error)
    return None


# They fill the registry.
from boostforest_paper.data import bundled, hard, knocked_out, paper, real, synthetic  # noqa: E402, F401
