"""Pool forests: any scikit-learn estimator, or a mixture, bagged with parameters drawn from pools."""

from __future__ import annotations

from typing import Any

from ._pools.base import PoolClassifier, PoolRegressor
from ._pools.docs import describe_pool_forest


@describe_pool_forest("regression")
class PoolForestRegressor(PoolRegressor):
    """A forest of any regressors, each on a bootstrap replica with parameters drawn from pools.

    What :class:`BoostForestRegressor` does with its own trees, for any scikit-learn regressor or a mixture of them; the
    forest predicts the mean of its members.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostForestRegressor : The forest of boosted model trees, compiled.
    ETForestRegressor, ModelForestRegressor : Pool forests with the settings of the paper.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

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

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 250,
        *,
        pools: Any = None,
        weights: Any = None,
        bootstrap: bool = True,
        max_samples: Any = None,
        max_features: Any = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.pools = pools
        self.weights = weights
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.max_features = max_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _declared(self) -> tuple[Any, Any, Any]:
        from sklearn.tree import DecisionTreeRegressor

        estimator = DecisionTreeRegressor() if self.estimator is None else self.estimator
        return estimator, self.pools, self.weights


@describe_pool_forest("classification")
class PoolForestClassifier(PoolClassifier):
    """A forest of any classifiers, each on a bootstrap replica with parameters drawn from pools.

    What :class:`BoostForestClassifier` does with its own trees, for any scikit-learn classifier or a mixture of them;
    the forest averages its members' probabilities, or counts the votes of members that have none.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostForestClassifier : The forest of boosted model trees, compiled.
    ETForestClassifier, LMForestClassifier : Pool forests with the settings of the paper.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

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

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 250,
        *,
        pools: Any = None,
        weights: Any = None,
        bootstrap: bool = True,
        max_samples: Any = None,
        max_features: Any = None,
        oob_score: Any = False,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.pools = pools
        self.weights = weights
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.max_features = max_features
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _declared(self) -> tuple[Any, Any, Any]:
        from sklearn.tree import DecisionTreeClassifier

        estimator = DecisionTreeClassifier() if self.estimator is None else self.estimator
        return estimator, self.pools, self.weights
