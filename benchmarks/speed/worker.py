"""The process of one learner: ``python -m benchmarks.speed.worker LEARNER THREADS TREES``.

It says hello once its packages are imported and warm, then answers each job, a line of JSON, with a line of JSON.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks.speed.learners import make
from benchmarks.speed.measure import Measurement, measure_fit, measure_predict
from boostforest_paper import generators
from boostforest_paper.learners import Settings, find

PARTS = ("X_train", "y_train", "X_test")  # files of a table; a time needs no true answers of the test part
WARM_UP_ROWS, WARM_UP_TREES = 100, 5


def private_stdout() -> IO[str]:
    """Keep standard output for the answers: what the learners print goes where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def warm_up(name: str, threads: int) -> dict[str, str]:
    """Fit once per task, so that no first call's lazy imports are timed; return the file of what was fitted."""
    model = None
    for task in find(name).tasks:
        n_classes = 2 if task == "classification" else 0
        size = (WARM_UP_ROWS, 3)
        X, y = generators.classification(*size, n_classes) if n_classes else generators.regression(*size)
        model = make(name, Settings(task, 0, n_classes, 0, threads), WARM_UP_TREES).fit(X, y)
        model.predict(X)
    return {"file": str(sys.modules[type(model).__module__.partition(".")[0]].__file__)}


def measure(name: str, threads: int, n_estimators: int, job: dict[str, Any]) -> Measurement:
    """Fit a model to a stored table, and predict with it."""
    X_train, y_train, X_test = (np.load(Path(job["folder"], f"{part}.npy")) for part in PARTS)
    model = make(name, Settings(job["task"], 0, job["n_classes"], job["seed"], threads), n_estimators)
    return measure_fit(model, X_train, y_train, job["fit_calls"]) | measure_predict(model, X_test)


def main(name: str, threads: str, n_estimators: str) -> None:
    """Answer jobs until standard input is closed."""
    answers = private_stdout()
    warnings.simplefilter("ignore")
    print(json.dumps(warm_up(name, int(threads))), file=answers, flush=True)
    for line in sys.stdin:
        measured = measure(name, int(threads), int(n_estimators), json.loads(line))
        print(json.dumps(measured), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
