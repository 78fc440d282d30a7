"""M5': a regression tree with linear models at its leaves."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from .._base.arrays import ReadOnlyColumns, check_sample_weight, mean_and_deviation
from .._estimator.show import ShownNode, linear_model, number
from .._estimator.snapshot import fitted_aside, on_snapshot
from .._features.features import with_columns_of_fit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(eq=False, frozen=True)
class M5PTree(ReadOnlyColumns):
    """A fitted tree; one value per node unless said otherwise. Children stand behind their parent, side by side."""

    feature: Ints  #: split feature, -1 for a leaf
    threshold: Floats  #: ``x[feature] <= threshold`` goes left
    left: Ints  #: left child; the right one is ``left + 1``; 0 for a leaf
    n_samples: Floats  #: weight of the training rows that reached the node
    gain: Floats  #: by how much the split lowers the spread of the target, times ``n_samples``
    model: Ints  #: number of the leaf's model, -1 for an inner node
    error: Floats  #: per model: root of the mean squared training error, before smoothing
    centre: Floats  #: per model: its value at the means of the features
    slopes: Floats  #: models × features


class M5PRegressor(RegressorMixin, BaseEstimator):
    """M5': a regression tree with a linear model at every leaf.

    The tree is grown on the spread of the target and gets a linear model at every node. It is pruned from the leaves up
    where a node's own model promises to be as good as the subtree below it, and the leaf models are mixed with those
    above them, so that neighbouring leaves do not disagree by much. Small, accurate and readable: see
    `export_text` and `plot_tree`.

    It follows Wang and Witten [2]_ (after Quinlan's M5 [1]_), and Weka's M5P where that differs (see Notes): on data
    without ties it gives Weka's tree and Weka's predictions.

    Parameters
    ----------
    min_samples_leaf : int, default=4
        Weka's ``-M``, and as there: a node with fewer rows is not split. So a leaf may have fewer rows, but at least
        two, and more than a fifth of those of the node above it.
    prune : bool, default=True
        Prune the tree; False is Weka's ``-N``. Unpruned trees are large: for a forest, not for reading.
    smooth : bool, default=True
        Mix the models on the path into that of the leaf; False is Weka's ``-U``.
    regression_tree : bool, default=False
        Means instead of linear models, Weka's ``-R``.

    Attributes
    ----------
    tree_ : M5PTree
        The tree as NumPy columns.
    n_leaves_ : int
        Number of leaves, each with its model.
    n_nodes_ : int
        Number of nodes.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the spread that the splits take away; all 0 without a split.
    feature_mean_ : ndarray of shape (n_features,)
        Means of the training rows; missing values are replaced by them.
    target_deviation_ : float
        Standard deviation of the training target: the errors that `export_text` prints are shares of it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where the training table had some.

    See Also
    --------
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.
    boostforest.BoostTreeRegressor : A tree of linear models grown by boosting.

    Notes
    -----
    *Growing.* The best split takes most off the spread: root(V) − Σ n_i/n · root(V_i), V the variance of the target.
    As in Weka the root is the fifth, where the papers have the square root (the standard deviation), and a side has
    more than a fifth of the rows (rounded down). Thresholds lie midway between two values. A node is a leaf if it has
    fewer than ``min_samples_leaf`` rows or a standard deviation of the target below 5 % of the whole target's.

    *Models.* An inner node's model is a least squares fit on the features that are tested in its subtree; a leaf's is
    the mean. Features with a standardised slope beyond 1.5 are dropped first, the largest one at a time: they repeat
    others. Then the feature with the smallest standardised slope is dropped as long as Akaike's criterion
    SSE / SSE_full · (n − v_full) + 2 v falls, v the number of parameters. This is Weka's; the paper drops features
    while the error times (n + v) / (n − v) falls.

    *Pruning.* From the leaves up, a subtree is replaced by its root's model if that has no larger adjusted error: the
    root of the mean squared error times (n + 2 v) / (n − v), or times 10 if n ≤ v; a subtree has the parameters of its
    leaf models and one more per split. The 2 is Weka's; the paper has 1.

    *Smoothing.* From the leaf to the root, p ← (n p + 15 f) / (n + 15), n the rows of the node below and f the model of
    the node above; done once, on the coefficients of the leaf's model.

    *Missing values* (NaN) are replaced by the feature's mean over the training rows, as in Weka; in the paper, training
    rows with a missing value are divided by their target instead. All features are numbers: encode categories first
    (Weka makes binary features of them).

    *Other differences from Weka.* Where splits are equally good, as in small nodes with repeated target values, Weka's
    choice depends on its rounding; here the first feature and the smallest threshold are taken. Weka's thresholds for
    equality are absolute, here they are relative to the target's standard deviation. ``sample_weight`` counts rows:
    weight 2 is the same as the row twice; Weka's trees ignore weights as they grow.

    References
    ----------
    .. [1] J. R. Quinlan, "Learning with continuous classes", Proceedings of the 5th Australian Joint Conference on
       Artificial Intelligence, 343-348, 1992.
    .. [2] Y. Wang, I. H. Witten, "Inducing model trees for continuous classes", Poster papers of the 9th European
       Conference on Machine Learning, 1997.

    Examples
    --------
    >>> from boostforest.model_trees import M5PRegressor, export_text
    >>> from sklearn.datasets import make_friedman2
    >>> X, y = make_friedman2(random_state=0)
    >>> tree = M5PRegressor().fit(X, y)
    >>> tree.n_leaves_
    4
    >>> round(tree.score(X, y), 3)
    0.98
    """

    def __init__(
        self,
        *,
        min_samples_leaf: int = 4,
        prune: bool = True,
        smooth: bool = True,
        regression_tree: bool = False,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.prune = prune
        self.smooth = smooth
        self.regression_tree = regression_tree

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, all numbers; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; a row of weight 2 counts as two rows.

        Returns
        -------
        self : object
            The fitted tree.
        """
        with fitted_aside(self) as twin:
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan", y_numeric=True)
        y = np.ascontiguousarray(y, dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(y))
        if weight is None:
            weight = np.ones(len(y))
        elif not weight.all():
            used = weight > 0
            X, y, weight = X[used], y[used], weight[used]
        mean, scale = mean_and_deviation(X, weight)
        target_mean, target_scale = (float(v[0]) for v in mean_and_deviation(y[:, None], weight))
        missing = np.isnan(X)
        if missing.any():
            X = np.where(missing, mean, X)
        columns = _core.m5p_fit(
            X,
            mean,
            scale,
            y,
            target_mean,
            target_scale,
            weight,
            float(self.min_samples_leaf),
            bool(self.prune),
            bool(self.smooth),
            bool(self.regression_tree),
        )
        if not math.isfinite(columns["slopes"].sum() + columns["centre"].sum()):
            raise ValueError("X or y has values too large to compute with; rescale them.")
        columns["slopes"] = columns["slopes"].reshape(-1, X.shape[1])
        self.tree_ = M5PTree(**columns)
        self.feature_mean_ = mean
        self.target_deviation_ = target_scale

    def _check_parameters(self) -> None:
        least = self.min_samples_leaf
        if not isinstance(least, numbers.Integral) or isinstance(least, bool) or not 1 <= least < 2**31:
            raise ValueError(f"min_samples_leaf must be an integer from 1 to 2^31 - 1; got {least!r}.")
        for name in ("prune", "smooth", "regression_tree"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = with_columns_of_fit(self, X)
        checked: Floats = validate_data(
            self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
        )
        return checked

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
        X = self._check_rows(X)
        prediction: Floats = _core.m5p_predict(vars(self.tree_), self.feature_mean_, X)
        return prediction

    @on_snapshot
    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row falls into.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Number of the leaf's node.
        """
        X = self._check_rows(X)
        leaves: Ints = _core.m5p_apply(vars(self.tree_), self.feature_mean_, X)
        return leaves

    @property
    def n_nodes_(self) -> int:
        """Number of nodes."""
        check_is_fitted(self)
        return len(self.tree_.feature)

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.centre)

    @property
    @on_snapshot
    def feature_importances_(self) -> Floats:
        """Share of each feature in the spread that the splits take away; all 0 without a split."""
        check_is_fitted(self)
        inner = self.tree_.feature >= 0
        gain = np.zeros(self.n_features_in_)
        np.add.at(gain, self.tree_.feature[inner], self.tree_.gain[inner])
        shares: Floats = gain / max(gain.sum(), np.finfo(np.float64).tiny)
        return shares

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes in words; see ``_show``."""
        tree = self.tree_
        shown = []
        for i, feature in enumerate(tree.feature):
            summary = f"{tree.n_samples[i]:g} rows"
            if feature >= 0:
                threshold = f"{number(tree.threshold[i], digits)}"
                name, left = feature_names[feature], int(tree.left[i])
                shown.append(ShownNode(summary, (left, left + 1), (f"{name} <= {threshold}", f"{name} > {threshold}")))
                continue
            m = tree.model[i]
            slopes = tree.slopes[m]
            lines = linear_model("y", tree.centre[m] - slopes @ self.feature_mean_, slopes, feature_names, digits)
            share = 100 * tree.error[m] / self.target_deviation_
            shown.append(ShownNode(f"{summary}, error {share:.1f} %", model=lines))
        return shown
