"""``python -m benchmarks.speed scaling``: time against rows, features, classes, leaves, trees and threads."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt

from benchmarks.speed.measure import seconds_of
from benchmarks.speed.results import write_json
from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import generators
from boostforest_paper.types import Floats

N_TREES = 8  # where the number of trees is not what grows: enough to average over their random parameters


class Point(NamedTuple):
    """What one forest is fitted to, and how."""

    n: int = 4000
    d: int = 20
    n_classes: int = 1  # 1: regression
    leaves: int | None = None
    trees: int = N_TREES
    threads: int = 1


class Axis(NamedTuple):
    """One quantity that grows while the others stay."""

    name: str
    label: str
    field: str  # of Point
    values: tuple[int, ...]
    rest: Point = Point()

    def points(self) -> list[Point]:
        """Return the points to measure."""
        return [self.rest._replace(**{self.field: value}) for value in self.values]

    @property
    def is_per_tree(self) -> bool:
        """Whether times are divided by the number of trees."""
        return self.field != "trees"


class Curve(NamedTuple):
    """Median seconds along an axis, per tree unless trees are the axis."""

    axis: Axis
    fit: list[float]
    predict: list[float]

    def exponents(self) -> dict[str, float]:
        """Exponents of both times."""
        return {name: exponent(self.axis.values, getattr(self, name)) for name in ("fit", "predict")}


def axes() -> list[Axis]:
    """Return what is measured on this machine."""
    cores = joblib.cpu_count()
    threads = tuple(sorted({*(2**i for i in range(cores.bit_length()) if 2**i <= cores), cores}))
    return [
        Axis("rows", "rows (20 features)", "n", (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)),
        Axis("features", "features (2,000 rows)", "d", (4, 8, 16, 32, 64, 128, 256, 512, 1_000), Point(n=2_000)),
        Axis("classes", "classes (4,000 rows, 20 features)", "n_classes", (2, 3, 5, 10, 20, 38)),
        Axis(
            "leaves",
            "max_leaf_nodes (50,000 rows, 20 features)",
            "leaves",
            tuple(2**i for i in range(1, 11)),
            Point(50_000),
        ),
        Axis("trees", "trees (1,000 rows, 20 features)", "trees", (1, 4, 16, 64, 256), Point(1_000)),
        Axis("threads", "threads (4,000 rows, 20 features, 64 trees)", "threads", threads, Point(trees=64)),
    ]


def exponent(x: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of the least-squares line through the logarithms; NaN for a single point."""
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(seconds), 1)[0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    known = [axis.name for axis in axes()]
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for scaling.png and scaling.json"
    )
    parser.add_argument("--axes", nargs="+", choices=known, default=known, metavar="NAME", help="only these")
    parser.add_argument("--repeats", type=int, default=3, help="timed fits per point")
    parser.add_argument("--largest", type=int, default=1_000_000, metavar="ROWS", help="leave larger tables out")


def make_data(point: Point) -> tuple[Floats, npt.NDArray]:
    """Make the table of a point."""
    if point.n_classes == 1:
        return generators.regression(point.n, point.d)
    return generators.classification(point.n, point.d, point.n_classes)


def make_forest(point: Point, seed: int) -> Any:
    """Make the unfitted forest of a point."""
    forest = BoostForestRegressor if point.n_classes == 1 else BoostForestClassifier
    arguments = {"max_leaf_nodes": point.leaves, "preset": "paper", "n_jobs": point.threads, "random_state": seed}
    return forest(point.trees, **arguments)


def measure_point(point: Point, n_repeats: int) -> tuple[float, float]:
    """Return median seconds of fitting and of predicting all rows."""
    X, y = make_data(point)
    seconds: list[list[float]] = []
    for seed in range(n_repeats):
        model = make_forest(point, seed)
        seconds.append([seconds_of(lambda: model.fit(X, y)), seconds_of(lambda: model.predict(X))])  # noqa: B023
    fit, predict = np.median(seconds, axis=0)
    return float(fit), float(predict)


def measure_axis(axis: Axis, n_repeats: int) -> Curve:
    """Measure all points of an axis."""
    points = axis.points()
    times: npt.NDArray = np.array([measure_point(point, n_repeats) for point in points])
    if axis.is_per_tree:
        times /= np.array([[point.trees] for point in points])
    return Curve(axis, times[:, 0].tolist(), times[:, 1].tolist())


def text(curve: Curve) -> str:
    """Write one curve as lines."""
    slopes = curve.exponents()
    unit = "ms per tree" if curve.axis.is_per_tree else "ms"
    lines = [f"{curve.axis.label}, {unit}: fit ~ x^{slopes['fit']:.2f}, predict ~ x^{slopes['predict']:.2f}"]
    for x, fit, predict in zip(curve.axis.values, curve.fit, curve.predict, strict=True):
        lines.append(f"{x:>10}{fit * 1e3:>12.3f}{predict * 1e3:>12.3f}")
    return "\n".join(lines)


def main(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Run the benchmark."""
    if args.repeats < 1:
        parser.error("--repeats must be at least 1")
    try:
        from benchmarks.speed import plot
    except ImportError as error:
        parser.exit(2, f"The plot needs matplotlib ({error}); pip install 'boostforest[plot]' brings it.\n")
    args.out.mkdir(parents=True, exist_ok=True)
    make_forest(Point(), 0).fit(*generators.regression(100, 3))  # what is imported late is not timed
    curves = []
    for axis in axes():
        if axis.name not in args.axes:
            continue
        if axis.field == "n":
            axis = axis._replace(values=tuple(n for n in axis.values if n <= args.largest))
        curves.append(measure_axis(axis, args.repeats))
        print(text(curves[-1]), flush=True)
    plot.draw(curves, args.out / "scaling.png")
    rows = [
        {"axis": c.axis.name, "x": c.axis.values, "fit": c.fit, "predict": c.predict, "exponents": c.exponents()}
        for c in curves
    ]
    write_json(args.out / "scaling.json", args, {"curves": rows})
    print(f"{args.out / 'scaling.png'} written", file=sys.stderr)
    return 0
