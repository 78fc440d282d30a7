"""The log-loss of classes: logistic for two, softmax for more."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._base.typing import Floats, Labels, Longs
from .._core import Link, LossCode
from .loss import Loss, OutOfBag

_LEAST_PROBABILITY = 1e-3  # of a mean that log-odds are taken of
_LEAST_IN_LOSS = 1e-4
_LARGEST_CORRECTION = 0.5  # of a row's log-loss


@dataclass(frozen=True, eq=False)
class CrossEntropy(Loss):
    """What the losses of classes share. The core gets the number of a row's class."""

    task = "classification"

    classes: Labels  #: in ascending order

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None) -> Self:
        return cls(np.unique(y))

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.classes)

    def encode(self, y: Any) -> Floats:
        codes: Floats = np.searchsorted(self.classes, y).astype(np.float64)
        return codes

    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        is_class: Floats = (y[:, None] == self._counted).astype(np.float64)
        return is_class

    @property
    def category_target_names(self) -> list[str]:
        return [f"P({label})" for label in self.classes[self._counted]]

    @property
    def _counted(self) -> Longs:
        """The classes whose shares stand for categories: of two the second is enough."""
        return np.arange(1 if self.n_classes == 2 else 0, self.n_classes)

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "log-loss", mean_loss

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        p, variance = self._own(y, oob.mean, oob.variance_of_mean)
        p = np.maximum(p, _LEAST_IN_LOSS)
        return np.asarray(-np.log(p) - np.minimum(variance / (2 * p**2), _LARGEST_CORRECTION))

    @abstractmethod
    def _own(self, y: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each row's own class, and its variance."""

    def curvature(self, scores: Floats) -> Floats:
        p = self.outputs(scores)
        return p * (1 - p)


@dataclass(frozen=True, eq=False)
class Logistic(CrossEntropy):
    """Two classes: one score, the log-odds of the second. A single class is taken for the first of two."""

    name = "logistic"
    code = LossCode.LOGISTIC
    link = Link.SIGMOID

    def outputs(self, scores: Floats) -> Floats:
        odds = np.exp(-np.abs(scores))  # cannot overflow
        return np.asarray(np.where(scores < 0, odds, 1) / (1 + odds))

    @property
    def score_names(self) -> list[str]:
        return [f"log-odds of {self.classes[-1]}"]

    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        if offset is not None:  # what is limited is what comes to the offset
            tiny = np.finfo(np.float64).tiny
            odds = np.log(np.maximum(outputs, tiny)) - np.log(np.maximum(1 - outputs, tiny))
            return self.scores(self.outputs(odds - offset)) + offset
        p = np.clip(outputs, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        return np.asarray(np.log(p / (1 - p)))

    def targets(self, y: Floats) -> Floats:
        return y[:, None]

    def decode(self, outputs: Floats) -> Floats:
        if self.n_classes == 1:
            return np.ones((len(outputs), 1))
        return np.hstack([1 - outputs, outputs])

    def losses(self, y: Floats, scores: Floats) -> Floats:
        wrong = np.where(y > 0, -scores[:, 0], scores[:, 0])  # score for the other class
        return np.asarray(np.maximum(wrong, 0) + np.log1p(np.exp(-np.abs(wrong))))  # logaddexp has no vectors

    def _own(self, y: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        return np.where(y > 0, mean[:, 0], 1 - mean[:, 0]), variance[:, 0]


@dataclass(frozen=True, eq=False)
class Softmax(CrossEntropy):
    """More classes: a score for each."""

    name = "softmax"
    code = LossCode.SOFTMAX
    link = Link.SOFTMAX

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self.n_classes

    @property
    def output_names(self) -> list[str]:
        return [str(label) for label in self.classes]

    @property
    def score_names(self) -> list[str]:
        return [f"F({label})" for label in self.classes]

    def outputs(self, scores: Floats) -> Floats:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        if offset is not None:  # what is limited is what comes to the offset
            logs = np.log(np.maximum(outputs, np.finfo(np.float64).tiny))
            return self.scores(self.outputs(logs - offset)) + offset
        logs = np.log(np.maximum(outputs, _LEAST_PROBABILITY))
        return np.asarray(logs - np.add.reduce(logs, axis=1, keepdims=True) / self.n_classes)  # mean() takes longer

    def offset_scores(self, offset: Floats) -> Floats:
        return np.asarray(offset - offset.mean(axis=1, keepdims=True))  # only differences count

    def targets(self, y: Floats) -> Floats:
        return np.eye(self.n_classes)[y.astype(np.intp)]

    def decode(self, outputs: Floats) -> Floats:
        return outputs

    def losses(self, y: Floats, scores: Floats) -> Floats:
        top = scores.max(axis=1)
        own = np.take_along_axis(scores, y.astype(np.intp)[:, None], axis=1)[:, 0]
        return np.asarray(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own)

    def _own(self, y: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        own = y.astype(np.intp)[:, None]
        p, v = (np.take_along_axis(a, own, axis=1)[:, 0] for a in (mean, variance))
        return p, v
