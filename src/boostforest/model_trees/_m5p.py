"""M5': a regression tree with linear models at its leaves."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from .. import _core
from .._base.arrays import ReadOnlyColumns, check_sample_weight, mean_and_deviation
from .._base.declare import BOOL, argument, declared, integer
from .._base.typing import Floats, Ints
from .._estimator.show import ShownNode, linear_model, number
from .._estimator.snapshot import on_snapshot
from ._model_tree import GrownTreeMixin


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


@declared
class M5PRegressor(RegressorMixin, GrownTreeMixin):
    """M5': a regression tree with a linear model at every leaf.

    The tree is grown on the spread of the target and gets a linear model at every node. It is pruned from the leaves up
    where a node's own model promises to be as good as the subtree below it, and the leaf models are mixed with those
    above them, so that neighbouring leaves do not disagree by much. Small, accurate and readable: see
    `export_text` and `plot_tree`.

    It follows Wang and Witten [2]_ (after Quinlan's M5 [1]_), and Weka's M5P where that differs (see Notes): on data
    without ties it gives Weka's tree and Weka's predictions.

    {parameters}

    {attributes}

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

    _words: ClassVar = {"what_splits_gain": "the spread that the splits take away"}
    _attributes = """\
tree_ : M5PTree
    The tree as NumPy columns.
feature_mean_ : ndarray of shape (n_features,)
    Means of the training rows; missing values are replaced by them.
target_deviation_ : float
    Standard deviation of the training target: the errors that `export_text` prints are shares of it.
"""

    min_samples_leaf: int = argument(
        default=4,
        rule=integer(1),
        doc="""int
        Weka's ``-M``, and as there: a node with fewer rows is not split. So a leaf may have fewer rows, but at least
        two, and more than a fifth of those of the node above it.""",
    )
    prune: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Prune the tree; False is Weka's ``-N``. Unpruned trees are large: for a forest, not for reading.""",
    )
    smooth: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Mix the models on the path into that of the leaf; False is Weka's ``-U``.""",
    )
    regression_tree: bool = argument(
        default=False,
        rule=BOOL,
        doc="""bool
        Means instead of linear models, Weka's ``-R``.""",
    )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = self._check_training(X, y, y_numeric=True)
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

    @on_snapshot
    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values.
        """
        X = self._check_rows(X)
        prediction: Floats = _core.m5p_predict(vars(self.tree_), self.feature_mean_, X)
        return prediction

    def _leaves(self, X: Floats) -> Ints:
        leaves: Ints = _core.m5p_apply(vars(self.tree_), self.feature_mean_, X)
        return leaves

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
