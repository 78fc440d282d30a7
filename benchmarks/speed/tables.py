"""The tables that learners are timed on, in suites, and the files through which the workers get them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.worker import PARTS
from boostforest_paper import data
from boostforest_paper.data.paper import SMALL
from boostforest_paper.data.splits import fold
from boostforest_paper.types import Task

SUITES: dict[str, tuple[str, ...]] = {  # names in boostforest-paper's registry of datasets
    "small": (*SMALL["classification"], *SMALL["regression"]),
    "large": ("LR", "PTS", "YB", "MNIST-10000"),
    "synthetic": ("100000x20", "5000x1000", "1000000x20"),
    "onehot": ("onehot",),
}
# What needs no file: for the comparison of revisions, which must run anywhere.
BUILT_IN = ("diabetes", "breast_cancer", "digits", "3000x10", "500x150", "3000x10x5")


class Stored(NamedTuple):
    """A table cut into its parts and written down for the workers."""

    name: str
    task: Task
    n_classes: int  # 1 for regression
    folder: Path


def store(name: str, data_dir: Path, folder: Path) -> Stored:
    """Divide a table as all benchmarks do and write its parts into a folder.

    Classes become 0, 1, ... before that: XGBoost takes nothing else, and so all get the same.
    """
    dataset, table = data.find(name), data.load(name, data_dir)
    parts: dict[str, Any] = fold(table.X, table.y, repeat=0)._asdict()
    n_classes = 1
    if dataset.task == "classification":
        classes, parts["y_train"] = np.unique(parts["y_train"], return_inverse=True)
        n_classes = len(classes)
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        np.save(folder / f"{part}.npy", np.ascontiguousarray(parts[part]))
    return Stored(dataset.name, dataset.task, n_classes, folder)
