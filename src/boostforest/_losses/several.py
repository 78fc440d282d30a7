"""Several targets: the losses of all of them, added up, with one weight of a row for all."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from .._base.typing import Floats, Ints
from .._core import Link, LossCode
from .cross_entropy import CrossEntropy, Logistic, Softmax
from .loss import Loss, OutOfBag
from .squared_error import SquaredError

Part = TypeVar("Part", bound=Loss)


@dataclass(frozen=True, eq=False)
class Several(Loss, Generic[Part]):
    """Several targets, each with a loss of its own. Encoded targets are rows × targets."""

    parts: tuple[Part, ...]  #: the loss of each target

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return sum(part.n_outputs for part in self.parts)

    @property
    def target_end(self) -> Ints:
        """Outputs up to the end of each target."""
        return np.cumsum([part.n_outputs for part in self.parts], dtype=np.int32)

    def each(self) -> Iterator[tuple[int, slice, Part]]:
        """Yield the number of every target, its outputs and its loss."""
        for k, (end, part) in enumerate(zip(self.target_end.tolist(), self.parts, strict=True)):
            yield k, slice(end - part.n_outputs, end), part

    def _side_by_side(self, values: Callable[[int, slice, Part], Floats]) -> Floats:
        return np.ascontiguousarray(np.column_stack([values(*each) for each in self.each()]))

    def _sum(self, values: Callable[[int, slice, Part], Floats]) -> Floats:
        return np.asarray(np.sum([values(*each) for each in self.each()], axis=0))

    def encode(self, y: Any) -> Floats:
        return self._side_by_side(lambda k, _, part: part.encode(y[:, k]))

    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        return self._side_by_side(lambda k, at, part: part.category_targets(y[:, k], _some(offset, at)))

    @property
    def category_target_names(self) -> list[str]:
        return [f"{name} of target {k}" for k, _, part in self.each() for name in part.category_target_names]

    def outputs(self, scores: Floats) -> Floats:
        return self._side_by_side(lambda _, at, part: part.outputs(scores[:, at]))

    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        return self._side_by_side(lambda _, at, part: part.scores(outputs[:, at], _some(offset, at)))

    def offset_scores(self, offset: Floats) -> Floats:
        return self._side_by_side(lambda _, at, part: part.offset_scores(offset[:, at]))

    def targets(self, y: Floats) -> Floats:
        return self._side_by_side(lambda k, _, part: part.targets(y[:, k]))

    @property
    def score_names(self) -> list[str]:
        return [f"{name} of target {k}" for k, _, part in self.each() for name in part.score_names]

    @property
    def output_names(self) -> list[str]:
        return [f"{k}_{name}" if name else str(k) for k, _, part in self.each() for name in part.output_names]

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return self.parts[0].figure(mean_loss / len(self.parts))

    def without_origin(self) -> Self:
        return replace(self, parts=tuple(part.without_origin() for part in self.parts))

    def losses(self, y: Floats, scores: Floats) -> Floats:
        return self._sum(lambda k, at, part: part.losses(y[:, k], scores[:, at]))

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        return self._side_by_side(lambda k, at, part: part.gradient(y[:, k], scores[:, at]))

    def curvature(self, scores: Floats) -> Floats:
        return self._side_by_side(lambda _, at, part: part.curvature(scores[:, at]))

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        def of_target(at: slice) -> OutOfBag:
            return OutOfBag(oob.total[:, at], oob.squares[:, at], oob.n_trees)

        return self._sum(lambda k, at, part: part.limit_losses(y[:, k], of_target(at)))

    @abstractmethod
    def decode(self, outputs: Floats) -> Any:
        """Return what users see of outputs."""


def _some(offset: Floats | None, outputs: slice) -> Floats | None:
    return None if offset is None else offset[:, outputs]


@dataclass(frozen=True, eq=False)
class SquaredErrors(Several[SquaredError]):
    """Squared errors of several numbers, each in units of its own standard deviation."""

    name = "squared_errors"
    code = LossCode.SQUARED_ERRORS
    task = "regression"
    link = Link.IDENTITY

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None) -> Self:
        columns = range(y.shape[1])
        return cls(tuple(SquaredError.fit(y[:, k], weight, scale, _some(offset, slice(k, k + 1))) for k in columns))

    def decode(self, outputs: Floats) -> Floats:
        return np.asarray(outputs * self.unit + self.origin)

    @property
    def unit(self) -> Any:
        return np.array([part.scale for part in self.parts])

    @property
    def origin(self) -> Any:
        return np.array([part.mean for part in self.parts])

    def figure(self, mean_loss: float) -> tuple[str, float]:
        """Return the root mean squared error over all targets, in units of their standard deviations."""
        return "RMSE", float(np.sqrt(mean_loss / len(self.parts)))


@dataclass(frozen=True, eq=False)
class ClassTargets(Several[CrossEntropy]):
    """Several classifications: the log-losses of all."""

    name = "class_targets"
    code = LossCode.CLASS_TARGETS
    task = "classification"
    link = Link.SOFTMAX  # over the outputs of each target

    @classmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None) -> Self:
        return cls(tuple(classes_loss(np.unique(y[:, k])) for k in range(y.shape[1])))

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return max(part.n_classes for part in self.parts)

    @property
    def numbers(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(float(max(part.n_classes, 2)) for part in self.parts)

    def decode(self, outputs: Floats) -> Any:
        return [part.decode(np.ascontiguousarray(outputs[:, at])) for _, at, part in self.each()]


def classes_loss(classes: Any) -> CrossEntropy:
    """Return the loss of a classification with these classes."""
    return Logistic(classes) if len(classes) <= 2 else Softmax(classes)
