"""What the losses of numbers share."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from .loss import Loss


@dataclass(frozen=True)
class RegressionLoss(Loss):
    """A loss of one number per row. The linear predictor, in the user's units, is the score × scale + mean."""

    task = "regression"

    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def restore(cls, mean: float, scale: float, numbers: Any) -> Self:
        """Return the loss that a file describes; ``numbers`` are those that ``stored`` has given."""
        names = {field.name for field in fields(cls)[2:]}
        if not isinstance(numbers, dict) or numbers.keys() != names:
            raise ValueError(f"the loss {cls.name!r} keeps the numbers {sorted(names)}; got {numbers!r}")
        if not all(type(number) is float and number > 0 for number in numbers.values()):
            raise ValueError(f"the numbers of the loss {cls.name!r} must be floats above 0; got {numbers!r}")
        return cls(mean, scale, **numbers)

    @property
    def stored(self) -> dict[str, float]:
        """The numbers that a file has to keep beside mean and scale."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)[2:]}

    @property
    def unit(self) -> float:
        return self.scale

    @property
    def origin(self) -> float:
        return self.mean

    def without_origin(self) -> Self:
        return replace(self, mean=0.0)
