"""Effects of one or two columns: partial dependence, and the same for single rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles

from .. import _core
from .._base.arrays import check_offset, check_sample_weight
from .._base.declare import is_integer
from .._base.memory import refuse_if_too_much
from .._base.typing import Floats, Labels, Mask
from .._features.calendar import CalendarColumn
from .._features.features import Features, read_rows
from .._model.model import Model
from .contributions import Part, columns_of_features
from .explain import OUTPUTS
from .links import Level, Link, find_link

KINDS = ("partial", "ale")
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
        Of accumulated local effects (``kind="ale"``): what the changes up to each value add up to, 0 on average.
    individual : ndarray of shape (n_rows, ...) or None, the other axes as in `average`
        The output of each row for each value, if it was asked for.
    output_names : list of str or None
        The classes, if there is an output for each; else None.
    kind : {"partial", "ale"}
        Partial dependence, or accumulated local effects.
    """

    columns: tuple[str, ...]
    grid: tuple[Labels, ...]
    average: Floats
    individual: Floats | None
    output_names: list[str] | None
    kind: str = "partial"


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
    offset: Any = None,
) -> Effect:
    """Return the effect of one column or two on the outputs of the rows of a table."""
    columns_of_features(model)  # raises where features are not of one column
    numbers_of_columns = find_columns(model.features, columns)
    table = read_rows(X, model.features.columns, owner)
    weight = check_sample_weight(sample_weight, len(table))
    of_rows = _read_offset(model, output, offset, len(table))
    axes = _axes(model.features, table, numbers_of_columns, grid, grid_resolution, percentiles)
    link = find_link(model, output, additive=False)
    shown, numbers_on_grid = zip(*axes, strict=True)
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*numbers_on_grid, indexing="ij")], axis=1)
    n_outputs = max(model.columns.n_outputs, model.loss.n_classes)
    size = 8.0 * len(mesh) * n_outputs * (len(table) if individual else 1)
    refuse_if_too_much(3 * size, f"Effects at {len(mesh):,} values", ["fewer values", "fewer rows"])
    shape = tuple(len(values) for values in shown)
    replaced = _Replaced(model, link, numbers_of_columns, mesh, threads)
    average, rows = _evaluate(replaced, table, of_rows.weight(weight), individual)
    average, rows = of_rows.added(average, rows, weight)
    names = column_names(model.features)
    return Effect(
        tuple(names[j] for j in numbers_of_columns),
        tuple(shown),
        average.reshape(*shape, *average.shape[1:]),
        None if rows is None else rows.reshape(len(rows), *shape, *rows.shape[2:]),
        output_names(model, average),
    )


@dataclass(frozen=True)
class _OffsetOfRows:
    """What the offset of each row makes of its outputs: a factor, or something that is added."""

    factor: Floats | None = None  #: rows
    more: Floats | None = None  #: rows × outputs

    def weight(self, weight: Floats | None) -> Floats | None:
        """Return what rows count in a mean of outputs without an offset."""
        if self.factor is None:
            return weight
        return self.factor if weight is None else weight * self.factor

    def added(self, average: Floats, rows: Floats | None, weight: Floats | None) -> tuple[Floats, Floats | None]:
        """Return the mean and the outputs of rows with the offset; ``average`` is by the weights above."""
        if self.factor is not None:
            mean = float(np.average(self.factor, weights=weight))
            return average * mean, None if rows is None else rows * self.factor.reshape(-1, *[1] * (rows.ndim - 1))
        if self.more is not None:
            mean_more = np.average(self.more, axis=0, weights=weight)
            more = self.more[:, None]
            average = average + (mean_more if average.ndim == 2 else mean_more[0])
            return average, None if rows is None else rows + (more if rows.ndim == 3 else more[:, :, 0])
        return average, rows


def _read_offset(model: Model, output: str, offset: Any, n_rows: int) -> _OffsetOfRows:
    added, loss = check_offset(offset, n_rows, model.loss.n_outputs), model.loss
    if added is None:
        return _OffsetOfRows()
    if loss.n_classes and (output != "score" or model.n_trees > 1):
        raise ValueError(
            "effects takes an offset of classes only for output='score' of a single tree: the mean probabilities of a "
            "forest do not add up with it; leave out the offset."
        )
    is_factor = loss.link == _core.Link.LOG or getattr(loss, "predicts_exponential", False)
    if is_factor and output == "prediction":
        return _OffsetOfRows(factor=np.exp(added[:, 0]))
    return _OffsetOfRows(more=loss.offset_scores(added) * loss.unit)


def check_effect(kind: Any, output: Any, individual: Any) -> None:
    """Check what is asked for."""
    for name, value, allowed in (("kind", kind, KINDS), ("output", output, OUTPUTS)):
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    if individual and kind == "ale":
        raise ValueError("individual=True needs kind='partial': accumulated local effects are differences of rows.")


def column_names(features: Features) -> list[str]:
    """Return the names of the columns, x0, x1, … if they have none."""
    names = features.names
    return [f"x{j}" for j in range(features.n_columns)] if names is None else [str(name) for name in names]


def output_names(model: Model, average: Floats) -> list[str] | None:
    """Return the classes where there is an output for each: values × outputs."""
    return [str(label) for label in model.loss.classes] if average.ndim == 2 else None  # type: ignore[attr-defined]


def find_columns(features: Features, columns: Any) -> list[int]:
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
    resolution, percentiles = check_grid(resolution, percentiles)
    if grid is not None:
        return given_axes(features, columns, grid)
    return [_own_axis(features, table[:, j], j, resolution, percentiles) for j in columns]


def check_grid(resolution: Any, percentiles: Any) -> tuple[int, tuple[float, float]]:
    """Check the arguments that a grid follows from."""
    if not is_integer(resolution, 2):
        raise ValueError(f"grid_resolution must be an integer of at least 2; got {resolution!r}.")
    low, high = percentiles if isinstance(percentiles, Sequence) and len(percentiles) == 2 else (1, 0)
    if not 0 <= low < high <= 1:
        raise ValueError(f"percentiles must be two ascending numbers between 0 and 1; got {percentiles!r}.")
    return int(resolution), (low, high)


def given_axes(features: Features, columns: list[int], grid: Any) -> list[tuple[Labels, Floats]]:
    """Return for each column the values that the user wants, as given and as numbers."""
    given = [grid] if len(columns) == 1 and not _is_nested(grid) else list(grid)
    if len(given) != len(columns) or any(len(values) == 0 for values in given):
        raise ValueError(f"grid needs values for each of {len(columns)} columns; got {grid!r}.")
    return [_given_axis(features, j, values) for j, values in zip(columns, given, strict=True)]


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
        values = self._grid[:, self._replaced]
        one_number = values.shape[1] == 1 and bool((values[:-1] <= values[1:]).all())
        self._runs = [_runs(model, part, one_number) for part in link.parts]

    @property
    def n_values(self) -> int:
        return len(self._mesh)

    @property
    def is_linear(self) -> bool:
        return self._link.is_linear

    def _features(self, table: Floats) -> Floats:
        """Return the features of all mixtures, rows after rows."""
        mixed = np.repeat(table, len(self._mesh), axis=0)
        mixed[:, self._columns] = np.tile(self._mesh, (len(table), 1))
        encoder = self._model.features.encoder
        return mixed if encoder is None else encoder.transform(mixed)

    def average(self, table: Floats, weight: Floats) -> Floats:
        """Return the weighted mean of the outputs over rows, of a link that is linear: values, or values × outputs."""
        total = np.zeros((self.n_values, self._model.columns.n_outputs))
        for block in self.blocks(len(table)):
            rows, slow = self._read(table[block])
            for trees, is_quick in self._runs[0]:
                if is_quick and not slow.any():
                    total += self._at_once(trees, rows, weight[block])
                else:
                    total += np.tensordot(weight[block], self._sums([(trees, is_quick)], table[block], rows, slow), 1)
        return self._link.outputs(Level(total / weight.sum(), None))

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Return rows that are taken at a time."""
        size = max(1, _VALUES_AT_ONCE // self.n_values)
        return (slice(first, first + size) for first in range(0, n_rows, size))

    def outputs(self, table: Floats) -> Floats:
        """Return the outputs of some rows: rows × values, or rows × values × outputs."""
        rows, slow = self._read(table)
        parts = []
        for runs in self._runs:
            total = self._sums(runs, table, rows, slow)
            parts.append(total.reshape(-1, total.shape[2]))
        seen = self._link.outputs(Level(parts[0], parts[1] if len(parts) > 1 else None))
        return seen.reshape(len(rows), self.n_values, *seen.shape[1:])

    def _read(self, table: Floats) -> tuple[Floats, Mask]:
        """Return the features of rows, and which of them have to be predicted value by value."""
        encoder = self._model.features.encoder
        rows = table if encoder is None else encoder.transform(table)
        slow = np.zeros(len(rows), dtype=bool)
        if self._model.features.fill is not None:  # what fills the others depends on the value
            slow |= np.isnan(rows[:, ~self._replaced]).any(axis=1)
        return rows, slow

    def _sums(self, runs: list[tuple[Part, bool]], table: Floats, rows: Floats, slow: Mask) -> Floats:
        """Return what trees add up to: rows × values × outputs."""
        total = np.zeros((len(rows), self.n_values, self._model.columns.n_outputs))
        if not slow.all():
            total[~slow] = sum(
                self._at_once(trees, rows[~slow]) if is_quick else self._one_by_one(trees, table[~slow])
                for trees, is_quick in runs
            )
        if slow.any():
            total[slow] = sum(self._one_by_one(trees, table[slow]) for trees, _ in runs)
        return total

    def _at_once(self, part: Part, rows: Floats, weight: Floats | None = None) -> Floats:
        """Let rows of features go down the trees with all values: (rows ×) values × outputs, their sum with weights."""
        f, n_outputs = self._model.features, self._model.columns.n_outputs
        sums = np.zeros((len(rows) if weight is None else 1) * self.n_values * n_outputs)
        _core.add_effects(
            self._model.columns.model, np.ascontiguousarray(rows), self._grid, self._replaced, f.mean, f.scale, f.fill,
            part.link, part.first, part.last, part.weights, self._threads, sums, weight,
        )  # fmt: skip
        return sums.reshape(*([-1] if weight is None else []), self.n_values, n_outputs)

    def _one_by_one(self, part: Part, table: Floats) -> Floats:
        """Predict all mixtures of rows of a table and values."""
        mixed = part.sums(self._model, self._features(table), self._threads)
        return mixed.reshape(-1, self.n_values, self._model.columns.n_outputs)


def _runs(model: Model, part: Part, one_number: bool) -> list[tuple[Part, bool]]:
    """Return the trees of a part in runs that can take all values at once, and that cannot."""
    if model.columns.models:
        return [(part, False)]

    def is_quick(first: int, last: int) -> bool:
        return _core.takes_all_values(model.columns.model, part.link, first, last, one_number)

    if is_quick(part.first, part.last):
        return [(part, True)]
    runs = []
    for quick, group in groupby(range(part.first, part.last), lambda tree: is_quick(tree, tree + 1)):
        trees = list(group)
        weights = part.weights[trees[0] - part.first : trees[-1] + 1 - part.first]
        runs.append((replace(part, first=trees[0], last=trees[-1] + 1, weights=weights), quick))
    return runs


def _evaluate(
    replaced: _Replaced, table: Floats, weight: Floats | None, individual: bool
) -> tuple[Floats, Floats | None]:
    """Return the mean over rows, and the rows if asked for."""
    weight = np.ones(len(table)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    if replaced.is_linear and not individual:
        return replaced.average(table, weight), None
    total: Any = 0.0
    kept = []
    for block in replaced.blocks(len(table)):
        seen = replaced.outputs(table[block])
        total = total + np.tensordot(weight[block], seen, axes=1)
        if individual:
            kept.append(seen)
    return np.asarray(total / weight.sum()), np.concatenate(kept) if individual else None
