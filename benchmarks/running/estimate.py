"""How long fits will take, from those that are done: a learner's factor times a dataset's."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks import data, learners
from benchmarks.learners import Settings
from benchmarks.running.jobs import Job
from benchmarks.running.tuning import Tuning

TRAIN_SHARE = 0.75  # of the rows of the last fit that a candidate is fitted on: 60 of 80 %
N_PASSES = 10
Kind = tuple[str, str, str]  # learner, setting, tuning


class Estimate:
    """Seconds of a fit, learnt from finished ones.

    Logarithms of seconds are taken as a sum of a part of the learner (in its setting and tuning) and a part of the
    dataset. A learner that was seen without tuning only costs as many fits more as it has candidates.
    """

    def __init__(self) -> None:
        self._seconds: dict[tuple[Kind, str], list[float]] = defaultdict(list)
        self._learner: dict[Kind, float] = {}
        self._dataset: dict[str, float] = {}
        self._is_fitted = False

    def add(self, job: Job, seconds: float) -> None:
        """Take one more finished fit into account."""
        self._seconds[(job.learner, job.setting, job.tuning), job.dataset].append(max(seconds, 1e-3))
        self._is_fitted = False

    def _fit(self) -> None:
        means = {key: math.log(sum(values) / len(values)) for key, values in self._seconds.items()}
        self._learner = {kind: 0.0 for kind, _ in means}
        self._dataset = {dataset: 0.0 for _, dataset in means}
        for _ in range(N_PASSES):
            _set_means(
                self._learner, ((kind, value - self._dataset[dataset]) for (kind, dataset), value in means.items())
            )
            _set_means(
                self._dataset, ((dataset, value - self._learner[kind]) for (kind, dataset), value in means.items())
            )
        self._is_fitted = True

    def seconds(self, job: Job) -> float | None:
        """Return the expected seconds; None if nothing like it was seen."""
        kind = (job.learner, job.setting, job.tuning)
        seen = self._seconds.get((kind, job.dataset))
        if seen:
            return sum(seen) / len(seen)
        if not self._is_fitted:
            self._fit()
        if kind in self._learner:
            return self._learner_times_dataset(kind, job.dataset)
        if job.tuning != "none":
            plain = self.seconds(job._replace(tuning="none"))
            return None if plain is None else plain * (1 + TRAIN_SHARE * n_candidates(job))
        return None

    def _learner_times_dataset(self, kind: Kind, dataset: str) -> float:
        usual = sum(self._dataset.values()) / len(self._dataset)
        return math.exp(self._learner[kind] + self._dataset.get(dataset, usual))


def _set_means(parts: dict[Any, float], values: Iterable[tuple[Any, float]]) -> None:
    """Set every part to the mean of its values."""
    grouped: dict[Any, list[float]] = defaultdict(list)
    for key, value in values:
        grouped[key].append(value)
    parts.update({key: sum(group) / len(group) for key, group in grouped.items()})


def n_candidates(job: Job) -> int:
    """Return how many sets of parameters a job tries."""
    dataset, entry = data.find(job.dataset), learners.find(job.learner)
    if entry.grid is None:
        return 0
    grid = entry.grid(Settings(dataset.task, dataset.n_rows, dataset.n_classes, 0, 1))
    return Tuning.parse(job.tuning).n_candidates({name: grid[name] for name in grid if name not in entry.fixed})


def from_store(rows: Mapping[Job, Mapping[str, Any]], quantity: str = "wall") -> Estimate:
    """Learn from everything that a store holds; ``quantity`` is "wall" or "cpu"."""
    estimate = Estimate()
    for job, row in rows.items():
        if row["state"] == "done":
            estimate.add(job, row["cpu_seconds"] if quantity == "cpu" else wall_seconds(row))
    return estimate


def wall_seconds(row: Mapping[str, Any]) -> float:
    """Seconds that a finished fit took, tuning and prediction included."""
    return row["tune_seconds"] + row["fit_seconds"] + row["predict_seconds"]
