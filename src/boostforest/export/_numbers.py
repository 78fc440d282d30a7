"""Numbers in the fewest digits that hold them exactly."""

import numpy as np

from .._base.typing import Array, Floats


def shortest(values: Array) -> Array:
    """Return numbers in the type of the fewest bytes that holds them exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        tried = (values.astype(dtype) for dtype in (np.int8, np.float16, np.float32))
        return next((short for short in tried if (short == values).all()), values)


def unit_of(values: Floats) -> float:
    """Return the largest power of two, up to 1, that all numbers are multiples of."""
    digits, exponent = np.frexp(values[values != 0])
    whole = np.ldexp(np.abs(digits), 53).astype(np.int64)
    last = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)  # places of the last digits in base 2
    return float(np.ldexp(1.0, int((exponent - 53 + last).min(initial=0))))
