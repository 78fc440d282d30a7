"""The paper's other forests: pool forests of Extra-Trees, LMT and M5P with its settings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ._pools.base import PoolClassifier, PoolForestBase, PoolRegressor
from ._pools.docs import describe_pool_forest

_LEAF_POOL = tuple(range(5, 16))


class LeafPoolForest(PoolForestBase):
    """A forest of one kind of tree, whose only pool is ``min_samples_leaf``."""

    min_samples_leaf: Any

    @abstractmethod
    def _tree(self) -> Any:
        """Return the tree that all members are made from."""

    def _declared(self) -> tuple[Any, Any, Any]:
        return self._tree(), {"min_samples_leaf": self.min_samples_leaf}, None


class LeafPoolRegressor(LeafPoolForest, PoolRegressor):
    """Arguments of the regressors."""

    def __init__(
        self,
        n_estimators: int = 250,
        *,
        min_samples_leaf: Any = _LEAF_POOL,
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class LeafPoolClassifier(LeafPoolForest, PoolClassifier):
    """Arguments of the classifiers."""

    def __init__(
        self,
        n_estimators: int = 250,
        *,
        min_samples_leaf: Any = _LEAF_POOL,
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: Any = False,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@describe_pool_forest("regression", named=True)
class ETForestRegressor(LeafPoolRegressor):
    """A forest of Extra-Trees for regression: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is scikit-learn's :class:`~sklearn.tree.ExtraTreeRegressor`, not pruned, on a bootstrap replica. For
    other settings of the trees take :class:`PoolForestRegressor` with that estimator.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    PoolForestRegressor : Forests of any regressors.
    BoostForestRegressor : The forest of boosted model trees.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    .. [2] P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning, 2006.

    Examples
    --------
    >>> from boostforest import ETForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ETForestRegressor(50, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    def _tree(self) -> Any:
        from sklearn.tree import ExtraTreeRegressor

        return ExtraTreeRegressor()


@describe_pool_forest("classification", named=True)
class ETForestClassifier(LeafPoolClassifier):
    """A forest of Extra-Trees for classification: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is scikit-learn's :class:`~sklearn.tree.ExtraTreeClassifier`, not pruned, on a bootstrap replica. For
    other settings of the trees take :class:`PoolForestClassifier` with that estimator.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    PoolForestClassifier : Forests of any classifiers.
    BoostForestClassifier : The forest of boosted model trees.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    .. [2] P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning, 2006.

    Examples
    --------
    >>> from boostforest import ETForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ETForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    def _tree(self) -> Any:
        from sklearn.tree import ExtraTreeClassifier

        return ExtraTreeClassifier()


@describe_pool_forest("regression", named=True)
class ModelForestRegressor(LeafPoolRegressor):
    """A forest of M5P model trees: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is a :class:`~boostforest.model_trees.M5PRegressor`, not pruned, on a bootstrap replica. For other
    settings of the trees take :class:`PoolForestRegressor` with that estimator.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    boostforest.model_trees.M5PRegressor : A single tree.
    PoolForestRegressor : Forests of any regressors.
    BoostForestRegressor : The forest of boosted model trees.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    .. [2] Y. Wang, I. H. Witten, "Inducing model trees for continuous classes", Poster papers of the European
       Conference on Machine Learning, 1997.

    Examples
    --------
    >>> from boostforest import ModelForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ModelForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    def _tree(self) -> Any:
        from .model_trees import M5PRegressor

        return M5PRegressor(prune=False)


@describe_pool_forest("classification", named=True)
class LMForestClassifier(LeafPoolClassifier):
    """A forest of logistic model trees: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is a :class:`~boostforest.model_trees.LMTClassifier`, not pruned, on a bootstrap replica. For other
    settings of the trees take :class:`PoolForestClassifier` with that estimator.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    boostforest.model_trees.LMTClassifier : A single tree.
    PoolForestClassifier : Forests of any classifiers.
    BoostForestClassifier : The forest of boosted model trees.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.
    .. [2] N. Landwehr, M. Hall, E. Frank, "Logistic model trees", Machine Learning, 2005.

    Examples
    --------
    >>> from boostforest import LMForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = LMForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    def _tree(self) -> Any:
        from .model_trees import LMTClassifier

        return LMTClassifier(prune=False)
