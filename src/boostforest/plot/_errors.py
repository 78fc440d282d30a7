"""How far predicted numbers, and their intervals, can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Floats, Mask
from .._base.validation import check_coverage
from . import _canvas as canvas
from ._probabilities import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_INTERVALS = 300  # that a picture shows; more hide each other
_MOST_POINTS = 2000  # that are drawn in full colour


def residuals(regressor: Any, X: Any, y: Any, *, coverage: float = 0.9, ax: Axes | None = None) -> Axes:
    """Draw what was observed against what was predicted.

    Parameters
    ----------
    regressor : fitted regressor
        With `predict` and, if it can, `predict_interval`.
    X : array-like of shape (n_samples, n_features)
        Rows that the regressor has not seen.
    y : array-like of shape (n_samples,)
        Their targets.
    coverage : float, default=0.9
        Probability of the prediction intervals, which are drawn if the forest has them: it must have been fitted with
        ``oob_score=True`` or ``preset="best"``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A point per row; on the dashed line, the prediction is right. Grey lines are the prediction intervals (of 300
        rows, if there are more), and points outside of theirs are crosses.
    """
    canvas.check_axes(ax)
    check_coverage(coverage)
    canvas.check_estimator(regressor, "a regressor")
    predicted = regressor.predict(X)
    observed = canvas.read_numbers(y, len(predicted))
    ends = _intervals(regressor, X, coverage)
    inside = np.ones(len(observed), dtype=np.bool_) if ends is None else _inside(ends, observed)

    c = canvas.Canvas(ax, 5.8, 5.0)
    low, high = min(predicted.min(), observed.min()), max(predicted.max(), observed.max())
    room = 0.04 * (high - low) or 1.0
    c.ax.plot([low, high], [low, high], color=c.soft(0.45), linewidth=1, linestyle="--")
    if ends is not None:
        _draw_intervals(c, predicted, ends, low - room, high + room)
    alpha = min(0.8, max(0.1, _MOST_POINTS / len(observed)))
    size = 18 if len(observed) <= _MOST_POINTS else 6
    label = None if ends is None else f"within its {coverage:.0%} interval"
    c.ax.scatter(
        predicted[inside], observed[inside], s=size, alpha=alpha, color=c.up, linewidth=0, label=label, zorder=3
    )
    if not inside.all():
        c.ax.scatter(
            predicted[~inside], observed[~inside], s=1.6 * size, marker="x", alpha=max(alpha, 0.4), color=c.down,
            linewidth=1.1, label="outside", zorder=3,
        )  # fmt: skip
    c.style()
    c.ax.set(xlim=(low - room, high + room), ylim=(low - room, high + room), xlabel="predicted", ylabel="observed")
    c.say(_figures(observed, predicted, None if ends is None else inside))
    if ends is not None:
        c.legend(loc="upper left")
    return c.ax


def _intervals(regressor: Any, X: Any, coverage: float) -> Floats | None:
    """Return the prediction intervals, None if the regressor has none."""
    if not hasattr(regressor, "predict_interval"):
        return None
    try:
        ends: Floats = regressor.predict_interval(X, coverage)
    except AttributeError:  # the fit was not asked for them
        return None
    return ends


def _inside(ends: Floats, observed: Floats) -> Mask:
    return (ends[:, 0] <= observed) & (observed <= ends[:, 1])


def _draw_intervals(c: canvas.Canvas, predicted: Floats, ends: Floats, low: float, high: float) -> None:
    order = np.argsort(predicted, kind="stable")
    if len(order) > _MOST_INTERVALS:
        order = order[np.linspace(0, len(order) - 1, _MOST_INTERVALS).astype(np.intp)]
    lower, upper = np.clip(ends[order], low, high).T
    c.ax.vlines(predicted[order], lower, upper, colors=c.soft(0.22), linewidth=0.8, zorder=1.5)


def _figures(observed: Floats, predicted: Floats, inside: Mask | None) -> str:
    squares = np.mean((observed - predicted) ** 2)
    text = f"RMSE {canvas.tell_number(float(np.sqrt(squares)))}"
    if observed.var() > 0:
        text += f", R² {1 - squares / observed.var():.2f}"
    return text if inside is None else f"{text}, {inside.mean():.0%} within their intervals"


def intervals(
    regressor: Any,
    X: Any,
    y: Any,
    *,
    coverage: float = 0.9,
    by: str = "prediction",
    n_bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often prediction intervals hold the target, over what was predicted.

    Parameters
    ----------
    regressor : BoostForestRegressor
        Fitted with ``oob_score=True`` or ``preset="best"``, so that it has prediction intervals.
    X : array-like of shape (n_samples, n_features)
        Rows that the forest has not seen.
    y : array-like of shape (n_samples,)
        Their targets.
    coverage : float, default=0.9
        Probability of the intervals.
    by : {"prediction", "width"}, default="prediction"
        Rows are put into bins by what is predicted, or by how wide their intervals are.
    n_bins : int, default=10
        Bins with the same number of rows.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A point per bin: the share of its rows whose targets are within their intervals, with a 95 % interval of that
        share (Wilson's); the dashed line is the share that was asked for.
    """
    canvas.check_axes(ax)
    check_coverage(coverage)
    canvas.check_choice("by", by, ("prediction", "width"))
    n_bins = canvas.check_count("n_bins", n_bins)
    canvas.check_estimator(regressor, "a regressor")
    if not hasattr(regressor, "predict_interval"):
        raise TypeError(f"this picture needs a forest with predict_interval; got {type(regressor).__name__}.")
    ends: Floats = regressor.predict_interval(X, coverage)
    observed = canvas.read_numbers(y, len(ends))
    widths = ends[:, 1] - ends[:, 0]
    if by == "width" and not np.isfinite(widths).all():
        raise ValueError("by='width' needs finite intervals, and some are infinite; ask for a smaller coverage.")
    over = regressor.predict(X) if by == "prediction" else widths
    bins = np.array_split(np.argsort(over, kind="stable"), min(n_bins, len(over)))
    inside = _inside(ends, observed)
    share = np.array([inside[rows].mean() for rows in bins])
    low, high = wilson(share, np.array([float(len(rows)) for rows in bins]))
    at = np.array([over[rows].mean() for rows in bins])

    c = canvas.Canvas(ax, 6.4, 3.8)
    c.ax.axhline(coverage, color=c.soft(0.45), linewidth=1, linestyle="--")
    c.ax.vlines(at, low, high, colors=c.up, linewidth=1.4, alpha=0.6)
    c.ax.plot(at, share, marker="o", markersize=6, linestyle="none", color=c.up)
    c.style()
    c.ax.yaxis.set_major_formatter("{x:.0%}")
    room = 0.03 * max(1.0 - low.min(), 0.1)
    c.ax.set_ylim(min(low.min(), coverage) - room, 1 + room)
    c.ax.set_ylabel("targets within their intervals")
    what = "prediction" if by == "prediction" else "width of the interval"
    c.ax.set_xlabel(f"{what}, mean of each bin of {_sizes(bins)} rows")
    width = canvas.tell_number(float(np.median(widths)))
    c.say(f"{inside.mean():.1%} of {len(inside):,} rows within; asked for: {coverage:.0%}\nmedian width {width}")
    return c.ax


def _sizes(bins: list[Any]) -> str:
    sizes = sorted({len(rows) for rows in bins})
    return " or ".join(map(str, sizes))
