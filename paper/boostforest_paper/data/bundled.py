"""Datasets and generators that come with scikit-learn: they are at hand wherever the benchmarks run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_data

from boostforest_paper.data import Dataset, Table, register
from boostforest_paper.types import Task


def _reader(load: Callable[..., Any]) -> Callable[[Path], Table]:
    def read(folder: Path) -> Table:
        X, y = load(return_X_y=True)
        return Table(np.asarray(X, dtype=float), np.asarray(y))

    return read


def _bundled(name: str, task: Task, n_rows: int, n_features: int, n_classes: int, title: str) -> None:
    load = getattr(sklearn_data, f"load_{name}")
    register(Dataset(name, task, n_rows, n_features, n_classes, _reader(load), title))


_bundled("iris", "classification", 150, 4, 3, "Iris")
_bundled("wine", "classification", 178, 13, 3, "Wine recognition")
_bundled("breast_cancer", "classification", 569, 30, 2, "Breast Cancer Wisconsin (Diagnostic)")
_bundled("digits", "classification", 1797, 64, 10, "Handwritten digits, 8 × 8")
_bundled("diabetes", "regression", 442, 10, 0, "Diabetes progression")


def _friedman(number: int, n_features: int, noise: float) -> None:
    """Register one of Friedman's functions with noise of about a third of its standard deviation."""
    make = getattr(sklearn_data, f"make_friedman{number}")

    def read(folder: Path) -> Table:
        return Table(*make(n_samples=500, noise=noise, random_state=0))

    name = f"friedman{number}"
    register(Dataset(name, "regression", 500, n_features, 0, read, f"Friedman's function {number}", "synthetic data"))


_friedman(1, 10, 1.6)
_friedman(2, 4, 125.0)
_friedman(3, 4, 0.1)
