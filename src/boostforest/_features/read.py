"""What ``fit`` and ``predict`` take: any table, read into a float64 matrix of its columns and checked.

An array of numbers goes through scikit-learn's validation alone. In frames, and in arrays with categories, a category
becomes the number of its level; see ``encoder``.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from .._base.typing import Floats, Labels
from .encoder import MAX_DIGITS, CategoryColumn
from .frames import Column, Values, array_columns, as_frame, declared_categories, frame_columns, in_order, plain_matrix

Categories = dict[int, CategoryColumn]

_CHECKS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a training table: how many, their names, which are categories."""

    n: int
    names: Labels | None  #: None if they have none
    categories: Categories


class _Owner(BaseEstimator):
    """Stands for an estimator in scikit-learn's validation, which notes or compares the columns of a table on it."""

    n_features_in_: int
    feature_names_in_: Labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@cache
def _owner_class(name: str) -> type[_Owner]:
    return type(name, (_Owner,), {})  # messages name the class


def _owner(name: str, known: Columns | None) -> _Owner:
    owner = _owner_class(name)()
    if known is not None:
        owner.n_features_in_ = known.n
        if known.names is not None:
            owner.feature_names_in_ = known.names
    return owner


def read_training(
    X: Any, y: Any, *, numeric: bool, categorical: Any, owner: str, known: Columns | None
) -> tuple[Floats, Any, Columns]:
    """Return table and target of a fit, and its columns, which are ``known`` if it goes on with an earlier fit.

    ``numeric``: the target holds numbers; ``categorical``: what the user says are categories.
    """
    noted = _owner(owner, known)
    named = not (categorical is None or isinstance(categorical, str))
    table = _open(X, noted, has_categories=named if known is None else bool(known.categories), first=known is None)
    categories: Categories = {} if known is None else known.categories
    if table is None:
        X, y = _validated(noted, X, y, reset=known is None, y_numeric=numeric)
    else:
        if isinstance(table, np.ndarray):
            matrix = table
        elif known is None:
            matrix, categories = _read_new(table, categorical, getattr(noted, "feature_names_in_", None))
        else:
            matrix = _read_known(table, categories)
        X, y = check_X_y(matrix, y, y_numeric=numeric, estimator=noted, **_CHECKS)
    return X, y, known or Columns(noted.n_features_in_, getattr(noted, "feature_names_in_", None), categories)


def read_rows(X: Any, known: Columns, owner: str) -> Floats:
    """Return the rows to predict as a matrix of the columns of the fit."""
    noted = _owner(owner, known)
    table = _open(X, noted, has_categories=bool(known.categories), first=False, more=True)
    checked: Floats
    if table is None:
        checked = _validated(noted, X, reset=False)
    else:
        matrix = table if isinstance(table, np.ndarray) else _read_known(table, known.categories)
        checked = check_array(matrix, estimator=noted, input_name="X", **_CHECKS)
    return checked


def with_columns_of_fit(estimator: Any, X: Any) -> Any:
    """Return a frame with the columns of the fit alone, found by name; any other table as it is."""
    frame = as_frame(X) if hasattr(estimator, "feature_names_in_") else None
    return X if frame is None else in_order(frame, estimator.feature_names_in_, more=True).to_native()


def _validated(noted: _Owner, X: Any, *y: Any, **options: Any) -> Any:
    """Let scikit-learn check an array; where it finds text, say in which column."""
    try:
        return validate_data(noted, X, *y, **_CHECKS, **options)
    except ValueError as error:
        text = _text_in_array(X)
        if text is None:
            raise
        raise text from error


def _open(
    X: Any, noted: _Owner, has_categories: bool, first: bool, more: bool = False
) -> list[Column] | npt.NDArray[Any] | None:
    """Return the columns of a table, a frame of plain numbers as a matrix, and None for an array without categories.

    ``more``: a frame may have other columns beside those of the fit.
    """
    frame = as_frame(X)
    if frame is None:
        if not has_categories:
            return None
        array = np.array(X, dtype=object) if isinstance(X, list | tuple) else X  # else numbers become text beside text
        array = check_array(array, dtype=None, ensure_all_finite=False, estimator=noted, input_name="X")
        validate_data(noted, array, skip_check_array=True, reset=first)
        return array_columns(array)
    if not first and hasattr(noted, "feature_names_in_"):
        frame = in_order(frame, list(noted.feature_names_in_), more)
    validate_data(noted, frame.to_native(), skip_check_array=True, reset=first)
    matrix = None if has_categories else plain_matrix(frame)
    return frame_columns(frame) if matrix is None else matrix


def _read_new(columns: list[Column], categorical: Any, names: Labels | None) -> tuple[Floats, Categories]:
    """Return the training table as a matrix, and the categories in it."""
    declared = declared_categories(categorical, len(columns), None if names is None else list(names))
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


def _read_known(columns: list[Column], categories: Categories) -> Floats:
    """Return a table as a matrix, given the categories of the fit."""
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
