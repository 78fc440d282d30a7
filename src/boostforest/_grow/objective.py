"""The target of a fit and its rows' weights: what decides out of bag whether one forest is better than another."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._base.typing import Floats, Mask
from .._core import Link
from .._losses import Loss, OutOfBag
from .._model.conformal import effective_rows

PRIOR = 3.0  # rows' worth of belief that scores are right as they are
FACTORS = 2.0  # of the scores: logarithm of the largest, and of the smallest below 0
_MOST_JUDGED = 50_000  # scores that a factor is found by
_SETTLED = 0.01  # logarithm of a factor
_LEAST_CURVATURE = 1e-3  # of the loss, where scores are those of mean outputs
_FIRST_POINTS = 9  # of a line, where the least value is looked for; then some around it, in parts of their distance
_NEXT_POINTS = np.array([-0.5, -0.1, 0.0, 0.1, 0.5])
_CLOSE = 20.0  # times as far as is wanted: a parabola through points so close to each other is right


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss, a target as the core takes it, and what its rows weigh."""

    loss: Loss
    y: Floats
    weight: Floats | None = None  #: of the rows; None: all the same
    offset: Floats | None = None  #: that is in all scores and outputs, rows × outputs; None: zero

    @property
    def targets(self) -> Floats:
        """What outputs should be: rows × outputs."""
        return self.loss.targets(self.y)

    def scores(self, outputs: Floats) -> Floats:
        """Return the scores that mean outputs stand for."""
        return self.loss.scores(outputs, self.offset)

    def losses(self, scores: Floats) -> Floats:
        """Return the loss of every row."""
        return self.loss.losses(self.y, scores)

    def losses_at(self, scores: Floats) -> Floats:
        """Return the loss of every row for several scores of each: points × rows, from points × rows × outputs."""
        n_points = len(scores)
        y = np.concatenate([self.y] * n_points)
        return self.loss.losses(y, scores.reshape(-1, scores.shape[2])).reshape(n_points, -1)

    def limit_losses(self, oob: OutOfBag) -> Floats:
        """Return the loss that the mean of infinitely many such trees would have, estimated row by row."""
        return self.loss.limit_losses(self.y, oob)

    def calibrated_losses(self, oob: OutOfBag, rows: Mask) -> Floats:
        """Return what ``limit_losses`` does, of scores times the factor that is best for some rows."""
        if not rows.any():
            return self.limit_losses(oob)
        scores = self.loss.scores(oob.mean)
        variance = oob.variance_of_mean / np.maximum(self.loss.curvature(scores), _LEAST_CURVATURE) ** 2

        def losses(of: Objective, scores: Floats, variance: Floats, log_factors: Floats) -> Floats:
            factors = np.exp(log_factors)[:, None, None]
            scaled = factors * scores
            losses = of.losses_at(scaled)
            curvature = of.loss.curvature(scaled.reshape(-1, scores.shape[1])).reshape(scaled.shape)
            noise = (factors**2 * curvature * variance).sum(axis=2)
            return np.asarray(losses - np.minimum(noise, np.minimum(1.0, losses)) / 2)

        judges = self.judges(rows)
        part, held = self.part(judges), PRIOR / self.n_rows(rows)
        share, own_scores, own_variance = part.shares(part.all_rows), scores[judges], variance[judges]

        def loss(log_factors: Floats) -> Floats:
            return weighted_sums(losses(part, own_scores, own_variance, log_factors), share) + held * log_factors**2

        log_factor = least_point(loss, -FACTORS, FACTORS, _SETTLED)
        return np.asarray(losses(self, scores, variance, np.array([log_factor]))[0])

    def noise(self, scores: Floats, variance: Floats) -> Floats:
        """Return each row's second derivative of the loss times the variance of its score; ``variance``: of outputs."""
        curvature = self.loss.curvature(scores)
        if self.loss.link == Link.LOG:  # a score is off by as much as the output, over the output
            curvature = curvature / np.maximum(self.loss.outputs(scores), _LEAST_CURVATURE) ** 2
        elif self.loss.link != Link.IDENTITY:
            curvature = 1 / np.maximum(curvature, _LEAST_CURVATURE)
        return np.asarray((curvature * variance).sum(axis=1))

    def counted(self, rows: Mask) -> Mask:
        """Return those of some rows that have any weight; what the others' losses are must not matter."""
        return rows if self.weight is None else rows & (self.weight > 0)

    def judges(self, rows: Mask) -> Mask:
        """Return some rows, of very many only as many as it takes to find a factor by."""
        step = np.count_nonzero(rows) * self.loss.n_outputs // _MOST_JUDGED
        if step < 2:
            return rows
        judges = np.zeros_like(rows)
        judges[np.flatnonzero(rows)[::step]] = True
        return judges

    def part(self, rows: Mask) -> "Objective":
        """Return the objective of some rows alone."""
        weight, offset = (None if of_row is None else of_row[rows] for of_row in (self.weight, self.offset))
        return Objective(self.loss, self.y[rows], weight, offset)

    @property
    def all_rows(self) -> Mask:
        """All of its rows."""
        return np.ones(len(self.y), dtype=bool)

    def n_rows(self, rows: Mask) -> float:
        """Return how many rows of the same weight would tell as much as some rows."""
        return float(np.count_nonzero(rows)) if self.weight is None else effective_rows(self.weight[rows])

    def average(self, losses: Floats, rows: Mask) -> float:
        """Return the weighted mean over some rows; NaN if none of them has any weight."""
        rows = self.counted(rows)
        return weighted_sum(self.shares(rows), losses[rows]) if rows.any() else float("nan")

    def figure(self, outputs: Floats, rows: Mask) -> float:
        """Return the loss of outputs as people read it, in the target's units: log-loss, RMSE, deviance and others."""
        return self.loss.figure(self.average(self.losses(self.scores(outputs)), rows))[1]

    def shares(self, rows: Mask) -> Floats:
        """Return the weights of some rows that have any, adding up to 1."""
        if self.weight is None:
            n = int(np.count_nonzero(rows))
            return np.full(n, 1 / max(n, 1))
        weight: Floats = self.weight[rows]
        return np.asarray(weight / np.sum(weight))

    def t_value(self, differences: Floats, rows: Mask) -> float:
        """Return the mean of differences in multiples of its standard error; 0 if there are none."""
        rows = self.counted(rows)
        values, share = differences[rows], self.shares(rows)
        mean = weighted_sum(share, values)
        error = np.sqrt(weighted_sum(share**2, (values - mean) ** 2))
        return mean / max(float(error), float(np.finfo(np.float64).tiny))


def weighted_sum(weight: Floats, values: Floats) -> float:
    """Return a scalar product without BLAS, whose threads take longer to start than this does."""
    return float(np.einsum("i,i", weight, values))


def weighted_sums(values: Floats, weight: Floats) -> Floats:
    """Return the same for every row of some values."""
    return np.asarray(np.einsum("ij,j->i", values, weight))


def least_point(values: Callable[[Floats], Floats], low: float, high: float, settled: float) -> float:
    """Return about where a smooth function of a number is least; it is called with several numbers at once.

    Few calls with many numbers take less time than many calls with one. ``settled``: how near it has to be.
    """
    points = np.linspace(low, high, _FIRST_POINTS)
    while True:
        found = values(points)
        found = np.where(np.isnan(found), np.inf, found)
        i = int(np.argmin(found))
        lowest, is_inside = float(points[i]), 0 < i < len(points) - 1
        distance = float(np.diff(points)[min(i, len(points) - 2)])
        if is_inside:
            lowest += _lowest_of_parabola(points[i - 1 : i + 2] - lowest, found[i - 1 : i + 2])
        if distance <= _CLOSE * settled and (is_inside or lowest in (low, high)):
            return lowest
        points = np.unique(np.clip(lowest + (distance if is_inside else 2 * distance) * _NEXT_POINTS, low, high))


def _lowest_of_parabola(at: Floats, values: Floats) -> float:
    """Return where a parabola through three points is lowest, the least of which is at 0; 0 if it is flat."""
    left, _, right = at.tolist()
    rise_left, _, rise_right = (values - values[1]).tolist()
    bent = right * rise_left - left * rise_right
    lowest = (right**2 * rise_left - left**2 * rise_right) / (2 * bent) if bent > 0 else 0.0
    return lowest if left < lowest < right else 0.0  # infinite values leave nothing to compute with
