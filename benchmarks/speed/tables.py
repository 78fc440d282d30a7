"""The tables that learners are timed on, in suites, and the files through which the workers get them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from benchmarks import datasets
from benchmarks.datasets import Floats, Task
from benchmarks.speed import synthetic
from benchmarks.speed.worker import PARTS

Data = tuple[Floats, npt.NDArray]


class Table(NamedTuple):
    """A table before it is read or made."""

    name: str
    task: Task
    make: Callable[..., Data]  # called with the data folder if there is a file to read, else with nothing
    has_file: bool = False

    def load(self, data_dir: Path) -> Data:
        """Read or make all rows."""
        return self.make(data_dir) if self.has_file else self.make()


class Size(NamedTuple):
    """How large a training part is."""

    n: int
    d: int
    n_classes: int  # 1 for regression

    def reaches(self, other: Size) -> bool:
        """Whether a learner has at least as much to do here as there, in every respect."""
        return all(mine >= theirs for mine, theirs in zip(self, other, strict=True))


class Stored(NamedTuple):
    """A table cut into its parts and written down for the workers."""

    name: str
    task: Task
    size: Size
    folder: Path


def _files(tasks: dict[str, Task]) -> list[Table]:
    return [Table(name, task, partial(datasets.load, name), has_file=True) for name, task in tasks.items()]


def _regression(n: int, d: int) -> Table:
    return Table(f"{n}x{d}", "regression", partial(synthetic.regression, n, d))


SUITES: dict[str, list[Table]] = {
    "small": _files(datasets.TASKS),
    "large": _files(datasets.LARGE),
    "synthetic": [_regression(100_000, 20), _regression(5_000, 1_000), _regression(1_000_000, 20)],
    "onehot": [Table("onehot", "classification", partial(synthetic.one_hot, 50_000))],
}
# What needs no file: for the comparison of revisions, which must run anywhere.
BUILT_IN = [
    Table("diabetes", "regression", partial(load_diabetes, return_X_y=True)),
    Table("cancer", "classification", partial(load_breast_cancer, return_X_y=True)),
    Table("digits", "classification", partial(load_digits, return_X_y=True)),
    _regression(3_000, 10),
    _regression(500, 150),
    Table("3000x10x5", "classification", partial(synthetic.classification, 3_000, 10, 5)),
]


def names() -> list[str]:
    """Names of the tables of all suites."""
    return [table.name for suite in SUITES.values() for table in suite]


def store(table: Table, data_dir: Path, folder: Path) -> Stored:
    """Divide a table as all benchmarks do and write its parts into a folder.

    Classes become 0, 1, ... before that: XGBoost takes nothing else, and so all get the same.
    """
    X, y = table.load(data_dir)
    parts: dict[str, Any] = datasets.fold(X, y, repeat=0)._asdict()
    n_classes = 1
    if table.task == "classification":
        classes, parts["y_train"] = np.unique(parts["y_train"], return_inverse=True)
        n_classes = len(classes)
    n, d = parts["X_train"].shape
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        np.save(folder / f"{part}.npy", np.ascontiguousarray(parts[part]))
    return Stored(table.name, table.task, Size(n, d, n_classes), folder)
