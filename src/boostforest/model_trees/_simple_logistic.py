"""SimpleLogistic: logistic regression by LogitBoost, one feature at a time."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._snapshot import on_snapshot
from ._logistic import Floats, LogisticTreeClassifier
from ._logistic_docs import describe


@describe
class SimpleLogisticClassifier(LogisticTreeClassifier):
    """Logistic regression by LogitBoost with simple regressions, which chooses its features.

    Every iteration adds, for each class, a regression on the one feature that explains best what is left over. Stopped
    in time (by cross-validation), this is a sparse linear model without anything to tune. It is Weka's SimpleLogistic
    [1]_ [2]_ and the node model of `LMTClassifier`.

    Parameters
    ----------
    {iterations}
    {rest}

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Slopes in the units of the data: of the log-odds of the second of two classes, or of one function per class,
        which add up to zero; the probabilities are the softmax of these.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    {attributes}

    See Also
    --------
    LMTClassifier : A tree of such models.

    Notes
    -----
    {notes}

    References
    ----------
    {references}

    Examples
    --------
    >>> from boostforest.model_trees import SimpleLogisticClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SimpleLogisticClassifier(random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    >>> model.coef_.shape
    (3, 4)
    """

    def __init__(
        self,
        *,
        n_iter: int | None = None,
        max_iter: int = 500,
        n_iter_no_change: int = 50,
        use_aic: bool = False,
        error_on_probabilities: bool = False,
        class_weight: Any = None,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_iter = n_iter
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.use_aic = use_aic
        self.error_on_probabilities = error_on_probabilities
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    @on_snapshot
    def coef_(self) -> Floats:
        """Slopes of the class functions."""
        check_is_fitted(self)
        slopes: Floats = self._linear_models()[1][0]
        return slopes

    @property
    @on_snapshot
    def intercept_(self) -> Floats:
        """Intercepts of the class functions."""
        check_is_fitted(self)
        intercepts: Floats = self._linear_models()[0][0]
        return intercepts
