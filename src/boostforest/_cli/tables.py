"""From a table to features, target and weights for a fit, and to the features of a model; predictions to a file."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .._base.typing import Array, Floats
from .._features.calendar import CalendarColumn
from .._files.files import replace_file
from .features import LISTS, TIMES, Choice, known_column, one_column_hint
from .messages import Refused, cut, some
from .sources import Source
from .table import Column, Table

PARQUET_ENDINGS = (".parquet", ".pq")


# -------------------------------------------------------------------------------------------------------------- target


@dataclass
class Rows:
    """What a forest is fitted to, or judged by."""

    X: pd.DataFrame
    y: pd.Series[Any]
    weight: Floats | None


def take_rows(
    table: Table, features: Sequence[str], choice: Choice, drop_missing: bool, as_text: Collection[str] = ()
) -> Rows:
    """Return features, target and weights; a target has to be complete, unless such rows may be left out."""
    weight_names = [] if choice.weight is None else [choice.weight]
    frame = table.frame(list(dict.fromkeys([*features, choice.target, *weight_names])), as_text)
    missing = frame[choice.target].isna().to_numpy()
    if missing.any():
        if not drop_missing:
            raise Refused(
                f"the target {cut(choice.target)} is missing in {missing.sum():,} of {len(frame):,} rows of "
                f"{table.label}, first in row {int(np.argmax(missing)) + 1:,}: complete it, or leave these rows out "
                "with --drop-missing-target"
            )
        frame = frame[~missing].reset_index(drop=True)
    if len(frame) == 0:
        raise Refused(f"the target {cut(choice.target)} is missing in all rows of {table.label}")
    y = frame[choice.target]
    if table.columns[choice.target].kind in ("whole", "truth") and missing.any() and choice.target not in as_text:
        y = y.astype(bool if table.columns[choice.target].kind == "truth" else np.int64)
    weight = None if choice.weight is None else _weights(frame[choice.weight], choice.weight, table)
    return Rows(frame[list(features)], y, weight)


def _weights(column: pd.Series[Any], name: str, table: Table) -> Floats:
    if not table.columns[name].is_number:
        raise Refused(
            f"--weight {cut(name)} must hold numbers; it holds {cut(column.iloc[0])} in row 1 of {table.label}"
        )
    weight = np.asarray(column, dtype=np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        what = "nothing" if np.isnan(weight[row]) else f"{weight[row]:g}"
        raise Refused(f"--weight {cut(name)} must hold numbers of at least 0; it holds {what} in row {row + 1:,}")
    if not weight.any():
        raise Refused(f"--weight {cut(name)} must hold a number above 0; all of them are 0")
    return weight


def guess_task(column: Column, y: pd.Series[Any], label: str, wanted: str) -> tuple[str, str]:
    """Return the task and the reason for it; refuse a target that makes no sense for it."""
    target = f"the target {cut(column.name)} of {label}"
    if column.kind in ("time", "nested"):
        what = "dates or times" if column.kind == "time" else LISTS
        raise Refused(f"{target} holds {what}: turn it into numbers or classes")
    distinct = y.nunique()
    if not column.is_number and wanted == "regression":
        raise Refused(f"--task regression needs numbers; {target} holds {cut(y.iloc[0])}")
    if wanted != "auto":
        return wanted, "as you say"
    if not column.is_number and distinct > max(10, len(y) / 2):
        raise Refused(
            f"{target} holds {distinct:,} different texts in {len(y):,} rows, such as {some(y.unique()[:2])}: if they "
            "are numbers, write them as such; if they are classes, say --task classification"
        )
    if column.kind in ("text", "truth"):
        return "classification", f"it holds {distinct:,} different labels"
    values = y.to_numpy(dtype=float)
    if np.all(values == np.round(values)) and distinct <= 10:
        return "classification", f"it holds {distinct} different whole numbers"
    return "regression", f"it holds {distinct:,} different numbers"


def known_labels(column: Column, y: pd.Series[Any], classes: Any, label: str) -> Array:
    """Return a target as a model knows it: numbers of a regression, or some of its classes."""
    if classes is None or classes.dtype.kind in "biuf":
        if not column.is_number:
            raise Refused(
                f"the target {cut(column.name)} of {label} holds {cut(y.iloc[0])}; in the fit it held numbers"
            )
        values: Array = np.asarray(y, dtype=np.float64)
    else:
        values = np.asarray(y, dtype=str)
    if classes is None:
        return values
    known: Array = values.astype(classes.dtype)
    unknown = values[~np.isin(values, classes.astype(values.dtype.type))]
    if len(unknown):
        raise Refused(
            f"the target {cut(column.name)} of {label} holds {cut(unknown[0])}, which is not a class of the model: "
            f"{some(classes)}"
        )
    return known


# ---------------------------------------------------------------------------------------------------- a model's columns


def model_features(table: Table, estimator: Any) -> tuple[list[str], list[str]]:
    """Return the columns that a model was fitted on, in its order, and those of them that are read as text."""
    known = getattr(estimator, "feature_names_in_", None)
    names = list(table.columns) if known is None else [str(name) for name in known]
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise Refused(
            f"{table.label} lacks {some(absent)}, which the model was fitted on; its columns are "
            f"{some(table.columns)}{one_column_hint(table)}"
        )
    encoder = getattr(estimator, "encoder_", None)
    categories, special = ({}, {}) if encoder is None else (encoder.categories, encoder.special)
    as_text = []
    for j, name in enumerate(names):
        category, column = categories.get(j), table.columns[name]
        if isinstance(special.get(j), CalendarColumn):
            if not column.is_time and column.kind != "empty":
                raise _of_another_kind(table, column, "dates or times")
        elif j in special:
            as_text.append(name)
        elif category is not None and category.is_text:
            as_text.append(name)
            if column.is_number and not set(table.frame([name], [name])[name]) & set(category.levels):
                raise Refused(f"column {cut(name)} of {table.label} holds numbers; in the fit it held text")
        elif column.kind in ("text", "time", "nested") and not (_is_duration(column) or _takes_anything(category)):
            raise _of_another_kind(table, column, "numbers")
    return names, as_text


def _takes_anything(category: Any) -> bool:
    return category is not None and not category.levels  # nothing but missing values in the fit


def _is_duration(column: Column) -> bool:
    return column.is_time and bool(pa.types.is_duration(column.values.type))


def _of_another_kind(table: Table, column: Column, before: str) -> Refused:
    if column.trouble is not None:
        return column.trouble
    if column.kind == "time" and not column.is_time:
        return Refused(f"column {cut(column.name)} of {table.label} holds {TIMES}: write them as 2024-12-31")
    texts = table.frame([column.name], [column.name])[column.name]
    row = int(np.argmax(texts.notna()))
    return Refused(
        f"column {cut(column.name)} of {table.label} holds {cut(texts.iloc[row])} in row {row + 1:,}; in the fit "
        f"it held {before}"
    )


def id_columns(table: Table, names: list[str]) -> pd.DataFrame:
    """Return columns to be written beside predictions, as the file has them: 007 is not 7."""
    for name in names:
        known_column(table, name, "--id")
    texts = table.frame(names, names)
    for name in names:
        if table.columns[name].kind == "whole":
            numbers = table.frame([name])[name]
            if numbers.astype(str).equals(texts[name].astype(str)):
                texts[name] = numbers
    return texts


def row_names(table: Table, target: str, name: str | None) -> pd.Index[Any]:
    """Return what the rows that have a target are called: by a column, or by their numbers from 1."""
    kept = table.frame([target], [target])[target].notna().to_numpy()
    if name is None:
        return pd.Index(np.flatnonzero(kept) + 1)
    return pd.Index(id_columns(table, [name])[name][kept])


# -------------------------------------------------------------------------------------------------------------- output


def check_output(output: Path | None, source: Source, *others: Path) -> None:
    """Refuse to write where something is read from."""
    if output is None or not output.parent.is_dir():
        if output is not None:
            raise Refused(f"--output {output}: there is no folder {output.parent}")
        return
    for path in [*source.files(), *map(str, others)]:
        if os.path.exists(path) and output.exists() and os.path.samefile(path, output):
            raise Refused(f"--output {output} is the file {path} that is read: write to another one")
        is_part = output.name.lower().endswith(PARQUET_ENDINGS)
        if is_part and os.path.isdir(path) and Path(path).resolve() in output.resolve().parents:
            raise Refused(f"--output {output} lies in the folder {path} that is read: write to another one")


def check_table_ending(output: Path) -> None:
    """Refuse a file that predictions cannot be written to."""
    if not output.name.lower().endswith((".csv", *PARQUET_ENDINGS)):
        raise Refused(f"--output {output} must end in one of {', '.join(('.csv', *PARQUET_ENDINGS))}")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all."""
    content = io.BytesIO()
    if path.name.lower().endswith(PARQUET_ENDINGS):
        frame.to_parquet(content, index=False)
    else:
        frame.to_csv(content, index=False)
    try:
        replace_file(str(path), [content.getvalue()])
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror or error}") from error
