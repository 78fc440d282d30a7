"""What all classifiers do: their labels, and what follows from the probabilities of classes."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .._base.arrays import class_weights
from .._base.typing import Array, Floats, Labels
from .._base.validation import warn_if_one_class
from .._features.targets import joined
from .._losses import CrossEntropy, Loss


def find_classes(y: Any, known: Labels | None) -> Labels:
    """Check labels; return the classes, those of an earlier fit if it goes on with one."""
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y has missing labels (None); leave out these rows.")
    found: Labels | None = np.unique(y) if y.ndim == 1 and y.dtype.kind in "biuU" else None
    # scikit-learn's checks take longer than a small forest. They pass all whole numbers and texts, and only warn where
    # there are more classes than half of the rows.
    if found is None or 2 * len(found) > len(y):
        check_classification_targets(y)
    classes: Labels = known if known is not None else np.unique(y) if found is None else found
    if known is not None and not np.isin(y, known).all():
        raise ValueError("y must have no other classes than in the first fit with warm_start=True.")
    warn_if_one_class(classes)
    return classes


def combine_class_weight(
    class_weight: Any, classes: Labels, codes: Array, weight: Floats | None, bootstrap: bool
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
    def _probabilities(self, X: Any) -> tuple[Labels, Floats]:
        """Return the classes and their probabilities, both of one fit."""

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, classes in the order of ``classes_``. Those of a forest are the mean over its trees or
            members; a class that a member does not know has probability 0 there.
        """
        return self._probabilities(X)[1]

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of ``predict_proba``; -inf where a probability has rounded to 0.
        """
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(each) for each in p] if isinstance(p, list) else np.log(p)

    def predict(self, X: Any) -> Labels:
        """Predict the class.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable class of each row.
        """
        return most_probable(self._probabilities(X))


class StagedLabelsMixin(LabelsMixin):
    """The same for a forest, tree by tree."""

    @abstractmethod
    def _staged_probabilities(self, X: Any) -> Iterator[tuple[Labels, Floats]]:
        """Yield the classes and their probabilities by the first 1, 2, … members."""

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities with the first tree or member of the forest, the first two, and so on.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities by those so far.
        """
        return (p for _, p in self._staged_probabilities(X))

    def staged_predict(self, X: Any) -> Iterator[Labels]:
        """Predict with the first tree or member of the forest, the first two, and so on.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            The most probable class by those so far.
        """
        return map(most_probable, self._staged_probabilities(X))


def most_probable(probabilities: tuple[Labels, Floats]) -> Labels:
    """Return the most probable class of each row, given the classes and their probabilities."""
    classes, p = probabilities
    if isinstance(p, list):
        return labels_of_all(classes, p)
    labels: Labels = classes[p.argmax(axis=1)]
    return labels


def labels_of_all(classes: Sequence[Labels], probabilities: Sequence[Floats]) -> Labels:
    """Return the most probable class of every target, rows × targets; those of different kinds as objects."""
    columns = [own[p.argmax(axis=1)] for own, p in zip(classes, probabilities, strict=True)]
    return joined(columns)


def classes_of(loss: Loss) -> Labels:
    """Return the classes of a classifier's loss."""
    assert isinstance(loss, CrossEntropy)
    return loss.classes
