"""Checks of the parameters that the baselines share."""

from typing import Any

import numpy as np

from .._product import is_integer, is_real


def check_integer(name: str, value: Any, low: int, high: int | None = None, none: bool = False) -> None:
    """Say what is allowed unless a parameter is an integer from ``low`` to ``high``, or None where that is allowed."""
    if none and value is None:
        return
    if not is_integer(value, low) or (high is not None and value > high):
        allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {allowed}{' or None' if none else ''}; got {value!r}.")


def check_real(name: str, value: Any, low: float, high: float = np.inf, strict: bool = False) -> None:
    """Say what is allowed unless a parameter is a number from ``low`` to ``high``; strict: not these themselves."""
    if not is_real(value, low, high) or (strict and not low < value < high):
        if high == np.inf:
            allowed = f"a finite number {'above' if strict else 'of at least'} {low:g}"
        else:
            allowed = f"a number {'between' if strict else 'from'} {low:g} {'and' if strict else 'to'} {high:g}"
        raise ValueError(f"{name} must be {allowed}; got {value!r}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Say what is allowed unless a parameter is one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
