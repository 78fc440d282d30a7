"""Squared error: the mean of a number."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._base.arrays import mean_and_deviation
from .._base.typing import Floats
from .._core import Link, LossCode
from .loss import OutOfBag
from .regression import RegressionLoss


def numbers_without(offset: Floats | None, y: Any) -> Floats:
    """Return a target as numbers, less its offset."""
    numbers: Floats = np.ascontiguousarray(y, dtype=np.float64)
    return numbers if offset is None else numbers - offset[:, 0]


@dataclass(frozen=True)
class IdentityLink(RegressionLoss):
    """A loss whose outputs are the scores: what is predicted, in scaled units."""

    link = Link.IDENTITY

    def encode(self, y: Any) -> Floats:
        numbers: Floats = np.ascontiguousarray(y, dtype=np.float64)
        return (numbers - self.mean) / self.scale

    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        return ((y if offset is None else y - offset[:, 0]) * self.scale + self.mean)[:, None]

    @property
    def category_target_names(self) -> list[str]:
        return ["mean"]

    def outputs(self, scores: Floats) -> Floats:
        return scores

    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        return outputs

    def offset_scores(self, offset: Floats) -> Floats:
        return offset / self.scale

    def targets(self, y: Floats) -> Floats:
        return y[:, None]

    def decode(self, outputs: Floats) -> Floats:
        return outputs[:, 0] * self.scale + self.mean

    @property
    def score_names(self) -> list[str]:
        return ["y"]


@dataclass(frozen=True)
class SquaredError(IdentityLink):
    """(y - F)² of the scaled target."""

    name = "squared_error"
    code = LossCode.SQUARED_ERROR
    boosts = True
    numbers = ()

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None) -> Self:
        if not scale:
            return cls()
        mean, deviation = mean_and_deviation(numbers_without(offset, y)[:, None], weight)
        return cls(float(mean[0]), float(deviation[0]))

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "RMSE", float(np.sqrt(mean_loss)) * self.scale

    def losses(self, y: Floats, scores: Floats) -> Floats:
        return (y - scores[:, 0]) ** 2

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        return 2 * (scores - y[:, None])

    def curvature(self, scores: Floats) -> Floats:
        return np.full_like(scores, 2.0)

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        return (oob.mean[:, 0] - y) ** 2 - oob.variance_of_mean[:, 0]
