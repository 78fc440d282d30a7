"""How long fits will take, from those that are done: a learner's factor times a dataset's."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from boostforest_paper import data, learners
from boostforest_paper.learners import Settings
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.tuning import Tuning

TRAIN_SHARE = 0.75  # of the rows of the last fit that a candidate is fitted on: 60 of 80 %
LEAST_DATASETS = 8  # for a guess from the size
Kind = tuple[str, str, str]  # learner, setting, tuning


class Estimate:
    """Seconds of a fit, learnt from finished ones.

    Logarithms of seconds are taken as a sum of a part of the learner (in its setting and tuning) and a part of the
    dataset; that of a dataset which was never seen follows from its size. A learner that was seen without tuning only
    costs as many fits more as it has candidates.
    """

    def __init__(self) -> None:
        self._seconds: dict[tuple[Kind, str], list[float]] = defaultdict(list)
        self._learner: dict[Kind, float] = {}
        self._dataset: dict[str, float] = {}
        self._is_fitted = False
        self._known: dict[Job, float | None] = {}  # answers since the last fit; the repeat makes no difference

    def add(self, job: Job, seconds: float) -> None:
        """Take one more finished fit into account."""
        self._seconds[(job.learner, job.setting, job.tuning), job.dataset].append(max(seconds, 1e-3))
        self._is_fitted = False

    def _fit(self) -> None:
        means = {key: math.log(sum(values) / len(values)) for key, values in self._seconds.items()}
        kinds, datasets = dict.fromkeys(kind for kind, _ in means), dict.fromkeys(name for _, name in means)
        design = [[*(k == kind for k in kinds), *(d == name for d in datasets)] for kind, name in means]
        if means:
            parts = np.linalg.lstsq(np.array(design, dtype=float), np.array(list(means.values())), rcond=None)[0]
            self._learner = dict(zip(kinds, parts.tolist(), strict=False))
            self._dataset = dict(zip(datasets, parts[len(kinds) :].tolist(), strict=True))
        self._known = {}
        self._is_fitted = True

    def seconds(self, job: Job) -> float | None:
        """Return the expected seconds; None if nothing like it was seen."""
        if not self._is_fitted:
            self._fit()
        job = job._replace(repeat=0)
        if job not in self._known:
            self._known[job] = self._seconds_of(job)
        return self._known[job]

    def _seconds_of(self, job: Job) -> float | None:
        kind = (job.learner, job.setting, job.tuning)
        seen = self._seconds.get((kind, job.dataset))
        if seen:
            return sum(seen) / len(seen)
        if kind in self._learner:
            part = self._dataset[job.dataset] if job.dataset in self._dataset else self._by_size(job.dataset)
            return None if part is None else math.exp(self._learner[kind] + part)
        if job.tuning != "none":
            plain = self.seconds(job._replace(tuning="none"))
            return None if plain is None else plain * (1 + TRAIN_SHARE * n_candidates(job))
        return None

    def _by_size(self, dataset: str) -> float | None:
        """Return the part of a dataset from a regression of the known ones on the logarithms of their sizes."""
        known = [name for name in self._dataset if name in data.DATASETS]
        if len(known) < LEAST_DATASETS:
            return None
        sizes = np.array([_log_size(name) for name in known])
        slopes, *_ = np.linalg.lstsq(sizes, np.array([self._dataset[name] for name in known]), rcond=None)
        return float(_log_size(dataset) @ slopes)


def _log_size(name: str) -> np.ndarray:
    dataset = data.find(name)
    return np.log([math.e, dataset.n_rows, dataset.n_features, max(dataset.n_classes, 1)])


def n_candidates(job: Job) -> int:
    """Return how many sets of parameters a job tries."""
    dataset, entry = data.find(job.dataset), learners.find(job.learner)
    if entry.grid is None:
        return 0
    settings = Settings(dataset.task, dataset.n_rows, dataset.n_classes, 0, 1)
    return Tuning.parse(job.tuning).n_candidates(entry.grid_of(settings))


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
