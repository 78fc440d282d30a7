"""A part to fit and a part to judge by, as a learner sees them, and what its outputs are worth."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import roc_auc_score

from boostforest_paper.data import Table
from boostforest_paper.data.splits import split
from boostforest_paper.types import Floats, Rows, Task

Metrics = dict[str, float | None]
METRICS: dict[Task, tuple[str, ...]] = {
    "classification": ("accuracy", "log_loss", "auc"),
    "regression": ("rmse", "mae", "r2"),
}
MAIN: dict[Task, str] = {"classification": "accuracy", "regression": "rmse"}
HIGHER_IS_BETTER = {"accuracy": True, "log_loss": False, "auc": True, "rmse": False, "mae": False, "r2": True}
_EPSILON = np.finfo(float).eps


class Parts(NamedTuple):
    """Rows of one repeat: 60 % train, 20 % validation, 20 % test unless the test part is given with the data."""

    train: Rows
    validation: Rows
    test: Rows

    @property
    def both(self) -> Rows:
        """Return train and validation, which the chosen parameters are refitted on."""
        return np.concatenate([self.validation, self.train])


def divide(table: Table, repeat: int) -> Parts:
    """Split the rows at random; the same repeat always gives the same parts."""
    if table.is_test is None:
        rest, test = split(len(table.y), repeat)
        n_validation = len(test)
    else:
        test = np.flatnonzero(table.is_test)
        rest = np.random.default_rng(repeat).permutation(np.flatnonzero(~table.is_test))
        n_validation = len(rest) // 5
    return Parts(rest[n_validation:], rest[:n_validation], test)


class Problem:
    """One part to fit and one to judge by.

    Parameters
    ----------
    table : Table
        All rows.
    task : {"classification", "regression"}
        The task.
    fit, judge : ndarray of int
        Rows of the two parts.
    raw : bool
        Leave features and labels as they are: the learner scales them itself. Otherwise both are z-scored with the
        mean and standard deviation of the part that is fitted, as the paper does. Frames are always left as they are.
    """

    def __init__(self, table: Table, task: Task, fit: Rows, judge: Rows, raw: bool) -> None:
        self.task = task
        if isinstance(table.X, pd.DataFrame):
            raw = True
            self.X, self.X_judge = table.X.iloc[fit], table.X.iloc[judge]
        else:
            self.X, self.X_judge = table.X[fit], table.X[judge]
        y, y_judge = table.y[fit], table.y[judge]
        if not raw:
            mean, scale = np.nanmean(self.X, axis=0), np.nanstd(self.X, axis=0)
            scale[scale == 0] = 1
            self.X, self.X_judge = (self.X - mean) / scale, (self.X_judge - mean) / scale
        self.unit = 1.0
        if task == "classification":
            classes, self.y = np.unique(y, return_inverse=True)
            self.n_classes = len(classes)
            # Classes that the first part does not have cannot be predicted: they count as errors.
            position = np.searchsorted(classes, y_judge)
            known = classes[np.minimum(position, len(classes) - 1)] == y_judge
            self.y_judge = np.where(known, position, -1)
        elif raw:
            self.y, self.y_judge, self.unit = y, y_judge, float(np.std(y)) or 1.0
        else:
            scale = float(np.std(y)) or 1.0
            self.y, self.y_judge = (y - np.mean(y)) / scale, (y_judge - np.mean(y)) / scale

    def output(self, model: Any) -> npt.NDArray:
        """Return what a fitted model says about the second part: probabilities if it has them."""
        if self.task == "classification" and hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(self.X_judge))
        return np.asarray(model.predict(self.X_judge)).reshape(len(self.X_judge), -1)[:, 0]

    def score(self, output: npt.NDArray) -> Metrics:
        """Return what an output is worth."""
        return self._classification(output) if self.task == "classification" else self._regression(output)

    def loss(self, output: npt.NDArray) -> float:
        """Return the measure that parameters are chosen by, less is better."""
        value = self.score(output)[MAIN[self.task]]
        assert value is not None
        return -value if HIGHER_IS_BETTER[MAIN[self.task]] else value

    def _classification(self, output: npt.NDArray) -> Metrics:
        is_probability = output.ndim == 2
        labels = np.argmax(output, axis=1) if is_probability else output
        metrics: Metrics = {"accuracy": float(np.mean(labels == self.y_judge)), "log_loss": None, "auc": None}
        if is_probability:
            rows = np.arange(len(output))
            probability = np.where(self.y_judge >= 0, output[rows, self.y_judge], 0.0)
            metrics["log_loss"] = float(-np.mean(np.log(np.clip(probability, _EPSILON, 1))))
            metrics["auc"] = self._auc(output)
        return metrics

    def _auc(self, probability: Floats) -> float | None:
        """Area under the ROC curve; the mean over the classes, each against the rest, where there are several."""
        classes = [1] if self.n_classes == 2 else range(self.n_classes)
        areas = []
        for j in classes:
            is_class = self.y_judge == j
            if 0 < is_class.sum() < len(is_class):
                areas.append(roc_auc_score(is_class, probability[:, j]))
        return float(np.mean(areas)) if areas else None

    def _regression(self, output: npt.NDArray) -> Metrics:
        """Errors in units of the standard deviation of the fitted part's labels."""
        errors = (output - self.y_judge) / self.unit
        spread = np.var(self.y_judge) / self.unit**2
        return {
            "rmse": float(np.sqrt(np.mean(errors**2))),
            "mae": float(np.mean(np.abs(errors))),
            "r2": float(1 - np.mean(errors**2) / spread) if spread > 0 else None,
        }
