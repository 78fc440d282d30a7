"""How predictions change with one column."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import is_classifier

from .._base.typing import Floats, Labels, Longs, Mask
from .._features.frames import array_columns, as_frame, frame_columns
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_RUGS = 300  # ticks that show where the data are
_MOST_LEVELS = 20  # categories in a picture
_FEW = 8  # values of a number, each of which gets its tick
_RANGE = (0.01, 0.99)  # quantiles between which the curve is drawn
_LINES = ("-", "--", "-.", ":")


class _Column(NamedTuple):
    """A column of a table."""

    name: str
    j: int  #: its place
    values: Labels  #: numbers (NaN if missing), or categories (None if missing)
    is_category: bool

    @property
    def missing(self) -> Mask:
        """Rows without a value."""
        return np.array([value is None or value != value for value in self.values.tolist()], dtype=np.bool_)


def effect(
    estimator: Any,
    X: Any,
    column: str | int,
    *,
    kind: str = "partial",
    output: Any = None,
    n_points: int = 40,
    max_rows: int | None = 1000,
    n_lines: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw how predictions follow the values of one column: its partial dependence, or accumulated local effects.

    Partial dependence: for each of some values that the column has in ``X``, all rows get this value, and what is then
    predicted is averaged. Accumulated local effects add up what small changes of the column do to rows that have
    such values; 0 is their mean. They are the better picture where columns go together.

    Parameters
    ----------
    estimator : fitted tree or forest
        Any estimator with `predict` or, of classes, `predict_proba`.
    X : array-like of shape (n_samples, n_features)
        Rows to average over, such as the training table.
    column : str or int
        The column, by name or by number.
    kind : {"partial", "ale"}, default="partial"
        Partial dependence, or accumulated local effects, which are there for trees and forests of this package.
    output : label, default=None
        The class whose probability is drawn. None: the second of two, and of more all, or those six whose
        probabilities change most.
    n_points : int, default=40
        So many values of the column, at most, between its 1st and its 99th percentile.
    max_rows : int, default=1000
        So many rows, evenly spaced in ``X``, are averaged over at most; None: all.
    n_lines : int, default=0
        Draw also the predictions of so many single rows, where there is one output (partial dependence alone).
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A curve, with ticks at the bottom where the data are, and a dotted line for missing values, if there are any.
        Of a category: a point per level (the most frequent twenty), with the number of rows.
    """
    canvas.check_axes(ax)
    canvas.check_choice("kind", kind, ("partial", "ale"))
    n_points = canvas.check_count("n_points", n_points, 2)
    n_lines = canvas.check_count("n_lines", n_lines, 0)
    most = None if max_rows is None else canvas.check_count("max_rows", max_rows)
    canvas.check_estimator(estimator, "a tree or a forest")
    found = _read_column(estimator, X, column)
    if kind == "ale":
        if not hasattr(estimator, "effects"):
            raise TypeError(f"kind='ale' needs a BoostForest or a BoostTree; got {type(estimator).__name__}.")
        curve = _accumulated(estimator, found, _thinned(_table(X), most), n_points)
    else:
        rows = _example_rows(found, n_points)
        how = _effects if hasattr(estimator, "effects") else effects_by_prediction
        curve = _Curve(found.values[rows], how(estimator, X, found, rows, most))
    labels, single = _outputs(estimator, curve.single, output)
    curve = curve._replace(single=single)
    y_label = _label(estimator, labels, kind)
    if found.is_category:
        return _draw_levels(found, curve, labels, y_label, ax)
    return _draw_curve(found, curve, labels, y_label, n_lines, ax)


class _Curve(NamedTuple):
    """What is drawn: outputs over values of the column, a missing one last."""

    values: Labels
    single: Floats  #: values × rows × outputs; one row if means are all there is

    @property
    def mean(self) -> Floats:
        """Mean over the rows."""
        return np.asarray(self.single.mean(axis=1))


def _label(estimator: Any, labels: list[str], kind: str) -> str:
    what = "prediction"
    if is_classifier(estimator):
        what = "probability" + (f" of {labels[0]}" if len(labels) == 1 else "")
    return f"mean {what}" if kind == "partial" else f"accumulated effect on the {what}"


def _effects(estimator: Any, X: Any, column: _Column, rows: Longs, max_rows: int | None) -> Floats:
    """Return what `effects_by_prediction` does, by the effects of the core."""
    table = _thinned(_table(X), max_rows)
    place, missing = _place_in_fit(estimator, column), column.missing[rows]
    native = table.to_native() if isinstance(table, nw.DataFrame) else table
    known = rows if column.is_category else rows[~missing]
    found = estimator.effects(native, place, grid=column.values[known].tolist(), individual=True).individual
    single: Floats = np.moveaxis(found if found.ndim == 3 else found[..., None], 1, 0)
    if len(known) == len(rows):
        return single
    return np.concatenate([single, effects_by_prediction(estimator, X, column, rows[missing], max_rows)])


def _accumulated(estimator: Any, column: _Column, table: nw.DataFrame[Any] | Labels, n_points: int) -> _Curve:
    """Return accumulated local effects, of the most frequent levels of a category."""
    native = table.to_native() if isinstance(table, nw.DataFrame) else table
    how = {"kind": "ale", "grid_resolution": n_points, "percentiles": _RANGE}
    found = estimator.effects(native, _place_in_fit(estimator, column), **how)
    values, average = found.grid[0], found.average.reshape(len(found.grid[0]), 1, -1)
    if column.is_category and len(values) > _MOST_LEVELS:
        most = np.argsort([-(column.values == value).sum() for value in values.tolist()], kind="stable")[:_MOST_LEVELS]
        values, average = values[most], average[most]
    return _Curve(values, average)


def _place_in_fit(estimator: Any, column: _Column) -> int:
    """Return the number of a column in the table of the fit."""
    names = getattr(estimator, "feature_names_in_", None)
    return column.j if names is None else [str(name) for name in names].index(column.name)


def _thinned(table: nw.DataFrame[Any] | Labels, max_rows: int | None) -> nw.DataFrame[Any] | Labels:
    """Return at most so many rows, evenly spaced."""
    n_rows = len(table)
    if max_rows is None or n_rows <= max_rows:
        return table
    kept = np.linspace(0, n_rows - 1, max_rows).astype(np.intp)
    return table[kept.tolist()] if isinstance(table, nw.DataFrame) else table[kept]


def effects_by_prediction(estimator: Any, X: Any, column: _Column, rows: Longs, max_rows: int | None) -> Floats:
    """Predict all rows with the values that a column has in some of them: values × rows × outputs.

    Values are taken from the table itself, so that their types are those of the fit, whatever the table is.
    """
    table = _table(X)
    kept = _thinned(table, max_rows)
    predict = estimator.predict_proba if is_classifier(estimator) else estimator.predict
    found = []
    for row in rows:
        if isinstance(table, nw.DataFrame) and isinstance(kept, nw.DataFrame):
            name = table.columns[column.j]
            same = table[name][[int(row)] * len(kept)]
            changed: Any = kept.with_columns(same.alias(name)).to_native()
        else:
            changed = np.array(kept)
            changed[:, column.j] = np.asarray(table)[row, column.j]
        found.append(predict(changed))
    values: Floats = np.array(found)
    return values if values.ndim == 3 else values[:, :, None]


def _table(X: Any) -> nw.DataFrame[Any] | Labels:
    """Return a frame whose columns have names as such, and any other table as an array."""
    frame = as_frame(X)
    if frame is not None:
        return frame if all(isinstance(name, str) for name in frame.columns) else frame.to_numpy()
    return np.array(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)


def _read_column(estimator: Any, X: Any, column: Any) -> _Column:
    """Return a column of the table, found by name or number."""
    table = _table(X)
    names = _names(estimator, table)
    if isinstance(column, str) and names is not None and column in names:
        name = column
    elif isinstance(column, numbers.Integral) and not isinstance(column, bool):
        n = int(estimator.n_features_in_)
        if not 0 <= int(column) < n:
            raise ValueError(f"column must be a name, or a number from 0 to {n - 1}; got {column!r}.")
        name = f"x{column}" if names is None else names[int(column)]
    else:
        known = "X has no names of columns" if names is None else f"such as {names[0]!r}"
        raise ValueError(f"column must be the name of a column of X ({known}), or its number; got {column!r}.")
    place = int(column) if names is None else names.index(name)
    fitted = getattr(estimator, "is_categorical_", None)
    is_category = fitted is not None and bool(fitted[place])
    if isinstance(table, nw.DataFrame) and name in table.columns:
        place = table.columns.index(name)
    columns = frame_columns(table) if isinstance(table, nw.DataFrame) else array_columns(table)
    if not place < len(columns):
        raise ValueError(f"X must have the {estimator.n_features_in_} columns of the fit; got {len(columns)}.")
    content = columns[place].read(as_values=is_category)
    if isinstance(content, list) and not is_category:
        is_category = columns[place].kind_of(content) == "text"
        content = content if is_category else columns[place].to_numbers(content)
    values = np.empty(len(content), dtype=object)
    values[:] = content
    return _Column(name, place, values if is_category else values.astype(np.float64), is_category)


def _names(estimator: Any, table: nw.DataFrame[Any] | Labels) -> list[str] | None:
    """Return the names of the columns of the fit, or of the table if the fit knows none."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return list(table.columns) if isinstance(table, nw.DataFrame) else None


def _example_rows(column: _Column, n_points: int) -> Longs:
    """Return rows whose values of the column make the picture, a row without a value last."""
    missing = column.missing
    known = np.flatnonzero(~missing)
    last = np.flatnonzero(missing)[:1]
    if column.is_category:
        counts: dict[Any, list[int]] = {}
        for row in known.tolist():
            counts.setdefault(column.values[row], []).append(row)
        common = sorted(counts.values(), key=lambda rows: (-len(rows), str(column.values[rows[0]])))[:_MOST_LEVELS]
        return np.array([*(rows[0] for rows in common), *last], dtype=np.int64)
    values = column.values[known].astype(np.float64)
    if len(values) == 0:
        raise ValueError(f"column {column.name!r} of X must have some values; all of them are missing.")
    wanted, at = np.unique(values, return_index=True)
    if len(wanted) > n_points:
        low, high = np.quantile(values, _RANGE, method="nearest")
        share = np.linspace(*_RANGE, n_points // 2)
        points = np.concatenate(
            [np.quantile(values, share, method="nearest"), np.linspace(low, high, n_points - n_points // 2)]
        )
        nearest = np.clip(np.searchsorted((wanted[1:] + wanted[:-1]) / 2, points), 0, len(wanted) - 1)
        at = at[np.unique(nearest)]
    return np.array([*known[at], *last], dtype=np.int64)


def _outputs(estimator: Any, single: Floats, output: Any) -> tuple[list[str], Floats]:
    """Return the outputs that are drawn: their names, and their part of the predictions."""
    if not is_classifier(estimator):
        if output is not None:
            raise ValueError(f"output must be None in regression; got {output!r}.")
        return [""], single
    classes = np.asarray(estimator.classes_).tolist()
    if output is not None:
        if output not in classes:
            raise ValueError(f"output must be one of the classes, such as {classes[0]!r}; got {output!r}.")
        chosen = [classes.index(output)]
    elif len(classes) <= 2:
        chosen = [len(classes) - 1]
    else:
        chosen = sorted(canvas.largest(np.ptp(single.mean(axis=1), axis=0), canvas.N_COLOURS - 1))
    return [canvas.short(classes[k]) for k in chosen], single[:, :, chosen]


def _draw_curve(column: _Column, curve: _Curve, labels: list[str], y_label: str, n_lines: int, ax: Axes | None) -> Axes:
    c = canvas.Canvas(ax, 6.0, 3.9)
    single = curve.single
    at = curve.values.astype(np.float64)
    n = int((~np.isnan(at)).sum())
    if n_lines and len(labels) == 1 and single.shape[1] > 1:
        some = np.linspace(0, single.shape[1] - 1, min(n_lines, single.shape[1])).astype(np.intp)
        c.ax.plot(at[:n], single[:n, some, 0], color=c.soft(0.3), linewidth=0.6, zorder=1.5)
    mean = curve.mean
    marker = "o" if n <= _FEW else ""
    for k, label in enumerate(labels):
        line = _LINES[k % len(_LINES)]
        c.ax.plot(at[:n], mean[:n, k], line, color=c.colours[k], linewidth=2, marker=marker, label=label, zorder=3)
        if n < len(at):
            c.ax.axhline(mean[n, k], color=c.colours[k], linewidth=1.2, linestyle=(0, (1, 2)))
    c.style()
    if n < len(at):
        c.ax.annotate(
            f"missing ({column.missing.sum():,} rows)", (1, mean[n, 0]), (-2, 2), textcoords="offset points",
            xycoords=c.ax.get_yaxis_transform(), ha="right", va="bottom", fontsize="small", color=c.soft(0.7),
        )  # fmt: skip
    _show_data(c, column.values[~column.missing].astype(np.float64), at[:n])
    c.ax.set(xlabel=canvas.short(column.name, 60), ylabel=y_label)
    if len(labels) > 1:
        c.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return c.ax


def _show_data(c: canvas.Canvas, values: Floats, points: Floats) -> None:
    """Show where the data are: by ticks at the bottom, or the numbers of rows that have one of a few values."""
    at_bottom = c.ax.get_xaxis_transform()
    if points.max() >= 10_000:
        c.ax.xaxis.set_major_formatter("{x:,.0f}")
    if len(points) <= _FEW:
        c.ax.set_xticks(points)
        c.ax.margins(x=0.08, y=0.12)
        for point in points:
            text = f"{(values == point).sum():,} rows"
            look: dict[str, Any] = {"fontsize": "x-small", "color": c.soft(0.7), "bbox": c.behind_text()}
            c.ax.text(point, 0.02, text, transform=at_bottom, ha="center", **look)
        return
    values = np.sort(values)
    if len(values) > _MOST_RUGS:
        values = values[np.linspace(0, len(values) - 1, _MOST_RUGS).astype(np.intp)]
    values = values[(values >= points.min()) & (values <= points.max())]
    c.ax.vlines(values, 0, 0.035, transform=at_bottom, colors=c.soft(0.6), linewidth=0.7, alpha=0.7)


def _draw_levels(column: _Column, curve: _Curve, labels: list[str], y_label: str, ax: Axes | None) -> Axes:
    mean = curve.mean
    order = np.arange(len(mean))
    names = []
    for value in curve.values.tolist():
        is_missing = value is None or value != value
        count = int(column.missing.sum() if is_missing else (column.values == value).sum())
        names.append(f"{'missing' if is_missing else canvas.short(value)} ({count:,})")
    if len(labels) == 1:
        order = np.argsort(-mean[:, 0], kind="stable")
    c = canvas.Canvas(ax, canvas.width_beside(names, 4.8), 1.3 + 0.3 * len(order))
    for k, label in enumerate(labels):
        c.ax.plot(
            mean[order, k], np.arange(len(order)), linestyle="none", marker=canvas.MARKERS[k], markersize=7,
            color=c.colours[k], label=label,
        )  # fmt: skip
    c.style()
    c.name_rows([names[i] for i in order])
    c.ax.set(xlabel=y_label, ylabel=f"{canvas.short(column.name, 40)} (rows)")
    c.ax.margins(x=0.08)
    if len(labels) > 1:
        c.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return c.ax
