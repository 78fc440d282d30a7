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
from ._calibration import Calibration, conformal_sets, conformity, fit_calibration
from ._columns import ROLES
from ._docs import describe
from ._growth import Growth, join
from ._intervals import LeftOut, intervals, left_out
from ._objective import Objective, OutOfBag
from ._plan import check_coverage, read_plan
from ._pool_report import plot_pool, pool_report
from ._python_grower import TrainingData
from ._python_predict import add_out_of_bag
from ._stages import StageGrower, Stages
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

    preset: str
    n_stages: Any
    pool: Any

    stages_: Stages
    calibration_: Calibration
    oob_losses_: Floats
    pool_report_: list[dict[str, Any]]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_bagging()
        read_plan(self)

    def _check_n_estimators(self) -> None:
        if not (isinstance(self.n_estimators, str) and self.n_estimators == "auto"):
            super()._check_n_estimators()

    def _n_trees(self) -> int:
        return int(self.n_estimators)

    def _grow_all(self, data: TrainingData, pools: dict[str, Any], kept: int) -> None:
        if kept > 0 and hasattr(self, "oob_losses_"):
            raise ValueError(
                "warm_start=True cannot add to a forest that was fitted with stages, an adaptive pool, calibration or "
                "n_estimators='auto'; set warm_start=False."
            )
        for name in ("oob_losses_", "pool_report_", "_oob_state"):
            self.__dict__.pop(name, None)
        self.calibration_ = Calibration()
        plan = read_plan(self)
        if plan.is_plain:
            super()._grow_all(data, pools, kept)
            self.stages_ = Stages((self.forest_.n_trees,), (1.0,))
            return
        growth = Growth(self, data, pools, plan.budget)
        grown = StageGrower(growth, plan.budget, plan.n_stages, plan.own).grow()
        self.forest_, self.tree_seeds_, self._tree_params = join(grown.groups)
        self.stages_, self.oob_losses_ = grown.stages, np.array(grown.losses)
        if plan.own is not None:
            self.pool_report_ = pool_report(grown.trials, growth.objective)
        if plan.calibrate and grown.seen.any() and data.n_classes > 1:
            self.calibration_ = fit_calibration(plan.calibrate, growth.objective, grown.scores, grown.seen)
        self._oob_state = self.calibration_.outputs(growth.objective, grown.scores), grown.seen

    def _oob_means(self, X: Floats, sampling: Sampling) -> tuple[Floats, npt.NDArray[np.bool_]]:
        if "_oob_state" not in self.__dict__:
            return super()._oob_means(X, sampling)
        outputs, seen = self.__dict__.pop("_oob_state")
        return np.where(seen[:, None], outputs, np.nan), seen

    def plot_pool(self, ax: Any = None) -> Any:
        """Draw what the adaptive pool has learned; needs matplotlib (``pip install "boostforest[plot]"``).

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new picture.

        Returns
        -------
        ax : matplotlib Axes
            Bars: the change of the out-of-bag loss by each setting that was tried. Green ones are in the forest.
        """
        check_is_fitted(self)
        if not hasattr(self, "pool_report_"):
            raise AttributeError("plot_pool needs a forest that was fitted with pool='adaptive' or preset='best'.")
        return plot_pool(self.pool_report_, ax)

    def _needs_out_of_bag(self) -> bool:
        return super()._needs_out_of_bag() or not read_plan(self).is_plain

    def _from_out_of_bag(self, name: str, method: str) -> Any:
        """Return what was kept of the out-of-bag rows, or say why there is nothing."""
        if name not in self.__dict__:
            raise AttributeError(
                f"{method} needs what the forest has learned out of bag: fit it with oob_score=True or preset='best'."
            )
        return self.__dict__[name]

    # --------------------------------------------------------------------------------------------------- prediction

    @property
    def n_stages_(self) -> int:
        """Stages that the forest has."""
        check_is_fitted(self)
        return len(self.stages_.steps)

    @property
    def steps_(self) -> Floats:
        """What each stage counts: 1 for the first, for the others what was best out of bag."""
        check_is_fitted(self)
        return np.array(self.stages_.steps)

    @property
    def _predicts_plainly(self) -> bool:
        return len(self.stages_.steps) == 1 and self.calibration_.is_identity

    def _tree_weights(self) -> Floats | None:
        return None if self.n_stages_ == 1 else self.stages_.tree_weights()

    def _mean_output(self, X: Floats, probability: bool) -> Floats:
        if self._predicts_plainly:
            return super()._mean_output(X, probability)
        means = [
            self._sum_trees(X, probability and stage == 0, slice(first, end)) / (end - first)
            for stage, (first, end) in enumerate(self.stages_.parts)
        ]
        return self._combine(means)

    def _combine(self, means: list[Floats]) -> Floats:
        """Return the output that the means of the first stages make."""
        objective = Objective(np.empty(0), getattr(self, "n_classes_", 0))
        scores = objective.scores(means[0])
        for step, mean in zip(self.stages_.steps[1:], means[1:], strict=False):
            scores = scores + step * mean
        return self.calibration_.outputs(objective, scores)

    def _staged_means(self, X: Floats, probability: bool) -> Iterator[Floats]:
        if self._predicts_plainly:
            yield from super()._staged_means(X, probability)
            return
        means: list[Floats] = []
        for stage, (first, end) in enumerate(self.stages_.parts):
            total = np.zeros((len(X), self.forest_.n_outputs))
            for t in range(first, end):
                total += self._sum_trees(X, probability and stage == 0, slice(t, t + 1))
                yield self._combine([*means, total / (t + 1 - first)])
            means.append(total / (end - first))

    def _n_fitted(self) -> int:
        return self.forest_.n_trees if self.__sklearn_is_fitted__() else 0

    def _sum_out_of_bag(self, X: Floats, sampling: Sampling) -> tuple[Floats, Floats]:
        oob = self._oob_sums(X, sampling, self._task == "classification")
        return oob.total, oob.n_trees

    def _oob_sums(self, X: Floats, sampling: Sampling, probability: bool) -> OutOfBag:
        """Add up the outputs of the trees that have not drawn a row."""
        total, squares = np.zeros((2, len(X), self.forest_.n_outputs))
        n_trees = np.zeros((len(X), 1))
        threads = n_threads(self.n_jobs)
        if self.forest_.models:
            draws = (sampling.n_draws, sampling.cumulative)
            add_out_of_bag(self, X, probability, *draws, threads, total, n_trees, squares)
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
                squares,
            )
        return OutOfBag(total, squares, n_trees)

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
        of_forests = ("stages_", "calibration_", "pool_report_", "oob_losses_", "_left_out", "_conformity")
        not_shared = {*own, *of_forests, "oob_score_", "oob_prediction_", "oob_decision_function_", "_draws"}
        if self._task == "regression" and i >= self.stages_.ends[0]:
            own["target_mean_"] = 0.0  # it corrects the stages before it
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
    _left_out: LeftOut

    def __init__(
        self,
        n_estimators: int | str = 250,
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
        preset: str = "paper",
        n_stages: int | str | None = None,
        pool: str | None = None,
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
        self.preset = preset
        self.n_stages = n_stages
        self.pool = pool

    def _set_oob_score(
        self, mean: Floats, has_trees: npt.NDArray[np.bool_], y: npt.NDArray[Any], sampling: Sampling
    ) -> None:
        prediction = mean[:, 0] * self.target_scale_ + self.target_mean_
        residuals = (y - prediction) / self.target_scale_
        self._left_out = left_out(self, sampling, residuals, has_trees)
        if self.oob_score:
            self.oob_prediction_ = prediction
            self.oob_score_ = self._score_rows(r2_score, y, prediction, has_trees)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Predict intervals that hold the target with the given probability.

        By jackknife+ after bootstrap [1]_: the trees that have not drawn a training row are a forest that does not
        know it; what these forests predict, plus and minus their errors on the rows that they do not know, gives the
        interval. Needs a forest that was fitted with ``oob_score=True``, or with stages, an adaptive pool or
        ``preset="best"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.
        coverage : float, default=0.9
            Probability that the target is within, above 0 and below 1. Near 1 an interval is endless if there are too
            few training rows to tell.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper end.

        References
        ----------
        .. [1] B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap", NeurIPS
           2020.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = BoostForestRegressor(50, oob_score=True, random_state=0).fit(X[:350], y[:350])
        >>> ends = forest.predict_interval(X[350:], coverage=0.9)
        >>> bool(0.8 < ((ends[:, 0] <= y[350:]) & (y[350:] <= ends[:, 1])).mean() < 1)
        True
        """
        check_is_fitted(self)
        check_coverage(coverage)
        kept = self._from_out_of_bag("_left_out", "predict_interval")
        ends = intervals(self, self._check_rows(X), kept, coverage)
        return ends * self.target_scale_ + self.target_mean_

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
        for mean in self._staged_means(self._check_rows(X), probability=False):
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
    _conformity: Floats

    def __init__(
        self,
        n_estimators: int | str = 250,
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
        preset: str = "paper",
        n_stages: int | str | None = None,
        pool: str | None = None,
        calibrate: Any = None,
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
        self.preset = preset
        self.n_stages = n_stages
        self.pool = pool
        self.calibrate = calibrate

    def _set_oob_score(
        self, mean: Floats, has_trees: npt.NDArray[np.bool_], y: npt.NDArray[Any], sampling: Sampling
    ) -> None:
        p = self._proba(mean)
        self._conformity = conformity(p, np.searchsorted(self.classes_, y).astype(np.intp), has_trees)
        if self.oob_score:
            self.oob_decision_function_ = p
            self.oob_score_ = self._score_rows(accuracy_score, y, self._most_probable(p), has_trees)

    def predict_set(self, X: Any, coverage: float = 0.9) -> npt.NDArray[np.bool_]:
        """Predict sets of classes that hold the true one with the given probability.

        A class is in the set if it is no less probable than the true classes of that share of the training rows were,
        out of bag (conformal prediction). Needs a forest that was fitted with ``oob_score=True``, or with stages, an
        adaptive pool, calibration or ``preset="best"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.
        coverage : float, default=0.9
            Probability that the true class is in the set, above 0 and below 1.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Which classes are in the set of each row, in the order of ``classes_``; the most probable one always is.

        Examples
        --------
        >>> from boostforest import BoostForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = BoostForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
        >>> forest.predict_set(X[:1], coverage=0.95)
        array([[ True, False, False]])
        """
        check_is_fitted(self)
        check_coverage(coverage)
        scores = self._from_out_of_bag("_conformity", "predict_set")
        return conformal_sets(self.predict_proba(X), scores, coverage)

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
        for p in self._staged_means(self._check_rows(X), probability=True):
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
