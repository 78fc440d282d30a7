"""Calibrated probabilities and conformal sets, learned from out-of-bag scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from ._conformal import limits, weighted_rows
from ._objective import Floats, Mask, Objective

CALIBRATIONS = (False, "temperature", "isotonic", "auto")
_PRIOR = 3.0  # rows' worth of belief that scores are right as they are
_RANGE = 2.0  # of the logarithm of the temperature, both ways


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: times a factor, or through a rising step function per output."""

    factor: float = 1.0
    knots: tuple[tuple[Floats, Floats], ...] = ()

    @property
    def is_identity(self) -> bool:
        """Whether nothing is changed."""
        return self.factor == 1.0 and not self.knots

    def outputs(self, objective: Objective, scores: Floats) -> Floats:
        """Return the probabilities of scores."""
        p = objective.outputs(scores if self.factor == 1.0 else self.factor * scores)
        if not self.knots:
            return p
        mapped = np.column_stack([np.interp(p[:, k], *knots) for k, knots in enumerate(self.knots)])
        return mapped if len(self.knots) == 1 else mapped / mapped.sum(axis=1, keepdims=True)


def fit_calibration(how: str, objective: Objective, scores: Floats, rows: Mask) -> Calibration:
    """Return what makes out-of-bag scores of some rows honest probabilities."""
    rows = objective.counted(rows)
    if not rows.any():
        return Calibration()
    if how in ("temperature", "auto"):
        return Calibration(_temperature(objective, scores, rows))
    n = objective.n_rows(rows)
    weight = objective.shares(rows) * n
    p, targets = objective.outputs(scores)[rows], objective.targets[rows]
    least = 1 / (n + 2)  # as if each side had been seen once more: no probability is 0
    knots = []
    for k in range(p.shape[1]):
        curve = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip")
        curve.fit(p[:, k], targets[:, k], sample_weight=weight)
        knots.append((curve.X_thresholds_.astype(np.float64), curve.y_thresholds_.astype(np.float64)))
    return Calibration(1.0, tuple(knots))


def _temperature(objective: Objective, scores: Floats, rows: Mask) -> float:
    """Return the factor of the scores with the least log-loss, held near 1 where there are few rows."""
    n = objective.n_rows(rows)

    def loss(u: float) -> float:
        return objective.average(objective.losses(np.exp(u) * scores), rows) + float(_PRIOR * u**2 / n)

    return float(np.exp(minimize_scalar(loss, bounds=(-_RANGE, _RANGE), method="bounded").x))


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
