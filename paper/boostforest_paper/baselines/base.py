"""What all baselines share: fitting aside, and the lines that their docstrings repeat.

Arguments are the fields of a dataclass, which writes the constructor; so nothing else is annotated in these classes.
"""

from abc import ABCMeta, abstractmethod
from typing import Any, Self

from sklearn.base import BaseEstimator

from .._product import fitted_aside

DOCS = {
    "classes": """\
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_classes_ : int
    Number of classes.
""",
    "features": """\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where the training table had some.
""",
}


class Baseline(BaseEstimator, metaclass=ABCMeta):
    """An estimator that is fitted aside."""

    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, all numbers, none of them missing.
        y : array-like of shape (n_samples,)
            Target values, or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; a row of weight 2 counts as two rows. None: all 1.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_aside(self) as twin:
            twin._fit(X, y, sample_weight)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit this object itself."""
