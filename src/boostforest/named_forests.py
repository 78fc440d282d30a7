"""The paper's other forests: pool forests of Extra-Trees, LMT and M5P with its settings."""

from abc import abstractmethod
from typing import Any

from ._base.declare import argument, declared
from ._estimator.arguments import LEAF_POOL
from ._pools.base import PoolClassifier, PoolForestBase, PoolRegressor


@declared
class LeafPoolArguments:
    """What the members draw."""

    min_samples_leaf: Any = argument(
        default=LEAF_POOL,
        doc="""int, sequence or distribution
        Pool of the rows that each leaf must have: every member draws its own value.""",
    )


class LeafPoolForest(PoolForestBase, LeafPoolArguments):
    """A forest of one kind of tree, whose only pool is ``min_samples_leaf``."""

    @abstractmethod
    def _tree(self) -> Any:
        """Return the tree that all members are made from."""

    def _declared(self) -> tuple[Any, Any, Any]:
        return self._tree(), {"min_samples_leaf": self.min_samples_leaf}, None


@declared
class ETForestRegressor(LeafPoolForest, PoolRegressor):
    """A forest of Extra-Trees for regression: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is scikit-learn's :class:`~sklearn.tree.ExtraTreeRegressor`, not pruned, on a bootstrap replica. For
    other settings of the trees take :class:`PoolForestRegressor` with that estimator.

    {parameters}

    {attributes}

    See Also
    --------
    PoolForestRegressor : Forests of any regressors.
    BoostForestRegressor : The forest of boosted model trees.

    {references}
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


@declared
class ETForestClassifier(LeafPoolForest, PoolClassifier):
    """A forest of Extra-Trees for classification: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is scikit-learn's :class:`~sklearn.tree.ExtraTreeClassifier`, not pruned, on a bootstrap replica. For
    other settings of the trees take :class:`PoolForestClassifier` with that estimator.

    {parameters}

    {attributes}

    See Also
    --------
    PoolForestClassifier : Forests of any classifiers.
    BoostForestClassifier : The forest of boosted model trees.

    {references}
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


@declared
class ModelForestRegressor(LeafPoolForest, PoolRegressor):
    """A forest of M5P model trees: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is a :class:`~boostforest.model_trees.M5PRegressor`, not pruned, on a bootstrap replica. For other
    settings of the trees take :class:`PoolForestRegressor` with that estimator.

    {parameters}

    {attributes}

    See Also
    --------
    boostforest.model_trees.M5PRegressor : A single tree.
    PoolForestRegressor : Forests of any regressors.
    BoostForestRegressor : The forest of boosted model trees.

    {references}
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


@declared
class LMForestClassifier(LeafPoolForest, PoolClassifier):
    """A forest of logistic model trees: bootstrap replicas, leaf sizes drawn from a pool.

    Each member is a :class:`~boostforest.model_trees.LMTClassifier`, not pruned, on a bootstrap replica. For other
    settings of the trees take :class:`PoolForestClassifier` with that estimator.

    {parameters}

    {attributes}

    See Also
    --------
    boostforest.model_trees.LMTClassifier : A single tree.
    PoolForestClassifier : Forests of any classifiers.
    BoostForestClassifier : The forest of boosted model trees.

    {references}
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
