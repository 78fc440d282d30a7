"""Poisson deviance: the mean of counts, or of any numbers that are not negative, on a log scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._base.typing import Floats
from .._core import Link, LossCode
from .loss import OutOfBag
from .regression import RegressionLoss

_LEAST_OUTPUT = 1e-9  # of a mean that a logarithm is taken of, in multiples of the target's mean
_LEAST_VARIANCE = 1e-6  # of the target, in multiples of its squared mean
_MOST_INFORMATION = 40.0  # times the target's variance over its squared mean: more tell that it holds no counts
_LARGEST_NOISE = 0.5  # squared relative error of a mean: beyond it a parabola is no guide


@dataclass(frozen=True)
class Poisson(RegressionLoss):
    """2 (y log(y/μ) - y + μ) with μ = e^F, where y is the target over its mean; the logarithm of that is ``mean``."""

    name = "poisson"
    code = LossCode.POISSON
    link = Link.LOG

    information: float = 1.0  #: the counts that a row of the mean stands for

    @property
    def numbers(self) -> tuple[float, ...]:  # type: ignore[override]
        return (self.information,)

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool) -> Self:
        numbers = np.ascontiguousarray(y, dtype=np.float64)
        cls._check(numbers)
        mean = float(np.average(numbers, weights=weight))
        if mean < np.finfo(np.float64).tiny:
            raise ValueError(f"y must not be zero everywhere for loss={cls.name!r}; the mean would have no logarithm.")
        variance = float(np.average((numbers / mean - 1) ** 2, weights=weight))
        most = _MOST_INFORMATION / max(variance, _LEAST_VARIANCE) if scale else np.inf
        return cls(float(np.log(mean)), information=min(mean, most))

    @classmethod
    def _check(cls, y: Floats) -> None:
        if y.min() < 0:
            raise ValueError(f"y must not be negative for loss={cls.name!r}; got {y.min():g}.")

    def encode(self, y: Any) -> Floats:
        numbers: Floats = np.ascontiguousarray(y, dtype=np.float64)
        self._check(numbers)
        return numbers / self.output_unit

    def category_targets(self, y: Floats) -> Floats:
        return (y * self.output_unit)[:, None]

    @property
    def category_target_names(self) -> list[str]:
        return ["mean"]

    def outputs(self, scores: Floats) -> Floats:
        return np.exp(scores)

    def scores(self, outputs: Floats) -> Floats:
        return np.asarray(np.log(np.maximum(outputs, _LEAST_OUTPUT)))

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
        return "deviance", mean_loss * self.output_unit

    def losses(self, y: Floats, scores: Floats) -> Floats:
        return _deviances(y, scores[:, 0])

    def curvature(self, scores: Floats) -> Floats:
        return 2 * np.exp(scores)

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        mean = np.maximum(oob.mean[:, 0], _LEAST_OUTPUT)
        noise = np.minimum(oob.variance_of_mean[:, 0] / mean**2, _LARGEST_NOISE)
        return np.asarray(_deviances(y, np.log(mean)) - y * noise)


def _deviances(y: Floats, scores: Floats) -> Floats:
    logs = np.log(np.where(y > 0, y, 1.0))
    return np.asarray(2 * (y * (logs - scores) - y + np.exp(scores)))
