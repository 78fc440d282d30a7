"""Measurements of all learners on all tables, and what follows from them: ratios, their spread, their means."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.learners import BASE
from benchmarks.speed.measure import Measurement
from benchmarks.speed.tables import Size
from boostforest_paper.running import machine


class Spread(NamedTuple):
    """Quartiles over the repeats."""

    q1: float
    median: float
    q3: float

    @property
    def half_width(self) -> float:
        """Half the distance of the outer quartiles."""
        return (self.q3 - self.q1) / 2


class Mean(NamedTuple):
    """A geometric mean over tables."""

    ratio: Spread
    n_tables: int


@dataclass
class Outcome:
    """One learner on one table."""

    repeats: list[Measurement] = field(default_factory=list)
    note: str | None = None  # why there are not as many repeats as wanted
    fit_exceeds: float | None = None  # the limit of seconds at which a fit was ended

    def values(self, quantity: str) -> list[float | None]:
        """One quantity of each repeat; None where the repeat did not get that far."""
        return [repeat.get(quantity) for repeat in self.repeats]

    def median(self, quantity: str) -> float | None:
        """Median over the repeats that have the quantity."""
        known = [value for value in self.values(quantity) if value is not None]
        return float(np.median(known)) if known else None


@dataclass
class TableResult:
    """All learners on one table with one number of threads."""

    suite: str
    table: str
    threads: str  # "1", "all", ...
    size: Size
    outcomes: dict[str, Outcome]

    def ratios(self, learner: str, quantity: str, base: str = BASE) -> list[float]:
        """Divide a learner's value by the base's in the same repeat, for all repeats that have both."""
        if learner not in self.outcomes or base not in self.outcomes:
            return []
        pairs = zip(self.outcomes[learner].values(quantity), self.outcomes[base].values(quantity), strict=False)
        return [mine / theirs for mine, theirs in pairs if mine and theirs]

    def fit_at_least(self, learner: str, base: str = BASE) -> float | None:
        """Least possible fit ratio of a learner that was ended at the time limit before its first result."""
        outcome, other = self.outcomes.get(learner), self.outcomes.get(base)
        if outcome is None or other is None or outcome.repeats or outcome.fit_exceeds is None:
            return None
        seconds = other.median("fit_seconds")
        return None if seconds is None else outcome.fit_exceeds / seconds

    def as_json(self) -> dict[str, Any]:
        """Return everything measured."""
        learners = {name: {"note": out.note, "repeats": out.repeats} for name, out in self.outcomes.items()}
        head = {"suite": self.suite, "table": self.table, "threads": self.threads}
        return {**head, **self.size._asdict(), "learners": learners}


def spread(values: Sequence[float]) -> Spread:
    """Quartiles of some values."""
    return Spread(*np.quantile(values, [0.25, 0.5, 0.75]).tolist())


def geometric_mean(results: Iterable[TableResult], learner: str, quantity: str, base: str = BASE) -> Mean | None:
    """Average a learner's ratios geometrically over the tables within each repeat; quartiles over the repeats.

    Tables without a ratio are left out; repeats count as far as all other tables have them.
    """
    ratios = [values for result in results if (values := result.ratios(learner, quantity, base))]
    if not ratios:
        return None
    n_repeats = min(map(len, ratios))
    logs = np.log([values[:n_repeats] for values in ratios])
    return Mean(spread(np.exp(logs.mean(axis=0)).tolist()), len(ratios))


def write_json(path: Path, args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write options, machine and results; paths among the options stay out, they are this machine's."""
    options = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
    content = {"options": options, "environment": machine.describe(), **results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
