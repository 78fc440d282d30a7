"""The core's counter-based random numbers (``src/core/base/random.hpp``) in tensors of 64-bit integers."""

from __future__ import annotations

import torch

_STEP = 0x9E3779B97F4A7C15 - 2**64  # as signed numbers: products wrap around as unsigned ones do
_FACTORS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
_LOW = 0xFFFFFFFF


def _shifted(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Shift to the right as unsigned numbers are."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def word(key: torch.Tensor, i: torch.Tensor | int) -> torch.Tensor:
    """Return the i-th 64-bit word under each key."""
    x = key + (i + 1) * _STEP if isinstance(i, torch.Tensor) else key + _wrapped((i + 1) * _STEP)
    x = (x ^ _shifted(x, 30)) * _FACTORS[0]
    x = (x ^ _shifted(x, 27)) * _FACTORS[1]
    return x ^ _shifted(x, 31)


child = word


def uniform(key: torch.Tensor, i: torch.Tensor | int) -> torch.Tensor:
    """Return numbers in [0, 1), multiples of 2^-53."""
    return _shifted(word(key, i), 11).to(torch.float64) * 2.0**-53


def below(key: torch.Tensor, i: torch.Tensor | int, n: torch.Tensor | int) -> torch.Tensor:
    """Return integers in {0, …, n - 1}, n < 2^31: the high half of the 128-bit product."""
    x = word(key, i)
    return (_shifted(x, 32) * n + (((x & _LOW) * n) >> 32)) >> 32


def _wrapped(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value
