"""What columns add to predictions: one row as a waterfall, many rows as swarms of points."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.typing import Floats, Labels
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = 60  # heights of a swarm along its axis
_SWARM = 0.4  # half of a swarm's height, in rows of the picture
_ENDS = (5, 95)  # percentiles of a column that have the ends of the colours


class _Contributions(NamedTuple):
    """What is drawn of an explanation: one output."""

    values: Floats  #: rows × columns
    base: Floats  #: per row
    data: Labels | None  #: rows × columns
    names: list[str]  #: of the columns
    output: str  #: name of the output, if there are several


def waterfall(
    explanation: Any, row: int = 0, *, output: Any = None, max_columns: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw how the columns of one row lead from the base value to its prediction.

    Parameters
    ----------
    explanation : object
        With the fields that shap uses: ``values`` (rows × columns, or rows × columns × outputs), ``base_values``,
        ``data``, ``feature_names`` and ``output_names``; what `explain` returns, or a ``shap.Explanation``.
    row : int, default=0
        Number of the row in the explanation.
    output : int or str, default=None
        Which output, by number or by name; needed if there are several.
    max_columns : int, default=10
        Draw the largest contributions; the others are added up to one bar.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A bar per column with its value in the row, the largest on top. Read from the bottom, where the base value is,
        to the top, where the prediction is.
    """
    canvas.check_axes(ax)
    most = canvas.check_count("max_columns", max_columns)
    shown = _read(explanation, output)
    n_rows = len(shown.values)
    if not isinstance(row, numbers.Integral) or not -n_rows <= row < n_rows:
        raise IndexError(f"row must be a number from {-n_rows} to {n_rows - 1}; got {row!r}.")
    values, base = shown.values[row], float(shown.base[row])
    order = canvas.largest(np.abs(values), most if len(values) > most + 1 else len(values))
    labels = [_name_and_value(shown, int(row), j) for j in order]
    widths = values[order]
    if len(order) < len(values):
        labels.append(f"{len(values) - len(order)} other columns")
        widths = np.append(widths, values.sum() - widths.sum())
    ends = base + np.cumsum(widths[::-1])[::-1]
    starts = np.append(ends[1:], base)

    c = canvas.Canvas(ax, canvas.width_beside(labels, 4.8), 1.5 + 0.34 * len(labels))
    colours = [c.down if width < 0 else c.up for width in widths]
    c.ax.barh(range(len(labels)), widths, left=starts, height=0.62, color=colours, zorder=2)
    c.ax.vlines(starts[:-1], np.arange(len(starts) - 1) - 0.31, np.arange(1, len(starts)) + 0.31, colors=c.soft(0.4),
                linewidth=0.8, zorder=2.5)  # fmt: skip
    c.style(grid="x")
    c.name_rows(labels)
    _write_widths(c, starts, widths)
    what = f"prediction for {shown.output}" if shown.output else "prediction"
    c.ax.axvline(base, color=c.soft(0.45), linewidth=1, linestyle="--", zorder=1)
    c.ax.set_xlabel(
        f"what each column adds, from the bottom up,\nto the base value {canvas.tell_number(base)} (dashed)"
    )
    c.say(f"{what}: {canvas.tell_number(float(ends[0]) if len(ends) else base)}")
    return c.ax


def _write_widths(c: canvas.Canvas, starts: Floats, widths: Floats) -> None:
    """Write each contribution beside its bar, on the side that it points to."""
    ends = starts + widths
    room = np.ptp([*starts, *ends]) or 1.0
    c.ax.set_xlim(min(*starts, *ends) - 0.2 * room, max(*starts, *ends) + 0.2 * room)
    for place, (end, width) in enumerate(zip(ends, widths, strict=True)):
        side = -1 if width < 0 else 1
        c.ax.annotate(
            f"{'−' if width < 0 else '+'}{canvas.tell_number(abs(float(width)))}", (end, place), (4 * side, 0),
            textcoords="offset points", ha="left" if side > 0 else "right", va="center", fontsize="small",
            color=c.ink, bbox=c.behind_text(),
        )  # fmt: skip


def beeswarm(explanation: Any, *, output: Any = None, max_columns: int = 12, ax: Axes | None = None) -> Axes:
    """Draw what each column adds to the predictions of many rows.

    Parameters
    ----------
    explanation : object
        As in `waterfall`.
    output : int or str, default=None
        Which output, by number or by name; needed if there are several.
    max_columns : int, default=12
        Draw the columns with the largest mean size of the contributions.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A point per row and column, where its contribution is; thick where many are. The colour is the value of the
        column in that row, from low to high; grey if it is missing or not a number.
    """
    canvas.check_axes(ax)
    most = canvas.check_count("max_columns", max_columns)
    shown = _read(explanation, output)
    sizes = np.abs(shown.values).mean(axis=0) if len(shown.values) else np.zeros(len(shown.names))
    order = canvas.largest(sizes, most)
    range_ = np.ptp(shown.values[:, order]) if shown.values.size else 1.0

    labels = [canvas.short(shown.names[j]) for j in order]
    c = canvas.Canvas(ax, canvas.width_beside(labels, 5.6), 1.4 + 0.36 * len(order))
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("low to high", [c.up, c.tint("#B5A0B8", 0.9), c.down])
    size = float(np.clip(3000 / max(len(shown.values), 1), 4, 16))
    for place, j in enumerate(order):
        heights = place - _swarm(shown.values[:, j], range_)
        scaled = _scaled(None if shown.data is None else shown.data[:, j], len(heights))
        known = ~np.isnan(scaled)
        for rows, colour in ((~known, c.soft(0.45)), (known, scaled[known])):
            options = {"c": colour, "cmap": colours, "vmin": 0, "vmax": 1} if rows is known else {"color": colour}
            c.ax.scatter(shown.values[rows, j], heights[rows], s=size, linewidth=0, zorder=3, **options)
    c.style(grid="x")
    c.name_rows(labels)
    c.ax.axvline(0, color=c.soft(0.5), linewidth=0.8, zorder=1)
    what = f"prediction for {shown.output}" if shown.output else "prediction"
    c.ax.set_xlabel(f"contribution to the {what}" + canvas.of_columns(len(order), len(shown.names)))
    if shown.data is not None:
        _colour_bar(c, colours)
    return c.ax


def _colour_bar(c: canvas.Canvas, colours: Any) -> None:
    from matplotlib.cm import ScalarMappable

    bar = c.ax.figure.colorbar(ScalarMappable(cmap=colours), ax=c.ax, ticks=[0, 1], aspect=30, pad=0.02)
    bar.set_ticklabels(["low", "high"])
    bar.ax.tick_params(length=0)
    bar.set_label("value of the column", labelpad=-12)
    bar.outline.set_visible(False)


def _swarm(values: Floats, range_: float) -> Floats:
    """Return heights at which points beside each other do not hide each other: from the middle to both sides."""
    level = np.rint((values - values.min()) / (range_ or 1.0) * _LEVELS).astype(np.intp) if len(values) else values
    heights = np.zeros(len(values))
    fullest = np.bincount(level).max() if len(values) else 1
    step = min(0.1, 2 * _SWARM / fullest)
    for at in np.unique(level):
        rows = np.flatnonzero(level == at)
        k = np.arange(len(rows))
        heights[rows] = step * np.where(k % 2 == 0, k // 2, -(k // 2) - 1)
    return heights


def _scaled(column: Labels | None, n_rows: int) -> Floats:
    """Return the values of a column between 0 and 1, NaN for what has no place there."""
    found = np.full(n_rows, np.nan)
    if column is None:
        return found
    try:
        found = column.astype(np.float64)
    except (TypeError, ValueError):
        return found
    if np.isnan(found).all():
        return found
    low, high = np.nanpercentile(found, _ENDS)
    if low == high:
        low, high = np.nanmin(found), np.nanmax(found)
    return np.clip((found - low) / (high - low), 0, 1) if high > low else np.where(np.isnan(found), np.nan, 0.5)


# -------------------------------------------------------------------------------------------------------- explanations


def _read(explanation: Any, output: Any) -> _Contributions:
    """Return one output of an explanation."""
    if not hasattr(explanation, "values") or not hasattr(explanation, "base_values"):
        raise TypeError(
            f"explanation must have values and base_values, as what explain returns; got {type(explanation).__name__}."
        )
    values = np.asarray(explanation.values, dtype=np.float64)
    values = values[None] if values.ndim == 1 else values  # a single row, as shap cuts it out
    if getattr(explanation, "interactions", False) or values.ndim not in (2, 3):
        raise ValueError(
            "explanation must have contributions, rows × columns or rows × columns × outputs; got "
            f"{'interactions' if getattr(explanation, 'interactions', False) else f'{values.ndim} axes'}."
        )
    base = np.asarray(explanation.base_values, dtype=np.float64)
    name = ""
    if values.ndim == 3:
        k, name = _output(explanation, values.shape[2], output)
        values = values[:, :, k]
        base = base[..., k]
    elif output is not None and output not in (0, *_output_names(explanation)):
        raise ValueError(f"output must be None where there is a single one; got {output!r}.")
    names = getattr(explanation, "feature_names", None)
    names = [f"x{j}" for j in range(values.shape[1])] if names is None else [str(name) for name in names]
    data = getattr(explanation, "data", None)
    data = None if data is None else np.atleast_2d(np.asarray(data))
    return _Contributions(values, np.broadcast_to(base, len(values)), data, names, name)


def _output_names(explanation: Any) -> list[str]:
    names = getattr(explanation, "output_names", None)
    return [] if names is None else [str(name) for name in np.atleast_1d(names)]


def _output(explanation: Any, n_outputs: int, output: Any) -> tuple[int, str]:
    """Return the number of an output, and its name."""
    names = _output_names(explanation) or [str(k) for k in range(n_outputs)]
    if isinstance(output, numbers.Integral) and not isinstance(output, bool) and 0 <= int(output) < n_outputs:
        return int(output), canvas.short(names[int(output)])
    if isinstance(output, str) and output in names:
        return names.index(output), canvas.short(output)
    known = ", ".join(names[:5]) + (", …" if n_outputs > 5 else "")
    raise ValueError(f"output must be the number or the name of one of {n_outputs} outputs ({known}); got {output!r}.")


def _name_and_value(shown: _Contributions, row: int, j: int) -> str:
    name = canvas.short(shown.names[j])
    if shown.data is None:
        return name
    value = shown.data[row, j]
    if value is None or value != value:
        return f"{name} is missing"
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    return f"{name} = {canvas.tell_number(float(value)) if is_number else canvas.short(value, 16)}"
