"""Checks of what a user hands in beyond what scikit-learn checks, and the scaling figures."""

from __future__ import annotations

import numbers
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

Floats = npt.NDArray[np.float64]

_WHOLE, _MOST_TIMES = 1e-12, 1e9  # what rounding makes of a whole multiple; the largest that is taken for one
_MOST_DRAWS = 2**31 - 1  # of one tree: how often it has drawn a row is kept in 32 bits


def check_sample_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as an array, None for none."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    try:
        weight = np.asarray(sample_weight).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must hold numbers.") from error
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1D array or scalar, got {weight.ndim}D array.")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite; it contains NaN or infinity.")
    if (weight < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    if not weight.any():
        raise ValueError("sample_weight must not be zero everywhere: give at least one row a weight above zero.")
    return weight


def weight_in_rows(weight: Floats) -> Floats:
    """Return how many rows each row counts as, whatever the unit of the weights.

    Repeated rows should grow the tree that their weights grow, so 1, 2, 3, … must stay; but no unit should matter, so
    100, 200, 300, … must become the same. Weights without a common unit are taken as shares: their mean is 1.
    """
    weight = weight / weight.max()
    with np.errstate(over="ignore"):
        times = weight / weight[weight > 0].min()
    whole: Floats = np.round(times)
    # Up to _MOST_TIMES this is far above the rounding of a division, and far below the chance of a coincidence.
    if times.max() <= _MOST_TIMES and (np.abs(times - whole) <= _WHOLE * times).all():
        return whole
    return np.asarray(weight * (np.count_nonzero(weight) / weight.sum()))


def check_table_parameters(max_one_hot: Any, missing_indicator: Any, missing_fill: Any) -> None:
    """Check how columns become features."""
    if not isinstance(missing_fill, str) or missing_fill not in ("linear", "mean"):
        raise ValueError(f'missing_fill must be "linear" or "mean"; got {missing_fill!r}.')
    is_count = isinstance(max_one_hot, numbers.Integral) and not isinstance(max_one_hot, bool) and int(max_one_hot) >= 0
    if max_one_hot is not None and not is_count:
        raise ValueError(f"max_one_hot must be an integer of at least 0 or None; got {max_one_hot!r}.")
    is_auto = isinstance(missing_indicator, str) and missing_indicator == "auto"
    if not is_auto and not isinstance(missing_indicator, bool | np.bool_):
        raise ValueError(f'missing_indicator must be "auto", True or False; got {missing_indicator!r}.')


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], codes: npt.NDArray[np.intp], weight: Floats | None
) -> Floats:
    """Return the weight of every row that follows from its class."""
    if isinstance(class_weight, str) and class_weight in ("balanced", "balanced_subsample"):
        per_class = np.bincount(codes, weights=weight, minlength=len(classes))
        factors = per_class.sum() / (len(classes) * np.where(per_class > 0, per_class, 1.0))
    elif isinstance(class_weight, dict):
        if not all(isinstance(w, numbers.Real) and 0 <= float(w) < np.inf for w in class_weight.values()):
            raise ValueError(f"class_weight must hold finite weights of at least 0; got {class_weight!r}.")
        factors = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        if not factors.any():
            raise ValueError(f"class_weight must not be zero for all classes; got {class_weight!r}.")
    else:
        raise ValueError(
            "class_weight must be None, a dict, 'balanced' or, in a forest, 'balanced_subsample'; "
            f"got {class_weight!r}."
        )
    return np.asarray(factors, dtype=np.float64)[codes]


def mean_and_deviation(values: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return weighted mean and standard deviation of each column without its missing values; 1 for a constant one."""
    if weight is not None:  # what does not count may be anything
        values, weight = values[weight > 0], weight[weight > 0]
    missing = np.isnan(values)
    known = np.where(missing, 0.0, values)
    if weight is None and not missing.any():
        share: Any = 1 / len(values)
    else:
        counted = ~missing * (1.0 if weight is None else weight[:, None])
        total = counted.sum(axis=0)
        share = counted / np.where(total > 0, total, 1.0)
    largest = np.abs(known).max(axis=0)
    # Sums and squares of very large or very small values leave the range of floats: then in units of the largest.
    unit = np.where((largest > 1e100) | (largest < 1e-100), largest, 1.0)
    unit[unit == 0] = 1.0
    mean = (known / unit * share).sum(axis=0)
    deviation = np.sqrt(((known / unit - mean) ** 2 * share).sum(axis=0))
    # A standard deviation within the rounding of the mean counts as 0.
    usable = (deviation > 10 * np.finfo(np.float64).eps * np.abs(mean)) & (
        deviation * unit >= np.finfo(np.float64).tiny
    )
    return mean * unit, np.where(usable, deviation * unit, 1.0)


def n_bootstrap_draws(max_samples: Any, n_rows: int) -> int:
    """Return how many rows a replica draws; a share is one of the rows, whatever they weigh."""
    if max_samples is None:
        return n_rows
    is_number = isinstance(max_samples, numbers.Integral) and not isinstance(max_samples, bool)
    if is_number and 1 <= int(max_samples) <= _MOST_DRAWS:
        return int(max_samples)
    if isinstance(max_samples, float | np.floating) and 0 < max_samples <= 1:
        return max(1, int(float(max_samples) * n_rows))
    raise ValueError(
        f"max_samples must be None, an integer from 1 to {_MOST_DRAWS} or a float in (0, 1]; got {max_samples!r}."
    )


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of whoever called this library, maybe through scikit-learn or joblib."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package_of(frame) in ("boostforest", "boostforest_paper", "sklearn", "joblib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn_if_one_class(classes: npt.NDArray[Any]) -> None:
    """Say that there is nothing to learn from labels that are all the same."""
    if len(classes) == 1:
        only = classes.tolist()[0]
        warn(f"y has one class only ({only!r}): the model will always predict it.")


def warn_if_unconverged(n_models: int) -> None:
    """Say that some node models are not as good as they could be."""
    if n_models > 0:
        warn(
            f"LinearSVR failed to converge at {n_models} nodes (counted once per class): increase max_iter or tol.",
            ConvergenceWarning,
        )


def classes_as_numbers(classes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str]:
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


def warn_if_unsplittable(min_samples_leaf: int | None, weight: float, batch_size: int | None) -> None:
    """Say that no tree can split, rather than silently return one model; ``batch_size`` None: it does not matter."""
    if min_samples_leaf is None:
        return
    if batch_size is not None and batch_size < min(weight, 2 * min_samples_leaf):
        warn(
            f"min_samples_leaf={min_samples_leaf} needs at least {2 * min_samples_leaf} rows to split, and "
            f"batch_size={batch_size} takes fewer: every tree is a single node model. Use a larger one, or None."
        )
    elif weight < 2 * min_samples_leaf:
        warn(
            f"min_samples_leaf={min_samples_leaf} needs at least {2 * min_samples_leaf} rows to split (weights "
            f"count), got {weight:g}: every tree is a single node model. Use a smaller min_samples_leaf."
        )


def check_coverage(coverage: Any) -> None:
    """Check the probability that intervals and sets should have."""
    if not isinstance(coverage, numbers.Real) or isinstance(coverage, bool) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage must be a number above 0 and below 1; got {coverage!r}.")
