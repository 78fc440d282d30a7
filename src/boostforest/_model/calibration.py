"""Calibrated probabilities and conformal sets, by what was learned from out-of-bag scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._base.typing import Floats, Mask
from .._losses import Loss
from .conformal import limits, weighted_rows

CALIBRATIONS = (False, "temperature", "isotonic", "auto")


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: times a factor, or through a rising step function per output."""

    factor: float = 1.0
    knots: tuple[tuple[Floats, Floats], ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether nothing is changed."""
        return self.factor == 1.0 and not self.knots

    def outputs(self, loss: Loss, scores: Floats) -> Floats:
        """Return the probabilities of scores."""
        p = loss.outputs(scores if self.factor == 1.0 else self.factor * scores)
        if not self.knots:
            return p
        mapped = np.column_stack([np.interp(p[:, k], *knots) for k, knots in enumerate(self.knots)])
        return mapped if len(self.knots) == 1 else mapped / mapped.sum(axis=1, keepdims=True)


def conformity(p: Floats, y: npt.NDArray[np.intp], seen: Mask, weight: Floats | None) -> tuple[Floats, Floats | None]:
    """Return, in ascending order, how improbable the true class of each row was, and what the rows weigh."""
    rows, weight = weighted_rows(seen, weight)
    scores = 1 - p[rows, y[rows]]
    if weight is None:
        return np.sort(scores), None
    order = np.argsort(scores, kind="stable")
    return scores[order], weight[order]


def conformal_sets(p: Floats, scores: Floats, weight: Floats | None, coverage: float) -> Mask:
    """Return which classes belong to the set of each row, the most probable one always."""
    chosen = np.asarray(1 - p <= limits(scores[None], weight, coverage))
    chosen[np.arange(len(p)), p.argmax(axis=1)] = True
    return chosen
