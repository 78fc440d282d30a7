"""How the trees of a forest make a prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import Floats


@dataclass(frozen=True)
class Stages:
    """Which trees belong to which stage, and what a stage counts."""

    ends: tuple[int, ...]  #: number of trees up to the end of each stage
    steps: tuple[float, ...]  #: factor of each stage's mean; 1 for the first

    @classmethod
    def single(cls, n_trees: int) -> Stages:
        """Return the one stage of a plain forest."""
        return cls((n_trees,), (1.0,))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """First tree and end of each stage."""
        return list(zip((0, *self.ends[:-1]), self.ends, strict=True))

    def add(self, n_trees: int, step: float) -> Stages:
        """Return the stages with one more."""
        return Stages((*self.ends, self.ends[-1] + n_trees), (*self.steps, step))

    def tree_weights(self) -> Floats:
        """Return what each tree counts."""
        parts = [
            np.full(end - first, step / (end - first))
            for (first, end), step in zip(self.parts, self.steps, strict=True)
        ]
        weights: Floats = np.concatenate(parts)
        return weights
