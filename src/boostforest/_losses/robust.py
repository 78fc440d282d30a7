"""Losses that far-off targets cannot ruin: Huber, absolute error, and quantiles."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._base.arrays import mean_and_deviation
from .._base.typing import Floats
from .._core import LossCode
from .loss import OutOfBag
from .squared_error import IdentityLink, numbers_without

TO_DEVIATIONS = 1.4826  #: standard deviations of a normal distribution per median absolute deviation


def weighted_quantile(values: Floats, weight: Floats | None, quantile: float) -> float:
    """Return the least value that has so much of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(np.ones(len(values)) if weight is None else weight[order])
    place = int(np.searchsorted(below, quantile * below[-1] * (1 - 1e-12)))
    return float(values[order[min(place, len(values) - 1)]])


@dataclass(frozen=True)
class RobustLoss(IdentityLink):
    """A loss of the residual of the target less its quantile, over its median absolute deviation from it."""

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None, **own: float) -> Self:
        if not scale:
            return cls(**own)
        numbers = numbers_without(offset, y)
        if weight is not None:  # what does not count may be anything
            numbers, weight = numbers[weight > 0], weight[weight > 0]
        spread = TO_DEVIATIONS * weighted_quantile(
            np.abs(numbers - weighted_quantile(numbers, weight, 0.5)), weight, 0.5
        )
        if not spread > 0:  # most targets are the same
            spread = float(mean_and_deviation(numbers[:, None], weight)[1][0])
        return cls(weighted_quantile(numbers, weight, own.get("quantile", 0.5)), spread, **own)

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        return self.losses(y, oob.mean)  # nearly straight: noise of the mean adds little


@dataclass(frozen=True)
class Huber(RobustLoss):
    """(y - F)² up to |y - F| = δ, straight beyond."""

    name = "huber"
    code = LossCode.HUBER
    boosts = True

    delta: float = 0.7  #: in units of the score: residuals are smaller than the target's own deviations

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "root of Huber loss", float(np.sqrt(mean_loss)) * self.scale

    def losses(self, y: Floats, scores: Floats) -> Floats:
        size = np.abs(y - scores[:, 0])
        return np.asarray(np.where(size <= self.delta, size**2, self.delta * (2 * size - self.delta)))

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        return 2 * np.clip(scores - y[:, None], -self.delta, self.delta)

    def curvature(self, scores: Floats) -> Floats:
        return np.full_like(scores, 2.0)


@dataclass(frozen=True)
class Quantile(RobustLoss):
    """The pinball loss: τ (y - F) above, (1 - τ) (F - y) below; τ is ``quantile``."""

    name = "quantile"
    code = LossCode.QUANTILE
    takes: ClassVar[tuple[str, ...]] = ("quantile",)
    predicts_mean = False

    quantile: float = 0.5

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "pinball loss", mean_loss * self.scale

    def losses(self, y: Floats, scores: Floats) -> Floats:
        rest = y - scores[:, 0]
        return np.asarray(np.where(rest > 0, self.quantile * rest, (self.quantile - 1) * rest))

    def curvature(self, scores: Floats) -> Floats:
        return np.zeros_like(scores)


@dataclass(frozen=True)
class AbsoluteError(Quantile):
    """|y - F|, half of it: the pinball loss of the median."""

    name = "absolute_error"
    takes = ()
    predicts_mean = True  # as near to it as a median is

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "MAE", 2 * mean_loss * self.scale
