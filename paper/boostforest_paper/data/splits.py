"""Random parts of a dataset: the same repeat always gives the same ones."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from boostforest_paper.types import Floats, Rows


class Fold(NamedTuple):
    """One repeat of one dataset, split into its two parts."""

    X_train: Floats
    y_train: npt.NDArray
    X_test: Floats
    y_test: npt.NDArray


def split(n: int, repeat: int) -> tuple[Rows, Rows]:
    """Split the rows into train + validation (80 %) and test (20 %), purely at random as the paper does.

    The test part is rounded up: the paper's mean accuracies are multiples of 1 / (10 ceil(n / 5)), and those of MV1, VS
    and DRD of no other rounding.
    """
    order = np.random.default_rng(repeat).permutation(n)
    n_test = -(-n // 5)
    return order[n_test:], order[:n_test]


def fold(X: Floats, y: npt.NDArray, repeat: int) -> Fold:
    """Split one dataset into the parts of one repeat."""
    train, test = split(len(y), repeat)
    return Fold(X[train], y[train], X[test], y[test])
