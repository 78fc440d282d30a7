"""BoostForest: bootstrap replicas, a BoostTree with its own random parameters on each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ._base.sampling import Sampling
from ._base.typing import Floats, Labels, Mask
from ._base.validation import check_coverage
from ._estimator.base import BoostClassifier, BoostRegressor, stored
from ._estimator.classifier import classes_of, most_probable
from ._estimator.docs import describe
from ._estimator.fitted import FromModel
from ._estimator.forest import ForestMixin, learned
from ._estimator.scoring import score_rows
from ._model.conformal import conformal_sets, conformity
from ._model.intervals import left_out
from ._model.model import Known, Model
from .tree import BoostTreeClassifier, BoostTreeRegressor

_LEAF_POOL = tuple(range(5, 16))
_LAMBDA_POOL = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@stored
@describe("regression", forest=True)
class BoostForestRegressor(ForestMixin, BoostRegressor):
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

    oob_prediction_ = FromModel[Floats](lambda m: m.known.prediction, "Out-of-bag predictions of the training rows.")

    def __init__(
        self,
        n_estimators: int | str = 250,
        *,
        loss: str = "squared_error",
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
        dtype: str = "float64",
    ) -> None:
        self.n_estimators = n_estimators
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
        self.dtype = dtype

    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, sampling: Sampling) -> Known:
        prediction = model.loss.decode(outputs)
        kept = left_out(model.seeds, sampling, (y - prediction) / model.loss.output_unit, seen)
        known = replace(model.known, left_out=kept)
        if not self.oob_score:
            return known
        score = score_rows(self.oob_score, y, prediction, None, seen, sampling.sample_weight)
        return replace(known, prediction=prediction, score=score)

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
            Probability that the target is within, above 0 and below 1. Near 1 an interval is infinite if there are too
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
        check_coverage(coverage)
        model, X = self._read(X)
        kept = learned(model.known.left_out, "predict_interval")
        ends = model.intervals(X, kept, coverage, self._threads())
        return np.column_stack([model.loss.decode(ends[:, [side]]) for side in (0, 1)])

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
        for model, outputs in self._staged_outputs(X):
            yield model.loss.decode(outputs)


@stored
@describe("classification", forest=True)
class BoostForestClassifier(ForestMixin, BoostClassifier):
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

    oob_decision_function_ = FromModel[Floats](
        lambda m: m.known.prediction, "Out-of-bag probabilities of the training rows."
    )

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
        dtype: str = "float64",
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
        self.dtype = dtype

    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, sampling: Sampling) -> Known:
        p, weight = model.loss.decode(outputs), sampling.sample_weight
        scores, of_rows = conformity(p, model.loss.encode(y).astype(np.intp), seen, weight)
        known = replace(model.known, conformity=scores, conformity_weight=of_rows)
        if not self.oob_score:
            return known
        return replace(
            known, prediction=p, score=score_rows(self.oob_score, y, p, classes_of(model.loss), seen, weight)
        )

    def predict_set(self, X: Any, coverage: float = 0.9) -> Mask:
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
        check_coverage(coverage)
        model, outputs = self._outputs(X)
        scores = learned(model.known.conformity, "predict_set")
        return conformal_sets(model.loss.decode(outputs), scores, model.known.conformity_weight, coverage)

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
        for model, outputs in self._staged_outputs(X):
            yield model.loss.decode(outputs)

    def staged_predict(self, X: Any) -> Iterator[Labels]:
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
        for model, outputs in self._staged_outputs(X):
            yield most_probable(model.loss, outputs)
