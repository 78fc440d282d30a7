"""How a parameter is declared: what is allowed, how it is said, what the core gets."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draws import is_distribution


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tree or of a node model."""

    name: str
    allowed: str  # completes "<name> must be …"
    is_valid: Callable[[Any], bool]
    encode: Callable[[Any, int], float]  # value and number of features, as the core wants it

    def check(self, value: Any) -> Any:
        """Return the value as a plain Python object, or say what is allowed."""
        if isinstance(value, np.generic):
            value = value.item()
        if not self.is_valid(value):
            raise ValueError(
                f"{self.name} must be {self.allowed}, a sequence of such values or a distribution with rvs; "
                f"got {value!r}."
            )
        return value

    def pool(self, value: Any) -> Any:
        """Return the pool that a user's value stands for: a list of checked values, or a distribution."""
        if is_distribution(value):
            return value
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, Sequence):
            return [self.check(value)]
        if len(value) == 0:
            raise ValueError(f"{self.name} is an empty pool; it must hold at least one value.")
        return [self.check(v) for v in value]


def is_integer(value: object, low: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and low <= int(value) < 2**31


def is_real(value: object, low: float, high: float = math.inf) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= float(value) <= high
    )


def integer(name: str, low: int, none: float | None = None) -> Parameter:
    """Declare an integer of at least ``low``; ``none`` is what None means to the core, if None is allowed."""
    return Parameter(
        name,
        f"an integer from {low} to 2^31 - 1" + (" or None" if none is not None else ""),
        lambda v: (v is None and none is not None) or is_integer(v, low),
        lambda v, d: float(none if v is None and none is not None else v),
    )


def real(name: str, low: float, strict: bool = False, none: bool = False) -> Parameter:
    """Declare a finite number of at least ``low``, or above it; ``none``: None is allowed and passed on as NaN."""
    return Parameter(
        name,
        f"a finite number {'above' if strict else 'of at least'} {low:g}" + (" or None" if none else ""),
        lambda v: (v is None and none) or (is_real(v, low) and (not strict or v > low)),
        lambda v, d: math.nan if v is None else float(v),
    )


def choice(name: str, codes: dict[str, int]) -> Parameter:
    return Parameter(
        name,
        "one of " + ", ".join(f"'{c}'" for c in codes),
        lambda v: isinstance(v, str) and v in codes,
        lambda v, d: float(codes[v]),
    )
