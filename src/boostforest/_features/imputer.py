"""Missing values in node models: what the rest of a row makes likely.

A normal distribution of the features is fitted to the training rows, those with missing values too, by expectation
maximisation. The expected value of a missing one is then linear in those that are known; the core computes it
(``expected.hpp``).
"""

from contextlib import nullcontext

import numpy as np

from .. import _core
from .._base.draws import fold_numbers
from .._base.threads import BLAS_FEATURES, ONE_BLAS_THREAD
from .._base.typing import Entropy, Floats, Mask

MAX_FEATURES = 256  # beyond, a row with many missing values takes longer to fill than to predict
_MAX_ROWS = 10_000  # enough for any covariance of that many features
_STEPS = 10
_RIDGE = 0.01  # of a feature's variance: keeps features apart that are almost the same


def fit_fill(
    X: Floats,
    weight: Floats | None,
    mean: Floats,
    deviation: Floats,
    entropy: Entropy,
    threads: int,
    together: Mask | None = None,
) -> Floats | None:
    """Return centre and precision of the standardised features; None without missing values, or with too many features.

    The first row is the centre, the others are the precision: the inverse of the covariance. Features that are not
    among those ``together`` (None: all) stand alone: the mean replaces their missing values, and they say nothing about
    those of others.
    """
    n_rows, n_features = X.shape
    if n_features > MAX_FEATURES:
        return None
    if together is not None and not together.all():
        some = np.ascontiguousarray(X[:, together]), weight, mean[together], deviation[together]
        fill = fit_fill(*some, entropy, threads)
        return None if fill is None else _among_others(fill, together)
    if not np.isnan(X).any():
        return None
    if n_rows > _MAX_ROWS:
        chosen = fold_numbers(entropy, n_rows, -(-n_rows // _MAX_ROWS)) == 0
        X, weight = X[chosen], None if weight is None else weight[chosen]
    rows = (X - mean) / deviation
    total = len(rows) if weight is None else weight.sum()
    fill = np.vstack([np.zeros(n_features), np.eye(n_features)])
    # More threads of BLAS would wait for each other longer than they work.
    with ONE_BLAS_THREAD if n_features >= BLAS_FEATURES else nullcontext():
        for _ in range(_STEPS):
            sums, products = _core.expected_moments(rows, fill, weight, threads)
            centre = sums / total
            covariance = products.reshape(n_features, n_features) / total - np.outer(centre, centre)
            precision = np.linalg.inv(covariance + _RIDGE * np.eye(n_features))
            fill = np.vstack([centre, (precision + precision.T) / 2])
    return fill


def _among_others(fill: Floats, together: Mask) -> Floats:
    """Return the distribution of all features, of which those apart are independent."""
    whole = np.vstack([np.zeros(len(together)), np.eye(len(together))])
    whole[0, together] = fill[0]
    whole[1:][np.ix_(together, together)] = fill[1:]
    return whole


def rescale(fill: Floats, shift: Floats, factor: Floats) -> Floats:
    """Return the distribution of ``shift + factor · x``, given that of x."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        rescaled = np.vstack([shift + factor * fill[0], fill[1:] / np.outer(factor, factor)])
    if not is_distribution(rescaled):
        raise ValueError("X has values too large or too small to compute with; rescale them, or use scale=True.")
    return rescaled


def is_distribution(fill: Floats) -> bool:
    """Tell whether centre and precision are those of a normal distribution."""
    precision = fill[1:]
    if not np.isfinite(fill).all() or not np.array_equal(precision, precision.T):
        return False
    try:
        np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        return False
    return True
