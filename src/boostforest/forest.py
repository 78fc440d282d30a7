"""BoostForest: bootstrap replicas, a BoostTree with its own random parameters on each."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ._base.declare import BOOL, argument, declared, pooled
from ._base.typing import Floats, Indices, Ints, Labels, Mask
from ._base.validation import check_coverage
from ._estimator.base import BoostClassifier, BoostRegressor, stored
from ._estimator.classifier import StagedLabelsMixin, classes_of, labels_of_all
from ._estimator.fitted import FromModel
from ._estimator.fitted_forest import learned
from ._estimator.forest import ForestMixin
from ._estimator.scoring import score_rows, score_several
from ._estimator.targets import all_classes, require_one
from ._grow.data import TrainingData
from ._losses import AcceleratedFailureTime, ClassTargets, Several
from ._losses.aft import concordance
from ._model.conformal import conformal_sets, conformity
from ._model.distribution import Distribution, check_levels
from ._model.intervals import LeftOut, left_out
from ._model.local import MOST_TREES, LocalErrors
from ._model.model import Known, Model
from ._report.mixin import ReportMixin
from .tree import BoostTreeClassifier, BoostTreeRegressor

INTERVALS = (None, "local", "jackknife+")
T = TypeVar("T")


@stored
@declared
class BoostForestRegressor(ForestMixin, ReportMixin, BoostRegressor):
    """A forest of boosted regression trees with linear models at their nodes.

    Each tree is a :class:`BoostTreeRegressor` grown on a bootstrap replica with parameters drawn from pools; the forest
    predicts the mean of the trees. That is all of it with ``preset="paper"``. By default the pool adapts to the table,
    and stages and boosted trees are added where the rows that were not drawn say that they help; nothing needs tuning.

    {parameters}

    {attributes}

    See Also
    --------
    BoostTreeRegressor : A single tree.

    {pools}

    {references}

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

    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, data: TrainingData) -> Known:
        prediction, sampling = model.loss.decode(outputs), data.sampling
        if isinstance(model.loss, AcceleratedFailureTime):  # of censored times no residual is known
            if not self.oob_score:
                return model.known
            weight = np.where(seen, 1.0 if sampling.sample_weight is None else sampling.sample_weight, 0.0)
            return replace(model.known, prediction=prediction, score=concordance(y, prediction, weight))
        bags = model.stages.bags(model.seeds)
        residuals, threads = (y - prediction) / model.loss.output_unit, self._threads()
        trees = model.stages.spread(MOST_TREES)

        def leaves_of(rows: Indices) -> Ints:
            return model.leaves(np.ascontiguousarray(data.X[rows]), threads, trees)

        def left_out_of(errors: Floats) -> LeftOut | None:
            return left_out(model.seeds, bags, sampling, np.ascontiguousarray(errors), seen, trees, leaves_of)

        if isinstance(model.loss, Several):
            each = tuple(kept for errors in residuals.T if (kept := left_out_of(errors)) is not None)
            known = replace(model.known, left_outs=each if len(each) == residuals.shape[1] else ())
        else:
            known = replace(model.known, left_out=left_out_of(residuals))
        if not self.oob_score:
            return known
        score = score_rows(self.oob_score, y, prediction, None, seen, sampling.sample_weight)
        return replace(known, prediction=prediction, score=score)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, offset: Any = None, *, method: str | None = None
    ) -> Floats:
        """Predict intervals that hold the target with the given probability.

        They are around the prediction, and as wide as the errors of training rows were out of bag, where these share
        leaves with the new row (conformal prediction with local widths). Those of ``method="jackknife+"`` have about
        the same width everywhere: the trees that have not drawn a training row are a forest that does not know it; what
        these forests predict, plus and minus their errors on the rows that they do not know, gives the interval [1]_.
        Needs a forest that was fitted with ``oob_score=True``, or with stages, an adaptive pool or boosted trees, as
        the default has them from 40 trees on.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the target is within, above 0 and below 1. Near 1 an interval is infinite if there are too
            few training rows to tell.
        method : {"local", "jackknife+"} or None, default=None
            How widths are found. None: "local", but "jackknife+" where a forest is from a model file without leaves of
            training rows (format 4 and older).

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
        if not isinstance(method, str | None) or method not in INTERVALS:
            raise ValueError(f"method must be None, 'local' or 'jackknife+'; got {method!r}.")
        model, X, in_scores = self._read_with(X, offset, "predict_interval")
        kept = _kept(model, "predict_interval")
        if method == "local" or (method is None and kept.local is not None):
            local = _local(model, "predict_interval with method='local'")
            ends = model.local_intervals(X, kept, local, coverage, self._threads(), in_scores)
        else:
            ends = model.intervals(X, kept, coverage, self._threads(), in_scores)
        return np.column_stack([model.loss.decode(ends[:, [side]]) for side in (0, 1)])

    def predict_quantiles(self, X: Any, levels: Any, offset: Any = None) -> Floats:
        """Predict quantiles of the target: values that it does not exceed with the given probabilities.

        Those of `predict_distribution`. They never cross, whatever the levels, and need no other fit. Quantiles far out
        are the largest errors that were seen.

        Parameters
        ----------
        levels : float or array-like of shape (n_levels,)
            Probabilities, above 0 and below 1.

        Returns
        -------
        quantiles : ndarray of shape (n_samples,) for a number, else (n_samples, n_levels)
            In the order of the levels.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = BoostForestRegressor(50, random_state=0).fit(X[:350], y[:350])
        >>> low, median, high = forest.predict_quantiles(X[350:], [0.1, 0.5, 0.9]).T
        >>> bool((low <= median).all() and (median <= high).all())
        True
        >>> bool(0.65 < ((low <= y[350:]) & (y[350:] <= high)).mean() < 0.95)
        True
        """
        check_levels(levels)
        parts = list(self._distributions(X, offset, "predict_quantiles", lambda part: part.quantile(levels)))
        return np.concatenate(parts)

    def predict_distribution(self, X: Any, offset: Any = None) -> Distribution:
        """Predict the distribution of the target of each row.

        The errors of training rows out of bag, around the prediction. They count by the leaves that their rows share
        with the new one [1]_ and are scaled by how large errors are there; the levels are corrected so that the
        training rows, each judged by the others, are spread evenly over them [2]_. Needs a forest as
        `predict_interval` does; model files of format 4 and older do not have what it takes.

        Returns
        -------
        distribution : Distribution
            Discrete distributions, of at most 2,000 values for each row, with the methods ``quantile(levels)``,
            ``cdf(y)``, ``sample(n, random_state)``, ``mean()`` and ``crps(y)``.

        References
        ----------
        .. [1] N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research 7, 2006.
        .. [2] V. Chernozhukov, K. Wuthrich, Y. Zhu, "Distributional conformal prediction", PNAS 118, 2021.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = BoostForestRegressor(50, random_state=0).fit(X[:350], y[:350])
        >>> distribution = forest.predict_distribution(X[350:])
        >>> distribution.sample(3, random_state=0).shape
        (92, 3)
        >>> bool(20 < distribution.crps(y[350:]).mean() < 40)
        True
        """
        parts = list(self._distributions(X, offset, "predict_distribution", lambda part: part))
        return Distribution(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "cumulative")))

    def _distributions(self, X: Any, offset: Any, method: str, take: Callable[[Distribution], T]) -> Iterator[T]:
        """Yield what is taken of the distributions, some rows at a time."""
        model, X, in_scores = self._read_with(X, offset, method)
        local = _local(model, method)
        return map(take, model.distributions(X, local, self._threads(), in_scores))

    def staged_predict(self, X: Any, offset: Any = None) -> Iterator[Floats]:
        """Predict with the first tree, the first two, and so on.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Prediction of the trees so far.
        """
        for model, outputs in self._staged_outputs(X, offset):
            yield model.loss.decode(outputs)


def _kept(model: Model, method: str) -> LeftOut:
    """Return the out-of-bag errors of a regressor, or say why there are none."""
    if isinstance(model.loss, AcceleratedFailureTime):
        raise ValueError(f"{method} needs targets that are known, and with loss='aft' some are censored.")
    kept: LeftOut = learned(model.known.left_out, method)
    return kept


def _local(model: Model, method: str) -> LocalErrors:
    """Return the same with leaves, or say why they are not there."""
    local = _kept(model, method).local
    if local is None:
        raise AttributeError(
            f"{method} needs the leaves of at least two training rows that some tree has left out; model files of "
            "format 4 and older do not have them: fit the forest again."
        )
    return local


@stored
@declared
class BoostForestClassifier(ForestMixin, StagedLabelsMixin, ReportMixin, BoostClassifier):
    """A forest of boosted classification trees with linear models at their nodes.

    Each tree is a :class:`BoostTreeClassifier` grown on a bootstrap replica with parameters drawn from pools; the
    forest averages the trees' probabilities. That is all of it with ``preset="paper"``. By default the pool adapts to
    the table, stages and boosted trees are added where the rows that were not drawn say that they help, and
    probabilities are calibrated; nothing needs tuning.

    {parameters}

    {attributes}

    See Also
    --------
    BoostTreeClassifier : A single tree.

    {pools}

    {references}

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

    _left_open = frozenset({"shared_hessian"})

    shared_hessian: Any = pooled(
        default=None,
        rule=BOOL,
        doc="""bool or None
        With three and more classes: give a row the same weight in the node models of all classes, the largest of its
        second derivatives, instead of one for each. All classes of a node are then solved at once, which takes half of
        the time and less with many classes; the probabilities are about as good once they are calibrated, and too
        cautious before. Node models in Python do not share. None: in forests that are calibrated, unless
        `preset="paper"`.""",
    )
    calibrate: Any = argument(
        default=None,
        doc="""{False, "temperature", "isotonic", "auto"} or None
        Calibrate probabilities by what was seen out of bag: all log-odds times one factor, or a rising step function
        per class; "auto" is the factor. None: as the preset has it ("auto", "temperature", False).""",
    )

    def _learned_out_of_bag(self, model: Model, outputs: Floats, seen: Mask, y: Labels, data: TrainingData) -> Known:
        p: Any = model.loss.decode(outputs)
        weight = data.sampling.sample_weight
        if isinstance(model.loss, ClassTargets):
            if not self.oob_score:
                return model.known
            score = score_several(self.oob_score, y, labels_of_all(all_classes(model.loss), p), seen, weight)
            return replace(model.known, prediction=p, score=score)
        scores, of_rows = conformity(p, model.loss.encode(y).astype(np.intp), seen, weight)
        known = replace(model.known, conformity=scores, conformity_weight=of_rows)
        if not self.oob_score:
            return known
        return replace(
            known, prediction=p, score=score_rows(self.oob_score, y, p, classes_of(model.loss), seen, weight)
        )

    def predict_set(self, X: Any, coverage: float = 0.9, offset: Any = None) -> Mask:
        """Predict sets of classes that hold the true one with the given probability.

        A class is in the set if it is no less probable than the true classes of that share of the training rows were,
        out of bag (conformal prediction). Needs a forest that was fitted with ``oob_score=True``, or with stages, an
        adaptive pool or calibration, as the default is.

        Parameters
        ----------
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
        require_one(self._fitted(), "predict_set")
        model, outputs = self._outputs(X, offset)
        scores = learned(model.known.conformity, "predict_set")
        return conformal_sets(model.loss.decode(outputs), scores, model.known.conformity_weight, coverage)

    def _staged_probabilities(self, X: Any) -> Iterator[tuple[Labels, Floats]]:
        for model, outputs in self._staged_outputs(X):
            yield all_classes(model.loss), model.loss.decode(outputs)
