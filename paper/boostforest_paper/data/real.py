"""Tables of mixed columns as they come: whatever the ``manifest.json`` of a folder lists, one Parquet file each.

No list here names them: a folder joins by its manifest, a list ``datasets`` of entries with ``name``, ``task``,
``rows`` and ``columns``. Files hold the columns, text and missing values among them, and ``target``.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from boostforest_paper.data import DATASETS, Dataset, Table, register
from boostforest_paper.data.checks import DataError, NotAtHandError
from boostforest_paper.data.folder import ANOTHER_FOLDER
from boostforest_paper.types import Task

MANIFEST = "manifest.json"
KEYS = {"name", "task", "rows", "columns"}  # of an entry; other manifests have others
TITLE = "a frame as it comes"  # of all such tables


def read(name: str, task: Task, folder: Path) -> Table:
    """Return one table: a frame of numbers and text, and its target."""
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise NotAtHandError(f"{folder} has no {path.name}; {ANOTHER_FOLDER}")
    frame = pd.read_parquet(path)
    if "target" not in frame:
        raise DataError(f"{name} is refused: {path.name} has no column 'target'.")
    target = frame.pop("target")
    return Table(frame, target.to_numpy(dtype=str if task == "classification" else float))


def entries(folder: Path) -> list[dict[str, Any]]:
    """Return the tables that the manifest of a folder lists; none without a manifest, or with one of another kind."""
    path = folder / MANIFEST
    if not path.is_file():
        return []
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["datasets"]
        return [entry for entry in listed if entry.keys() >= KEYS]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not a list of datasets: {type(error).__name__} ({error}).") from error


def register_folder(folder: Path) -> dict[Task, tuple[str, ...]]:
    """Register the tables of a folder that are not registered yet; return the names by task, smallest table first."""
    found: dict[Task, tuple[str, ...]] = {"classification": (), "regression": ()}
    for entry in sorted(entries(folder), key=lambda entry: entry["rows"]):
        name, task = entry["name"], entry["task"]
        if task not in found:
            raise DataError(f"{name} is refused: its task must be classification or regression; got {task!r}.")
        if name not in DATASETS:
            _register(name, task, entry["rows"], entry["columns"], folder)
        elif DATASETS[name].title != TITLE:
            raise DataError(f"{name} is refused: there is another dataset of this name.")
        found[task] = (*found[task], name)
    return found


def _register(name: str, task: Task, n_rows: int, n_columns: int, folder: Path) -> None:
    path = folder / f"{name}.parquet"
    n_classes = 0
    if task == "classification" and path.is_file():
        n_classes = pd.read_parquet(path, columns=["target"])["target"].nunique()
    register(Dataset(name, task, n_rows, n_columns, n_classes, partial(read, name, task), title=TITLE))
