"""Cross-validation, and the metrics that fit the task."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .._base.typing import Array, Floats
from .._report.figures import class_figures, number_figures
from .messages import Refused, cut

# Name -> whether more is better.
METRICS = {
    "classification": {"accuracy": True, "balanced accuracy": True, "log-loss": False, "ROC AUC": True},
    "regression": {"RMSE": False, "MAE": False, "R²": True},
}
Weights = Floats | None


def cross_validate(
    estimator: Any, X: pd.DataFrame, y: Array, weight: Weights, n_folds: int, seed: int
) -> Iterator[dict[str, float | None]]:
    """Yield the figures of one fold after another.

    scikit-learn's function of this name would predict once for every metric, weigh them only where metadata routing is
    switched on, and say nothing before the last fold.
    """
    is_classifier = estimator._task == "classification"
    if is_classifier:
        rarest = pd.Series(y).value_counts()
        if rarest.iloc[-1] < n_folds:
            raise Refused(
                f"--folds {n_folds} needs that many rows of every class; class {cut(rarest.index[-1])} has "
                f"{rarest.iloc[-1]}"
            )
    elif len(y) < 2 * n_folds:
        raise Refused(f"--folds {n_folds} needs at least {2 * n_folds} rows; got {len(y)}")
    make = StratifiedKFold if is_classifier else KFold
    for train, test in make(n_folds, shuffle=True, random_state=seed).split(X, y):
        of_train, of_test = (None, None) if weight is None else (weight[train], weight[test])
        start = time.perf_counter()
        model = clone(estimator).fit(X.iloc[train], y[train], sample_weight=of_train)
        fitted = time.perf_counter()
        found = figures(model, X.iloc[test], y[test], of_test)
        yield found | {"fit seconds": fitted - start, "predict seconds": time.perf_counter() - fitted}


def figures(model: Any, X: pd.DataFrame, y: Array, weight: Weights) -> dict[str, float | None]:
    """Return the metrics of a model's predictions; None for those that these rows do not define."""
    if hasattr(model, "classes_"):
        return class_figures(model.classes_, model.predict_proba(X), y, weight)
    return number_figures(model.predict(X), y, weight)


def summarise(folds: list[dict[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """Return mean and standard deviation over the folds that have a figure."""
    values = {name: [v for fold in folds if (v := fold[name]) is not None] for name in folds[0]}
    return {
        name: {
            "mean": float(np.mean(v)) if v else None,
            "standard deviation": float(np.std(v, ddof=1)) if len(v) > 1 else None,
        }
        for name, v in values.items()
    }
