"""How a forest came about: its loss tree by tree, what an adaptive pool has tried, and how it became smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from .._base.typing import Floats
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_START = 0.03  # share of the trees whose loss may leave the picture
_CURVE = "boostforest.convergence"  # by which curves of earlier calls are known


def convergence(forest: Any, X: Any, y: Any, *, label: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the loss over the number of trees.

    Parameters
    ----------
    forest : fitted forest
        With `staged_predict` or, of classes, `staged_predict_proba`.
    X : array-like of shape (n_samples, n_features)
        Rows that the forest has not seen.
    y : array-like of shape (n_samples,)
        Their targets.
    label : str, default=None
        Name of the curve in a legend: several forests can be drawn into the same axes.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        Root mean squared error in units of the target, or log-loss. Dashed lines are where stages begin.
    """
    canvas.check_axes(ax)
    canvas.check_estimator(forest, "a forest")
    method = "staged_predict_proba" if is_classifier(forest) else "staged_predict"
    if not hasattr(forest, method):
        raise TypeError(f"this picture needs a forest with {method}; got {type(forest).__name__}.")
    canvas.check_one_target(forest)
    losses = _losses(forest, X, y, method)
    trees = np.arange(1, len(losses) + 1)

    c = canvas.Canvas(ax, 6.4, 3.8)
    n_before = sum(line.get_gid() == _CURVE for line in c.ax.lines)
    colour = c.colours[n_before % canvas.N_COLOURS]
    c.ax.plot(trees, losses, color=colour, linewidth=1.6, label=label, gid=_CURVE)
    c.style()
    ends = forest.stages_.ends if hasattr(forest, "stages_") else (len(losses),)
    for stage, end in enumerate(ends[:-1], 2):
        c.ax.axvline(end + 0.5, color=c.soft(0.5), linewidth=1, linestyle="--", label=f"_stage {stage}")
        c.ax.annotate(
            f"stage {stage}", (end + 0.5, 1), (3, -2), xycoords=c.ax.get_xaxis_transform(),
            textcoords="offset points", va="top", fontsize="small", color=c.soft(0.7),
        )  # fmt: skip
    c.ax.plot(trees[-1], losses[-1], marker="o", markersize=5, color=colour, label="_end")
    c.ax.annotate(
        canvas.tell_number(losses[-1]), (trees[-1], losses[-1]), (6, 0), textcoords="offset points", va="center",
        color=colour, annotation_clip=False,
    )  # fmt: skip
    c.ax.set_xlim(left=0)
    _leave_out_the_start(c.ax, losses, n_before > 0)
    c.ax.set(xlabel="trees", ylabel="log-loss" if is_classifier(forest) else "root mean squared error")
    if label is not None:
        c.legend()
    return c.ax


def _losses(forest: Any, X: Any, y: Any, method: str) -> Floats:
    """Return the loss of the first 1, 2, … trees."""
    stages = getattr(forest, method)(X)
    first = next(stages)
    if method == "staged_predict":
        numbers = canvas.read_numbers(y, len(first))
        return np.array([np.sqrt(np.mean((numbers - p) ** 2)) for p in (first, *stages)])
    places = canvas.read_labels(y, forest.classes_, len(first))
    rows, tiny = np.arange(len(places)), np.finfo(np.float64).eps
    return np.array([-np.log(np.maximum(p[rows, places], tiny)).mean() for p in (first, *stages)])


def _leave_out_the_start(ax: Axes, losses: Floats, has_others: bool) -> None:
    """Let the first few trees leave the picture at its top: they are so bad that nothing else could be seen."""
    rest = losses[int(_START * len(losses)) :]
    low, high = float(rest.min()), float(rest.max())
    room = max(high - low, 1e-3 * abs(high)) or 1.0
    low, high = low - 0.08 * room, high + 0.12 * room
    if has_others:
        low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
    ax.set_ylim(low, high)


def pool(forest: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what an adaptive pool has tried.

    Parameters
    ----------
    forest : BoostForestRegressor or BoostForestClassifier
        Fitted with ``pool="adaptive"`` or ``preset="best"``; a forest from a file no longer knows what was tried.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A bar per setting, in the order of the trials: the change of the out-of-bag loss against the first one, in
        percent. Coloured ones are in the forest, with their share of its trees.
    """
    canvas.check_axes(ax)
    canvas.check_estimator(forest, "a forest")
    report = getattr(forest, "pool_report_", None)
    if report is None:
        raise ValueError(
            "this picture needs a forest that was fitted with pool='adaptive' or preset='best', and did not come from "
            "a file."
        )
    changes = np.array([100 * row["change"] for row in report])
    shares = np.array([row["share"] for row in report])

    labels = [canvas.short(_settings(row["settings"]), 48) for row in report]
    c = canvas.Canvas(ax, canvas.width_beside(labels, 4.8), 1.3 + 0.27 * len(report))
    colours = [c.up if share > 0 else c.soft(0.3) for share in shares]
    c.ax.barh(range(len(report)), changes, height=0.7, color=colours)
    c.style(grid="x")
    c.name_rows(labels)
    c.ax.axvline(0, color=c.soft(0.5), linewidth=0.8)
    for place in np.flatnonzero(shares > 0):
        c.ax.annotate(
            f"{shares[place]:.0%} of the trees", (max(changes[place], 0), place), (5, 0), textcoords="offset points",
            va="center", fontsize="small", color=c.soft(0.8),
        )  # fmt: skip
    c.ax.margins(x=0.25)
    c.ax.set_xlabel("change of the out-of-bag loss\nagainst the first setting, %")
    return c.ax


def _settings(settings: dict[str, Any]) -> str:
    """Return settings in few characters."""
    if not settings:
        return "as given"
    parts = []
    for name, value in settings.items():
        if name == "split_features":
            parts.append(f"{len(value)} features")
            continue
        several = isinstance(value, tuple) and len(value) > 1
        parts.append(f"{name} {value[0]:g}…{value[-1]:g}" if several else f"{name} {value}")
    return ", ".join(parts)


def compression(forest: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what each step of ``compress`` has made of the size of the file, and what it has cost.

    Parameters
    ----------
    forest : BoostForestRegressor or BoostForestClassifier
        What ``compress`` has returned; a forest from a file no longer knows the steps.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A bar per step, from the forest as it was at the top: the size of the file, with the number of trees and the
        change of the loss.
    """
    canvas.check_axes(ax)
    canvas.check_estimator(forest, "a forest")
    report = getattr(forest, "compression_report_", None)
    if report is None:
        raise ValueError("this picture needs a forest that compress has made, and that did not come from a file.")
    sizes = np.array([row["bytes"] for row in report], dtype=np.float64)
    unit, name = (1e6, "MB") if sizes.max() >= 1e6 else (1e3, "kB")

    labels = [row["step"].replace(", ", ",\n") for row in report]
    c = canvas.Canvas(ax, canvas.width_beside(labels, 5.2), 1.4 + 0.45 * len(report))
    colours = [c.soft(0.3), *[c.up] * (len(report) - 1)]
    c.ax.barh(range(len(report)), sizes / unit, height=0.62, color=colours)
    c.style(grid="x")
    c.name_rows(labels)
    for place, row in enumerate(report):
        text = f"{sizes[place] / unit:.3g} {name}, {row['n_trees']:,} trees, loss {canvas.tell_number(row['loss'])}"
        if place and report[0]["loss"] > 0:
            text += f" ({100 * (row['loss'] / report[0]['loss'] - 1):+.2f} %)"
        c.ax.annotate(
            text, (sizes[place] / unit, place), (5, 0), textcoords="offset points", va="center", fontsize="small",
            color=c.soft(0.8), annotation_clip=False,
        )  # fmt: skip
    c.ax.set_xlim(0, 2.2 * sizes.max() / unit)  # room for the words beside the longest bar
    c.ax.set_xlabel(f"size of the file, {name}")
    return c.ax
