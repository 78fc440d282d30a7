"""The interface of a loss: from the user's target to what the core minimises, and back to predictions.

The core has the derivatives (``src/core/losses``); here is everything else that depends on the loss. A loss is made for
one target: `fit` keeps what leads back to the user's units or labels.

To add one: a file in ``src/core/losses`` with its line in ``kLosses``, and a class here with its line in
``__init__.py``.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .._base.arrays import read_only
from .._base.typing import Floats, Mask
from .._core import Link


@dataclass(frozen=True)
class OutOfBag:
    """Sums over the trees that have not drawn a row."""

    total: Floats  #: of their outputs, rows × outputs
    squares: Floats  #: of the squares
    n_trees: Floats  #: their number, rows × 1

    def __add__(self, other: "OutOfBag") -> "OutOfBag":
        return OutOfBag(self.total + other.total, self.squares + other.squares, self.n_trees + other.n_trees)

    @property
    def seen(self) -> Mask:
        """Rows that have such trees."""
        return np.asarray(self.n_trees[:, 0] > 0)

    @cached_property
    def mean(self) -> Floats:
        """The mean output; 0 without a tree."""
        return read_only(self.total / np.maximum(self.n_trees, 1))

    @cached_property
    def spread(self) -> Floats:
        """The variance of a single tree's output; 0 where it cannot be told."""
        n = np.maximum(self.n_trees, 2)
        variance = np.maximum(self.squares / n - (self.total / n) ** 2, 0) * n / (n - 1)
        return read_only(np.where(self.n_trees >= 2, variance, 0.0))

    @cached_property
    def variance_of_mean(self) -> Floats:
        """What is left of that in the mean."""
        return read_only(self.spread / np.maximum(self.n_trees, 1))


class Loss(ABC):
    """What a forest minimises.

    Trees add up *scores*. *Outputs* are what a forest averages and predicts, what the link makes of the scores: the
    scores themselves, means, or probabilities. Targets are encoded for the core: ``y`` is one number per row everywhere
    below.
    """

    name: ClassVar[str]  #: what users and files call it
    code: ClassVar[int]  #: ``LossCode`` of the core
    task: ClassVar[str]
    link: ClassVar[Link]  #: from scores to outputs

    n_outputs: int = 1  #: scores per row
    n_classes: int = 0  #: 0 in regression
    numbers: tuple[float, ...] = ()  #: what the core's loss wants to know besides
    boosts: ClassVar[bool] = True  #: there may be boosted stages
    predicts_mean: ClassVar[bool] = True  #: squared errors of outputs tell something

    # ----------------------------------------------------------------------------------------------------- the target

    @classmethod
    @abstractmethod
    def fit(cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None) -> Self:
        """Return the loss for a target.

        ``scale``: numbers are centred and divided by their standard deviation; ``offset``: as the user has it.
        """

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Return a target as the core takes it."""

    @abstractmethod
    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        """Return the numbers whose means stand for categories, rows × targets, from the encoded target.

        ``offset`` is in scores, here and below.
        """

    def category_weight(self, weight: Floats | None, offset: Floats) -> Floats | None:
        """Return what rows with an offset count in these means."""
        return weight

    @property
    @abstractmethod
    def category_target_names(self) -> list[str]:
        """What the columns of ``category_targets`` are called."""

    # ------------------------------------------------------------------------------------------- scores and outputs

    @abstractmethod
    def outputs(self, scores: Floats) -> Floats:
        """Return the outputs of scores, rows × outputs."""

    @abstractmethod
    def scores(self, outputs: Floats, offset: Floats | None = None) -> Floats:
        """Return the scores that mean outputs stand for; the offset is in both."""

    def offset_scores(self, offset: Floats) -> Floats:
        """Return an offset, rows × outputs as the user has it, in scores."""
        return offset

    @abstractmethod
    def targets(self, y: Floats) -> Floats:
        """Return what outputs should be, rows × outputs."""

    @abstractmethod
    def decode(self, outputs: Floats) -> Floats:
        """Return outputs in the user's units (rows), or the probabilities of all classes (rows × classes)."""

    @property
    def unit(self) -> float:
        """Units of the user's scale per unit of score: of the target, or of what the link makes the target of."""
        return 1.0

    @property
    def origin(self) -> float:
        """Score 0 on that scale."""
        return 0.0

    @property
    def output_unit(self) -> float:
        """Units of the prediction per unit of output."""
        return self.unit

    @property
    @abstractmethod
    def score_names(self) -> list[str]:
        """What the scores are called in formulas."""

    @abstractmethod
    def figure(self, mean_loss: float) -> tuple[str, float]:
        """Return what a mean training loss is shown as: the name of the figure, and its value in the user's units."""

    @property
    def output_names(self) -> list[str]:
        """What the outputs are called where there are several."""
        return [""] * self.n_outputs

    def without_origin(self) -> Self:
        """Return the loss of a tree that corrects others: its score 0 corrects nothing."""
        return self

    # ------------------------------------------------------------------------------------------------------- losses

    @abstractmethod
    def losses(self, y: Floats, scores: Floats) -> Floats:
        """Return the loss of every row."""

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        """Return the derivative of the loss by each score; this is that of losses whose scores fit their outputs."""
        return self.outputs(scores) - self.targets(y)

    @abstractmethod
    def curvature(self, scores: Floats) -> Floats:
        """Return the second derivative of the loss by each score."""

    @abstractmethod
    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        """Return the loss that the mean of infinitely many such trees would have, estimated row by row.

        The mean of few trees has a higher loss than that of many, by half the curvature times the variance of the mean.
        """
