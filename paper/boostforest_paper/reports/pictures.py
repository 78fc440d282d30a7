"""The pictures of a report: critical differences, error against cost, curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from boostforest_paper.reports import svg, text
from boostforest_paper.reports.curves import Curves
from boostforest_paper.reports.statistics import Friedman
from boostforest_paper.reports.svg import FONT, Scale, padded

WIDTH = 380.0
ROW = 19.0
N_COLOURS = 7  # classes c0 … c6 of the style; c0 is the base's


def colour(name: str, learners: Sequence[str], base: str) -> str:
    """Return the class of a learner: the base is the same in all pictures."""
    others = [other for other in learners if other != base]
    return "c0" if name == base else f"c{1 + others.index(name) % (N_COLOURS - 1)}"


def critical_difference(test: Friedman, learners: Sequence[str], base: str) -> str:
    """Average ranks, best on top; bars on the right join learners that the Nemenyi test does not tell apart."""
    order = np.argsort(test.average_ranks, kind="stable")
    groups = test.groups()
    left = max(len(name) for name in learners) * svg.CHARACTER + 12
    right = WIDTH - 12 - 9 * len(groups)
    top = 46.0
    x = Scale(1, len(learners), left + 6, right - 34)
    parts = [svg.text(left + 6, 10, f"critical difference {test.critical_difference:.2f}", class_="small")]
    start = x(1)
    end = min(x(1 + test.critical_difference), right - 34)
    parts += [
        svg.line(start, 22, end, 22, "cd"),
        svg.line(start, 18, start, 26, "cd"),
        svg.line(end, 18, end, 26, "cd"),
    ]
    bottom = top + ROW * len(learners)
    for tick in range(1, len(learners) + 1):
        parts += [
            svg.line(x(tick), top - 6, x(tick), bottom, "grid"),
            svg.text(x(tick), top - 13, str(tick), "middle", class_="small"),
        ]
    for place, column in enumerate(order):
        rank, name, y = float(test.average_ranks[column]), learners[column], top + ROW * (place + 0.5)
        is_base = "c0" if name == base else "c6"
        parts += [
            svg.text(left, y, name, "end", class_="name strong" if name == base else "name"),
            svg.line(x(1), y, x(rank), y, f"stem {is_base}"),
            svg.dot(x(rank), y, f"{name}: average rank {rank:.2f}", f"dot {is_base}"),
            svg.text(x(rank) + 8, y, f"{rank:.2f}", class_="small"),
        ]
    for i, (first, last) in enumerate(groups):
        bar = right + 6 + 9 * i
        parts.append(svg.line(bar, top + ROW * (first + 0.2), bar, top + ROW * (last + 0.8), "group"))
    return svg.picture(WIDTH, bottom + 6, parts, "Average ranks with the critical difference of the Nemenyi test")


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
    height, left, bottom = 300.0, 52.0, 258.0
    x = padded([p.cost for p in points], left, WIDTH - 14, log=True, share=0.12)
    y = padded([p.error for p in points], bottom, 22, share=0.1)
    parts = [
        svg.text(left, 8, y_label, class_="small"),
        svg.text(WIDTH - 14, height - 10, x_label, "end", class_="small"),
    ]
    for tick in y.ticks():
        parts += [
            svg.line(left, y(tick), WIDTH - 14, y(tick), "grid"),
            svg.text(left - 6, y(tick), f"{tick:g}", "end", class_="small"),
        ]
    for tick in x.ticks():
        parts += [
            svg.line(x(tick), 22, x(tick), bottom, "grid"),
            svg.text(x(tick), bottom + 13, write(tick), "middle", class_="small"),
        ]
    parts.append(svg.path([(x(p.cost), y(p.error)) for p in pareto_front(points)], "front"))
    places = {p: (x(p.cost), y(p.error)) for p in points}
    for point, (px, py) in places.items():
        tip = f"{point.name}: {y_label} {point.error:.4f}, {write(point.cost)}"
        parts.append(svg.dot(px, py, tip, "dot c0" if point.name == base else "dot c6"))
    for point, (lx, ly, anchor) in _label_places(places).items():
        parts.append(svg.text(lx, ly, point.name, anchor, class_="name strong" if point.name == base else "name"))
    return svg.picture(WIDTH, height, parts, f"{y_label} against {x_label}")


def _label_places(places: dict[Point, tuple[float, float]]) -> dict[Point, tuple[float, float, str]]:
    """Find room for every name beside its point: right, left, above, below, then further away."""
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in places.values()]
    found = {}
    for point, (px, py) in sorted(places.items(), key=lambda item: item[1][1]):
        width = len(point.name) * svg.CHARACTER
        for lx, ly, anchor in _tries(px, py, width):
            x1 = lx if anchor == "start" else lx - width if anchor == "end" else lx - width / 2
            box = (x1, ly - FONT / 2, x1 + width, ly + FONT / 2)
            is_inside = box[0] >= 54 and box[2] <= WIDTH - 2 and box[1] >= 14 and box[3] <= 258
            if is_inside and not any(_overlap(box, other) for other in taken):
                break
        taken.append(box)
        found[point] = (lx, ly, anchor)
    return found


def _tries(px: float, py: float, width: float) -> list[tuple[float, float, str]]:
    near = [(px + 8, py, "start"), (px - 8, py, "end"), (px, py - 12, "middle"), (px, py + 12, "middle")]
    far = [(px + dx, py + dy, side) for dy in (-11, 11, -22, 22, -33, 33) for dx, side in ((8, "start"), (-8, "end"))]
    return near + far


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def curve_panel(
    title: str,
    points: Sequence[int],
    curves: dict[str, list[float]],
    learners: Sequence[str],
    base: str,
    large: bool = False,
) -> str:
    """One dataset: a line per learner."""
    width, height = (WIDTH, 250.0) if large else (190.0, 140.0)
    left, bottom, top = 40.0, height - 22, 24.0
    values = [value for curve in curves.values() for value in curve]
    x, y = padded(points, left, width - 8, log=True, share=0.03), padded(values, bottom, top)
    parts = [svg.text(left, 10, title, class_="name strong")]
    for tick in y.ticks(5 if large else 3):
        parts += [
            svg.line(left, y(tick), width - 8, y(tick), "grid"),
            svg.text(left - 5, y(tick), f"{tick:g}", "end", class_="small"),
        ]
    for tick in _some(points, 6 if large else 4):
        parts.append(svg.text(x(tick), bottom + 12, str(tick), "middle", class_="small"))
    drawn = sorted(curves, key=lambda name: name == base)  # the base on top
    for name in drawn:
        class_ = colour(name, learners, base)
        places = [(x(point), y(value)) for point, value in zip(points, curves[name], strict=True)]
        parts.append(svg.path(places, f"line {class_}"))
        for (px, py), point, value in zip(places, points, curves[name], strict=True):
            parts.append(svg.dot(px, py, f"{name}, {point}: {value:.4f}", f"dot {class_}", r=2.6 if large else 1.8))
    return svg.picture(width, height, parts, f"Curves on {title}", "picture" if large else "panel")


def _some(points: Sequence[int], n: int) -> list[int]:
    """Return at most so many points, the first and the last among them."""
    if len(points) <= n:
        return list(points)
    return [points[round(i * (len(points) - 1) / (n - 1))] for i in range(n)]


def curve_pictures(curves: Curves, learners: Sequence[str], base: str, metric: str) -> tuple[str, list[str]]:
    """Return the picture of the average and a panel per dataset."""
    name = text.METRIC_NAMES[metric]
    average = ""
    if curves.average:
        average = curve_panel(f"average {name}", curves.points, curves.average, learners, base, large=True)
    panels = [curve_panel(d, curves.points, found, learners, base) for d, found in curves.by_dataset.items()]
    return average, panels
