"""Calibration learned from out-of-bag scores."""

import numpy as np

from .._base.typing import Floats, Mask
from .._model.model import Calibration
from .objective import FACTORS, PRIOR, Objective, least_point, weighted_sums

_SETTLED = 1e-5  # logarithm of the factor


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
    judges = objective.judges(rows)
    part, own, held = objective.part(judges), scores[judges], PRIOR / objective.n_rows(rows)
    share = part.shares(part.all_rows)

    def loss(log_factors: Floats) -> Floats:
        scaled = np.stack([Calibration(float(factor)).scores(own, part.offset) for factor in np.exp(log_factors)])
        return weighted_sums(part.losses_at(scaled), share) + held * log_factors**2

    return float(np.exp(least_point(loss, -FACTORS, FACTORS, _SETTLED)))
