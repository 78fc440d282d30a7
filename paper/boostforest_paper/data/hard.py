"""Synthetic tables on which the paper's settings lose to boosting: the adaptive pool has to find what helps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from boostforest_paper.data import Dataset, Table, register
from boostforest_paper.types import Floats, Task

HARD: dict[Task, tuple[str, ...]] = {
    "classification": ("noisy_one_hot", "interactions"),
    "regression": ("few_matter", "few_matter_smooth", "wide_gaps"),
}


def _one_hot(columns: npt.NDArray[np.intp], n_levels: int) -> Floats:
    return np.hstack([np.eye(n_levels)[column] for column in columns.T])


def _draw_classes(rng: np.random.Generator, log_odds: Floats) -> npt.NDArray[np.str_]:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int).astype(str)


def noisy_one_hot(rng: np.random.Generator) -> Table:
    """Many rows, two classes, much noise; 6 numbers and 10 categories of 10 levels."""
    n = 20_000
    numbers = rng.normal(size=(n, 6))
    levels = np.column_stack([rng.choice(10, n, p=rng.dirichlet(np.full(10, 1.5))) for _ in range(10)])
    odds = numbers[:, 0] + np.abs(numbers[:, 1]) - 0.8 + 0.7 * (numbers[:, 2] > 0) * numbers[:, 3]
    odds += sum(0.6 * rng.normal(size=10)[levels[:, j]] for j in range(5))
    odds += 0.8 * ((levels[:, 0] < 4) & (levels[:, 1] > 5))
    return Table(np.hstack([numbers, _one_hot(levels, 10)]), _draw_classes(rng, odds))


def interactions(rng: np.random.Generator) -> Table:
    """Ten categories of five levels; the class depends on three of them together, and on two others."""
    levels = rng.integers(0, 5, (4000, 10))
    three, two = 1.6 * rng.normal(size=(5, 5, 5)), 1.2 * rng.normal(size=(5, 5))
    odds = three[levels[:, 0], levels[:, 1], levels[:, 2]] + two[levels[:, 3], levels[:, 4]]
    return Table(_one_hot(levels, 5), _draw_classes(rng, odds))


def few_matter(rng: np.random.Generator) -> Table:
    """Thirty features, of which four matter, through steps, an absolute value and a wave."""
    X = rng.normal(size=(2400, 30))
    y = np.sign(X[:, 0]) * np.where(X[:, 1] > 0.5, 2, 0) + 1.5 * np.abs(X[:, 2]) + np.cos(3 * X[:, 3])
    return Table(X, y + 0.5 * rng.normal(size=2400))


def few_matter_smooth(rng: np.random.Generator) -> Table:
    """Friedman's first function among thirty features."""
    X = rng.random((2400, 30))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return Table(X, y + rng.normal(size=2400))


def wide_gaps(rng: np.random.Generator) -> Table:
    """Sixty correlated features, half of them half missing, and eight categories of eight levels."""
    hidden = rng.normal(size=(2500, 8))
    X = hidden @ rng.normal(size=(8, 60)) + rng.normal(size=(2500, 60))
    levels = rng.integers(0, 8, (2500, 8))
    y = 2 * hidden[:, 0] + hidden[:, 1] * hidden[:, 2] + 1.5 * np.maximum(hidden[:, 3], 0) + rng.normal(size=2500)
    y = y + sum(0.7 * rng.normal(size=8)[levels[:, j]] for j in range(3))
    X[:, :30][rng.random((2500, 30)) < 0.5] = np.nan
    return Table(np.hstack([X, _one_hot(levels, 8)]), y)


def _register(make: Callable[[np.random.Generator], Table], task: Task, n_rows: int, n_features: int) -> None:
    def read(folder: Path) -> Table:
        return make(np.random.default_rng(0))

    size = (n_rows, n_features, 2 if task == "classification" else 0)
    title = (make.__doc__ or "").split(";")[0].rstrip(".")
    register(Dataset(make.__name__, task, *size, read, title, "synthetic data"))


_register(noisy_one_hot, "classification", 20_000, 106)
_register(interactions, "classification", 4000, 50)
_register(few_matter, "regression", 2400, 30)
_register(few_matter_smooth, "regression", 2400, 30)
_register(wide_gaps, "regression", 2500, 124)
