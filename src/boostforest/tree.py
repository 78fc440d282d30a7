"""BoostTree: one tree grown by boosting, with a model at every node."""

from typing import Any

from scipy import sparse

from ._base.declare import declared
from ._base.typing import Ints
from ._estimator import docs
from ._estimator.base import BoostClassifier, BoostEstimator, BoostRegressor, stored
from ._estimator.show import ShownNode
from ._estimator.targets import require_one
from ._estimator.tree_words import CLIPPED, shown_nodes
from ._report.mixin import ReportMixin


class TreeMixin(ReportMixin, BoostEstimator):
    """What is specific to a single tree."""

    _words = docs.TREE

    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row falls into.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Number of the leaf's node.
        """
        return self._leaves(X)[1][:, 0]

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the nodes that each row visits.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row visits the node.
        """
        return self._paths(X)[1]

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes in words; see ``_show``."""
        return shown_nodes(require_one(self._fitted(), "a tree that is shown"), feature_names, digits)

    @property
    def _shown_remark(self) -> str:
        forest = self.forest_
        is_clipped = bool(forest.sum_path[0]) or forest.monotonic_cst is not None
        return CLIPPED if is_clipped and forest.kind[0] == 1 and len(forest.feature) > 1 else ""


@stored
@declared
class BoostTreeRegressor(TreeMixin, BoostRegressor):
    """A regression tree grown by boosting, with a linear model at every node.

    The tree grows best first, with splits at random thresholds. Each new node fits a model to what the models above it
    leave over; the prediction for a row is the sum of the (clipped) models on its path.

    {parameters}

    {attributes}

    See Also
    --------
    BoostForestRegressor : Many such trees.
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.

    {pools}

    {references}

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = BoostTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> int(tree.n_leaves_[0])
    4
    >>> tree.predict(X[:2]).shape
    (2,)
    """


@stored
@declared
class BoostTreeClassifier(TreeMixin, BoostClassifier):
    """A classification tree grown by boosting, with a linear model of the log-odds at every node.

    The tree grows best first, with splits at random thresholds. Each new node takes one LogitBoost step on its rows;
    the models on a path add up to one linear model per leaf (one per class if there are more than two).

    {parameters}

    {attributes}

    See Also
    --------
    BoostForestClassifier : Many such trees.
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.

    {pools}

    {references}

    Examples
    --------
    >>> from boostforest import BoostTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BoostTreeClassifier(random_state=0).fit(X, y)
    >>> tree.predict_proba(X[:2]).shape
    (2, 3)
    """
