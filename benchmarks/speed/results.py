"""What follows from measurements in turns: ratios, their spread, their means."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.measure import Measurement
from boostforest_paper.running import machine

Measured = dict[str, list[Measurement]]  # of one table: by learner, one per repeat


class Spread(NamedTuple):
    """Quartiles over the repeats."""

    q1: float
    median: float
    q3: float

    def __str__(self) -> str:
        """Write the median and half the distance of the outer quartiles, equally exact."""
        half_width = (self.q3 - self.q1) / 2
        return number(self.median) + (f" ±{half_width:.{_decimals(self.median)}f}" if half_width > 0 else "")


def _decimals(value: float) -> int:
    """Return how many decimals leave about three significant digits: never more than three."""
    return 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3


def number(value: float) -> str:
    """Write a value with as many decimals as make sense."""
    return f"{value:.{_decimals(value)}f}"


def median(measured: Measured, learner: str, quantity: str) -> float:
    """Return the median over the repeats; NaN where the system does not tell the quantity."""
    return float(np.median(np.array([repeat[quantity] for repeat in measured[learner]], dtype=float)))


def ratio(tables: Iterable[Measured], learner: str, base: str, quantity: str) -> Spread:
    """Divide a learner's values by the base's in the same repeat: the geometric mean over some tables."""
    logs = []
    for measured in tables:
        own, other = (np.array([r[quantity] for r in measured[name]], dtype=float) for name in (learner, base))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs.append(np.log(own / other))
    return Spread(*np.quantile(np.exp(np.mean(logs, axis=0)), [0.25, 0.5, 0.75]).tolist())


def write_json(path: Path, args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write options, machine and results; paths among the options stay out, they are this machine's."""
    options = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
    content = {"options": options, "environment": machine.describe(), **results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
