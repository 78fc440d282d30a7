"""What regressors and classifiers do differently: their targets and their predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from ._base import BoostBase
from ._snapshot import on_snapshot
from ._validation import class_weights, mean_and_deviation, warn_if_one_class

Floats = npt.NDArray[np.float64]


class RegressionPart(RegressorMixin, BoostBase):
    """Targets and predictions of a regressor."""

    _task = "regression"

    target_mean_: float
    target_scale_: float

    def _encode_target(self, y: Any, weight: Floats | None, first: bool) -> tuple[Floats, int]:
        y = np.ascontiguousarray(y, dtype=np.float64)
        if first:
            mean, deviation = mean_and_deviation(y[:, None], weight)
            self.target_mean_ = float(mean[0]) if self.scale else 0.0
            self.target_scale_ = float(deviation[0]) if self.scale else 1.0
        return (y - self.target_mean_) / self.target_scale_, 0

    def _targets(self, y: Floats) -> Floats:
        return (y * self.target_scale_ + self.target_mean_)[:, None]

    def _target_names(self) -> list[str]:
        return ["mean"]

    @property
    def _output_scale(self) -> float:
        return self.target_scale_

    @property
    def _output_mean(self) -> float:
        return self.target_mean_

    @on_snapshot
    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values, in the units of the training target.
        """
        mean = self._mean_output(self._check_rows(X), probability=False)[:, 0]
        prediction: Floats = mean * self.target_scale_ + self.target_mean_
        return prediction


class LabelsPart(ClassifierMixin):
    """Class labels and their weights; what follows from the probabilities."""

    _task = "classification"

    class_weight: Any

    classes_: npt.NDArray[Any]
    n_classes_: int

    def _encode_target(self, y: Any, weight: Floats | None, first: bool) -> tuple[npt.NDArray[Any], int]:
        if y.dtype == object and any(label is None for label in y):
            raise ValueError("y has missing labels (None); leave out these rows.")
        check_classification_targets(y)
        if first:
            self.classes_ = np.unique(y)
            self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
        if not first and not np.array_equal(self.classes_.take(codes, mode="clip"), y):
            raise ValueError("y must have no other classes than in the first fit with warm_start=True.")
        warn_if_one_class(self.classes_)
        return codes.astype(np.float64), self.n_classes_

    def _targets(self, y: Floats) -> Floats:
        is_class: Floats = (y[:, None] == self._counted_classes).astype(np.float64)
        return is_class

    def _target_names(self) -> list[str]:
        return [f"P({label})" for label in self.classes_[self._counted_classes]]

    @property
    def _counted_classes(self) -> npt.NDArray[np.intp]:
        """The classes whose shares stand for categories: of two the second is enough."""
        return np.arange(1 if self.n_classes_ == 2 else 0, self.n_classes_)

    def _combine_class_weight(self, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        if self.class_weight is None:
            return weight, False
        per_row = class_weights(self.class_weight, self.classes_, y.astype(np.intp), weight)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample":
            if not getattr(self, "bootstrap", False):
                raise ValueError("class_weight='balanced_subsample' needs bootstrap=True; use 'balanced'.")
            return weight, True
        return per_row if weight is None else weight * per_row, False

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class."""

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of ``predict_proba``; -inf where a probability has rounded to 0.
        """
        with np.errstate(divide="ignore"):
            log_p: Floats = np.log(self.predict_proba(X))
        return log_p

    @on_snapshot
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable class of each row.
        """
        return self._most_probable(self.predict_proba(X))

    def _most_probable(self, p: Floats) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self.classes_[p.argmax(axis=1)]
        return labels


class ClassificationPart(LabelsPart, BoostBase):
    """Probabilities of a classifier made of trees."""

    def _proba(self, p: Floats) -> Floats:
        """Complete the core's probabilities: two classes have one output there, a single class none that matters."""
        if self.n_classes_ == 1:
            return np.ones((len(p), 1))
        return np.hstack([1 - p, p]) if self.n_classes_ == 2 else p

    @on_snapshot
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Mean of the trees' probabilities, classes in the order of ``classes_``.
        """
        return self._proba(self._mean_output(self._check_rows(X), probability=True))

    @on_snapshot
    def decision_function(self, X: Any) -> Floats:
        """Compute how strongly each row speaks for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            A tree's own scores (the log-odds of the second of two classes; the arguments of the softmax of more). A
            forest averages probabilities, so there it is the log-odds, or the logarithms, of these averages.
        """
        X = self._check_rows(X)
        if self.forest_.n_trees == 1:
            score = self._sum_trees(X, probability=False)
        else:
            tiny = np.finfo(np.float64).tiny
            p = self._mean_output(X, probability=True)
            score = np.log(np.maximum(p, tiny))
            if self.n_classes_ <= 2:
                score -= np.log(np.maximum(1 - p, tiny))
        return score[:, 0] if self.n_classes_ <= 2 else score
