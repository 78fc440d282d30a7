"""The pictures of a report: critical differences, error against cost, curves."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from boostforest_paper.reports import text
from boostforest_paper.reports.arena import Standing
from boostforest_paper.reports.curves import Curves
from boostforest_paper.reports.statistics import Friedman

BASE, GREY = "#c2410c", "#64748b"
COLOURS = ("#2563eb", "#0f766e", "#7c3aed", "#8a6100", "#be185d", GREY)  # of the others, where they have their own
WIDTH = 4.8  # inches; the page shrinks a picture to the width of a phone
LABEL_GAP = 0.065  # of the height of a picture, between two names


def colour(name: str, learners: Sequence[str], base: str) -> str:
    """Return the colour of a learner: the base is the same in all pictures."""
    others = [other for other in learners if other != base]
    return BASE if name == base else COLOURS[others.index(name) % len(COLOURS)]


def _axes(height: float, width: float = WIDTH, font_size: float = 9) -> Axes:
    with rc_context({"font.size": font_size}):
        axes = Figure(figsize=(width, height), layout="constrained").subplots()
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors="0.35")
    return axes


def _svg(axes: Axes, label: str) -> bytes:
    content = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):  # text as text; the same bytes in every run
        axes.get_figure().savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def _image(axes: Axes, label: str) -> str:
    """Return the picture as an element of the page; the label is what a screen reader says."""
    return f'<img src="data:image/svg+xml;base64,{b64encode(_svg(axes, label)).decode()}" alt="{escape(label)}">'


def _name_rows(axes: Axes, names: Sequence[str], base: str) -> None:
    """Write the names of the learners on the left, that of the base in bold."""
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False, axis="y")
    for label in axes.get_yticklabels():
        label.set(color="k", fontweight="bold" if label.get_text() == base else "normal")


def critical_difference(test: Friedman, learners: Sequence[str], base: str) -> str:
    """Average ranks, best on top; bars on the right join learners that the Nemenyi test does not tell apart."""
    order = np.argsort(test.average_ranks, kind="stable")
    names, ranks, n = [learners[i] for i in order], test.average_ranks[order], len(order)
    axes = _axes(0.9 + 0.25 * n)
    colours = [BASE if name == base else GREY for name in names]
    axes.hlines(range(n), 1, ranks, colors=colours)
    axes.scatter(ranks, range(n), c=colours, zorder=3)
    for place, rank in enumerate(ranks):
        axes.annotate(f"{rank:.2f}", (rank, place), (7, 0), textcoords="offset points", va="center", color="0.35")
    axes.errorbar(1 + test.critical_difference / 2, -1, xerr=test.critical_difference / 2, color="k", capsize=4)
    axes.text(1, -1.7, f"critical difference {test.critical_difference:.2f}", va="center", color="0.35")
    for i, (first, last) in enumerate(test.groups()):
        bar = [n + 0.8 + 0.3 * i] * 2
        axes.plot(bar, [first - 0.3, last + 0.3], color=GREY, linewidth=4, solid_capstyle="round")
    _name_rows(axes, names, base)
    axes.set_xticks(range(1, n + 1))
    axes.xaxis.tick_top()
    axes.set_ylim(n - 0.4, -2.1)
    return _image(axes, "Average ranks with the critical difference of the Nemenyi test")


def _ratings(found: Sequence[Standing], base: str) -> Axes:
    """Draw Elo with its intervals, best on top."""
    n = len(found)
    axes = _axes(0.7 + 0.25 * n)
    for place, standing in enumerate(found):
        colour_ = BASE if standing.name == base else GREY
        axes.plot(standing.interval, [place] * 2, color=colour_, linewidth=2)
        axes.scatter([standing.elo], [place], c=colour_, zorder=3)
    _name_rows(axes, [standing.name for standing in found], base)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xlabel("Elo, 95 % interval")
    return axes


RATINGS = "Elo of the learners with their intervals"


def ratings(found: Sequence[Standing], base: str) -> str:
    """Elo with its intervals as an element of the page."""
    return _image(_ratings(found, base), RATINGS)


def ratings_file(found: Sequence[Standing], base: str) -> bytes:
    """Elo with its intervals as an SVG file."""
    return _svg(_ratings(found, base), RATINGS)


class Point(NamedTuple):
    """A learner by what it costs and how wrong it is."""

    name: str
    cost: float
    error: float


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the learners that none beats in both, cheapest first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, p.error)):
        if not front or point.error < front[-1].error:
            front.append(point)
    return front


def pareto(points: Sequence[Point], base: str, x_label: str, y_label: str, write: Callable[[float], str]) -> str:
    """Error against cost, the cost in powers; a line joins the learners that none beats in both."""
    axes = _axes(3.6)
    front = pareto_front(points)
    axes.plot([p.cost for p in front], [p.error for p in front], color=GREY, linestyle="--", linewidth=1)
    colours = [BASE if p.name == base else GREY for p in points]
    axes.scatter([p.cost for p in points], [p.error for p in points], c=colours, zorder=3)
    axes.set_xscale("log")
    axes.margins(0.08)
    low, high = axes.get_xlim()
    powers = LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,))
    axes.xaxis.set_major_locator(powers if high > 10 * low else MaxNLocator(4))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axes.set_xlabel(x_label)
    axes.set_title(y_label, loc="left", fontsize="medium", color="0.35")
    _write_names(axes, points, base)
    return _image(axes, f"{y_label} against {x_label}")


def _write_names(axes: Axes, points: Sequence[Point], base: str) -> None:
    """Write the names on the right, one below the other in the order of the errors, with lines to the points."""
    low, high = axes.get_ylim()
    order = sorted(points, key=lambda point: point.error)
    gap = min(LABEL_GAP, 1 / len(order))
    places = np.array([(point.error - low) / (high - low) for point in order])
    steps = gap * np.arange(len(order))
    places = np.maximum.accumulate(places - steps) + steps  # no nearer than the gap,
    places = np.minimum.accumulate((places - steps)[::-1].clip(max=1 - steps[-1]))[::-1] + steps  # and not above
    for point, place in zip(order, places, strict=True):
        axes.annotate(
            point.name, (point.cost, point.error), (1.04, place), textcoords="axes fraction", va="center",
            fontweight="bold" if point.name == base else "normal",
            arrowprops={"arrowstyle": "-", "color": "0.75", "linewidth": 0.6, "shrinkB": 4, "relpos": (0, 0.5)},
        )  # fmt: skip


def curve_panel(
    title: str,
    points: Sequence[int],
    curves: dict[str, list[float]],
    learners: Sequence[str],
    base: str,
    large: bool = False,
) -> str:
    """One dataset: a line per learner."""
    axes = _axes(3.0) if large else _axes(1.9, 2.6, 8)
    for name in sorted(curves, key=lambda name: name == base):  # the base on top
        style = {"marker": "o", "markersize": 3.5 if large else 2.5, "linewidth": 2.2 if name == base else 1.2}
        axes.plot(points, curves[name], color=colour(name, learners, base), **style)
    axes.set_xscale("log")
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    axes.grid(visible=False, axis="x")
    n_ticks = 6 if large else 4
    shown = np.unique(np.linspace(0, len(points) - 1, n_ticks).round().astype(int))
    axes.xaxis.set_major_locator(FixedLocator([points[i] for i in shown]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(n_ticks))
    return _image(axes, f"Curves on {title}")


def curve_pictures(curves: Curves, learners: Sequence[str], base: str, metric: str) -> tuple[str, list[str]]:
    """Return the picture of the average and a panel per dataset."""
    name = text.METRIC_NAMES[metric]
    average = ""
    if curves.average:
        average = curve_panel(f"average {name}", curves.points, curves.average, learners, base, large=True)
    panels = [curve_panel(d, curves.points, found, learners, base) for d, found in curves.by_dataset.items()]
    return average, panels
