"""Effects of one or two columns: partial dependence, and the same for single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles

from .. import _core
from .._base.arrays import check_sample_weight
from .._base.declare import is_integer
from .._base.memory import refuse_if_too_much
from .._base.typing import Floats, Labels, Mask
from .._features.calendar import CalendarColumn
from .._features.features import Features, read_rows
from .._model.model import Model
from .contributions import columns_of_features
from .explain import OUTPUTS
from .links import Level, Link, find_link

_VALUES_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Effect:
    """What a forest predicts on average when columns take given values, as ``effects`` returns it.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns, one or two.
    grid : tuple of ndarray
        Their values, one array per column.
    average : ndarray of shape (n_values,) or (n_values, n_values_of_second)
        Mean output over the rows for each value: the partial dependence. Several outputs have an axis, the last one.
    individual : ndarray of shape (n_rows, *average.shape) or None
        The output of each row for each value, if it was asked for.
    output_names : list of str or None
        The classes, if there is an output for each; else None.
    """

    columns: tuple[str, ...]
    grid: tuple[Labels, ...]
    average: Floats
    individual: Floats | None
    output_names: list[str] | None


def effect(
    model: Model,
    X: Any,
    columns: Any,
    grid: Any,
    grid_resolution: Any,
    percentiles: Any,
    output: str,
    individual: bool,
    sample_weight: Any,
    owner: str,
    threads: int,
) -> Effect:
    """Return the effect of one column or two on the outputs of the rows of a table."""
    if output not in OUTPUTS:
        raise ValueError(f"output must be one of {', '.join(map(repr, OUTPUTS))}; got {output!r}.")
    columns_of_features(model)  # raises where features are not of one column
    numbers_of_columns = _find_columns(model.features, columns)
    table = read_rows(X, model.features.columns, owner)
    weight = check_sample_weight(sample_weight, len(table))
    axes = _axes(model.features, table, numbers_of_columns, grid, grid_resolution, percentiles)
    link = find_link(model, output, additive=False)
    shown, numbers_on_grid = zip(*axes, strict=True)
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*numbers_on_grid, indexing="ij")], axis=1)
    n_outputs = max(model.columns.n_outputs, model.loss.n_classes)
    size = 8.0 * len(mesh) * n_outputs * (len(table) if individual else 1)
    refuse_if_too_much(3 * size, f"Effects at {len(mesh):,} values", ["fewer values", "fewer rows"])
    shape = tuple(len(values) for values in shown)
    average, rows = _evaluate(_Replaced(model, link, numbers_of_columns, mesh, threads), table, weight, individual)
    names = [f"x{j}" for j in range(model.features.n_columns)] if model.features.names is None else model.features.names
    return Effect(
        tuple(str(names[j]) for j in numbers_of_columns),
        tuple(shown),
        average.reshape(*shape, *average.shape[1:]),
        None if rows is None else rows.reshape(len(rows), *shape, *rows.shape[2:]),
        [str(label) for label in model.loss.classes] if average.ndim == 2 else None,  # type: ignore[attr-defined]
    )


def _find_columns(features: Features, columns: Any) -> list[int]:
    """Return the numbers of one or two columns, given by name or number."""
    several = list(columns) if isinstance(columns, list | tuple) else [columns]
    names = None if features.names is None else list(features.names)
    found = []
    for column in several:
        if isinstance(column, str) and names is not None and column in names:
            found.append(names.index(column))
        elif is_integer(column, 0) and column < features.n_columns:
            found.append(int(column))
        else:
            what = f"numbers below {features.n_columns}" + ("" if names is None else f" or names such as {names[0]!r}")
            raise ValueError(f"columns must be one column or two of the table, {what}; got {column!r}.")
    if len(found) not in (1, 2) or len(set(found)) < len(found):
        raise ValueError(f"columns must be one column or two different ones; got {columns!r}.")
    return found


def _axes(
    features: Features, table: Floats, columns: list[int], grid: Any, resolution: Any, percentiles: Any
) -> list[tuple[Labels, Floats]]:
    """Return for each column the values on the grid as the user has them, and as numbers."""
    if not is_integer(resolution, 2):
        raise ValueError(f"grid_resolution must be an integer of at least 2; got {resolution!r}.")
    low, high = percentiles if isinstance(percentiles, Sequence) and len(percentiles) == 2 else (1, 0)
    if not 0 <= low < high <= 1:
        raise ValueError(f"percentiles must be two ascending numbers between 0 and 1; got {percentiles!r}.")
    if grid is not None:
        given = [grid] if len(columns) == 1 and not _is_nested(grid) else list(grid)
        if len(given) != len(columns) or any(len(values) == 0 for values in given):
            raise ValueError(f"grid needs values for each of {len(columns)} columns; got {grid!r}.")
        return [_given_axis(features, j, values) for j, values in zip(columns, given, strict=True)]
    return [_own_axis(features, table[:, j], j, int(resolution), (low, high)) for j in columns]


def _is_nested(grid: Any) -> bool:
    return len(grid) == 1 and isinstance(grid[0], list | tuple | np.ndarray)


def _is_date(features: Features, column: int) -> bool:
    """Tell whether a column holds dates; refuse text, which cannot be put on an axis."""
    special = features.columns.special.get(column)
    if special is not None and not isinstance(special, CalendarColumn):
        raise ValueError(f"columns must hold numbers, categories or dates; column {column} has text or identifiers.")
    return special is not None and not special.is_clock


def _given_axis(features: Features, column: int, values: Any) -> tuple[Labels, Floats]:
    category = features.columns.categories.get(column)
    if category is not None:
        return np.array(values, dtype=object), category.encode(list(values))
    if _is_date(features, column):
        dates: Any = np.asarray(values, dtype="datetime64[us]")
        return dates, dates.astype(np.int64) / 1e6
    numbers_: Floats = np.asarray(values, dtype=np.float64)
    if numbers_.ndim != 1 or not np.isfinite(numbers_).all():
        raise ValueError(f"grid must hold finite numbers, one array per column; got {values!r}.")
    return numbers_, numbers_


def _own_axis(
    features: Features, values: Floats, column: int, resolution: int, percentiles: tuple[float, float]
) -> tuple[Labels, Floats]:
    category = features.columns.categories.get(column)
    known = np.unique(values[~np.isnan(values)])
    if len(known) == 0:
        raise ValueError(f"column {column} of X has missing values only: pass its grid.")
    if category is not None:
        levels = np.array([*category.levels, None], dtype=object)
        return levels[known.astype(np.intp)], known
    is_date = _is_date(features, column)
    if len(known) < resolution:
        return _dates(known) if is_date else known, known
    low, high = mquantiles(values[~np.isnan(values)], prob=percentiles)
    if np.isclose(low, high):
        raise ValueError(f"percentiles={percentiles} of column {column} are the same number: pass others, or a grid.")
    axis = np.linspace(float(low), float(high), resolution)
    return _dates(axis) if is_date else axis, axis


def _dates(seconds: Floats) -> Any:
    return np.rint(seconds).astype("datetime64[s]")


class _Replaced:
    """Outputs of rows of which some columns are replaced by values of a grid."""

    def __init__(self, model: Model, link: Link, columns: list[int], mesh: Floats, threads: int) -> None:
        self._model, self._link, self._threads = model, link, threads
        self._columns, self._mesh = columns, mesh
        self._replaced: Mask = np.isin(columns_of_features(model)[0], columns)
        self._grid = np.tile(model.features.mean, (len(mesh), 1))
        self._grid[:, self._replaced] = self._features(np.zeros((1, model.features.n_read)))[:, self._replaced]
        self._is_quick = not model.columns.models and all(part.has_closed_forms(model) for part in link.parts)

    @property
    def n_values(self) -> int:
        return len(self._mesh)

    def _features(self, table: Floats) -> Floats:
        """Return the features of all mixtures, rows after rows."""
        mixed = np.repeat(table, len(self._mesh), axis=0)
        mixed[:, self._columns] = np.tile(self._mesh, (len(table), 1))
        encoder = self._model.features.encoder
        return mixed if encoder is None else encoder.transform(mixed)

    def outputs(self, table: Floats) -> Floats:
        """Return the outputs of some rows: rows × values, or rows × values × outputs."""
        encoder = self._model.features.encoder
        rows = table if encoder is None else encoder.transform(table)
        slow = np.full(len(rows), not self._is_quick)
        if self._model.features.fill is not None:  # what fills the others depends on the value
            slow |= np.isnan(rows[:, ~self._replaced]).any(axis=1)
        n_outputs = self._model.columns.n_outputs
        parts = []
        for part in self._link.parts:
            sums = np.empty((len(rows), self.n_values, n_outputs))
            quick = np.zeros(int((~slow).sum()) * self.n_values * n_outputs)
            if quick.size:
                f = self._model.features
                _core.add_effects(
                    self._model.columns.model, np.ascontiguousarray(rows[~slow]), self._grid, self._replaced, f.mean,
                    f.scale, f.fill, part.link, part.first, part.last, part.weights, self._threads, quick,
                )  # fmt: skip
                sums[~slow] = quick.reshape(-1, self.n_values, n_outputs)
            if slow.any():
                mixed = part.sums(self._model, self._features(table[slow]), self._threads)
                sums[slow] = mixed.reshape(-1, self.n_values, n_outputs)
            parts.append(sums.reshape(-1, n_outputs))
        seen = self._link.outputs(Level(parts[0], parts[1] if len(parts) > 1 else None))
        return seen.reshape(len(rows), self.n_values, *seen.shape[1:])


def _blocks(n_rows: int, per_row: int) -> Iterator[slice]:
    size = max(1, _VALUES_AT_ONCE // per_row)
    return (slice(first, first + size) for first in range(0, n_rows, size))


def _evaluate(
    replaced: _Replaced, table: Floats, weight: Floats | None, individual: bool
) -> tuple[Floats, Floats | None]:
    """Return the mean over rows, and the rows if asked for."""
    weight = np.ones(len(table)) if weight is None else weight
    total: Any = 0.0
    kept = []
    for block in _blocks(len(table), replaced.n_values):
        seen = replaced.outputs(table[block])
        total = total + np.tensordot(weight[block], seen, axes=1)
        if individual:
            kept.append(seen)
    return np.asarray(total / weight.sum()), np.concatenate(kept) if individual else None
