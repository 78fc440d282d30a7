"""Cross-validation with the metrics that fit the task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .tables import Refused

# Name -> whether more is better.
METRICS = {
    "classification": {"accuracy": True, "balanced accuracy": True, "log-loss": False, "ROC AUC": True},
    "regression": {"RMSE": False, "MAE": False, "R²": True},
}


def cross_validate(
    estimator: Any, X: pd.DataFrame, y: npt.NDArray[Any], n_folds: int, seed: int
) -> Iterator[dict[str, float]]:
    """Yield the figures of one fold after another."""
    is_classifier = estimator._task == "classification"
    if is_classifier:
        rarest = pd.Series(y).value_counts()
        if rarest.iloc[-1] < n_folds:
            raise Refused(
                f"--folds {n_folds} needs that many rows of every class; class {rarest.index[-1]!r} has "
                f"{rarest.iloc[-1]}"
            )
    elif len(y) < 2 * n_folds:
        raise Refused(f"--folds {n_folds} needs at least {2 * n_folds} rows; got {len(y)}")
    make = StratifiedKFold if is_classifier else KFold
    for train, test in make(n_folds, shuffle=True, random_state=seed).split(X, y):
        start = time.perf_counter()
        model = clone(estimator).fit(X.iloc[train], y[train])
        fitted = time.perf_counter()
        figures = (
            _class_figures(model, X.iloc[test], y[test]) if is_classifier else _figures(model, X.iloc[test], y[test])
        )
        yield figures | {"fit seconds": fitted - start, "predict seconds": time.perf_counter() - fitted}


def _class_figures(model: Any, X: pd.DataFrame, y: npt.NDArray[Any]) -> dict[str, float]:
    probability = model.predict_proba(X)
    predicted = model.classes_[probability.argmax(axis=1)]
    truth = model.classes_[:, None] == y  # classes × rows
    area: Callable[..., float] = metrics.roc_auc_score
    areas = [area(truth[c], probability[:, c]) for c in range(len(truth)) if 0 < truth[c].sum() < len(y)]
    return {
        "accuracy": float(metrics.accuracy_score(y, predicted)),
        "balanced accuracy": float(metrics.balanced_accuracy_score(y, predicted)),
        "log-loss": float(metrics.log_loss(y, probability, labels=model.classes_)),
        "ROC AUC": float(np.mean(areas)),
    }


def _figures(model: Any, X: pd.DataFrame, y: npt.NDArray[Any]) -> dict[str, float]:
    predicted = model.predict(X)
    return {
        "RMSE": float(metrics.root_mean_squared_error(y, predicted)),
        "MAE": float(metrics.mean_absolute_error(y, predicted)),
        "R²": float(metrics.r2_score(y, predicted)),
    }


def summarise(folds: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean and deviation over the folds."""
    values = {name: [fold[name] for fold in folds] for name in folds[0]}
    return {name: {"mean": float(np.mean(v)), "deviation": float(np.std(v, ddof=1))} for name, v in values.items()}
