"""Which parameters are tried: ``none``, ``random:N`` from a grid, or all of the ``grid``."""

import math
from typing import NamedTuple
from zlib import crc32

import numpy as np

from boostforest_paper.learners import Grid, Params


class Tuning(NamedTuple):
    """How parameters are chosen."""

    kind: str  # none, random or grid
    n: int = 0  # draws

    @classmethod
    def parse(cls, text: str) -> "Tuning":
        """Read what the command line says."""
        kind, colon, number = text.partition(":")
        if kind in ("none", "grid") and not colon:
            return cls(kind)
        if kind == "random" and number.isdecimal() and int(number) > 0:
            return cls(kind, int(number))
        raise ValueError(f"must be none, random:N with N of at least 1, or grid; got {text!r}")

    def __str__(self) -> str:
        return f"random:{self.n}" if self.kind == "random" else self.kind

    def n_candidates(self, grid: Grid) -> int:
        """Return how many sets of parameters are tried; 0 for the defaults."""
        size = math.prod(len(values) for values in grid.values())
        return {"none": 0, "random": min(self.n, size), "grid": size}[self.kind]

    def candidates(self, grid: Grid, seed: list[int]) -> list[Params]:
        """Return the sets of parameters to try, drawn without replacement; none for the defaults."""
        size = math.prod(len(values) for values in grid.values())
        numbers = range(size)
        n = self.n_candidates(grid)
        if n < size:
            numbers = np.random.default_rng(seed).choice(size, n, replace=False).tolist()
        return [_decode(grid, number) for number in numbers]


def _decode(grid: Grid, number: int) -> Params:
    """Return the set of parameters with this number in the product of all values."""
    params = {}
    for name, values in grid.items():
        number, position = divmod(number, len(values))
        params[name] = values[position]
    return params


def seed_of(learner: str, dataset: str, repeat: int) -> list[int]:
    """Return a seed of the draws that is a function of names alone, whatever runs before or beside."""
    return [crc32(learner.encode()), crc32(dataset.encode()), repeat]
