"""Losses with a log link, of targets that are not negative: Poisson, gamma and what is between them."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._base.typing import Floats
from .._core import Link, LossCode
from .loss import OutOfBag
from .regression import RegressionLoss

LEAST_OUTPUT = 1e-9  #: of a mean that a logarithm is taken of, in multiples of the target's mean
_LEAST_VARIANCE = 1e-6  # of the target, in multiples of its squared mean
_MOST_OFFSET = 300  # whose exponential, and products of two such, are numbers
_LARGEST_NOISE = 0.5  # squared relative error of a mean: beyond it a parabola is no guide


@dataclass(frozen=True)
class LogLink(RegressionLoss):
    """The deviance of a target over its mean, whose logarithm is ``mean``; its variance goes with μ^power, μ = e^F."""

    link = Link.LOG
    positive_only = True
    boosts = True
    zeros: ClassVar[bool] = True  #: the target may be 0
    holds_counts: ClassVar[bool] = False  #: the variance is the mean
    most_information: ClassVar[float]  #: times the target's variance over its squared mean

    information: float = 1.0  #: the counts that a row of the mean stands for

    @property
    @abstractmethod
    def exponent(self) -> float:
        """The power of the mean that the variance goes with."""

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None, **own: float) -> Self:
        numbers = np.ascontiguousarray(y, dtype=np.float64)
        cls._check(numbers)
        if offset is not None and (most := float(np.abs(offset).max())) > _MOST_OFFSET:
            raise ValueError(
                f"offset must be from -{_MOST_OFFSET} to {_MOST_OFFSET} for loss={cls.name!r}, as it is added to a "
                f"logarithm; got one of size {most:g}."
            )
        p, expected = cls(**own).exponent, 1.0 if offset is None else np.exp(offset[:, 0])
        labels, curvature = numbers * expected ** (1 - p), expected ** (2 - p)
        mean = float(np.average(labels, weights=weight))
        if offset is not None:
            mean /= float(np.average(curvature, weights=weight))
        if mean < np.finfo(np.float64).tiny:
            raise ValueError(f"y must not be zero everywhere for loss={cls.name!r}; the mean would have no logarithm.")
        variance = float(np.average(curvature * (numbers / (mean * expected) - 1) ** 2, weights=weight))
        information = mean ** (2 - p)  # in the user's units, if the dispersion is 1
        if scale:
            most = cls.most_information / max(variance, _LEAST_VARIANCE)
            information = min(information, most) if cls.holds_counts else most
        return cls(float(np.log(mean)), information=information, **own)

    @classmethod
    def _check(cls, y: Floats) -> None:
        least = y.min()
        if least < 0 or (least == 0 and not cls.zeros):
            bound = "must not be negative" if cls.zeros else "must be above 0"
            raise ValueError(f"y {bound} for loss={cls.name!r}; got {least:g}.")

    def encode(self, y: Any) -> Floats:
        numbers: Floats = np.ascontiguousarray(y, dtype=np.float64)
        self._check(numbers)
        return numbers / self.output_unit

    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        return (y * self.output_unit if offset is None else y * self.output_unit * np.exp(-offset[:, 0]))[:, None]

    def category_weight(self, weight: Floats | None, offset: Floats) -> Floats | None:
        information = np.exp((2 - self.exponent) * offset[:, 0])
        return np.asarray(information if weight is None else weight * information)

    @property
    def category_target_names(self) -> list[str]:
        return ["mean"]

    def outputs(self, scores: Floats) -> Floats:
        return np.exp(scores)

    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        if offset is not None:
            return self.scores(outputs * np.exp(-offset)) + offset
        return np.asarray(np.log(np.maximum(outputs, LEAST_OUTPUT)))

    def targets(self, y: Floats) -> Floats:
        return y[:, None]

    def decode(self, outputs: Floats) -> Floats:
        return np.maximum(outputs[:, 0], 0.0) * self.output_unit

    @property
    def output_unit(self) -> float:
        return float(np.exp(self.mean))

    @property
    def score_names(self) -> list[str]:
        return ["log(y)"]

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "deviance", mean_loss * self.output_unit ** (2 - self.exponent)

    def losses(self, y: Floats, scores: Floats) -> Floats:
        return self._deviances(y, scores[:, 0])

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        p = self.exponent
        return np.asarray(2 * (np.exp((2 - p) * scores) - y[:, None] * np.exp((1 - p) * scores)))

    def curvature(self, scores: Floats) -> Floats:
        return np.asarray(2 * np.exp((2 - self.exponent) * scores))

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        mean, p = np.maximum(oob.mean[:, 0], LEAST_OUTPUT), self.exponent
        noise = np.minimum(oob.variance_of_mean[:, 0] / mean**2, _LARGEST_NOISE)
        curvature = p * y * mean ** (1 - p) - (p - 1) * mean ** (2 - p)  # half of that by μ, times μ²
        return np.asarray(self._deviances(y, np.log(mean)) - curvature * noise)

    def _deviances(self, y: Floats, scores: Floats) -> Floats:
        p = self.exponent
        logs = np.log(np.where(y > 0, y, 1.0))
        if p == 1:
            return np.asarray(2 * (y * (logs - scores) - y + np.exp(scores)))
        if p == 2:
            return np.asarray(2 * (y * np.exp(-scores) - 1 - logs + scores))
        q, r = 1 - p, 2 - p
        own = np.where(y > 0, np.exp(r * logs), 0.0)
        return np.asarray(2 * (own / (q * r) - y * np.exp(q * scores) / q + np.exp(r * scores) / r))


@dataclass(frozen=True)
class Poisson(LogLink):
    """Counts: 2 (y log(y/μ) - y + μ)."""

    name = "poisson"
    code = LossCode.POISSON
    exponent = 1.0
    holds_counts = True
    most_information = 40.0  # a mean that tells more is one of amounts


@dataclass(frozen=True)
class Gamma(LogLink):
    """Numbers above 0 whose standard deviation goes with the mean: 2 (log(μ/y) + y/μ - 1)."""

    name = "gamma"
    code = LossCode.GAMMA
    exponent = 2.0
    zeros = False
    most_information = 10.0


@dataclass(frozen=True)
class Tweedie(LogLink):
    """Sums of a random number of amounts: many zeros, else numbers above 0."""

    name = "tweedie"
    code = LossCode.TWEEDIE
    takes = ("power",)
    most_information = 4.0

    power: float = 1.5  #: of the mean that the variance goes with, above 1 and below 2

    @property
    def exponent(self) -> float:
        return self.power
