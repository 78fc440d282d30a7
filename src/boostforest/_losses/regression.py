"""What the losses of numbers share."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from .loss import Loss


@dataclass(frozen=True)
class RegressionLoss(Loss):
    """A loss of one number per row. The linear predictor, in the user's units, is the score × scale + mean.

    Further fields are numbers above 0, which the core wants to know and files keep.
    """

    task = "regression"
    boosts = False
    positive_only: ClassVar[bool] = False  #: the target must not be negative
    predicts_exponential: ClassVar[bool] = False  #: what is predicted is e to the power of the output, in units
    takes: ClassVar[tuple[str, ...]] = ()  #: arguments of an estimator that ``fit`` takes besides

    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def number_names(cls) -> list[str]:
        """Return the names of the further fields."""
        return [field.name for field in fields(cls) if field.name not in ("mean", "scale", "function")]

    @property
    def numbers(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(getattr(self, name) for name in self.number_names())

    @property
    def unit(self) -> float:
        return self.scale

    @property
    def origin(self) -> float:
        return self.mean

    def without_origin(self) -> Self:
        return replace(self, mean=0.0)
