"""BoostTree: one tree grown by boosting, with a model at every node."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ._base.typing import Ints
from ._estimator.base import BoostClassifier, BoostEstimator, BoostRegressor, stored
from ._estimator.docs import describe
from ._estimator.show import ShownNode
from ._estimator.tree_words import CLIPPED, shown_nodes


class TreeMixin(BoostEstimator):
    """What is specific to a single tree."""

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
        return self._leaves(X)[1][:, 0]

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the nodes that each row visits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row visits the node.
        """
        return self._paths(X)[1]

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes in words; see ``_show``."""
        return shown_nodes(self._fitted(), feature_names, digits)

    @property
    def _shown_remark(self) -> str:
        forest = self.forest_
        is_clipped = bool(forest.sum_path[0]) or forest.monotonic_cst is not None
        return CLIPPED if is_clipped and forest.kind[0] == 1 and len(forest.feature) > 1 else ""


@stored
@describe("regression", forest=False)
class BoostTreeRegressor(TreeMixin, BoostRegressor):
    """A regression tree grown by boosting, with a linear model at every node.

    The tree grows best first, with splits at random thresholds. Each new node fits a model to what the models above it
    leave over; the prediction for a row is the sum of the (clipped) models on its path.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostForestRegressor : Many such trees.
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.

    Notes
    -----
    {pools}

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

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

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        node_model: Any = "ridge",
        criterion: Any = "xgb",
        min_samples_leaf: Any = 10,
        reg_lambda: Any = 0.1,
        max_leaf_nodes: Any = None,
        max_depth: Any = None,
        max_features: Any = 1.0,
        n_cuts: Any = 1,
        batch_size: Any = 1000,
        clip: Any = True,
        scale: bool = True,
        categorical_features: Any = "from_dtype",
        max_one_hot: int | None = 3,
        missing_fill: Any = "linear",
        missing_indicator: Any = "auto",
        split_features: Any = None,
        model_features: Any = None,
        monotonic_cst: Any = None,
        random_state: Any = None,
        dtype: str = "float64",
    ) -> None:
        self.loss = loss
        self.node_model = node_model
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.reg_lambda = reg_lambda
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.max_features = max_features
        self.n_cuts = n_cuts
        self.batch_size = batch_size
        self.clip = clip
        self.scale = scale
        self.categorical_features = categorical_features
        self.max_one_hot = max_one_hot
        self.missing_fill = missing_fill
        self.missing_indicator = missing_indicator
        self.split_features = split_features
        self.model_features = model_features
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.dtype = dtype


@stored
@describe("classification", forest=False)
class BoostTreeClassifier(TreeMixin, BoostClassifier):
    """A classification tree grown by boosting, with a linear model of the log-odds at every node.

    The tree grows best first, with splits at random thresholds. Each new node takes one LogitBoost step on its rows;
    the models on a path add up to one linear model per leaf (one per class if there are more than two).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostForestClassifier : Many such trees.
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.

    Notes
    -----
    {pools}

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest import BoostTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BoostTreeClassifier(random_state=0).fit(X, y)
    >>> tree.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        node_model: Any = "ridge",
        criterion: Any = "xgb",
        min_samples_leaf: Any = 10,
        reg_lambda: Any = 0.1,
        max_leaf_nodes: Any = None,
        max_depth: Any = None,
        max_features: Any = 1.0,
        n_cuts: Any = 1,
        batch_size: Any = 1000,
        scale: bool = True,
        categorical_features: Any = "from_dtype",
        max_one_hot: int | None = 3,
        missing_fill: Any = "linear",
        missing_indicator: Any = "auto",
        split_features: Any = None,
        model_features: Any = None,
        monotonic_cst: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        dtype: str = "float64",
    ) -> None:
        self.node_model = node_model
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.reg_lambda = reg_lambda
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.max_features = max_features
        self.n_cuts = n_cuts
        self.batch_size = batch_size
        self.scale = scale
        self.categorical_features = categorical_features
        self.max_one_hot = max_one_hot
        self.missing_fill = missing_fill
        self.missing_indicator = missing_indicator
        self.split_features = split_features
        self.model_features = model_features
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.random_state = random_state
        self.dtype = dtype
