"""Tables on disk: CSV (compressed too) and Parquet in, with the complaints of a careful reader; predictions out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._files.files import replace_file

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst", ".csv.xz", ".csv.bz2")
PARQUET_ENDINGS = (".parquet", ".pq")
MOST_TEXT = 0.5  # a text column with more numbers than this share is a column of numbers with something in it


class Refused(Exception):
    """What the user has to change, in one sentence."""


def read_table(path: Path) -> pd.DataFrame:
    """Read a table by the ending of its name."""
    name = path.name.lower()
    try:
        if name.endswith(PARQUET_ENDINGS):
            return _with_names(pd.read_parquet(path), path)
        if name.endswith(CSV_ENDINGS):
            separator = "\t" if ".tsv" in name else ","
            return _with_names(pd.read_csv(path, sep=separator, low_memory=False), path)
    except ImportError as error:
        raise Refused(f'{path} needs pyarrow to be read: pip install "boostforest[cli]"') from error
    except (OSError, ValueError) as error:  # pandas' and pyarrow's own errors are ValueErrors
        raise Refused(f"{path} cannot be read: {_one_line(error)}") from error
    raise Refused(f"{path} must end in one of {', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}")


def _with_names(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()  # Parquet files of pandas may keep columns there
    if len(frame) == 0:
        raise Refused(f"{path} has no rows")
    frame.columns = [str(name) for name in frame.columns]
    return frame


def _one_line(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(reason.split())


def take_target(
    frame: pd.DataFrame, target: str, path: Path, drop_missing: bool
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and the target, which has to be complete."""
    if target not in frame.columns:
        raise Refused(f"{path} has no column {target!r}; its columns are {_some(list(frame.columns))}")
    if frame.shape[1] == 1:
        raise Refused(f"{path} has no column but the target {target!r}")
    missing = frame[target].isna().to_numpy()
    if missing.any():
        if not drop_missing:
            raise Refused(
                f"the target {target!r} is missing in {missing.sum()} of {len(frame)} rows of {path}, first in row "
                f"{int(np.argmax(missing)) + 1}: complete it, or leave these rows out with --drop-missing-target"
            )
        frame = frame[~missing].reset_index(drop=True)
    if len(frame) == 0:
        raise Refused(f"the target {target!r} is missing in all rows of {path}")
    return frame.drop(columns=target), frame[target]


def check_columns(frame: pd.DataFrame, path: Path, categories: list[str]) -> None:
    """Refuse columns of numbers with some text in them, which would pass for categories of many levels."""
    for name in categories:
        if name not in frame.columns:
            raise Refused(f"--categorical: {path} has no column {name!r}; its columns are {_some(list(frame.columns))}")
    for name in frame.columns:
        column = frame[name]
        if name in categories or not pd.api.types.is_string_dtype(column.dtype):
            continue
        given = column.notna().to_numpy()
        numbers = pd.to_numeric(column, errors="coerce").notna().to_numpy()
        if given.any() and MOST_TEXT * given.sum() < numbers.sum() < given.sum():
            row = int(np.argmax(given & ~numbers))
            raise Refused(
                f"column {name!r} of {path} holds numbers and text, such as {column.iloc[row]!r} in row {row + 1}: "
                f"correct it, or name it with --categorical {name}"
            )


def guess_task(target: pd.Series[Any]) -> tuple[str, str]:
    """Return the task and the reason for it."""
    distinct = target.nunique()
    if not pd.api.types.is_numeric_dtype(target.dtype) or pd.api.types.is_bool_dtype(target.dtype):
        return "classification", f"it holds {distinct} different labels"
    values = target.to_numpy(dtype=float)
    if np.all(values == np.round(values)) and distinct <= 10:
        return "classification", f"it holds {distinct} different whole numbers"
    return "regression", f"it holds {distinct} different numbers"


def select_features(frame: pd.DataFrame, names: list[str] | None, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns that a model was fitted on, and the names of those that it does not know."""
    if names is None:
        return frame, []
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise Refused(f"{path} lacks {_some(absent)}, which the model was fitted on")
    return frame[names], [name for name in frame.columns if name not in names]


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all."""
    name = path.name.lower()
    if not name.endswith((".csv", *PARQUET_ENDINGS)):
        raise Refused(f"--output {path} must end in one of {', '.join(('.csv', *PARQUET_ENDINGS))}")
    content = io.BytesIO()
    if name.endswith(PARQUET_ENDINGS):
        frame.to_parquet(content, index=False)
    else:
        frame.to_csv(content, index=False)
    try:
        replace_file(str(path), [content.getvalue()])
    except OSError as error:
        raise Refused(f"{path} cannot be written: {_one_line(error)}") from error


def _some(names: list[str], most: int = 8) -> str:
    """Return some names, quoted, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
