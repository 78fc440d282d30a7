"""How a table becomes what trees see: features of its columns, their scaling, what stands in for missing values.

A table is read into a float64 matrix of its columns: an array of numbers by scikit-learn's validation alone; in frames,
and in arrays with categories, a category becomes the number of its level, a date its seconds (see ``encoder``).
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from .._base.arrays import mean_and_deviation
from .._base.draws import fold_numbers
from .._base.memory import FEWER_CLASSES, SMALL, refuse_if_too_much
from .._base.typing import Array, Entropy, Floats, Labels
from .._base.validation import warn
from .._losses import Loss
from .calendar import CalendarColumn, fit_calendar
from .encoder import MAX_DIGITS, N_FOLDS, CategoryColumn, SpecialColumn, TableEncoder, count_features, fit_encoder
from .frames import (
    Column,
    Values,
    array_columns,
    as_frame,
    declared_categories,
    frame_columns,
    in_order,
    kind_of_text,
    plain_matrix,
    row_numbers,
)
from .imputer import fit_fill, rescale
from .roles import ROLES, Roles, read_roles
from .sparse import MAX_DENSE, SparseColumns, check_values, fit_sparse
from .text import LeftOutColumn, TextColumn

Categories = dict[int, CategoryColumn]
Special = dict[int, SpecialColumn]

_CHECKS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}
_LEFT_OUT = {
    "free text": "nearly all of it different, and {} left out: text='hash' takes the words, text='category' each text "
    "as a category.",
    "identifiers": "one for each row, and {} left out: text='category' takes them as categories.",
}
_TABLES, _TARGETS = 3, 3  # matrices of features, and of targets, that are there while categories become features


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a training table: how many, their names, which are not plain numbers."""

    n: int
    names: Labels | None  #: None if they have none
    categories: Categories
    special: Special = field(default_factory=dict)  #: dates, text, columns that are left out

    @property
    def are_numbers(self) -> bool:
        """Whether all of them are plain numbers."""
        return not self.categories and not self.special


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
    sparse: SparseColumns | None = None  #: what became of the columns of a sparse matrix; None: it was none, or narrow

    @cached_property
    def columns(self) -> Columns:
        """The columns as they are read."""
        encoder = self.encoder
        kinds: Any = ({}, {}) if encoder is None else (encoder.categories, encoder.special)
        return Columns(self.n_columns, self.names, *kinds)

    def check_plain(self, caller: str) -> None:
        """Refuse columns that other programs cannot read."""
        if self.sparse is not None:
            raise ValueError(f"{caller} takes tables of few columns, and this one was fitted on a wide sparse matrix.")
        for j, column in self.columns.special.items():
            name = j if self.names is None else repr(str(self.names[j]))
            what = "dates or times" if isinstance(column, CalendarColumn) else "free text or identifiers"
            raise ValueError(f"{caller} takes columns of numbers and categories, and column {name} has {what}.")

    @property
    def n_read(self) -> int:
        """Number of columns of a table as it is read: hashed words stand behind the others."""
        return self.n_columns + sum(c.n_features for c in self.columns.special.values() if isinstance(c, TextColumn))

    def transform(self, X: Any, owner: str) -> Floats:
        """Return the features of the rows of a table; ``owner`` is the estimator that messages name."""
        if self.sparse is not None:
            return self.sparse.features(_read_sparse(X, self.columns, owner))
        rows = read_rows(X, self.columns, owner)
        return rows if self.encoder is None else self.encoder.transform(rows)

    def transform_training(self, X: Any, targets: Floats, weight: Floats | None, entropy: Entropy) -> Floats:
        """Return the features of training rows: no mean has seen the target of the row it stands in."""
        if self.sparse is not None:
            return fit_sparse(X, targets, weight, fold_numbers(entropy, X.shape[0], N_FOLDS), self.sparse.chosen)[1]
        return _training_features(self.encoder, X, targets, weight, entropy)

    def standardised(self, X: Floats) -> Floats:
        """Return features in units of their standard deviations from the mean, which missing values have."""
        return np.asarray(np.nan_to_num((X - np.nanmean(X, axis=0)) / self.deviation))

    def by_column(self, values: Floats) -> Floats:
        """Add up figures of features over those that come from the same column of the table."""
        if self.sparse is not None:
            return self.sparse.sum_by_column(values)
        return values if self.encoder is None else self.encoder.sum_by_column(values)

    def feature_names(self, loss: Loss) -> list[str]:
        """Return the names of the features: of the columns, or of what became of them."""
        columns = [f"x{j}" for j in range(self.n_columns)] if self.names is None else [str(name) for name in self.names]
        if self.sparse is not None:
            return self.sparse.feature_names(columns, loss.category_target_names)
        return columns if self.encoder is None else self.encoder.feature_names(columns, loss.category_target_names)

    @property
    def nbytes(self) -> int:
        """Bytes of all that prediction needs."""
        own = self.mean.nbytes + self.scale.nbytes + (0 if self.fill is None else self.fill.nbytes)
        return own + sum(part.nbytes for part in (self.encoder, self.sparse) if part is not None)


def fit_features(
    X: Any,
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
    if not columns.are_numbers:
        n_targets = len(loss.category_target_names)
        kinds = columns.categories, columns.special
        n_features = count_features(columns.n, *kinds, n_targets, arguments["max_one_hot"])
        if n_features == 0:
            raise ValueError("X has no column to learn from: all of them were left out.")
        _check_memory(len(X), columns.n, n_features, n_targets)
    asked = [name for name in (*ROLES, "interaction_cst") if arguments[name] is not None]
    of_means = weight if offset is None else loss.category_weight(weight, offset)
    encoder = wide = None
    if issparse(X):
        if asked:
            raise ValueError(f"{asked[0]} needs a dense table, or a sparse one of at most {MAX_DENSE} columns.")
        targets = loss.category_targets(y, offset)
        wide, X = fit_sparse(X, targets, of_means, fold_numbers(entropy, len(y), N_FOLDS))
    else:
        targets = loss.category_targets(y, offset) if columns.categories else np.empty((len(y), 0))
        options = arguments["max_one_hot"], arguments["missing_indicator"]
        folds = fold_numbers(entropy, len(y), N_FOLDS) if columns.categories else np.empty(0, dtype=np.int64)
        encoder = fit_encoder(X, columns.categories, columns.special, targets, of_means, folds, *options)
        X = _training_features(encoder, X, targets, of_means, entropy)
    roles = read_roles(arguments, columns.n, columns.names, encoder) if asked else Roles()
    mean, deviation = mean_and_deviation(X, weight)
    centre = mean if arguments["scale"] else np.zeros_like(mean)
    scale = deviation if arguments["scale"] else np.ones_like(mean)
    fill = None
    # With interaction_cst no column may speak for another.
    if arguments["missing_fill"] == "linear" and roles.interactions is None and np.isnan(X).any():
        fill = fit_fill(X, weight, mean, deviation, entropy, threads, roles.filled_together(X.shape[1]))
        fill = None if fill is None else rescale(fill, (mean - centre) / scale, deviation / scale)
    return Features(columns.n, columns.names, encoder, centre, scale, deviation, fill, wide), X, roles


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
    X: Any, y: Any, *, numeric: bool, categorical: Any, text: str, owner: str, known: Columns | None
) -> tuple[Floats, Any, Columns]:
    """Return table and target of a fit, and its columns, which are ``known`` if it goes on with an earlier fit.

    ``numeric``: the target holds numbers; ``categorical``: what the user says are categories; ``text``: what becomes
    of free text.
    """
    named = not (categorical is None or isinstance(categorical, str))
    if issparse(X):
        if named:
            raise ValueError("categorical_features needs a dense table, and X is a sparse matrix.")
        return _read_sparse_training(X, y, numeric, owner, known)
    if known is None and not named and _is_plain(X) and _is_plain_target(y) and len(X) == len(y):
        return X, y, Columns(X.shape[1], None, {})
    noted = _owner(owner, known)
    table = _open(X, noted, by_column=named if known is None else not known.are_numbers, first=known is None)
    kinds: Any = ({}, {}) if known is None else (known.categories, known.special)
    if table is None:
        X, y = _validated(noted, X, y, reset=known is None, y_numeric=numeric)
    else:
        if isinstance(table, np.ndarray):
            matrix = table
        elif known is None:
            matrix, *kinds = _read_new(table, categorical, text, getattr(noted, "feature_names_in_", None))
        else:
            matrix = _read_known(table, known)
        X, y = check_X_y(matrix, y, y_numeric=numeric, estimator=noted, **_CHECKS)
    return X, y, known or Columns(noted.n_features_in_, getattr(noted, "feature_names_in_", None), *kinds)


def read_rows(X: Any, known: Columns, owner: str) -> Floats:
    """Return the rows to predict as a matrix of the columns of the fit."""
    if _needs_no_check(X, known):
        return np.asarray(X)
    if issparse(X):
        return np.asarray(_read_sparse(X, known, owner).toarray())
    noted = _owner(owner, known)
    table = _open(X, noted, by_column=not known.are_numbers, first=False, more=True)
    checked: Floats
    if table is None:
        checked = _validated(noted, X, reset=False)
    else:
        matrix = table if isinstance(table, np.ndarray) else _read_known(table, known)
        checked = check_array(matrix, estimator=noted, input_name="X", **_CHECKS)
    return checked


def _needs_no_check(X: Any, known: Columns) -> bool:
    """Tell whether rows are as they should be by a short look."""
    return known.names is None and known.are_numbers and _is_plain(X) and X.shape[1] == known.n


def _is_plain(X: Any) -> bool:
    """Tell by a short look that a table has numbers alone: scikit-learn's checks take longer than one row, or tree."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return X.size > 0 and math.isfinite(X.sum())


def _is_plain_target(y: Any) -> bool:
    """Tell the same of a target, or of class labels that are numbers."""
    if type(y) is not np.ndarray or y.dtype not in (np.float64, np.int64) or y.ndim != 1:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(y.sum())


def _read_sparse_training(X: Any, y: Any, numeric: bool, owner: str, known: Columns | None) -> tuple[Any, Any, Columns]:
    """Return a sparse matrix, dense if it has few columns, with its target and its columns."""
    check_values(X)
    noted = _owner(owner, known)
    X, y = validate_data(noted, X, y, accept_sparse="csr", dtype=np.float64, reset=known is None, y_numeric=numeric)
    columns = known or Columns(noted.n_features_in_, getattr(noted, "feature_names_in_", None), {})
    if not columns.are_numbers:
        raise ValueError("X is a sparse matrix; the first fit had a table with columns that are not numbers.")
    return (X.toarray() if X.shape[1] <= MAX_DENSE else csr_matrix(X)), y, columns


def _read_sparse(X: Any, known: Columns, owner: str) -> Any:
    """Return the rows to predict as a sparse matrix of the columns of the fit."""
    if not known.are_numbers:
        raise ValueError("X is a sparse matrix, and the table of the fit has columns that are not numbers.")
    if not issparse(X):
        X = csr_matrix(read_rows(X, known, owner))
    check_values(X)
    return csr_matrix(validate_data(_owner(owner, known), X, accept_sparse="csr", dtype=np.float64, reset=False))


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


def _open(X: Any, noted: _Owner, by_column: bool, first: bool, more: bool = False) -> list[Column] | Array | None:
    """Return the columns of a table, a frame of plain numbers as a matrix, and None for an array without categories.

    ``by_column``: some columns are not plain numbers. ``more``: a frame may have other columns beside those of the fit.
    """
    frame = as_frame(X)
    if frame is None:
        if not by_column:
            return None
        array = np.array(X, dtype=object) if isinstance(X, list | tuple) else X  # else numbers become text beside text
        array = check_array(array, dtype=None, ensure_all_finite=False, estimator=noted, input_name="X")
        validate_data(noted, array, skip_check_array=True, reset=first)
        return array_columns(array)
    if not first and hasattr(noted, "feature_names_in_"):
        frame = in_order(frame, list(noted.feature_names_in_), more)
    validate_data(noted, frame.to_native(), skip_check_array=True, reset=first)
    if first and (numbered := row_numbers(frame)):
        warn(
            f"{_columns_of_x(numbered)} a different integer for each row, as an identifier has: the order of such "
            "numbers is taken for information, so leave them out unless it is."
        )
    matrix = None if by_column else plain_matrix(frame)
    return frame_columns(frame) if matrix is None else matrix


def _columns_of_x(names: list[str]) -> str:
    shown = [name if name.startswith(("'", '"')) or name.isdigit() else repr(name) for name in names]
    return f"Column {shown[0]} of X has" if len(shown) == 1 else f"Columns {', '.join(shown)} of X have"


def _read_new(
    columns: list[Column], categorical: Any, text: str, names: Labels | None
) -> tuple[Floats, Categories, Special]:
    """Return the training table as a matrix, with the categories and the other special columns in it."""
    declared = declared_categories(categorical, len(columns), None if names is None else list(names))
    table = _NewTable(text)
    for j, column in enumerate(columns):
        table.columns.append(table.read(j, column, None if declared is None else bool(declared[j])))
    for what, labels in table.left_out.items():
        warn(f"{_columns_of_x(labels)} {what}, {_LEFT_OUT[what].format('was' if len(labels) == 1 else 'were')}")
    return np.column_stack(table.columns + table.hashed), table.categories, table.special


class _NewTable:
    """A training table that is read column by column."""

    def __init__(self, text: str) -> None:
        self._text = text  # what becomes of free text
        self.categories: Categories = {}
        self.special: Special = {}
        self.columns: list[Floats] = []
        self.hashed: list[Floats] = []  # features of free text
        self.left_out: dict[str, list[str]] = {}  # labels of columns, by what they hold

    def read(self, j: int, column: Column, declared: bool | None) -> Floats:
        """Return a column as numbers; ``declared``: the user says whether it is a category, None: the table does."""
        is_category = column.has_category_type if declared is None else declared
        if not is_category and (kind := column.kind_of_time) is not None:
            return self._times(j, column, kind)
        content = column.read(as_values=is_category)
        if not isinstance(content, list):
            return content
        kind = column.kind_of(content)
        if (
            kind == "text"
            and declared is None
            and not column.is_called_category
            and self._is_special(j, column, content)
        ):
            return np.zeros(len(content))
        if kind == "text" and declared is False:
            raise _text_error(column, content)
        if is_category or kind == "text":
            self.categories[j] = _new_category(column, content)
            return self.categories[j].encode(content)
        return column.to_numbers(content) if kind in ("numbers", "nothing") else self._times(j, column, kind)

    def _times(self, j: int, column: Column, kind: str) -> Floats:
        seconds = column.seconds(kind)
        if kind != "durations":
            self.special[j] = fit_calendar(seconds, kind)
        return seconds

    def _is_special(self, j: int, column: Column, values: Values) -> bool:
        """Note text that is not categories, as far as it shall not be."""
        what = "categories" if self._text == "category" else kind_of_text(values)
        if what == "free text" and self._text == "hash":
            self.special[j] = TextColumn()
            self.hashed.append(TextColumn().features(values))
        elif what != "categories":
            self.special[j] = LeftOutColumn()
            self.left_out.setdefault(what, []).append(column.label)
        return j in self.special


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


def _read_known(columns: list[Column], known: Columns) -> Floats:
    """Return a table as a matrix, given the columns of the fit."""
    found, hashed = [], []
    for j, column in enumerate(columns):
        category, special = known.categories.get(j), known.special.get(j)
        if isinstance(special, TextColumn):
            hashed.append(special.features(_checked_values(column, "text")))
        if special is None or isinstance(special, CalendarColumn):
            found.append(_read_known_column(column, category, special))
        else:
            found.append(np.zeros(len(column)))
    return np.column_stack(found + hashed)


def _read_known_column(column: Column, category: CategoryColumn | None, special: CalendarColumn | None) -> Floats:
    """Return a column of numbers, categories or times as numbers."""
    if category is not None:
        before = "text" if category.is_text else "numbers"
        # There may have been nothing but missing values in the fit: then anything goes.
        return category.encode(_checked_values(column, before if category.levels else None))
    before = "numbers" if special is None else "times" if special.is_clock else "dates"
    kind = column.kind_of_time
    if kind is None:
        content = column.read(as_values=False)
        kind = column.kind_of(content) if isinstance(content, list) else "numbers"
        if before == "numbers" and kind in ("numbers", "nothing"):
            return column.to_numbers(content) if isinstance(content, list) else content
        _check_kind(column, kind, before, content)
    elif kind != before and (before, kind) != ("numbers", "durations"):
        _check_kind(column, kind, before, [])
    return column.seconds(before if kind == "nothing" or special is not None else "durations")


def _checked_values(column: Column, before: str | None) -> Values:
    """Return the values of a column that held text or numbers in the fit; None: anything may be there."""
    content = column.read(as_values=True)
    assert isinstance(content, list)
    kind = column.kind_of(content)
    if before is not None:
        _check_kind(column, kind, before, content)
    return content


def _check_kind(column: Column, kind: str, before: str, content: Floats | Values) -> None:
    """Refuse a column that holds something else than in the fit; durations are numbers of seconds."""
    if kind in (before, "nothing") or (before, kind) == ("numbers", "durations"):
        return
    example = f", such as {_example(content)!r}" if isinstance(content, list) and content else ""
    raise ValueError(f"Column {column.label} of X held {before} in the fit and holds {kind} now{example}.")


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
