"""From the columns of a table to the features that trees see: categories, dates, text, and missing indicators.

The table comes as a float64 matrix of the user's columns, in which a category is the number of its level, a missing
one the number behind the last, an unknown one NaN; a date is in seconds; a column of text or one that is left out is 0,
and the hashed words of the columns of text stand behind all columns.
"""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from .._base.typing import Floats, Longs, Mask
from .._core import word
from .calendar import CalendarColumn
from .levels import LevelMeans, leading_directions
from .text import N_HASHED, LeftOutColumn, TextColumn
from .together import MAX_ORDERED, levels_to_tell_apart

Ints = Longs
Level: TypeAlias = str | int | float

N_FOLDS = 5  # of the cross-fitted means of levels
MAX_TARGETS = 48  # features of a category in place of one for each class; fewer tell less of many classes
N_ORDERS = 3  # of the levels, where these have to be told apart
MAX_DIGITS = 400  # of an integer that is a level: longer ones take long to read and to write


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers: one feature, and maybe its missing indicator."""

    indicator: bool = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return 1 + self.indicator


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A column of categories: a feature of 0 and 1 for each level, or what the levels stand for (``levels``)."""

    levels: tuple[Level, ...]  #: in ascending order: all text or all numbers
    missing: bool  #: the fit has seen missing ones: they are a level of their own, behind the others
    means: Floats | None = None  #: levels × targets; None: one-hot
    ordered: bool = False  #: the last ``N_ORDERS`` columns of means are orders of the levels (``together``)

    @property
    def n_levels(self) -> int:
        """Number of levels, that of the missing ones included."""
        return len(self.levels) + self.missing

    @property
    def is_text(self) -> bool:
        """Whether the levels are text, not numbers."""
        return bool(self.levels) and isinstance(self.levels[0], str)

    @property
    def n_features(self) -> int:
        """Number of features; of two levels one tells all."""
        if self.means is not None:
            return int(self.means.shape[1])
        return 1 if self.n_levels == 2 else self.n_levels

    @cached_property
    def _numbers(self) -> dict[Any, float]:
        numbers: dict[Any, float] = {level: float(i) for i, level in enumerate(self.levels)}
        return numbers | {None: float(len(self.levels)) if self.missing else np.nan}

    def encode(self, values: Sequence[Any]) -> Floats:
        """Return the numbers of values' levels; None is a missing value."""
        numbers = self._numbers
        return np.array([numbers.get(value, np.nan) for value in values], dtype=np.float64)

    def features(self, numbers: Floats) -> Floats:
        """Return the features of rows, given the numbers of their levels: rows × features."""
        unknown = np.isnan(numbers)
        index = np.where(unknown, 0, numbers).astype(np.intp)
        if self.means is not None:
            found = self.means[index]
        else:
            first = 1 if self.n_levels == 2 else 0
            found = (index[:, None] == np.arange(first, self.n_levels)).astype(np.float64)
        found[unknown] = np.nan
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


SpecialColumn: TypeAlias = CalendarColumn | TextColumn | LeftOutColumn
TableColumn: TypeAlias = NumberColumn | CategoryColumn | SpecialColumn


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """How each column of the table becomes features."""

    columns: tuple[TableColumn, ...]
    basis: Floats | None = None  #: classes × features of a category, where these are fewer; None: a feature per target

    @cached_property
    def start(self) -> Ints:
        """First feature of every column, and the number of features at the end."""
        return np.cumsum([0, *(column.n_features for column in self.columns)])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.start[-1])

    @cached_property
    def origin(self) -> Ints:
        """Number of the column that each feature comes from."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.start))

    @cached_property
    def categories(self) -> dict[int, CategoryColumn]:
        """The columns that are categories, by their numbers."""
        return {j: column for j, column in enumerate(self.columns) if isinstance(column, CategoryColumn)}

    @cached_property
    def special(self) -> dict[int, SpecialColumn]:
        """The columns that are neither numbers nor categories, by their numbers."""
        return {j: c for j, c in enumerate(self.columns) if not isinstance(c, NumberColumn | CategoryColumn)}

    @property
    def is_categorical(self) -> Mask:
        """Which columns are categories."""
        return np.isin(np.arange(len(self.columns)), list(self.categories))

    @cached_property
    def _gaps(self) -> list[int]:
        """The columns that have a missing indicator."""
        return [j for j, column in enumerate(self.columns) if isinstance(column, NumberColumn) and column.indicator]

    @cached_property
    def marks(self) -> Ints:
        """The features that are missing indicators."""
        dates = [j for j, c in self.special.items() if isinstance(c, CalendarColumn) and c.indicator]
        marks: Ints = np.sort(
            np.concatenate([self.start[self._gaps] + 1, self.start[1:][np.array(dates, dtype=int)] - 1])
        )
        return marks

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows."""
        out = np.empty((len(X), self.n_features))
        is_number = ~self.is_categorical
        is_number[list(self.special)] = False
        out[:, self.start[:-1][is_number]] = X[:, np.flatnonzero(is_number)]
        out[:, self.start[self._gaps] + 1] = np.isnan(X[:, self._gaps])
        for j, column in self.categories.items():
            out[:, self.start[j] : self.start[j + 1]] = column.features(X[:, j])
        behind = len(self.columns)
        for j, other in self.special.items():
            if isinstance(other, CalendarColumn):
                out[:, self.start[j] : self.start[j + 1]] = other.features(X[:, j])
            elif isinstance(other, TextColumn):
                out[:, self.start[j] : self.start[j + 1]] = X[:, behind : behind + N_HASHED]
                behind += N_HASHED
        return out

    def transform_training(self, X: Floats, targets: Floats, weight: Floats | None, folds: Ints) -> Floats:
        """Return the features of the training rows: no mean has seen the target of the row it stands in."""
        out = self.transform(X)
        wanted = [j for j, column in self.categories.items() if column.means is not None]
        if wanted:
            targets = targets if self.basis is None else targets @ self.basis
            found = LevelMeans(X, self.categories, targets, weight).of_other_folds(wanted, folds)
            for j, means in found.items():
                out[:, self.start[j] : self.start[j] + means.shape[1]] = means
        return out

    def feature_names(self, names: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return the names of the features, given those of the columns and of the targets."""
        found: list[str] = []
        for name, column in zip(names, self.columns, strict=True):
            if isinstance(column, NumberColumn):
                found += [name, f"{name} is missing"][: column.n_features]
            elif isinstance(column, CalendarColumn):
                found += column.feature_names(name)
            elif not isinstance(column, CategoryColumn):
                found += [f"{name} words {i + 1}" for i in range(column.n_features)]
            elif column.means is not None:
                found += self.mean_names(name, column, targets)
            else:
                levels = [f"{name}={level}" for level in column.levels] + [f"{name} is missing"] * column.missing
                found += levels[-column.n_features :]
        return found

    def mean_names(self, name: str, column: CategoryColumn, targets: Sequence[str]) -> list[str]:
        """Return what the features of a category with means are called, given the names of column and targets."""
        own = targets if self.basis is None else [f"classes {i + 1}" for i in range(self.basis.shape[1])]
        orders = [f"{name}:order {i + 1}" for i in range(N_ORDERS if column.ordered else 0)]
        return [f"{name}:{target}" for target in own] + orders

    def sum_by_column(self, values: Floats) -> Floats:
        """Add up figures of features over those that come from the same column."""
        sums: Floats = np.bincount(self.origin, values, len(self.columns))  # type: ignore[assignment]
        return sums

    def effects_by_column(self, effects: Floats) -> Floats:
        """Return the root of the sum of squares over the features of a column, outputs × columns; of one itself.

        Numbers with a missing indicator keep their sign; several features of a category or a date have none.
        """
        first, some = self.start[:-1], np.diff(self.start) > 0
        found = np.zeros((len(effects), len(self.columns)))
        found[:, some] = np.hypot.reduceat(effects, first[some], axis=1)
        has_sign = [j for j, column in enumerate(self.columns) if isinstance(column, NumberColumn)]
        found[:, has_sign] = np.copysign(found[:, has_sign], effects[:, first[has_sign]])
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the levels and their means."""
        columns = self.categories.values()
        means = sum(column.means.nbytes for column in columns if column.means is not None)
        means += 0 if self.basis is None else self.basis.nbytes
        return means + sum(len(str(level)) for column in columns for level in column.levels)

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "basis": self.basis}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def check_encoding(max_one_hot: Any, missing_indicator: Any) -> None:
    """Check what the arguments of these names say about columns."""
    is_count = isinstance(max_one_hot, numbers.Integral) and not isinstance(max_one_hot, bool) and int(max_one_hot) >= 0
    if max_one_hot is not None and not is_count:
        raise ValueError(f"max_one_hot must be an integer of at least 0 or None; got {max_one_hot!r}.")
    is_auto = isinstance(missing_indicator, str) and missing_indicator == "auto"
    if not is_auto and not isinstance(missing_indicator, bool | np.bool_):
        raise ValueError(f'missing_indicator must be "auto", True or False; got {missing_indicator!r}.')


def fit_encoder(
    X: Floats,
    categories: dict[int, CategoryColumn],
    special: dict[int, SpecialColumn],
    targets: Floats,
    weight: Floats | None,
    folds: Ints,
    max_one_hot: int | None,
    missing_indicator: bool | str,
) -> TableEncoder | None:
    """Decide what becomes of every column; None if all of them stay as they are."""
    n_columns = X.shape[1] - N_HASHED * sum(isinstance(column, TextColumn) for column in special.values())
    marked = _to_mark(X[:, :n_columns], missing_indicator)
    if not categories and not special and not marked.any():
        return None
    columns: list[TableColumn] = [categories.get(j, NumberColumn(bool(marked[j]))) for j in range(n_columns)]
    for j, column in special.items():
        columns[j] = column.with_indicator() if marked[j] and isinstance(column, CalendarColumn) else column
    wanted = [j for j, column in categories.items() if not _is_one_hot(column, max_one_hot, targets.shape[1])]
    basis = None
    if wanted:
        if targets.shape[1] > MAX_TARGETS:
            basis = leading_directions(X, categories, wanted, targets, weight, MAX_TARGETS)
            targets = targets @ basis
        apart = levels_to_tell_apart(X, categories, wanted, targets, weight, folds)
        for j, means in LevelMeans(X, categories, targets, weight).of_all_rows(wanted).items():
            columns[j] = _with_orders(means, categories[j]) if j in apart else replace(categories[j], means=means)
    return TableEncoder(tuple(columns), basis)


def _with_orders(means: Floats, column: CategoryColumn) -> CategoryColumn:
    """Return a column with means and orders: that of its levels, and others at random, in which a few splits part them.

    In whatever order levels are, those that act alike are seldom neighbours in all of them.
    """
    numbers = np.arange(len(means), dtype=np.uint64)
    orders = [numbers, *(np.argsort(np.argsort(word(numbers, i))) for i in range(1, N_ORDERS))]
    return replace(column, means=np.column_stack([means, *orders]).astype(np.float64), ordered=True)


def _is_one_hot(column: CategoryColumn, max_one_hot: int | None, n_targets: int) -> bool:
    # Where there are no more levels than features of means, these would take more features and say less.
    return max_one_hot is None or column.n_levels <= max(max_one_hot, min(n_targets, MAX_TARGETS))


def count_features(
    n_columns: int,
    categories: dict[int, CategoryColumn],
    special: dict[int, SpecialColumn],
    n_targets: int,
    max_one_hot: int | None,
) -> int:
    """Return how many features the columns become at the most, without missing indicators."""
    means = min(n_targets, MAX_TARGETS)
    found = (
        c.n_features if _is_one_hot(c, max_one_hot, n_targets) else means + N_ORDERS * (c.n_levels <= MAX_ORDERED)
        for c in categories.values()
    )
    others = sum(column.n_features for column in special.values())
    return n_columns - len(categories) - len(special) + sum(found) + others


def _to_mark(X: Floats, missing_indicator: bool | str) -> Mask:
    """Return the columns that get a missing indicator; "auto": those whose known values are all the same."""
    gaps = np.isnan(X)
    marked = np.logical_and(gaps.any(axis=0), bool(missing_indicator))
    if missing_indicator == "auto" and marked.any():
        marked &= np.where(gaps, np.inf, X).min(axis=0) == np.where(gaps, -np.inf, X).max(axis=0)
    return marked
