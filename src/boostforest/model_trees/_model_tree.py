"""What the model trees share: fitting aside, the checks of their rows."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.declare import check_arguments
from .._base.typing import Array, Floats, Ints
from .._estimator.snapshot import fitted_aside, on_snapshot
from .._features.features import with_columns_of_fit

_TABLE = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}


class ModelTree(BaseEstimator):
    """Fitting and checks; all features are numbers."""

    _attributes = """\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where the training table had some.
"""

    tree_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, all numbers; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Target values, or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; a row of weight 2 counts as two rows, which stay together where rows are
            dealt into folds.

        Returns
        -------
        self : object
            The fitted model.
        """
        with fitted_aside(self) as twin:
            check_arguments(twin)
            twin._fit(X, y, sample_weight)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Set the fitted attributes."""

    def _check_training(self, X: Any, y: Any, **more: Any) -> tuple[Floats, Array]:
        checked: tuple[Floats, Array] = validate_data(self, X, y, **_TABLE, **more)
        return checked

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        checked: Floats = validate_data(self, with_columns_of_fit(self, X), reset=False, **_TABLE)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class GrownTreeMixin(ModelTree):
    """What there is to see in a tree that has splits."""

    _attributes = """\
n_leaves_ : int
    Number of leaves, each with its model.
n_nodes_ : int
    Number of nodes.
feature_importances_ : ndarray of shape (n_features,)
    Share of each feature in {what_splits_gain}; all 0 without a split.
"""

    @on_snapshot
    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row falls into.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Number of the leaf's node.
        """
        return self._leaves(self._check_rows(X))

    @abstractmethod
    def _leaves(self, X: Floats) -> Ints:
        """Return the leaf of each row."""

    @property
    def n_nodes_(self) -> int:
        """Number of nodes."""
        check_is_fitted(self)
        return len(self.tree_.feature)

    @property
    def n_leaves_(self) -> int:
        """Number of leaves, each with its model."""
        return (self.n_nodes_ + 1) // 2

    @property
    @on_snapshot
    def feature_importances_(self) -> Floats:
        """Share of each feature in what the splits gain; all 0 without a split."""
        check_is_fitted(self)
        inner = self.tree_.feature >= 0
        gain = np.bincount(self.tree_.feature[inner], self.tree_.gain[inner], minlength=self.n_features_in_)
        shares: Floats = gain / max(gain.sum(), np.finfo(np.float64).tiny)
        return shares
