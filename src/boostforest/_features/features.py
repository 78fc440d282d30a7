"""How a table becomes what trees see: features of its columns, their scaling, what stands in for missing values.

A table is read into a float64 matrix of its columns: an array of numbers by scikit-learn's validation alone; in frames,
and in arrays with categories, a category becomes the number of its level (see ``encoder``).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from .._base.arrays import mean_and_deviation
from .._base.draws import fold_numbers
from .._base.memory import FEWER_CLASSES, SMALL, refuse_if_too_much
from .._base.typing import Entropy, Floats, Labels
from .._losses import Loss
from .encoder import MAX_DIGITS, N_FOLDS, CategoryColumn, TableEncoder, count_features, fit_encoder
from .frames import Column, Values, array_columns, as_frame, declared_categories, frame_columns, in_order, plain_matrix
from .imputer import fit_fill, rescale
from .roles import ROLES, Roles, read_roles

Categories = dict[int, CategoryColumn]

_CHECKS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}
_TABLES, _TARGETS = 3, 3  # matrices of features, and of targets, that are there while categories become features


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a training table: how many, their names, which are categories."""

    n: int
    names: Labels | None  #: None if they have none
    categories: Categories


@dataclass(frozen=True, eq=False)
class Features:
    """What was learned from the columns of the training table."""

    n_columns: int
    names: Labels | None  #: of the columns; None if they have none
    encoder: TableEncoder | None  #: None: every column is a feature as it is
    mean: Floats  #: subtracted from each feature,
    scale: Floats  #:   which is then divided by this
    deviation: Floats  #: standard deviation of each feature, whether they are scaled or not
    fill: Floats | None = None  #: what missing values are filled with, see ``imputer``; None: the mean

    @cached_property
    def columns(self) -> Columns:
        """The columns as they are read."""
        return Columns(self.n_columns, self.names, {} if self.encoder is None else self.encoder.categories)

    def transform(self, X: Any, owner: str) -> Floats:
        """Return the features of the rows of a table; ``owner`` is the estimator that messages name."""
        rows = read_rows(X, self.columns, owner)
        return rows if self.encoder is None else self.encoder.transform(rows)

    def transform_training(self, X: Floats, targets: Floats, weight: Floats | None, entropy: Entropy) -> Floats:
        """Return the features of training rows: no mean has seen the target of the row it stands in."""
        return _training_features(self.encoder, X, targets, weight, entropy)

    def standardised(self, X: Floats) -> Floats:
        """Return features in units of their standard deviations from the mean, which missing values have."""
        return np.asarray(np.nan_to_num((X - np.nanmean(X, axis=0)) / self.deviation))

    def by_column(self, values: Floats) -> Floats:
        """Add up figures of features over those that come from the same column of the table."""
        return values if self.encoder is None else self.encoder.sum_by_column(values)

    def feature_names(self, loss: Loss) -> list[str]:
        """Return the names of the features: of the columns, or of what became of them."""
        columns = [f"x{j}" for j in range(self.n_columns)] if self.names is None else [str(name) for name in self.names]
        return columns if self.encoder is None else self.encoder.feature_names(columns, loss.category_target_names)

    @property
    def nbytes(self) -> int:
        """Bytes of all that prediction needs."""
        own = self.mean.nbytes + self.scale.nbytes + (0 if self.fill is None else self.fill.nbytes)
        return own + (0 if self.encoder is None else self.encoder.nbytes)


def fit_features(
    X: Floats,
    columns: Columns,
    loss: Loss,
    y: Floats,
    weight: Floats | None,
    arguments: Mapping[str, Any],
    entropy: Entropy,
    threads: int,
    offset: Floats | None = None,
) -> tuple[Features, Floats, Roles]:
    """Decide how columns become features; return that, the features of the training rows, and their roles.

    ``X`` is the table as ``read_training`` gives it, ``y`` the encoded target, ``offset`` in scores; ``arguments`` are
    those of estimators.
    """
    if columns.categories:
        n_targets = len(loss.category_target_names)
        n_features = count_features(columns.n, columns.categories, n_targets, arguments["max_one_hot"])
        _check_memory(len(X), columns.n, n_features, n_targets)
    targets = loss.category_targets(y, offset) if columns.categories else np.empty((len(y), 0))
    options = arguments["max_one_hot"], arguments["missing_indicator"]
    of_means = weight if offset is None else loss.category_weight(weight, offset)
    encoder = fit_encoder(X, columns.categories, targets, of_means, *options)
    X = _training_features(encoder, X, targets, of_means, entropy)
    asked = any(arguments[name] is not None for name in ROLES)
    roles = read_roles(arguments, columns.n, columns.names, encoder) if asked else Roles()
    mean, deviation = mean_and_deviation(X, weight)
    centre = mean if arguments["scale"] else np.zeros_like(mean)
    scale = deviation if arguments["scale"] else np.ones_like(mean)
    fill = None
    if arguments["missing_fill"] == "linear" and np.isnan(X).any():
        fill = fit_fill(X, weight, mean, deviation, entropy, threads, roles.filled_together(X.shape[1]))
        fill = None if fill is None else rescale(fill, (mean - centre) / scale, deviation / scale)
    return Features(columns.n, columns.names, encoder, centre, scale, deviation, fill), X, roles


def _training_features(
    encoder: TableEncoder | None, X: Floats, targets: Floats, weight: Floats | None, entropy: Entropy
) -> Floats:
    if encoder is None:
        return X
    return encoder.transform_training(X, targets, weight, fold_numbers(entropy, len(X), N_FOLDS))


def _check_memory(n_rows: int, n_columns: int, n_features: int, n_targets: int) -> None:
    """Refuse a table that there is not enough memory for, after its categories have become features."""
    n_bytes = 8.0 * n_rows * (_TABLES * n_features + _TARGETS * n_targets)
    if n_bytes <= SMALL:
        return
    what = f"{n_features:,} features, which {n_columns:,} columns and their categories become"
    if n_targets > 2:
        refuse_if_too_much(n_bytes, f"{what} with {n_targets:,} classes,", [FEWER_CLASSES, "fewer text columns"])
    else:
        refuse_if_too_much(n_bytes, f"{what},", ["a smaller max_one_hot", "fewer text columns"])


# ------------------------------------------------------------------------------------------------------ reading tables


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
