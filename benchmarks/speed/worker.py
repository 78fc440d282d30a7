"""The process of one learner: ``python -m benchmarks.speed.worker PACKAGE FACTORY THREADS TREES``.

It says hello once its packages are imported and warm, then answers each job, a line of JSON, with a line of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from benchmarks.speed.learners import Settings
from benchmarks.speed.measure import Measurement, measure_fit, measure_predict
from boostforest_paper.data import generators as synthetic

if TYPE_CHECKING:  # they would bring pandas and scikit-learn into every worker
    from benchmarks.speed.tables import Data
    from boostforest_paper.datasets import Task

Answer = dict[str, Any]
PARTS = ("X_train", "y_train", "X_test")  # files of a table; a time needs no true answers of the test part
WARM_UP_ROWS, WARM_UP_TREES = 100, 5


def private_stdout() -> IO[str]:
    """Keep standard output for the answers: what the learners print goes where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


class Bench:
    """One learner, the table it has loaded last and the model it has fitted last."""

    def __init__(self, factory: str, threads: int, n_estimators: int) -> None:
        module, name = factory.split(":")
        self._make: Callable[[Settings], Any] = getattr(importlib.import_module(module), name)
        self._threads = threads
        self._n_estimators = n_estimators
        self._folder: str | None = None
        self._data: list[np.ndarray] = []
        self._model: Any = None

    def hello(self, package: str) -> Answer:
        """Import the package and fit once per task, so that no first call's lazy imports are timed."""
        module = importlib.import_module(package)
        tables: dict[Task, Data] = {
            "classification": synthetic.classification(WARM_UP_ROWS, 3, 2),
            "regression": synthetic.regression(WARM_UP_ROWS, 3),
        }
        for task, (X, y) in tables.items():
            self._make(Settings(task, WARM_UP_TREES, self._threads, seed=0)).fit(X, y).predict(X)
        return {"version": getattr(module, "__version__", None), "file": module.__file__}

    def run(self, job: dict[str, Any]) -> Measurement:
        """Fit or predict: two jobs, so that a fit counts even if its predictions take too long."""
        X_train, y_train, X_test = self._load(job["folder"])
        if job["step"] == "predict":
            model, self._model = self._model, None
            return measure_predict(model, X_test)
        self._model = None  # a model of the last round would take memory beside this one
        model = self._make(Settings(job["task"], self._n_estimators, self._threads, job["seed"]))
        measured = measure_fit(model, X_train, y_train, job["fit_calls"])
        self._model = model
        return measured

    def _load(self, folder: str) -> list[np.ndarray]:
        """Read a table, or find it loaded."""
        if folder != self._folder:
            self._data = []
            self._data = [np.load(Path(folder, f"{part}.npy")) for part in PARTS]
            self._folder = folder
        return self._data


def answer(call: Callable[[], Answer]) -> Answer:
    """Return what a call returns, or its exception in words: one failure must not end the process."""
    try:
        return call()
    except ImportError as error:
        return {"missing": f"{error}"}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}


def main(package: str, factory: str, threads: str, n_estimators: str) -> None:
    """Answer jobs until standard input is closed."""
    answers = private_stdout()
    warnings.simplefilter("ignore")

    def say(reply: Answer) -> None:
        print(json.dumps(reply), file=answers, flush=True)

    bench = Bench(factory, int(threads), int(n_estimators))
    say(answer(lambda: bench.hello(package)))
    for line in sys.stdin:
        job = json.loads(line)
        say(answer(lambda: bench.run(job)))  # noqa: B023 - called at once


if __name__ == "__main__":
    main(*sys.argv[1:])
