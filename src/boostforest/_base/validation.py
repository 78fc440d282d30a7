"""Warnings at the line of the caller, and checks of labels and coverages."""

import numbers
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from .typing import Array


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of whoever called this library, maybe through scikit-learn or joblib."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package_of(frame) in ("boostforest", "boostforest_paper", "sklearn", "joblib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn_if_one_class(classes: Array) -> None:
    """Say that there is nothing to learn from labels that are all the same."""
    if len(classes) == 1:
        only = classes.tolist()[0]
        warn(f"y has one class only ({only!r}): the model will always predict it.")


def classes_as_numbers(classes: Array) -> tuple[Array, str]:
    """Return the classes as a model file holds them (strings as rows of code points), and what they were."""
    if classes.dtype.kind in "biuf" and classes.dtype.itemsize <= 8:
        return classes, "number"
    kind = "string" if classes.dtype.kind == "U" else "object"
    if kind == "string" or (classes.dtype == object and all(isinstance(c, str) for c in classes)):
        strings = classes.astype(np.str_)
        if np.array_equal(strings.astype(object), classes.astype(object)):  # else some end in zeros
            strings = strings.astype(strings.dtype.newbyteorder("="))
            return strings.reshape(-1, 1).view(np.uint32), kind
    raise ValueError(
        "y must have classes that are integers, floats of at most 64 bits, booleans or strings that do not end in a "
        f"zero character; got {classes[:3].tolist()!r}."
    )


def check_coverage(coverage: Any) -> None:
    """Check the probability that intervals and sets should have."""
    if not isinstance(coverage, numbers.Real) or isinstance(coverage, bool) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage must be a number above 0 and below 1; got {coverage!r}.")
