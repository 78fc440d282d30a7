"""Accumulated local effects of one column (Apley and Zhu 2020): what small changes of it add up to.

Every row is moved to both ends of the interval that its value lies in, and nowhere else: no row gets a value that is
unlike its other columns. The mean changes of the intervals, added up from the left, are the effect.
"""

from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles

from .._base.arrays import check_sample_weight
from .._base.typing import Floats, Labels, Longs
from .._features.encoder import CategoryColumn
from .._features.features import Features, read_rows
from .._model.model import Model
from .effects import Effect, check_grid, column_names, find_columns, given_axes, output_names
from .links import Link, find_link

_LEAST_ROWS = 10  # of an interval, on average: the mean of fewer says little
_ROWS_AT_ONCE = 2**16


def accumulated_effect(
    model: Model,
    X: Any,
    columns: Any,
    grid: Any,
    grid_resolution: Any,
    percentiles: Any,
    output: str,
    sample_weight: Any,
    owner: str,
    threads: int,
) -> Effect:
    """Return the accumulated local effect of one column on the outputs of the rows of a table."""
    column, *more = find_columns(model.features, columns)
    if more:
        raise ValueError(f"kind='ale' takes one column; got {columns!r}.")
    table = read_rows(X, model.features.columns, owner)
    weight = check_sample_weight(sample_weight, len(table))
    weight = np.ones(len(table)) if weight is None else weight
    resolution, percentiles = check_grid(grid_resolution, percentiles)
    moved = _Moved(model, find_link(model, output, additive=False), column, threads)
    category = model.features.columns.categories.get(column)
    if category is not None:
        shown, average = _of_levels(moved, table, weight, *_levels(model.features, table, column, category, grid))
    else:
        edges = _edges(table[:, column], column, resolution, percentiles)
        shown = edges if grid is None else np.unique(given_axes(model.features, [column], grid)[0][1])
        average = _of_numbers(moved, table, weight, shown)
    name = column_names(model.features)[column]
    return Effect((name,), (shown,), average, None, output_names(model, average), kind="ale")


class _Moved:
    """Outputs of rows one column of which is changed."""

    def __init__(self, model: Model, link: Link, column: int, threads: int) -> None:
        self._model, self._link, self._threads = model, link, threads
        self.column = column

    def outputs(self, table: Floats, values: Floats) -> Floats:
        """Return the outputs of rows with other values of the column."""
        encoder = self._model.features.encoder
        found = []
        for first in range(0, max(len(table), 1), _ROWS_AT_ONCE):
            rows = table[first : first + _ROWS_AT_ONCE].copy()
            rows[:, self.column] = values[first : first + _ROWS_AT_ONCE]
            features = rows if encoder is None else encoder.transform(rows)
            found.append(self._link.outputs(self._link.level(features, self._threads)))
        return np.concatenate(found)

    def changes(self, table: Floats, start: Floats, end: Floats) -> Floats:
        """Return by how much the outputs of rows change from one value of the column to another."""
        return self.outputs(table, end) - self.outputs(table, start)


# ------------------------------------------------------------------------------------------------------------- numbers


def _edges(values: Floats, column: int, resolution: int, percentiles: tuple[float, float]) -> Floats:
    """Return the ends of intervals: all values of a column that has few, or such that each holds about as many rows."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        raise ValueError(f"column {column} of X has missing values only: pass its grid.")
    n_intervals = max(1, min(resolution - 1, len(known) // _LEAST_ROWS))
    distinct = np.unique(known)
    if len(distinct) <= n_intervals + 1:
        return distinct
    wanted = np.asarray(mquantiles(known, prob=np.linspace(*percentiles, n_intervals + 1), alphap=1, betap=1))
    nearest = np.searchsorted((distinct[1:] + distinct[:-1]) / 2, wanted)
    return np.asarray(distinct[np.unique(nearest)])


def _of_numbers(moved: _Moved, table: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the effect at the ends of intervals; rows outside of all of them, and without a value, are left out."""
    values = table[:, moved.column]
    inside = (values >= edges[0]) & (values <= edges[-1])
    rows, weight = table[inside], weight[inside]
    n_intervals = len(edges) - 1
    interval = np.clip(np.searchsorted(edges, rows[:, moved.column], side="left") - 1, 0, max(n_intervals - 1, 0))
    if n_intervals == 0 or len(rows) == 0:
        return np.zeros((len(edges), *moved.outputs(table[:1], edges[:1]).shape[1:]))
    changes = moved.changes(rows, edges[interval], edges[interval + 1])
    steps = _means(changes, weight, interval, n_intervals)
    effect = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, axis=0)])
    part = (rows[:, moved.column] - edges[interval]) / (edges[interval + 1] - edges[interval])  # of its interval
    share = weight / max(weight.sum(), _tiny())
    at_ends = np.bincount(interval, share * (1 - part), n_intervals + 1)
    at_ends += np.bincount(interval + 1, share * part, n_intervals + 1)
    return np.asarray(effect - np.tensordot(at_ends, effect, axes=1))


def _means(changes: Floats, weight: Floats, group: Longs, n_groups: int) -> Floats:
    """Return the weighted mean of changes in every group, 0 where there are none."""
    total = np.zeros((n_groups, *changes.shape[1:]))
    weighted = changes * (weight if changes.ndim == 1 else weight[:, None])
    np.add.at(total, group, weighted)
    below = np.maximum(np.bincount(group, weight, n_groups), _tiny())
    return np.asarray(total / (below if changes.ndim == 1 else below[:, None]))


def _tiny() -> float:
    return float(np.finfo(np.float64).tiny)


# ---------------------------------------------------------------------------------------------------------- categories


def _levels(
    features: Features, table: Floats, column: int, category: CategoryColumn, grid: Any
) -> tuple[Labels, Floats]:
    """Return the levels in the order of their changes, as the user has them and as numbers."""
    if grid is not None:
        return given_axes(features, [column], grid)[0]
    known = np.unique(table[~np.isnan(table[:, column]), column])
    if len(known) == 0:
        raise ValueError(f"column {column} of X has missing values only: pass its grid.")
    known = known[_by_likeness(features, table, column, known)]
    return np.array([*category.levels, None], dtype=object)[known.astype(np.intp)], known


def _of_levels(moved: _Moved, table: Floats, weight: Floats, shown: Labels, levels: Floats) -> tuple[Labels, Floats]:
    """Return the effect of levels: changes between neighbours, by the rows that have one of both."""
    n = len(levels)
    own = table[:, [moved.column]] == levels  # rows × levels
    at = own.argmax(axis=1)
    has_next, has_before = own.any(axis=1) & (at < n - 1), own.any(axis=1) & (at > 0)
    rows = np.concatenate([table[has_next], table[has_before]])
    step = np.concatenate([at[has_next], at[has_before] - 1])
    of_rows = np.concatenate([weight[has_next], weight[has_before]])
    if len(rows) == 0:
        return shown, np.zeros((n, *moved.outputs(table[:1], levels[:1]).shape[1:]))
    changes = moved.changes(rows, levels[step], levels[step + 1])
    steps = _means(changes, of_rows, step, n - 1)
    effect = np.concatenate([np.zeros((1, *steps.shape[1:])), np.cumsum(steps, axis=0)])
    shares = weight @ own
    return shown, np.asarray(effect - np.tensordot(shares, effect, axes=1) / max(shares.sum(), _tiny()))


def _by_likeness(features: Features, table: Floats, column: int, levels: Floats) -> Longs:
    """Return the order of levels in which neighbours have the most similar other columns.

    The distance of two levels is the sum over the other columns of the largest difference of the distribution functions
    of a number, and half of the sum of the differences of the shares of a category. The order is that along the
    first axis of the distances (classical scaling), the first level before the last.
    """
    if len(levels) <= 2:
        return np.arange(len(levels))
    distance = np.zeros((len(levels), len(levels)))
    groups = [np.flatnonzero(table[:, column] == level) for level in levels]
    for j in range(table.shape[1]):
        if j == column:
            continue
        known = ~np.isnan(table[:, j])
        distinct, place = np.unique(table[known, j], return_inverse=True)
        if len(distinct) == 0:
            continue
        places = np.full(len(table), -1)
        places[known] = place
        counts = np.stack([np.bincount(places[g][places[g] >= 0], minlength=len(distinct)) for g in groups])
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        if j in features.columns.categories:
            distance += np.abs(shares[:, None] - shares[None]).sum(axis=2) / 2
        else:
            below = np.cumsum(shares, axis=1)
            distance += np.stack([np.abs(below - one).max(axis=1) for one in below])
    centred = np.eye(len(levels)) - 1 / len(levels)
    axis = np.linalg.eigh(-centred @ distance**2 @ centred / 2)[1][:, -1]
    order = np.argsort(axis, kind="stable")
    return order if list(order).index(0) < list(order).index(len(levels) - 1) else order[::-1]
