"""One job: choose parameters, fit, judge by the test part."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

from boostforest_paper import data, learners
from boostforest_paper.data import Table
from boostforest_paper.learners import Learner, Params, Settings
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.problem import Metrics, Problem, divide
from boostforest_paper.running.size import model_bytes
from boostforest_paper.running.tuning import Tuning, seed_of
from boostforest_paper.types import Rows

N_ESTIMATORS = 250  # where the leaves are limited, as in the paper


@dataclass
class Outcome:
    """What one job found out."""

    metrics: Metrics = field(default_factory=dict)
    tune_seconds: float = 0.0  # choosing the parameters
    fit_seconds: float = 0.0  # the last fit, on train and validation
    predict_seconds: float = 0.0
    cpu_seconds: float = 0.0  # processor time of everything, this process
    model_bytes: int | None = None
    n_candidates: int = 0
    params: Params = field(default_factory=dict)
    curve: list[Metrics] | None = None  # of a curve: the metrics at each size


class _Fitting:
    """The learner of one job on its parts."""

    def __init__(self, job: Job, folder: Path, threads: int) -> None:
        dataset = data.find(job.dataset)
        self.job = job
        self.task = dataset.task
        self.learner: Learner = learners.find(job.learner)
        self.table: Table = data.load(dataset.name, folder)
        self.parts = divide(self.table, job.repeat)
        self.settings = Settings(dataset.task, dataset.n_rows, dataset.n_classes, job.repeat, threads)

    def problem(self, fit: Rows, judge: Rows) -> Problem:
        return Problem(self.table, self.task, fit, judge, self.learner.scales_itself)

    def candidates(self, given: Params) -> list[Params]:
        """Return the parameters to try; nothing that the learner or the setting fixes is tried."""
        if self.learner.grid is None:
            return []
        grid = {name: v for name, v in self.learner.grid_of(self.settings).items() if name not in given}
        seed = seed_of(self.job.learner, self.job.dataset, self.job.repeat)
        return Tuning.parse(self.job.tuning).candidates(grid, seed)

    def build(self, params: Params) -> Any:
        model = self.learner.build(self.settings, params)
        return self.learner.on_frames(model) if isinstance(self.table.X, pd.DataFrame) else model


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its seconds."""
    start = perf_counter()
    result = call()
    return result, perf_counter() - start


def run(job: Job, folder: Path, threads: int = 1) -> Outcome:
    """Do one job."""
    fitting = _Fitting(job, folder, threads)
    start = process_time()
    if job.setting.startswith("sizes"):
        outcome = _run_sizes(fitting)
    else:
        given: Params = {}
        if job.setting.startswith("leaves"):
            assert fitting.learner.leaves is not None
            given = {**fitting.learner.leaves(*job.points), "n_estimators": N_ESTIMATORS}
        outcome = _run_test(fitting, given)
    outcome.cpu_seconds = process_time() - start
    return outcome


def warm_up(job: Job, warm: set[tuple[str, str]], folder: Path, threads: int) -> None:
    """Do a job once for nothing where the learner compiles itself, the first time that a process has this pair.

    What is compiled depends on the table: its size, its task, its classes.
    """
    pair = (job.learner, job.dataset)
    if learners.find(job.learner).warm_up and pair not in warm:
        run(job, folder, threads)
        warm.add(pair)


def _run_test(fitting: _Fitting, given: Params) -> Outcome:
    """Choose parameters, refit on train and validation, judge by the test part."""
    parts = fitting.parts
    problem = fitting.problem(parts.both, parts.test)
    candidates = fitting.candidates(given)
    outcome = Outcome(n_candidates=len(candidates), params=given)
    if candidates:
        choose = _best_out_of_bag if fitting.learner.judge == "oob" else _best_by_validation
        outcome.params, outcome.tune_seconds = timed(lambda: choose(fitting, given, candidates))
    model = fitting.build(outcome.params)
    _, outcome.fit_seconds = timed(lambda: model.fit(problem.X, problem.y))
    output, outcome.predict_seconds = timed(lambda: problem.output(model))
    outcome.metrics = problem.score(output)
    outcome.model_bytes = model_bytes(model)
    return outcome


def _best_by_validation(fitting: _Fitting, given: Params, candidates: list[Params]) -> Params:
    """Return the parameters with the least error on the validation part; the first of equals."""
    problem = fitting.problem(fitting.parts.train, fitting.parts.validation)
    known = problem.y_judge >= 0 if fitting.task == "classification" else np.ones(len(problem.y_judge), bool)
    best_loss, best = math.inf, candidates[0]
    for candidate in candidates:
        params = {**candidate, **given}
        model = fitting.build(params)
        if fitting.learner.stop is None:
            model.fit(problem.X, problem.y)
        else:
            stopped = fitting.learner.stop(model, problem.X, problem.y, problem.X_judge[known], problem.y_judge[known])
            params = {**params, **stopped, **given}
        loss = problem.loss(problem.output(model))
        if loss < best_loss:
            best_loss, best = loss, params
    return best


def _best_out_of_bag(fitting: _Fitting, given: Params, candidates: list[Params]) -> Params:
    """Return the parameters with the best out-of-bag score on train and validation; the first of equals.

    Candidates that differ in the number of members alone are one growing forest: a third of the work.
    """
    problem = fitting.problem(fitting.parts.both, fitting.parts.test)
    tried = [{**candidate, **given} for candidate in candidates]
    kinds = [repr({name: value for name, value in params.items() if name != "n_estimators"}) for params in tried]
    scores = np.empty(len(tried))
    model, kind = None, ""
    for i in sorted(range(len(tried)), key=lambda i: (kinds[i], tried[i].get("n_estimators", 0))):
        if model is None or kinds[i] != kind:
            model, kind = fitting.build({**tried[i], "oob_score": True, "warm_start": True}), kinds[i]
        scores[i] = model.set_params(**tried[i]).fit(problem.X, problem.y).oob_score_
    return tried[np.argmax(scores)]


def _run_sizes(fitting: _Fitting) -> Outcome:
    """Judge the first 3, 5, … members of an ensemble; every size has the parameters that are best for it."""
    sizes = fitting.job.points
    given = {"n_estimators": max(sizes)}
    staged = fitting.learner.staged
    assert staged is not None
    candidates = [{**candidate, **given} for candidate in fitting.candidates(given)]
    outcome = Outcome(n_candidates=len(candidates), params=given)
    chosen = [given] * len(sizes)
    if candidates:
        chosen, outcome.tune_seconds = timed(lambda: _best_per_size(fitting, candidates, sizes))
    problem = fitting.problem(fitting.parts.both, fitting.parts.test)
    curve: list[Metrics] = [{} for _ in sizes]
    for params in {repr(params): params for params in chosen}.values():
        model = fitting.build(params)
        _, seconds = timed(lambda model=model: model.fit(problem.X, problem.y))
        outcome.fit_seconds += seconds
        for i, output in enumerate(staged(model, problem.X_judge, sizes)):
            if chosen[i] == params:
                curve[i] = problem.score(output)
    outcome.params, outcome.metrics, outcome.curve = chosen[-1], curve[-1], curve
    return outcome


def _best_per_size(fitting: _Fitting, candidates: list[Params], sizes: list[int]) -> list[Params]:
    problem = fitting.problem(fitting.parts.train, fitting.parts.validation)
    losses = np.empty((len(candidates), len(sizes)))
    for row, params in zip(losses, candidates, strict=True):
        model = fitting.build(params)
        model.fit(problem.X, problem.y)
        row[:] = [problem.loss(output) for output in fitting.learner.staged(model, problem.X_judge, sizes)]
    return [candidates[i] for i in np.argmin(losses, axis=0)]
