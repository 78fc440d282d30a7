"""The paper's own figures, and whether ours agree with them."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from boostforest_paper.types import Task

FIGURES = Path(__file__).resolve().parents[1] / "data" / "paper_figures.csv"
AGREES = 2.0  # standard deviations


class Figure(NamedTuple):
    """Mean and standard deviation over the repeats (divided by n, as the paper's are); None where there is none."""

    mean: float
    std: float | None
    n: int = 0  # repeats; 0 if unknown


@cache
def _figures() -> dict[tuple[str, str, str, str], Figure]:
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return {
            (row["table"], row["task"], row["row"], row["method"]): Figure(
                float(row["mean"]), float(row["std"]) if row["std"] else None
            )
            for row in csv.DictReader(file)
        }


def figure(table: str, task: Task, row: str, method: str) -> Figure | None:
    """Return one of the paper's figures; None if it has none there."""
    return _figures().get((table, task, row, method))


def apart(ours: Figure, theirs: Figure) -> float | None:
    """Return the distance in the paper's standard deviations, in ours where the paper's is 0; None without a unit."""
    if theirs.std is None:
        return None
    unit = theirs.std or ours.std
    if unit:
        return (ours.mean - theirs.mean) / unit
    return 0.0 if round(ours.mean, 4) == round(theirs.mean, 4) else None


def agrees(ours: Figure, theirs: Figure) -> bool | None:
    """Whether they are within two standard deviations; None where that cannot be said."""
    distance = apart(ours, theirs)
    return None if distance is None else abs(distance) <= AGREES
