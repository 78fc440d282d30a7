"""Synthetic data of any size: the same seed gives the same table."""

import numpy as np
import numpy.typing as npt

from boostforest_paper.types import Floats

Labels = npt.NDArray[np.int64]

N_WAVES = 8  # directions in which the regression function bends
NOISE = 0.3  # standard deviation of the noise; that of the function is about 1
LEVELS = (2, 3, 5, 8, 12, 20, 50)  # levels of the categorical variables: 100 one-hot columns
N_NUMERIC = 6


def _directions(rng: np.random.Generator, d: int, k: int) -> Floats:
    """Draw k unit vectors as columns, so that their products with the rows have standard deviation 1 for any d."""
    directions = rng.normal(size=(d, k))
    return directions / np.linalg.norm(directions, axis=0)


def regression(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Make normal features and a smooth non-linear function of them, plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    phases = rng.uniform(0, 2 * np.pi, N_WAVES)
    waves = np.sin(1.5 * (X @ _directions(rng, d, N_WAVES)) + phases)
    return X, waves.sum(axis=1) / np.sqrt(N_WAVES / 2) + rng.normal(scale=NOISE, size=n)


def classification(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[Floats, Labels]:
    """Make normal features and classes of about equal size with curved borders, some rows on the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ _directions(rng, d, n_classes) + np.cos(2 * (X @ _directions(rng, d, n_classes)))
    return X, np.argmax(scores + rng.normal(scale=NOISE, size=scores.shape), axis=1)


def one_hot(n: int, seed: int = 0) -> tuple[Floats, Labels]:
    """Make numeric columns, then categorical variables, a column per level, rare or frequent; two classes."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(n, N_NUMERIC))
    blocks = [numeric]
    logit = numeric[:, 0] * numeric[:, 1] + np.sin(2 * numeric[:, 2])
    for n_levels in LEVELS:
        frequency = 1 / np.arange(1, n_levels + 1)
        levels = rng.choice(n_levels, size=n, p=frequency / frequency.sum())
        logit += rng.normal(scale=0.7, size=n_levels)[levels]
        blocks.append(np.eye(n_levels)[levels])
    is_positive = rng.uniform(size=n) < 1 / (1 + np.exp(-logit))
    return np.concatenate(blocks, axis=1), is_positive.astype(np.int64)
