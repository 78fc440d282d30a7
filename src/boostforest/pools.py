"""Pool forests: any scikit-learn estimator, or a mixture, bagged with parameters drawn from pools."""

from typing import Any

from ._base.declare import argument, declared
from ._pools.base import PoolClassifier, PoolRegressor


@declared
class MixtureArguments:
    """What the members are, and what they draw."""

    estimator: Any = argument(
        default=None,
        kw_only=False,
        doc="""estimator or list of estimators
        What the members are: a scikit-learn {kind} with any settings, or several of them for a mixture. None: a
        :class:`~sklearn.tree.DecisionTree{Kind}`. Wherever it takes a `random_state`, each member gets its own.""",
    )
    pools: Any = argument(
        default=None,
        doc="""dict or list of dict
        Parameters that each member draws for itself: the name of a parameter (``ridge__alpha`` inside a pipeline) and
        its pool, which is a value, a sequence of values or a distribution with an `rvs` method as in `scipy.stats`. A
        value that is a sequence itself goes into a list: ``[(50,), (100,)]``. For a mixture: a list with one dict per
        estimator, or one dict for all.""",
    )
    weights: Any = argument(
        default=None,
        doc="""list of float
        Shares of the estimators in a mixture; None: the same for all. They are kept as closely as whole members allow,
        also by the first members of the forest.""",
    )
    max_features: Any = argument(
        default=None,
        doc="""int, float, {"sqrt", "log2"} or None
        Columns to draw, without replacement, for each member: their number, or a share of all. None: all of them. This
        may be a pool, too.""",
    )


@declared
class PoolForestRegressor(PoolRegressor, MixtureArguments):
    """A forest of any regressors, each on a bootstrap replica with parameters drawn from pools.

    What :class:`BoostForestRegressor` does with its own trees, for any scikit-learn regressor or a mixture of them; the
    forest predicts the mean of its members.

    {parameters}

    {attributes}

    See Also
    --------
    BoostForestRegressor : The forest of boosted model trees, compiled.
    ETForestRegressor, ModelForestRegressor : Pool forests with the settings of the paper.

    {references}

    Examples
    --------
    A mixture of linear models and trees; two members in three are trees:

    >>> from boostforest import PoolForestRegressor
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = PoolForestRegressor(
    ...     [make_pipeline(StandardScaler(), Ridge()), ExtraTreeRegressor()],
    ...     n_estimators=60,
    ...     pools=[{"ridge__alpha": loguniform(1e-2, 1e3)}, {"min_samples_leaf": range(5, 16)}],
    ...     weights=[1, 2],
    ...     oob_score=True,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> forest.predict(X[:2]).shape
    (2,)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    def _declared(self) -> tuple[Any, Any, Any]:
        from sklearn.tree import DecisionTreeRegressor

        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        return estimator, self.pools, self.weights


@declared
class PoolForestClassifier(PoolClassifier, MixtureArguments):
    """A forest of any classifiers, each on a bootstrap replica with parameters drawn from pools.

    What :class:`BoostForestClassifier` does with its own trees, for any scikit-learn classifier or a mixture of them;
    the forest averages its members' probabilities; members that have none give all to the class they predict.

    {parameters}

    {attributes}

    See Also
    --------
    BoostForestClassifier : The forest of boosted model trees, compiled.
    ETForestClassifier, LMForestClassifier : Pool forests with the settings of the paper.

    {references}

    Examples
    --------
    >>> from boostforest import BoostTreeClassifier, PoolForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = PoolForestClassifier(
    ...     [BoostTreeClassifier(), ExtraTreeClassifier()],
    ...     n_estimators=50,
    ...     pools={"min_samples_leaf": range(5, 16)},
    ...     oob_score=True,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> forest.predict_proba(X[:2]).shape
    (2, 3)
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    def _declared(self) -> tuple[Any, Any, Any]:
        from sklearn.tree import DecisionTreeClassifier

        estimator = DecisionTreeClassifier() if self.estimator is None else self.estimator
        return estimator, self.pools, self.weights
