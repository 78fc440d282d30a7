"""What ``fit`` and ``predict`` take: any table, read into a float64 matrix of its columns and checked.

An array of numbers goes through scikit-learn's validation alone. In frames, and in arrays with categories, a category
becomes the number of its level; see ``_encoder``.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from ._encoder import MAX_DIGITS, CategoryColumn
from ._table import (
    Column,
    Values,
    array_columns,
    as_frame,
    declared_categories,
    frame_columns,
    in_order,
    plain_matrix,
)

if TYPE_CHECKING:
    from ._base import BoostBase

Floats = npt.NDArray[np.float64]
Categories = dict[int, CategoryColumn]

_CHECKS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}


def read_training(estimator: BoostBase, X: Any, y: Any, first: bool) -> tuple[Floats, Any, Categories]:
    """Return table and target of a fit, and the categories that it has found unless it goes on with an earlier one."""
    y_numeric = estimator._task == "regression"
    table = _open(estimator, X, first)
    categories: Categories = {}
    if table is None:
        X, y = _validated(estimator, X, y, reset=first, y_numeric=y_numeric)
        return X, y, categories
    if isinstance(table, np.ndarray):
        matrix = table
    elif first:
        matrix, categories = _read_new(table, estimator)
    else:
        matrix = _read_known(table, estimator)
    X, y = check_X_y(matrix, y, y_numeric=y_numeric, estimator=estimator, **_CHECKS)
    return X, y, categories


def read_rows(estimator: BoostBase, X: Any) -> Floats:
    """Return the rows to predict as a matrix of the columns of the fit."""
    table = _open(estimator, X, first=False, more=True)
    checked: Floats
    if table is None:
        checked = _validated(estimator, X, reset=False)
    else:
        matrix = table if isinstance(table, np.ndarray) else _read_known(table, estimator)
        checked = check_array(matrix, estimator=estimator, input_name="X", **_CHECKS)
    return checked


def with_columns_of_fit(estimator: Any, X: Any) -> Any:
    """Return a frame with the columns of the fit alone, found by name; any other table as it is."""
    frame = as_frame(X) if hasattr(estimator, "feature_names_in_") else None
    return X if frame is None else in_order(frame, estimator.feature_names_in_, more=True).to_native()


def _validated(estimator: BoostBase, X: Any, *y: Any, **options: Any) -> Any:
    """Let scikit-learn check an array; where it finds text, say in which column."""
    try:
        return validate_data(estimator, X, *y, **_CHECKS, **options)
    except ValueError as error:
        text = _text_in_array(X)
        if text is None:
            raise
        raise text from error


def _open(estimator: BoostBase, X: Any, first: bool, more: bool = False) -> list[Column] | npt.NDArray[Any] | None:
    """Return the columns of a table, a frame of plain numbers as a matrix, and None for an array without categories.

    ``more``: a frame may have other columns beside those of the fit.
    """
    frame = as_frame(X)
    if first:
        has_categories = not (estimator.categorical_features is None or isinstance(estimator.categorical_features, str))
    else:
        has_categories = estimator.encoder_ is not None and bool(estimator.encoder_.categories)
    if frame is None:
        if not has_categories:
            return None
        array = np.array(X, dtype=object) if isinstance(X, list | tuple) else X  # else numbers become text beside text
        array = check_array(array, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
        validate_data(estimator, array, skip_check_array=True, reset=first)
        return array_columns(array)
    if not first and hasattr(estimator, "feature_names_in_"):
        frame = in_order(frame, estimator.feature_names_in_, more)
    validate_data(estimator, frame.to_native(), skip_check_array=True, reset=first)
    matrix = None if has_categories else plain_matrix(frame)
    return frame_columns(frame) if matrix is None else matrix


def _read_new(columns: list[Column], estimator: BoostBase) -> tuple[Floats, Categories]:
    """Return the training table as a matrix, and the categories in it."""
    names = getattr(estimator, "feature_names_in_", None)
    declared = declared_categories(estimator.categorical_features, len(columns), names)
    categories: Categories = {}
    found = []
    for j, column in enumerate(columns):
        is_category = column.has_category_type if declared is None else bool(declared[j])
        content = column.read(as_values=is_category)
        if isinstance(content, list):
            kind = column.kind_of(content)
            if kind == "text" and not is_category:
                if declared is not None:
                    raise _text_error(column, content)
                is_category = True
            if is_category:
                categories[j] = _new_category(column, content)
                content = categories[j].encode(content)
            else:
                content = column.to_numbers(content)
        found.append(content)
    return np.column_stack(found), categories


def _new_category(column: Column, values: Values) -> CategoryColumn:
    """Return the category that a column of the training table is, one-hot so far."""
    distinct = set(values)
    missing = None in distinct
    levels = {_level(value) for value in distinct - {None}}
    if math.inf in levels or -math.inf in levels:
        column.to_numbers(values)  # raises
    if any(isinstance(level, int) and abs(level) >= 10**MAX_DIGITS for level in levels):
        raise ValueError(
            f"Column {column.label} of X has an integer of more than {MAX_DIGITS} digits as a category: make it text."
        )
    return CategoryColumn(tuple(sorted(levels)), missing)


def _level(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, numbers.Integral | np.bool_) else float(value)


def _read_known(columns: list[Column], estimator: BoostBase) -> Floats:
    """Return a table as a matrix, given the categories of the fit."""
    categories = {} if estimator.encoder_ is None else estimator.encoder_.categories
    found = []
    for j, column in enumerate(columns):
        category = categories.get(j)
        content = column.read(as_values=category is not None)
        if isinstance(content, list):
            kind = column.kind_of(content)
            before = "text" if category is not None and category.is_text else "numbers"
            is_new = category is not None and not category.levels  # nothing but missing values in the fit
            if kind not in (before, "nothing") and not is_new:
                raise ValueError(
                    f"Column {column.label} of X held {before} in the fit and holds {kind} now, such as "
                    f"{_example(content)!r}."
                )
            content = column.to_numbers(content) if category is None else category.encode(content)
        found.append(content)
    return np.column_stack(found)


def _text_in_array(X: Any) -> ValueError | None:
    """Return what to say about text among the numbers of an array, None if there is none."""
    array = np.array(X, dtype=object)
    columns = array_columns(array) if array.ndim == 2 else []
    for column in columns:
        content = column.read(as_values=False)
        if isinstance(content, list) and any(isinstance(value, str) for value in content):
            return _text_error(column, content)
    return None


def _text_error(column: Column, values: Values) -> ValueError:
    return ValueError(
        f"Column {column.label} of X holds text, such as {_example(values)!r}: name it in categorical_features, or "
        "turn it into numbers."
    )


def _example(values: Values) -> Any:
    """Return the first value there is, text before anything else."""
    known = [value for value in values if value is not None]
    return next((value for value in known if isinstance(value, str)), known[0])
