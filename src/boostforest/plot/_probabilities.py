"""How far probabilities can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.typing import Floats, Labels, Mask
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CURVES = 6  # classes that can be told apart in one picture
_STRIP = (-0.26, -0.05)  # where the numbers of rows stand, below the curve


class _Curve(NamedTuple):
    """Probabilities, bin by bin; bins without rows are left out."""

    label: str
    predicted: Floats  #: mean probability
    observed: Floats  #: share of the rows that have the class
    n_rows: Floats
    error: float  #: mean distance of the two over the rows


def calibration(classifier: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw how often a class comes true against how probable it was said to be.

    Parameters
    ----------
    classifier : fitted classifier
        With `predict_proba` and `classes_`.
    X : array-like of shape (n_samples, n_features)
        Rows that the classifier has not seen.
    y : array-like of shape (n_samples,)
        Their classes.
    n_bins : int, default=10
        Probabilities from 0 to 1 are cut into so many bins of the same width.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The reliability curve of the second of two classes, or one curve per class of up to six. Of more classes one
        curve: how often the most probable class is right. Bars below count the rows in each bin, points are larger
        where there are more. Thin lines are 95 % intervals (Wilson's), of up to three curves. The calibration error
        is the mean distance from the diagonal over the rows.
    """
    canvas.check_axes(ax)
    n_bins = canvas.check_count("n_bins", n_bins, 2)
    canvas.check_estimator(classifier, "a classifier")
    p = classifier.predict_proba(X)
    classes = np.asarray(classifier.classes_)
    places = canvas.read_labels(y, classes, len(p))
    curves = _curves(p, places, classes, n_bins)

    c = canvas.Canvas(ax, 5.4, 5.6)
    c.ax.plot([0, 1], [0, 1], color=c.soft(0.45), linewidth=1, linestyle="--", label="_perfect")
    for k, curve in enumerate(curves):
        low, high = wilson(curve.observed, curve.n_rows)
        colour = c.colours[k]
        if len(curves) <= 3:
            c.ax.vlines(curve.predicted, low, high, colors=colour, linewidth=1, alpha=0.6)
        c.ax.plot(curve.predicted, curve.observed, color=colour, linewidth=1.2, alpha=0.6, label="_curve")
        sizes = 12 + 60 * np.sqrt(curve.n_rows / curve.n_rows.max())
        label = f"{curve.label} ({curve.error:.3f})"
        c.ax.scatter(
            curve.predicted, curve.observed, sizes, marker=canvas.MARKERS[k], color=colour, label=label, zorder=3
        )
    c.style()
    _count_rows(c, curves, n_bins)
    c.ax.set(xlim=(-0.02, 1.02), ylim=(_STRIP[0] - 0.02, 1.03), yticks=np.linspace(0, 1, 6), ylabel="observed share")
    of = f" of {curves[0].label}" if len(curves) == 1 else ""
    c.ax.set_xlabel(f"predicted probability{of}")
    if len(curves) == 1:
        c.say(f"calibration error {curves[0].error:.3f}")
    else:
        c.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=3, alignment="left", title="class (calibration error)",
            title_fontsize="small",
        )  # fmt: skip
    return c.ax


def _curves(p: Floats, places: Labels, classes: Labels, n_bins: int) -> list[_Curve]:
    names = [canvas.short(label) for label in classes]
    if len(classes) <= 2:
        return [_curve(names[-1], p[:, -1], places == len(classes) - 1, n_bins)]
    if len(classes) <= _MOST_CURVES:
        return [_curve(name, p[:, k], places == k, n_bins) for k, name in enumerate(names)]
    return [_curve("the most probable class", p.max(axis=1), p.argmax(axis=1) == places, n_bins)]


def _curve(label: str, p: Floats, hit: Mask, n_bins: int) -> _Curve:
    at = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
    n_rows = np.bincount(at, minlength=n_bins).astype(np.float64)
    used = n_rows > 0
    predicted = np.bincount(at, p, n_bins)[used] / n_rows[used]
    observed = np.bincount(at, hit, n_bins)[used] / n_rows[used]
    error = float(np.average(np.abs(predicted - observed), weights=n_rows[used]))
    return _Curve(label, predicted, observed, n_rows[used], error)


def wilson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % interval of a share that was seen in n rows."""
    z = 1.96
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def _count_rows(c: canvas.Canvas, curves: list[_Curve], n_bins: int) -> None:
    """Draw the number of rows in each bin below the curves."""
    strip = c.ax.inset_axes((0.0, _STRIP[0], 1.0, _STRIP[1] - _STRIP[0]), transform=c.ax.transData)
    width = 0.9 / n_bins / len(curves)
    for k, curve in enumerate(curves):
        bins = np.minimum((curve.predicted * n_bins).astype(np.intp), n_bins - 1)
        at = (bins + 0.05) / n_bins + (k + 0.5) * width
        strip.bar(at, curve.n_rows, width, color=c.colours[k], alpha=0.45)
        if len(curves) > 1 or n_bins > 15:
            continue
        for x, n in zip(at, curve.n_rows, strict=True):
            strip.annotate(
                f"{n:.0f}", (x, n), (0, 1), textcoords="offset points", ha="center", fontsize="x-small",
                color=c.soft(0.7),
            )  # fmt: skip
    strip.set(xlim=(0, 1), ylim=(0, 1.25 * max(curve.n_rows.max() for curve in curves)))
    strip.set_axis_off()
    c.ax.annotate(
        "rows", (0, sum(_STRIP) / 2), (-6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", va="center", fontsize="small", color=c.soft(0.7),
    )  # fmt: skip
