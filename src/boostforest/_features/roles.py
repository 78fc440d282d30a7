"""What columns are for: those that may be split on, that node models see, that predictions rise or fall with.

A user speaks of the columns of the table that was handed in; trees have features, several for some columns.
"""

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._base.typing import Ints, Labels, Mask, Signs
from ..nodes._native import Constant, LinearSVR, Ridge, is_python_model
from ..nodes._python import short_name
from .encoder import TableEncoder

Names = Labels | None

ROLES = ("split_features", "model_features", "monotonic_cst")


@dataclass(frozen=True, eq=False)
class Interactions:
    """Which columns of the table may act together."""

    most: int  #: any so many; 0: those of one of the sets
    sets: tuple[tuple[int, ...], ...]  #: numbers of columns, ascending
    columns: Ints  #: column of each feature


@dataclass(frozen=True, eq=False)
class Roles:
    """Roles of features, under the names that users give and ``ForestColumns`` keeps."""

    split_features: Ints | None = None  #: features that may be split on, ascending; None: all
    model_features: Ints | None = None  #: features that node models see, ascending; None: all
    monotonic_cst: Signs | None = None  #: per feature: 1 or -1 if predictions must rise or fall with it; None: all free
    interactions: Interactions | None = None  #: which columns may act together; None: all

    @property
    def for_core(self) -> _core.Interactions | None:
        """The interactions as the core takes them."""
        if self.interactions is None:
            return None
        columns, sets = self.interactions.columns, self.interactions.sets
        seen = columns if self.model_features is None else columns[self.model_features]
        members = np.array([column for columns_of_set in sets for column in columns_of_set], dtype=np.int32)
        ends = np.cumsum([len(columns_of_set) for columns_of_set in sets], dtype=np.int64)
        return _core.Interactions(columns, seen, self.interactions.most, members, ends)

    def filled_together(self, n_features: int) -> Mask:
        """Return the features whose missing values are guessed from each other: free ones that node models see.

        A guess that followed a constrained feature would carry its rise to features that act the other way.
        """
        together = np.ones(n_features, dtype=np.bool_)
        if self.model_features is not None:
            together = np.isin(np.arange(n_features), self.model_features)
        return together if self.monotonic_cst is None else together & (self.monotonic_cst == 0)

    def check_fit(self, n_classes: int, node_models: Iterable[Any]) -> None:
        """Refuse roles that this target or these node models cannot keep."""
        if self.monotonic_cst is not None and n_classes > 2:
            raise ValueError(f"monotonic_cst needs a regression or two classes; y has {n_classes} classes.")
        if self.monotonic_cst is not None and self.interactions is not None:
            raise ValueError("monotonic_cst and interaction_cst do not go together: use one of them.")
        for model in {id(model): model for model in node_models}.values():
            constrained = "monotonic_cst" if self.monotonic_cst is not None else "interaction_cst"
            draws = isinstance(model, Ridge) and model.max_features is not None
            if draws and (self.monotonic_cst is not None or self.interactions is not None):
                raise ValueError(f"{constrained} needs models of all features; got {model!r}.")
            if self.interactions is not None and not (
                isinstance(model, Constant | Ridge | LinearSVR)
                or (isinstance(model, str) and model in ("constant", "ridge", "svr"))
            ):
                raise ValueError(
                    f"interaction_cst needs node_model 'constant', 'ridge' or 'svr'; got {short_name(model)}."
                )
            if self.monotonic_cst is not None and not (
                isinstance(model, Constant | Ridge) or (isinstance(model, str) and model in ("constant", "ridge"))
            ):
                raise ValueError(f"monotonic_cst needs node_model 'constant' or 'ridge'; got {short_name(model)}.")
            if self.model_features is not None and len(self.model_features) == 0 and is_python_model(model):
                raise ValueError(
                    f"model_features must name at least one column for node_model={short_name(model)}; got none."
                )

    def check_same(self, fitted: Any) -> None:
        """Refuse to go on from trees that were grown with other roles."""
        for name in ROLES:
            if not np.array_equal(getattr(self, name), getattr(fitted, name)):
                raise ValueError(f"{name} must be what it was in the first fit with warm_start=True.")


def read_roles(asked: Mapping[str, Any], n_columns: int, names: Names, encoder: TableEncoder | None) -> Roles:
    """Check what the arguments of these names say about columns; return the roles of the features made of them.

    ``names`` are those of the columns, if they have any.
    """
    split = _chosen("split_features", asked["split_features"], n_columns, names)
    model = _chosen("model_features", asked["model_features"], n_columns, names)
    signs = _signs(asked["monotonic_cst"], n_columns, names)
    if split is not None and not split.any():
        raise ValueError("split_features must name at least one column; got none.")
    if encoder is not None and signs is not None:
        for column in np.flatnonzero(signs):
            shown = int(column) if names is None else names[column]
            if encoder.is_categorical[column]:
                raise ValueError(f"monotonic_cst cannot constrain column {shown!r}: its categories have no order.")
            if column in encoder.special:
                raise ValueError(f"monotonic_cst cannot constrain column {shown!r}: it is not one number.")
    interactions = _interactions(asked["interaction_cst"], n_columns, names, encoder)
    return Roles(_features(split, encoder), _features(model, encoder), _feature_signs(signs, encoder), interactions)


def _interactions(given: Any, n_columns: int, names: Names, encoder: TableEncoder | None) -> Interactions | None:
    """Return which columns may act together."""
    if given is None:
        return None
    columns = np.arange(n_columns) if encoder is None else encoder.origin
    of_features = columns.astype(np.int32)
    if isinstance(given, str) and given in ("no_interactions", "pairwise"):
        return Interactions(1 if given == "no_interactions" else 2, (), of_features)
    groups = None if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) else list(given)
    if groups is None or any(isinstance(g, str | bytes) or not isinstance(g, Iterable) for g in groups):
        raise ValueError(
            'interaction_cst must be None, "pairwise", "no_interactions", or a sequence of sets of column names or '
            f"numbers; got {given!r}."
        )
    sets = [_group(list(group), n_columns, names) for group in groups]
    if rest := sorted(set(range(n_columns)) - {column for group in sets for column in group}):
        sets.append(tuple(rest))
    return Interactions(0, tuple(sets), of_features)


def _group(group: list[Any], n_columns: int, names: Names) -> tuple[int, ...]:
    """Return the numbers of the columns of a set."""
    found = set()
    for column in group:
        if isinstance(column, str):
            found.add(_place("interaction_cst", column, names))
        elif isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= int(column) < n_columns:
            found.add(int(column))
        else:
            raise ValueError(
                f"interaction_cst must hold column names or numbers from 0 to {n_columns - 1}; got {column!r}."
            )
    return tuple(sorted(found))


def _features(chosen: Mask | None, encoder: TableEncoder | None) -> Ints | None:
    """Return the features of the chosen columns, None for all."""
    if chosen is None or chosen.all():
        return None
    return np.flatnonzero(chosen if encoder is None else chosen[encoder.origin]).astype(np.int32)


def _feature_signs(signs: Signs | None, encoder: TableEncoder | None) -> Signs | None:
    """Return the constraints of the features. Missing indicators are free: missing values are outside of the order."""
    if signs is None or not signs.any():
        return None
    if encoder is None:
        return signs
    of_features: Signs = signs[encoder.origin]
    of_features[encoder.marks] = 0
    return of_features


def _as_list(given: Any) -> list[Any] | None:
    """Return the values of a sequence or a one-dimensional array, None if it is none."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        return None
    values = list(given)
    return None if any(isinstance(v, np.ndarray | list | tuple) for v in values) else values


def _chosen(parameter: str, given: Any, n_columns: int, names: Names) -> Mask | None:
    """Return which columns are meant by names, numbers or a mask; None for all."""
    if given is None:
        return None
    allowed = (
        f"{parameter} must be None, or a sequence of column names, of numbers from 0 to {n_columns - 1}, or a mask"
    )
    columns = _as_list(given)
    if columns is None:
        raise ValueError(f"{allowed}; got {given!r}.")
    if columns and all(isinstance(c, bool | np.bool_) for c in columns):
        if len(columns) != n_columns:
            raise ValueError(f"{parameter} is a mask of {len(columns)} values, but X has {n_columns} columns.")
        return np.array(columns)
    chosen = np.zeros(n_columns, dtype=bool)
    for column in columns:
        if isinstance(column, str):
            chosen[_place(parameter, column, names)] = True
        elif isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= int(column) < n_columns:
            chosen[int(column)] = True
        else:
            raise ValueError(f"{allowed}; got {column!r}.")
    return chosen


def _signs(given: Any, n_columns: int, names: Names) -> Signs | None:
    """Return the constraint of every column."""
    if given is None:
        return None
    signs = np.zeros(n_columns, dtype=np.int8)
    values = list(given.values()) if isinstance(given, Mapping) else _as_list(given)
    if values is None or (not isinstance(given, Mapping) and len(values) != n_columns):
        raise ValueError(
            f"monotonic_cst must be None, a sequence of -1, 0 or 1 for each of the {n_columns} columns of X, or a dict "
            f"from column names to such values; got {given!r}."
        )
    keys = list(given) if isinstance(given, Mapping) else range(n_columns)
    for key, value in zip(keys, values, strict=True):
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or value not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst must hold -1, 0 or 1; got {value!r}.")
        signs[_place("monotonic_cst", key, names) if isinstance(given, Mapping) else key] = int(float(value))
    return signs


def _place(parameter: str, column: Any, names: Names) -> int:
    """Return the number of the column of that name."""
    if names is None:
        raise ValueError(f"{parameter} names the column {column!r}, but X has no column names.")
    places = np.flatnonzero(names == column)
    if len(places) == 0:
        raise ValueError(f"{parameter} names the column {column!r}, which X does not have.")
    return int(places[0])
