"""The picture of ``benchmarks.speed scaling``: a panel per axis, both scales logarithmic."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # before pyplot: it must run where there is no display

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.speed.scaling import Curve

# Blue and vermilion of the Okabe-Ito palette stay apart for every kind of colour vision; line styles and markers
# differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "fit": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "predict": {"color": "#D55E00", "linestyle": "--", "marker": "s"},
}
N_COLUMNS = 3
MOST_TICKS = 7


def _draw_panel(axes: Axes, curve: Curve) -> None:
    """Draw one axis of the benchmark, with the fitted exponents in its legend."""
    slopes = curve.exponents()
    for name, style in STYLES.items():
        milliseconds = 1e3 * np.array(getattr(curve, name))
        power = "" if np.isnan(slopes[name]) else rf"  $\propto x^{{{slopes[name]:.2f}}}$"
        axes.plot(curve.axis.values, milliseconds, label=name + power, markersize=4, **style)
    if curve.axis.field == "threads":
        ideal = 1e3 * curve.fit[0] / np.array(curve.axis.values)
        axes.plot(curve.axis.values, ideal, color="0.5", linestyle=":", label=r"fit, ideal  $\propto x^{-1}$")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(curve.axis.label)
    axes.set_ylabel("ms per tree" if curve.axis.is_per_tree else "ms")
    axes.grid(which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    _set_x_ticks(axes, curve.axis.values)
    _set_y_ticks(axes)


def _set_y_ticks(axes: Axes) -> None:
    """Label powers of ten, and steps between them where there are few, as plain numbers."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _set_x_ticks(axes: Axes, values: tuple[int, ...]) -> None:
    """Put ticks at what was measured, as plain numbers; powers of ten where those are too many digits."""
    axes.xaxis.set_minor_formatter(NullFormatter())
    if values[-1] >= 100_000:
        return
    step = -(-len(values) // MOST_TICKS)
    axes.xaxis.set_major_locator(FixedLocator(values[::-1][::step]))  # the largest always has its tick
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def draw(curves: list[Curve], path: Path) -> None:
    """Draw all curves into one PNG file."""
    n_columns = min(N_COLUMNS, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=(4.2 * n_columns, 3.4 * n_rows), squeeze=False, layout="constrained"
    )
    for axes, curve in zip(grid.flat, curves, strict=False):
        _draw_panel(axes, curve)
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
    figure.suptitle("BoostForest: fit, and prediction of the training rows")
    figure.savefig(path, dpi=150)
    plt.close(figure)
