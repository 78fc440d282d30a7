"""Which columns matter, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Floats
from .._explain.permutation import PermutationImportances
from . import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def importances(forest: Any, kind: str = "gain", *, max_columns: int = 15, ax: Axes | None = None) -> Axes:
    """Draw which columns matter.

    Parameters
    ----------
    forest : fitted tree or forest, or PermutationImportances
        Anything that has the attribute that ``kind`` asks for; or what `permutation_importances` returns, whose bars
        have its own 95 % intervals.
    kind : {"gain", "slope"}, default="gain"
        What the bars show: `feature_importances_`, the share of each column in the gain of the splits, or
        `slope_importances_`, how much one standard deviation of the column moves the prediction.
    max_columns : int, default=15
        Draw the largest ones.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A bar per column, the largest on top; with slopes, bars to the right raise the prediction and bars to the left
        lower it. The thin line at the end of a bar is a 95 % interval: how far the mean over the trees would move with
        other trees. It is there where the bar is such a mean: in forests of one stage, and with slopes for numbers.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor, plot
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = BoostForestRegressor(20, random_state=0).fit(X, y)
    >>> ax = plot.importances(forest, "slope")  # doctest: +SKIP
    """
    canvas.check_axes(ax)
    canvas.check_choice("kind", kind, ("gain", "slope"))
    most = canvas.check_count("max_columns", max_columns)
    if isinstance(forest, PermutationImportances):
        of = f"{forest.figure}{' out of bag' if forest.out_of_bag else ''} of {canvas.tell_number(forest.loss)}"
        label = f"rise of the {of}\nwhen the column is shuffled"
        return _bars(forest.importances, forest.columns, forest.intervals.T, label, most, ax)
    canvas.check_estimator(forest, "a tree or a forest")
    name = "feature_importances_" if kind == "gain" else "slope_importances_"
    if not hasattr(type(forest), name) and name not in vars(forest):
        raise TypeError(f"kind={kind!r} needs an estimator with {name}; got {type(forest).__name__}.")
    values: Floats = np.asarray(getattr(forest, name))
    spread = _spread(forest, name, values)
    if spread is not None and kind == "gain":
        spread = np.maximum(spread, 0)
    return _bars(values, canvas.names_of(forest, len(values)), spread, _label(forest, kind), most, ax)


def _bars(values: Floats, names: list[str], spread: Floats | None, label: str, most: int, ax: Axes | None) -> Axes:
    """Draw the largest of some values; ``spread`` has the ends of their intervals."""
    shown = canvas.largest(np.abs(values), most)
    labels = [canvas.short(names[j]) for j in shown]
    c = canvas.Canvas(ax, canvas.width_beside(labels, 4.8), 1.1 + 0.28 * len(shown))
    colours = [c.down if value < 0 else c.up for value in values[shown]]
    c.ax.barh(range(len(shown)), values[shown], height=0.7, color=colours)
    if spread is not None:
        places = np.arange(len(shown))
        low, high = spread[:, shown]
        c.ax.hlines(places, low, high, colors=c.soft(0.75), linewidth=1.2)
    c.style(grid="x")
    c.name_rows(labels)
    c.ax.axvline(0, color=c.soft(0.5), linewidth=0.8)
    c.ax.set_xlabel(label + canvas.of_columns(len(shown), len(values)))
    return c.ax


def _label(forest: Any, kind: str) -> str:
    if kind == "gain":
        return "share of the gain of all splits"
    classes = getattr(forest, "classes_", None)
    if classes is None:
        return "effect of one standard deviation, in units of the target"
    if len(classes) > 2:
        return "effect of one standard deviation on the log-odds\n(root mean square over the classes)"
    return f"effect of one standard deviation on the log-odds of {canvas.short(classes[-1])}"


def _spread(forest: Any, name: str, values: Floats) -> Floats | None:
    """Return an interval of the mean of the trees' own figures, NaN where this is not the figure of the forest."""
    n_trees = len(getattr(forest, "tree_seeds_", ()))
    if not hasattr(forest, "get_tree") or n_trees < 2:
        return None
    of_trees = np.array([getattr(forest.get_tree(t), name) for t in range(n_trees)])
    if name == "slope_importances_":
        of_trees *= forest.calibration_.factor
    else:
        of_trees = of_trees[of_trees.sum(axis=1) > 0]  # a tree without splits has no shares
    if len(of_trees) < 2:
        return None
    is_mean = np.isclose(of_trees.mean(axis=0), values, rtol=1e-6, atol=1e-9 * np.abs(values).max())
    half = 1.96 * of_trees.std(axis=0, ddof=1) / np.sqrt(len(of_trees))
    return np.where(is_mean, [values - half, values + half], np.nan)
