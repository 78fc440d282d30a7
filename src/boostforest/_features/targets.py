"""Several targets: reading them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.typing import Array, Floats
from .._losses import ClassTargets, Several
from .frames import as_frame


def read_several(y: Any) -> Array | None:
    """Return a target of several columns, rows × targets; None: it has one, or is not an array."""
    if issparse(y):
        raise ValueError("y must be a dense array; got a sparse matrix: use y.toarray().")
    frame = as_frame(y) if hasattr(y, "columns") or hasattr(y, "column_names") else None
    if frame is not None:
        columns = [frame[name].to_numpy() for name in frame.columns]
        return joined(columns) if len(columns) != 1 else None
    if y is None or isinstance(y, str | bytes | dict):
        return None
    try:
        values = np.asarray(y)
    except ValueError:
        raise ValueError("y must have the same number of targets in every row.") from None
    if values.ndim < 2 or values.shape[1:] == (1,):
        return None
    if values.ndim > 2:
        raise ValueError(f"y must have shape (n_samples,) or (n_samples, n_targets); got shape {values.shape}.")
    return joined(list(values.T))


def joined(columns: Sequence[Array]) -> Array:
    """Return columns side by side; those of different kinds as objects."""
    if not columns:
        raise ValueError("y must have at least one target; got a table without columns.")
    same = all(column.dtype.kind in "biuf" for column in columns) or len({c.dtype.kind for c in columns}) == 1
    return np.column_stack(columns if same else [column.astype(object) for column in columns])


def check_numbers(y: Array) -> Floats:
    """Return several targets of a regression."""
    for k, column in enumerate(y.T):
        try:
            values = column.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y must hold numbers; target {k} of {y.shape[1]} has other values.") from None
        if not np.isfinite(values).all():
            raise ValueError(f"y must be finite; target {k} of {y.shape[1]} contains missing values or infinity.")
    return np.ascontiguousarray(y, dtype=np.float64)


def read_known(loss: Several[Any], y: Any, n_rows: int) -> Array:
    """Return several targets that a model knows, for rows to judge it by."""
    values, n = read_several(y), len(loss.parts)
    if values is None or values.shape != (n_rows, n):
        got = np.shape(y) if values is None else values.shape
        raise ValueError(f"y must have shape {(n_rows, n)}, a column for each target; got shape {got}.")
    if not isinstance(loss, ClassTargets):
        return check_numbers(values)
    for k, part in enumerate(loss.parts):
        unknown = values[~np.isin(values[:, k], part.classes), k]
        if len(unknown):
            raise ValueError(f"y has the class {unknown.tolist()[0]!r} in target {k}, which the fit has not seen.")
    return values
