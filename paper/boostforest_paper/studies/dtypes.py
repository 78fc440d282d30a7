"""What fewer digits of the coefficients save and cost: the tables of docs/dev/format.md."""

import argparse
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from boostforest import load_model
from boostforest_paper import learners, studies
from boostforest_paper.data import Dataset, Table
from boostforest_paper.learners import Settings
from boostforest_paper.running.problem import MAIN, Problem, divide

DTYPES = ("float64", "float32", "float16")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, ("diabetes", "breast_cancer", "digits"), repeats=10, trees=250)


def measure(dataset: Dataset, table: Table, repeat: int, trees: int) -> dict[str, tuple[float, float, float]]:
    """Return per type: bytes of the file, test score, and how far a prediction moves at the most.

    Predictions are probabilities, or in units of the target's standard deviation.
    """
    parts = divide(table, repeat)
    problem = Problem(table, dataset.task, parts.both, parts.test, raw=True)
    settings = Settings(dataset.task, dataset.n_rows, dataset.n_classes, repeat, threads=-1)
    forest = learners.find("BoostForest").build(settings, {"n_estimators": trees}).fit(problem.X, problem.y)
    expected = problem.output(forest)

    def judged(model: Any) -> tuple[float, float]:
        output = problem.output(model)
        return problem.score(output)[MAIN[dataset.task]], np.abs(output - expected).max() / problem.unit

    figures = {"pickle": (len(pickle.dumps(forest, protocol=5)), *judged(forest))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        for dtype in DTYPES:
            forest.save_model(path, dtype=dtype)
            figures[dtype] = (path.stat().st_size, *judged(load_model(path)))
    return figures


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per dataset and type."""
    for dataset, table in studies.tables(args):
        runs = [measure(dataset, table, repeat, args.trees) for repeat in range(args.repeats)]
        for dtype in ("pickle", *DTYPES):
            size, score, moved = np.array([run[dtype] for run in runs]).T
            yield {
                "dataset, score": f"{dataset.name}, {MAIN[dataset.task]}",
                "dtype": dtype,
                "file, MB": f"{size.mean() / 1e6:.2f}",
                "score": f"{score.mean():.4f}",
                "change of the score": f"{np.abs(score - [run['float64'][1] for run in runs]).max():.1e}",
                "a prediction moves at most": f"{moved.max():.1e}",
            }
