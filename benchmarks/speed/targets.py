"""What the speed of BoostForest has to reach, and whether a run shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.speed.learners import BASE
from benchmarks.speed.results import TableResult, geometric_mean
from benchmarks.speed.tables import SUITES

State = Literal["met", "missed", "not measured"]


class Target(NamedTuple):
    """A bound on a learner's time / BoostForest's, or on BoostForest's own time in seconds."""

    suite: str
    threads: str
    learner: str  # BoostForest itself: its own time, median over the tables, at most the bound
    quantity: str
    bound: float
    table: str | None = None  # all of the suite unless given

    def tables(self) -> set[str]:
        """Names of the tables that it needs."""
        return set(SUITES[self.suite]) if self.table is None else {self.table}

    def __str__(self) -> str:
        what = {"row_seconds": "one row"}.get(self.quantity, self.quantity.removesuffix("_seconds"))
        threads = "1 thread" if self.threads == "1" else f"{self.threads} threads"
        where = self.table or f"{self.suite} suite"
        if self.learner == BASE:
            return f"{BASE} {what}, {where}, {threads}: at most {self.bound * 1e6:g} µs"
        return f"{self.learner} / {BASE} {what}, {where}, {threads}: at least {self.bound:g}"


class Verdict(NamedTuple):
    """What a run says about one target."""

    target: Target
    state: State
    value: float | None
    n_tables: int  # measured, of those that the target needs
    is_bound: bool = False  # the learner was ended at the time limit: its ratio is at least the value

    def __str__(self) -> str:
        if self.value is None:
            return f"  {self.state:<13} {self.target}"
        value = f"{self.value * 1e6:.0f} µs" if self.target.learner == BASE else f"{self.value:.2f}"
        sign = "at least " if self.is_bound else ""
        part = f", {self.n_tables} of {needed} tables" if self.n_tables < (needed := len(self.target.tables())) else ""
        return f"  {self.state:<13} {self.target}: {sign}{value}{part}"

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**self._asdict(), "target": self.target._asdict()}


# Where nothing else is said the rival is RandomForest and the number of threads one.
TARGETS = (
    Target("small", "1", "RandomForest", "fit_seconds", 12),
    Target("small", "1", "Extra-Trees", "fit_seconds", 6),
    Target("small", "1", "LightGBM", "fit_seconds", 0.8),
    Target("small", "1", "RandomForest", "predict_seconds", 4),
    Target("small", "1", BASE, "row_seconds", 200e-6),
    Target("small", "1", "RandomForest", "row_seconds", 20),
    Target("synthetic", "all", "RandomForest", "fit_seconds", 5, "1000000x20"),
    Target("large", "1", "RandomForest", "fit_seconds", 1.5, "YB"),
    Target("large", "1", "RandomForest", "fit_seconds", 1.5, "LR"),
    Target("onehot", "1", "RandomForest", "fit_seconds", 1, "onehot"),
)


def evaluate(target: Target, results: Iterable[TableResult]) -> Verdict:
    """Hold a target against a run; part of a suite has a value but does not decide."""
    needed = target.tables()
    mine = [result for result in results if result.threads == target.threads and result.table in needed]
    if target.learner == BASE:
        return _own_time(target, mine)
    mean = geometric_mean(mine, target.learner, target.quantity)
    if mean is None:
        return _time_limit(target, mine)
    value = mean.ratio.median
    state: State = "met" if value >= target.bound else "missed"
    return Verdict(target, state if mean.n_tables == len(needed) else "not measured", value, mean.n_tables)


def _own_time(target: Target, results: list[TableResult]) -> Verdict:
    outcomes = [result.outcomes[BASE] for result in results if BASE in result.outcomes]
    seconds = [value for outcome in outcomes if (value := outcome.median(target.quantity)) is not None]
    if not seconds:
        return Verdict(target, "not measured", None, 0)
    value = float(np.median(seconds))
    state: State = "met" if value <= target.bound else "missed"
    return Verdict(target, state if len(seconds) == len(target.tables()) else "not measured", value, len(seconds))


def _time_limit(target: Target, results: list[TableResult]) -> Verdict:
    """Of a learner that never ended, a bound of the ratio is known; it may be enough."""
    bounds = [value for result in results if (value := result.fit_at_least(target.learner)) is not None]
    if target.quantity != "fit_seconds" or target.table is None or not bounds:
        return Verdict(target, "not measured", None, 0)
    state: State = "met" if bounds[0] >= target.bound else "not measured"
    return Verdict(target, state, bounds[0], 1, is_bound=True)
