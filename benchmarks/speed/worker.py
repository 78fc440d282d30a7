"""The process of one learner: ``python -m benchmarks.speed.worker LEARNER THREADS TREES [PLUGIN…]``.

It says hello once its packages are imported and warm, then answers each job, a line of JSON, with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks.speed.learners import make
from benchmarks.speed.measure import Measurement, measure_fit, measure_predict
from boostforest_paper import generators, plugins
from boostforest_paper.learners import Settings, find
from boostforest_paper.types import Task

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

    def __init__(self, name: str, threads: int, n_estimators: int) -> None:
        self._name = name
        self._threads = threads
        self._n_estimators = n_estimators
        self._folder: str | None = None
        self._data: list[np.ndarray] = []
        self._model: Any = None

    def _make(self, task: Task, n_classes: int, seed: int, n_estimators: int) -> Any:
        return make(self._name, Settings(task, 0, n_classes, seed, self._threads), n_estimators)

    def hello(self) -> Answer:
        """Fit once per task, so that no first call's lazy imports are timed; say what was fitted, and from where."""
        model = None
        for task in find(self._name).tasks:
            n_classes = 2 if task == "classification" else 0
            size = (WARM_UP_ROWS, 3)
            X, y = generators.classification(*size, n_classes) if n_classes else generators.regression(*size)
            model = self._make(task, n_classes, 0, WARM_UP_TREES).fit(X, y)
            model.predict(X)
        module = sys.modules[type(model).__module__.partition(".")[0]]
        return {"version": find(self._name).version(), "file": module.__file__}

    def run(self, job: dict[str, Any]) -> Measurement:
        """Fit or predict: two jobs, so that a fit counts even if its predictions take too long."""
        X_train, y_train, X_test = self._load(job["folder"])
        if job["step"] == "predict":
            model, self._model = self._model, None
            return measure_predict(model, X_test)
        self._model = None  # a model of the last round would take memory beside this one
        model = self._make(job["task"], job["n_classes"], job["seed"], self._n_estimators)
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


def main(name: str, threads: str, n_estimators: str, *plugin_files: str) -> None:
    """Answer jobs until standard input is closed."""
    answers = private_stdout()
    warnings.simplefilter("ignore")

    def say(reply: Answer) -> None:
        print(json.dumps(reply), file=answers, flush=True)

    for plugin in plugin_files:
        plugins.load(Path(plugin))
    bench = Bench(name, int(threads), int(n_estimators))
    say(answer(bench.hello))
    for line in sys.stdin:
        job = json.loads(line)
        say(answer(lambda: bench.run(job)))  # noqa: B023 - called at once


if __name__ == "__main__":
    main(*sys.argv[1:])
