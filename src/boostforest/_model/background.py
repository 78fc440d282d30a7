"""Some rows of the training table, which explanations compare others with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.typing import Entropy, Floats

N_ROWS = 100
_ROWS_TAG = 2  # apart from the other draws of a fit, see ``_base/draws.py``


@dataclass(frozen=True, eq=False)
class Background:
    """Training rows in memory; no file has them, nor a pickle."""

    table: Floats | None = None  #: the columns as numbers, see ``_features``; None: they were left behind

    def __reduce__(self) -> tuple[Any, ...]:
        return Background, ()

    def __copy__(self) -> Background:
        return self

    def __deepcopy__(self, memo: Any) -> Background:
        return self


def draw_background(table: Floats, weight: Floats | None, entropy: Entropy) -> Background:
    """Draw rows of the training table, by their weights if they have some."""
    draws = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_ROWS_TAG,)))
    n_rows, chances = len(table), None
    if weight is not None:
        n_rows, chances = int(np.count_nonzero(weight)), weight / weight.sum()
    rows = draws.choice(len(table), min(N_ROWS, n_rows), replace=False, p=chances)
    return Background(table[np.sort(rows)])
