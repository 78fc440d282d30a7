"""What a forest minimises, seen from its out-of-bag outputs: losses of rows, and what more trees would change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._conformal import effective_rows

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_LEAST_PROBABILITY = 1e-3  # of a mean that log-odds are taken of
_LEAST_IN_LOSS = 1e-4
_LARGEST_CORRECTION = 0.5  # of a row's log-loss


@dataclass(frozen=True)
class OutOfBag:
    """Sums over the trees that have not drawn a row."""

    total: Floats  #: of their outputs, rows × outputs
    squares: Floats  #: of the squares
    n_trees: Floats  #: their number, rows × 1

    def __add__(self, other: OutOfBag) -> OutOfBag:
        return OutOfBag(self.total + other.total, self.squares + other.squares, self.n_trees + other.n_trees)

    @property
    def seen(self) -> Mask:
        """Rows that have such trees."""
        return np.asarray(self.n_trees[:, 0] > 0)

    @property
    def mean(self) -> Floats:
        """The mean output; 0 without a tree."""
        return self.total / np.maximum(self.n_trees, 1)

    @property
    def spread(self) -> Floats:
        """The variance of a single tree's output; 0 where it cannot be told."""
        n = np.maximum(self.n_trees, 2)
        variance = np.maximum(self.squares / n - (self.total / n) ** 2, 0) * n / (n - 1)
        return np.where(self.n_trees >= 2, variance, 0.0)

    @property
    def variance_of_mean(self) -> Floats:
        """What is left of that in the mean."""
        return self.spread / np.maximum(self.n_trees, 1)


@dataclass(frozen=True)
class Objective:
    """The target of a fit, as the core takes it, and the losses of predictions for it."""

    y: Floats
    n_classes: int  #: 0 in regression
    weight: Floats | None = None  #: of the rows

    @property
    def n_outputs(self) -> int:
        """Outputs of a tree per row."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def targets(self) -> Floats:
        """What outputs (predictions, or probabilities) should be: rows × outputs."""
        if self.n_classes <= 2:
            return self.y[:, None]
        return np.eye(self.n_classes)[self.y.astype(np.intp)]

    def counted(self, rows: Mask) -> Mask:
        """Return those of some rows that have any weight; what the others' losses are must not matter."""
        return rows if self.weight is None else rows & (self.weight > 0)

    def n_rows(self, rows: Mask) -> float:
        """Return how many rows of the same weight would tell as much as some rows."""
        return int(rows.sum()) if self.weight is None else effective_rows(self.weight[rows])

    def average(self, losses: Floats, rows: Mask) -> float:
        """Return the weighted mean over some rows; NaN if none of them has any weight."""
        rows = self.counted(rows)
        return float(losses[rows] @ self.shares(rows)) if rows.any() else float("nan")

    def shares(self, rows: Mask) -> Floats:
        """Return the weights of some rows that have any, adding up to 1."""
        weight: Floats = np.ones(rows.sum()) if self.weight is None else self.weight[rows]
        return np.asarray(weight / np.sum(weight))

    def t_value(self, differences: Floats, rows: Mask) -> float:
        """Return the mean of differences in multiples of its standard error; 0 if there are none."""
        rows = self.counted(rows)
        values, share = differences[rows], self.shares(rows)
        mean = share @ values
        error = np.sqrt((share**2) @ (values - mean) ** 2)
        return float(mean) / max(float(error), float(np.finfo(np.float64).tiny))

    def scores(self, mean: Floats) -> Floats:
        """Return the scores that mean outputs stand for: themselves, or the log-odds of probabilities."""
        if self.n_classes == 0:
            return mean
        if self.n_outputs == 1:
            p = np.clip(mean, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
            return np.asarray(np.log(p / (1 - p)))
        logs = np.log(np.maximum(mean, _LEAST_PROBABILITY))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    def outputs(self, scores: Floats) -> Floats:
        """Return the predictions, or the probabilities, of scores."""
        if self.n_classes == 0:
            return scores
        if self.n_outputs == 1:
            odds = np.exp(-np.abs(scores))  # cannot overflow
            return np.asarray(np.where(scores < 0, odds, 1) / (1 + odds))
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def losses(self, scores: Floats) -> Floats:
        """Return the squared error, or the log-loss, of every row."""
        if self.n_classes == 0:
            return (self.y - scores[:, 0]) ** 2
        if self.n_outputs == 1:
            return np.logaddexp(0, np.where(self.y > 0, -1, 1) * scores[:, 0])
        top = scores.max(axis=1)
        own = np.take_along_axis(scores, self.y.astype(np.intp)[:, None], axis=1)[:, 0]
        return np.asarray(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own)

    def curvature(self, scores: Floats) -> Floats:
        """Return the second derivative of the loss by each score."""
        if self.n_classes == 0:
            return np.full_like(scores, 2.0)
        p = self.outputs(scores)
        return p * (1 - p)

    def limit_losses(self, oob: OutOfBag) -> Floats:
        """Return the loss that the mean of endlessly many such trees would have, estimated row by row.

        The mean of few trees has a higher loss than that of many, by half the curvature times the variance of the mean.
        """
        mean, variance = oob.mean, oob.variance_of_mean
        if self.n_classes == 0:
            return (mean[:, 0] - self.y) ** 2 - variance[:, 0]
        own = self.y.astype(np.intp)
        if self.n_outputs == 1:
            p, v = np.where(own > 0, mean[:, 0], 1 - mean[:, 0]), variance[:, 0]
        else:
            p, v = (np.take_along_axis(a, own[:, None], axis=1)[:, 0] for a in (mean, variance))
        p = np.maximum(p, _LEAST_IN_LOSS)
        return np.asarray(-np.log(p) - np.minimum(v / (2 * p**2), _LARGEST_CORRECTION))
