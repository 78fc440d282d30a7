"""SimpleLogistic: logistic regression by LogitBoost, one feature at a time."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.declare import argument, declared
from .._base.typing import Floats
from .._estimator.snapshot import on_snapshot
from ._logistic import LogisticTreeClassifier


@declared
class SimpleLogisticClassifier(LogisticTreeClassifier):
    """Logistic regression by LogitBoost with simple regressions, which chooses its features.

    Every iteration adds, for each class, a regression on the one feature that explains best what is left over. Stopped
    in time (by cross-validation), this is a sparse linear model without anything to tune. It is Weka's SimpleLogistic
    [1]_ [2]_ and the node model of `LMTClassifier`.

    {parameters}

    {attributes}

    See Also
    --------
    LMTClassifier : A tree of such models.

    Notes
    -----
    An iteration of LogitBoost fits the responses z = (y − p) / (p (1 − p)) of each class, within ±3 as in Weka, with
    weights (y − p) / z, by weighted least squares on each feature in turn, and keeps the feature of the least error.
    With J classes (J − 1) / J of the regressions less their mean over the classes is added.

    The folds run one after another and add up their errors; a fold ends when the sum has had no new minimum for more
    than `n_iter_no_change` iterations, as in Weka. Akaike's criterion counts one parameter per iteration.

    Missing values (NaN) are replaced by the feature's mean over the training rows, as in Weka. All features are
    numbers: encode categories as indicators first, which is what Weka does. Of features that do equally well but for
    rounding the first one is taken. Weka's weight trimming (``-W``) and its choice by the training error (``-S``) are
    left out.

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

    _attributes = """\
coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    Slopes in the units of the data: of the log-odds of the second of two classes, or of one function per class,
    which add up to zero; the probabilities are the softmax of these.
intercept_ : ndarray of shape (1,) or (n_classes,)
    Their intercepts.
"""

    max_iter: int = argument(default=500)

    @property
    @on_snapshot
    def coef_(self) -> Floats:
        """Slopes of the class functions."""
        check_is_fitted(self)
        return np.asarray(self._linear_models()[1][0])

    @property
    @on_snapshot
    def intercept_(self) -> Floats:
        """Intercepts of the class functions."""
        check_is_fitted(self)
        return np.asarray(self._linear_models()[0][0])
