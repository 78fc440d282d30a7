"""What regressors and classifiers do differently: their losses and their predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from .._base.typing import Floats, Labels
from .._base.validation import class_weights, warn_if_one_class
from .._losses import CrossEntropy, Logistic, Loss, Softmax, SquaredError
from .._model.model import Model
from .base import BoostEstimator, FromModel
from .snapshot import on_snapshot


class BoostRegressor(RegressorMixin, BoostEstimator):
    """Predictions of a regressor made of trees."""

    _task = "regression"

    target_mean_ = FromModel[float](lambda m: m.loss.origin, "What is added to the trees' scores.")
    target_scale_ = FromModel[float](lambda m: m.loss.unit, "Units of the target per unit of score.")

    def _make_loss(self, y: Any, weight: Floats | None, before: Model | None) -> Loss:
        return SquaredError.fit(y, weight, self.scale) if before is None else before.loss

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
        model, outputs = self._outputs(X)
        return model.loss.decode(outputs)


def find_classes(y: Any, known: Labels | None) -> Labels:
    """Check labels; return the classes, those of an earlier fit if it goes on with one."""
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y has missing labels (None); leave out these rows.")
    check_classification_targets(y)
    classes: Labels = np.unique(y) if known is None else known
    if known is not None and not np.isin(y, known).all():
        raise ValueError("y must have no other classes than in the first fit with warm_start=True.")
    warn_if_one_class(classes)
    return classes


def combine_class_weight(
    class_weight: Any, classes: Labels, codes: npt.NDArray[Any], weight: Floats | None, bootstrap: bool
) -> tuple[Floats | None, bool]:
    """Return the weights with the class weights in them, and whether classes are balanced per replica."""
    if class_weight is None:
        return weight, False
    per_row = class_weights(class_weight, classes, codes.astype(np.intp), weight)
    if isinstance(class_weight, str) and class_weight == "balanced_subsample":
        if not bootstrap:
            raise ValueError("class_weight='balanced_subsample' needs bootstrap=True; use 'balanced'.")
        return weight, True
    return per_row if weight is None else weight * per_row, False


class LabelsMixin(ClassifierMixin):
    """What follows from the probabilities of classes."""

    _task = "classification"

    class_weight: Any
    classes_: Any

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
    def predict(self, X: Any) -> Labels:
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
        p = self.predict_proba(X)
        labels: Labels = self.classes_[p.argmax(axis=1)]
        return labels


def classes_of(loss: Loss) -> Labels:
    """Return the classes of a classifier's loss."""
    assert isinstance(loss, CrossEntropy)
    return loss.classes


def most_probable(loss: Loss, outputs: Floats) -> Labels:
    """Return the label of the most probable class of each row."""
    labels: Labels = classes_of(loss)[loss.decode(outputs).argmax(axis=1)]
    return labels


class BoostClassifier(LabelsMixin, BoostEstimator):
    """Probabilities and labels of a classifier made of trees."""

    classes_ = FromModel[Labels](lambda m: classes_of(m.loss), "The classes, in ascending order.")
    n_classes_ = FromModel[int](lambda m: m.loss.n_classes, "Number of classes.")

    def _make_loss(self, y: Any, weight: Floats | None, before: Model | None) -> Loss:
        classes = find_classes(y, None if before is None else classes_of(before.loss))
        if before is not None:
            return before.loss
        return Logistic(classes) if len(classes) <= 2 else Softmax(classes)

    def _combine_class_weight(self, loss: Loss, y: Floats, weight: Floats | None) -> tuple[Floats | None, bool]:
        return combine_class_weight(self.class_weight, classes_of(loss), y, weight, getattr(self, "bootstrap", False))

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
        model, outputs = self._outputs(X)
        return model.loss.decode(outputs)

    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function: scores of the classes.

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
        model, X = self._read(X)
        if model.n_trees == 1:
            score = model.sums(X, self._threads(), scores=True)
        else:
            tiny = np.finfo(np.float64).tiny
            p = model.outputs(X, self._threads())
            score = np.log(np.maximum(p, tiny))
            if model.loss.n_outputs == 1:
                score -= np.log(np.maximum(1 - p, tiny))
        return score[:, 0] if model.loss.n_outputs == 1 else score
