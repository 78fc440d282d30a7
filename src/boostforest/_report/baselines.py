"""Two simple models to compare with, cross-validated on the same rows: a constant, and a linear model."""

import warnings
from typing import Any

import numpy as np

from .._base.typing import Floats, Labels, Longs
from .._features.features import Columns
from .._losses import Loss
from .._losses.robust import weighted_quantile

N_FOLDS = 5
_MOST_LEVELS = 20  # of a category that get a column of their own
_DOUBT = 1e-3  # share of the classes' own shares in what a linear model says: no probability is 0


def design(table: Floats, columns: Columns) -> Floats:
    """Return a table of numbers and numbers of levels as a linear model takes it: standardised, nothing missing."""
    parts = []
    for j in range(table.shape[1]):
        values = table[:, j]
        if j in columns.categories:
            levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
            common = levels[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]]
            parts.append((values[:, None] == common).astype(np.float64))
        else:
            missing = np.isnan(values)
            known = np.where(missing, values[~missing].mean() if (~missing).any() else 0.0, values)
            parts.append(np.column_stack([known, missing]) if missing.any() else known[:, None])
    matrix = np.hstack(parts)
    deviation = matrix.std(axis=0)
    used = deviation > 1e-12 * np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    return np.asarray((matrix[:, used] - matrix[:, used].mean(axis=0)) / deviation[used])


def cross_validated(loss: Loss, X: Floats, y: Any, weight: Floats | None) -> tuple[Floats, Floats] | None:
    """Return the predictions of the constant and of the linear model; None if there are too few rows."""
    n_rows = len(y)
    if n_rows < 2 * N_FOLDS:
        return None
    fold = np.random.default_rng(0).permutation(np.arange(n_rows) % N_FOLDS)
    constant, linear = (np.zeros((n_rows, loss.n_classes) if loss.n_classes else n_rows) for _ in range(2))
    of_classes = loss.n_classes > 0
    for k in range(N_FOLDS):
        here, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        own = None if weight is None else weight[rest]
        if own is not None and not own.any():
            return None
        if of_classes:
            constant[here] = _shares(loss, y[rest], own)
            linear[here] = _logistic(loss, X, y, own, rest, here)
        else:
            constant[here] = _constant(loss, y[rest], own)
            linear[here] = _line(loss, X, y, own, rest, here)
    return constant, linear


def constant_name(loss: Loss) -> str:
    """Return what the constant is."""
    if loss.n_classes:
        return "shares of the classes"
    return "mean of the target" if _predicts_mean(loss) else f"{_quantile(loss):.2g} quantile of the target"


def _predicts_mean(loss: Loss) -> bool:
    return loss.name not in ("quantile", "absolute_error")


def _quantile(loss: Loss) -> float:
    return float(getattr(loss, "quantile", 0.5))


def _shares(loss: Loss, y: Labels, weight: Floats | None) -> Floats:
    of_rows = np.ones(len(y)) if weight is None else weight / weight.mean()
    counts = np.array([of_rows[y == label].sum() for label in loss.classes]) + 1.0  # type: ignore[attr-defined]
    return np.asarray(counts / counts.sum())


def _constant(loss: Loss, y: Floats, weight: Floats | None) -> float:
    return (
        float(np.average(y, weights=weight)) if _predicts_mean(loss) else weighted_quantile(y, weight, _quantile(loss))
    )


def _logistic(loss: Loss, X: Floats, y: Labels, weight: Floats | None, rest: Longs, here: Longs) -> Floats:
    shares = _shares(loss, y[rest], weight)
    if len(np.unique(y[rest])) < 2 or X.shape[1] == 0:
        return np.tile(shares, (len(here), 1))
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is good enough where it has got to
        model = LogisticRegression(max_iter=100).fit(X[rest], y[rest], weight)
    found = np.zeros((len(here), len(shares)))
    found[:, np.searchsorted(loss.classes, model.classes_)] = model.predict_proba(X[here])  # type: ignore[attr-defined]
    return np.asarray((1 - _DOUBT) * found + _DOUBT * shares)


def _line(loss: Loss, X: Floats, y: Floats, weight: Floats | None, rest: Longs, here: Longs) -> Floats:
    if X.shape[1] == 0:
        return np.full(len(here), _constant(loss, y[rest], weight))
    from sklearn.linear_model import Ridge, TweedieRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        power = getattr(loss, "exponent", None)
        model = Ridge() if power is None else TweedieRegressor(power=power, link="log", alpha=1e-3, max_iter=200)
        model.fit(X[rest], y[rest], weight)
    shift = 0.0
    if not _predicts_mean(loss):
        shift = weighted_quantile(y[rest] - model.predict(X[rest]), weight, _quantile(loss))
    return np.asarray(model.predict(X[here]) + shift)
