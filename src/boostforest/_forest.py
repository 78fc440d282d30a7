"""BoostForest: bootstrap replicas, a BoostTree with its own random parameters on each."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from ._bagging import BaggingPart, Sampling
from ._base import BoostBase
from ._columns import ROLES
from ._docs import describe
from ._python_predict import add_out_of_bag
from ._tasks import ClassificationPart, RegressionPart
from ._threads import n_threads
from ._tree import BoostTreeClassifier, BoostTreeRegressor, TreePart
from .nodes._native import FOREST_SHORTHANDS

Floats = npt.NDArray[np.float64]

_LEAF_POOL = tuple(range(5, 16))
_LAMBDA_POOL = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class ForestPart(BaggingPart, BoostBase):
    """What is particular to a forest."""

    _tree_class: type[TreePart]
    _shorthands = FOREST_SHORTHANDS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bagging()

    def _n_trees(self) -> int:
        return int(self.n_estimators)

    def _n_fitted(self) -> int:
        return self.forest_.n_trees if self.__sklearn_is_fitted__() else 0

    def _sum_out_of_bag(self, X: Floats, sampling: Sampling) -> tuple[Floats, Floats]:
        total = np.zeros((len(X), self.forest_.n_outputs))
        n_trees = np.zeros((len(X), 1))
        probability, threads = self._task == "classification", n_threads(self.n_jobs)
        if self.forest_.models:
            draws = (sampling.n_draws, sampling.cumulative)
            add_out_of_bag(self, X, probability, *draws, threads, total, n_trees)
        else:
            self.forest_.model.predict_oob(
                X,
                self.feature_mean_,
                self.feature_scale_,
                probability,
                self.tree_seeds_,
                sampling.n_draws,
                sampling.cumulative,
                threads,
                total,
                n_trees,
                self.fill_,
            )
        return total, n_trees

    def get_tree(self, i: int) -> Any:
        """Return one tree of the forest as an estimator of its own.

        Parameters
        ----------
        i : int
            Number of the tree; negative ones count from the end.

        Returns
        -------
        tree : BoostTreeRegressor or BoostTreeClassifier
            The fitted tree, with the parameters that it has drawn.
        """
        check_is_fitted(self)
        n_trees = self.forest_.n_trees
        if not isinstance(i, numbers.Integral) or not -n_trees <= int(i) < n_trees:
            raise IndexError(f"i must be the number of a tree from {-n_trees} to {n_trees - 1}; got {i!r}.")
        i %= n_trees
        params = self.tree_params_[i]
        names = self._tree_class._get_param_names()
        shared = ("scale", "categorical_features", "max_one_hot", "missing_fill", "missing_indicator", *ROLES)
        params |= {name: getattr(self, name) for name in shared}
        tree = self._tree_class(**{name: params[name] for name in names if name in params})
        own = {
            "forest_": self.forest_.take(i),
            "tree_seeds_": self.tree_seeds_[i : i + 1],
            "_tree_params": {name: values[i : i + 1] for name, values in self._tree_params.items()},
        }
        not_shared = {*own, "oob_score_", "oob_prediction_", "oob_decision_function_", "_draws"}
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") or k.startswith("_")}
        tree.__dict__.update({k: v for k, v in fitted.items() if k not in not_shared} | own)
        return tree

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Number of the leaf's node within its tree.
        """
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes that each row visits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where the row visits the node; the nodes of all trees, tree after tree.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree ``t`` are ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1]``.
        """
        return self._paths(X), self.forest_.tree_start


@describe("regression", forest=True)
class BoostForestRegressor(ForestPart, RegressionPart):
    """A forest of boosted regression trees with linear models at their nodes.

    Each tree is a :class:`BoostTreeRegressor` grown on a bootstrap replica with parameters drawn from pools; the forest
    predicts the mean of the trees. The defaults are the paper's and need no tuning.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostTreeRegressor : A single tree.

    Notes
    -----
    {pools}

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = BoostForestRegressor(50, oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict(X[:2]).shape
    (2,)
    >>> bool(forest.oob_score_ > 0.4)
    True
    """

    _tree_class = BoostTreeRegressor

    oob_prediction_: Floats

    def __init__(
        self,
        n_estimators: int = 250,
        *,
        node_model: Any = "ridge",
        criterion: Any = "xgb",
        min_samples_leaf: Any = _LEAF_POOL,
        reg_lambda: Any = _LAMBDA_POOL,
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
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
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
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _set_oob_score(self, mean: Floats, has_trees: npt.NDArray[np.bool_], y: npt.NDArray[Any]) -> None:
        self.oob_prediction_ = mean[:, 0] * self.target_scale_ + self.target_mean_
        self.oob_score_ = self._score_rows(r2_score, y, self.oob_prediction_, has_trees)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict with the first tree, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Prediction of the trees so far.
        """
        for mean in self._staged_means(X, probability=False):
            yield mean[:, 0] * self.target_scale_ + self.target_mean_


@describe("classification", forest=True)
class BoostForestClassifier(ForestPart, ClassificationPart):
    """A forest of boosted classification trees with linear models at their nodes.

    Each tree is a :class:`BoostTreeClassifier` grown on a bootstrap replica with parameters drawn from pools; the
    forest averages the trees' probabilities. The defaults are the paper's and need no tuning.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    BoostTreeClassifier : A single tree.

    Notes
    -----
    {pools}

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest import BoostForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = BoostForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:2]).shape
    (2, 3)
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    _tree_class = BoostTreeClassifier

    oob_decision_function_: Floats

    def __init__(
        self,
        n_estimators: int = 250,
        *,
        node_model: Any = "ridge",
        criterion: Any = "xgb",
        min_samples_leaf: Any = _LEAF_POOL,
        reg_lambda: Any = _LAMBDA_POOL,
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
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _set_oob_score(self, mean: Floats, has_trees: npt.NDArray[np.bool_], y: npt.NDArray[Any]) -> None:
        self.oob_decision_function_ = self._proba(mean)
        predicted = self._most_probable(self.oob_decision_function_)
        self.oob_score_ = self._score_rows(accuracy_score, y, predicted, has_trees)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities with the first tree, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the trees so far.
        """
        for p in self._staged_means(X, probability=True):
            yield self._proba(p)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict with the first tree, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Prediction of the trees so far.
        """
        for p in self.staged_predict_proba(X):
            yield self._most_probable(p)
