"""What estimators predict, from what they compute for rows: scores or probabilities of classes, or numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin

from .._product import on_snapshot

Floats = npt.NDArray[np.float64]


class ClassesMixin(ClassifierMixin):
    """The class of the highest score; probabilities are scores, too."""

    classes_: npt.NDArray[Any]
    n_classes_: int

    @abstractmethod
    def _final_score(self, X: Any) -> Floats:
        """Check the rows; return their scores: a number per row for two classes, one per class for more."""

    def _labels_of(self, score: Floats) -> npt.NDArray[Any]:
        codes = (score > 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[codes]
        return labels

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
            The class of the highest score or probability.
        """
        return self._labels_of(self._final_score(X))


class ScoresMixin(ClassesMixin):
    """Scores that a user may see."""

    @on_snapshot
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 for the second of two classes; of more, the largest is that of the predicted class.
        """
        return self._final_score(X)


class ProbabilitiesMixin(ClassesMixin):
    """Probabilities, which are the scores themselves or follow from them."""

    def _proba_of(self, score: Floats) -> Floats:
        """Return probabilities that belong to scores: rows × classes."""
        return score

    def _log_proba_of(self, score: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            log_p: Floats = np.log(self._proba_of(score))
        return log_p

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
            Probabilities, classes in the order of ``classes_``.
        """
        return self._proba_of(self._final_score(X))

    @on_snapshot
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of ``predict_proba``; -inf where a probability is 0.
        """
        return self._log_proba_of(self._final_score(X))


class StagedProbabilitiesMixin(ProbabilitiesMixin):
    """Everything after one stage, two stages, and so on."""

    @abstractmethod
    def _stages(self, X: Any) -> Iterator[Floats]:
        """Check the rows; yield their scores after each stage, maybe in the same array."""

    def _final_score(self, X: Any) -> Floats:
        return deque(self._stages(X), maxlen=1).pop()

    @on_snapshot
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities after one stage, two stages, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the stages so far.
        """
        for score in self._stages(X):
            yield self._proba_of(score)

    @on_snapshot
    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict the class after one stage, two stages, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Classes predicted by the stages so far.
        """
        for score in self._stages(X):
            yield self._labels_of(score)


class StagesMixin(ScoresMixin, StagedProbabilitiesMixin):
    """Scores after one stage, two stages, and so on, as well."""

    @on_snapshot
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Compute the decision function after one stage, two stages, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision function of the stages so far.
        """
        for score in self._stages(X):
            yield score.copy()


class NumbersMixin(RegressorMixin):
    """Predicted numbers."""

    @abstractmethod
    def _values(self, X: Any) -> Floats:
        """Check the rows; return what is predicted."""

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
            Predicted values.
        """
        return self._values(X)


class StagedNumbersMixin(NumbersMixin):
    """Predicted numbers after one stage, two stages, and so on."""

    @abstractmethod
    def _staged_values(self, X: Any) -> Iterator[Floats]:
        """Check the rows; yield what is predicted after each stage."""

    def _values(self, X: Any) -> Floats:
        return deque(self._staged_values(X), maxlen=1).pop()

    @on_snapshot
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the target after one stage, two stages, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predicted values of the stages so far.
        """
        yield from self._staged_values(X)
