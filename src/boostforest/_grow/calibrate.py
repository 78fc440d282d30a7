"""Calibration learned from out-of-bag scores."""

import numpy as np
from scipy.optimize import minimize_scalar

from .._base.typing import Floats, Mask
from .._model.model import Calibration
from .objective import FACTORS, PRIOR, Objective


def fit_calibration(how: str, objective: Objective, scores: Floats, rows: Mask) -> Calibration:
    """Return what makes calibrated probabilities of the out-of-bag scores of some rows."""
    rows = objective.counted(rows)
    if not rows.any():
        return Calibration()
    if how in ("temperature", "auto"):
        return Calibration(_temperature(objective, scores, rows))
    from sklearn.isotonic import IsotonicRegression

    n = objective.n_rows(rows)
    weight = objective.shares(rows) * n
    p, targets = objective.loss.outputs(scores)[rows], objective.targets[rows]
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
        scaled = Calibration(float(np.exp(u))).scores(scores, objective.offset)
        return objective.average(objective.losses(scaled), rows) + float(PRIOR * u**2 / n)

    return float(np.exp(minimize_scalar(loss, bounds=(-FACTORS, FACTORS), method="bounded").x))
