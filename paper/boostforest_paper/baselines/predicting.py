"""What estimators predict, from what they compute for rows: scores or probabilities of classes, or numbers."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from .._product import Floats, Labels, on_snapshot

Method = TypeVar("Method", bound=Callable[..., Any])

_DOC = """{}

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        {}
        {}
        {}
            {}
        """


def of_rows(result: str, meaning: str) -> Callable[[Method], Method]:
    """Decorate a method that says something of rows: on a snapshot of the estimator, and with a whole docstring."""

    def decorate(method: Method) -> Method:
        section = "Yields" if isgeneratorfunction(method) else "Returns"
        method.__doc__ = _DOC.format(method.__doc__, section, "-" * len(section), result, meaning)
        return cast(Method, on_snapshot(method))

    return decorate


class ClassesMixin(ClassifierMixin):
    """The class of the highest score; probabilities are scores, too."""

    classes_: Labels
    n_classes_: int

    @abstractmethod
    def _final_score(self, X: Any) -> Floats:
        """Check the rows; return their scores: a number per row for two classes, one per class for more."""

    def _labels_of(self, score: Floats) -> Labels:
        codes = (score > 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)
        labels: Labels = self.classes_[codes]
        return labels

    @of_rows("y : ndarray of shape (n_samples,)", "The class of the highest score or probability.")
    def predict(self, X: Any) -> Labels:
        """Predict the class."""
        return self._labels_of(self._final_score(X))


class ScoresMixin(ClassesMixin):
    """Scores that a user may see."""

    @of_rows(
        "score : ndarray of shape (n_samples,) or (n_samples, n_classes)",
        "Above 0 for the second of two classes; of more, the largest is that of the predicted class.",
    )
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function."""
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

    @of_rows("p : ndarray of shape (n_samples, n_classes)", "Probabilities, classes in the order of ``classes_``.")
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class."""
        return self._proba_of(self._final_score(X))

    @of_rows(
        "log_p : ndarray of shape (n_samples, n_classes)",
        "Logarithms of ``predict_proba``; -inf where a probability is 0.",
    )
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class."""
        return self._log_proba_of(self._final_score(X))


class StagedProbabilitiesMixin(ProbabilitiesMixin):
    """Everything after one stage, two stages, and so on."""

    @abstractmethod
    def _stages(self, X: Any) -> Iterator[Floats]:
        """Check the rows; yield their scores after each stage, maybe in the same array."""

    def _final_score(self, X: Any) -> Floats:
        return deque(self._stages(X), maxlen=1).pop()

    @of_rows("p : ndarray of shape (n_samples, n_classes)", "Probabilities of the stages so far.")
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities after one stage, two stages, and so on."""
        for score in self._stages(X):
            yield self._proba_of(score)

    @of_rows("y : ndarray of shape (n_samples,)", "Classes predicted by the stages so far.")
    def staged_predict(self, X: Any) -> Iterator[Labels]:
        """Predict the class after one stage, two stages, and so on."""
        for score in self._stages(X):
            yield self._labels_of(score)


class StagesMixin(ScoresMixin, StagedProbabilitiesMixin):
    """Scores after one stage, two stages, and so on, as well."""

    @of_rows(
        "score : ndarray of shape (n_samples,) or (n_samples, n_classes)",
        "The decision function of the stages so far.",
    )
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Compute the decision function after one stage, two stages, and so on."""
        for score in self._stages(X):
            yield score.copy()


class NumbersMixin(RegressorMixin):
    """Predicted numbers."""

    @abstractmethod
    def _values(self, X: Any) -> Floats:
        """Check the rows; return what is predicted."""

    @of_rows("y : ndarray of shape (n_samples,)", "Predicted values.")
    def predict(self, X: Any) -> Floats:
        """Predict the target."""
        return self._values(X)


class StagedNumbersMixin(NumbersMixin):
    """Predicted numbers after one stage, two stages, and so on."""

    @abstractmethod
    def _staged_values(self, X: Any) -> Iterator[Floats]:
        """Check the rows; yield what is predicted after each stage."""

    def _values(self, X: Any) -> Floats:
        return deque(self._staged_values(X), maxlen=1).pop()

    @of_rows("y : ndarray of shape (n_samples,)", "Predicted values of the stages so far.")
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict the target after one stage, two stages, and so on."""
        yield from self._staged_values(X)
