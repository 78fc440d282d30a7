"""What LMT and SimpleLogistic share: fitting through the core, and prediction with a tree of logistic models."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from .._base.arrays import ReadOnlyColumns, check_sample_weight, class_weights, mean_and_deviation
from .._base.draws import entropy_of
from .._base.validation import warn_if_one_class
from .._estimator.show import ShownNode, linear_model, number
from .._estimator.snapshot import fitted_aside, on_snapshot
from .._features.features import with_columns_of_fit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(eq=False, frozen=True)
class LogisticTree(ReadOnlyColumns):
    """A fitted tree; one value per node unless said otherwise. Children stand behind their parent, side by side."""

    feature: Ints  #: split feature, -1 for a leaf
    threshold: Floats  #: ``x[feature] <= threshold`` goes left; a value of the training table
    left: Ints  #: left child; the right one is ``left + 1``; 0 for a leaf
    n_samples: Floats  #: weight of the training rows that reached the node
    wrong: Floats  #: weight of those that the node's own model gets wrong
    gain: Floats  #: information gain of the split in bits, times ``n_samples``; 0 for a leaf
    n_iter: Ints  #: LogitBoost iterations at the node; its model continues that of its parent
    model: Ints  #: number of the leaf's model, -1 for other nodes
    params: Floats  #: models × outputs × (intercept, one slope per scaled feature)


class LogisticTreeClassifier(ClassifierMixin, BaseEstimator):
    """A tree of logistic models; SimpleLogistic is a tree of one node."""

    n_iter: int | None
    max_iter: int
    n_iter_no_change: int
    use_aic: bool
    error_on_probabilities: bool
    class_weight: Any
    shuffle: bool
    random_state: Any

    tree_: LogisticTree
    classes_: npt.NDArray[Any]
    n_classes_: int
    n_iter_: int
    n_features_in_: int
    feature_mean_: Floats
    feature_scale_: Floats

    # ------------------------------------------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, all numbers; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative; a row of weight 2 counts as two rows, which stay together when rows are
            dealt into folds.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with fitted_aside(self) as twin:
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        entropy = entropy_of(self.random_state)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        weight = check_sample_weight(sample_weight, len(y))
        codes = self._encode_classes(y)
        if self.class_weight is not None:
            per_row = class_weights(self.class_weight, self.classes_, codes, weight)
            weight = per_row if weight is None else weight * per_row
        self.feature_mean_, self.feature_scale_ = mean_and_deviation(X, weight)
        rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        if self.shuffle and self._needs_folds():
            rows = np.random.default_rng(entropy).permutation(rows)
        weight = np.ones(len(rows)) if weight is None else weight[rows]
        self.tree_ = self._grow(X[rows], codes[rows].astype(np.float64), weight)
        self.n_iter_ = int(self.tree_.n_iter[0])

    def _grow(self, X: Floats, codes: Floats, weight: Floats) -> LogisticTree:
        with np.errstate(over="ignore"):
            scaled = (X - self.feature_mean_) / self.feature_scale_
        missing = np.isnan(X)
        tree = _core.lmt_fit(
            np.ascontiguousarray(np.where(missing, self.feature_mean_, X).T),
            np.ascontiguousarray(np.where(missing, 0.0, scaled).T),
            codes,
            weight,
            max(2, self.n_classes_),
            n_iter=0 if self.n_classes_ == 1 else -1 if self.n_iter is None else int(self.n_iter),
            max_iter=int(self.max_iter),
            patience=int(self.n_iter_no_change),
            use_aic=bool(self.use_aic),
            error_on_probabilities=bool(self.error_on_probabilities),
            **self._tree_rules(),
        )
        if not math.isfinite(tree["params"].sum()):
            raise ValueError("X has values too large to compute with; rescale them.")
        tree["params"] = tree["params"].reshape(-1, self._n_outputs, 1 + X.shape[1])
        return LogisticTree(**tree)

    def _tree_rules(self) -> dict[str, Any]:
        """Return what the core has to know about splits."""
        return {"split": False, "prune": False, "choose_at_every_node": False, "min_split": 0.0, "min_leaf": 0.0}

    def _needs_folds(self) -> bool:
        return self.n_iter is None and not self.use_aic

    def _encode_classes(self, y: Any) -> npt.NDArray[np.intp]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        warn_if_one_class(self.classes_)
        return codes.reshape(-1)

    def _check_parameters(self) -> None:
        if self.n_iter is not None:
            self._check_integer("n_iter", 0, " or None")
        self._check_integer("max_iter", 0)
        self._check_integer("n_iter_no_change", 0)
        for name in ("use_aic", "error_on_probabilities", "shuffle"):
            self._check_bool(name)

    def _check_integer(self, name: str, low: int, other: str = "") -> None:
        value = getattr(self, name)
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not low <= int(value) < 2**31:
            raise ValueError(f"{name} must be an integer from {low} to 2^31 - 1{other}; got {value!r}.")

    def _check_bool(self, name: str) -> None:
        if not isinstance(getattr(self, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")

    # --------------------------------------------------------------------------------------------------- prediction

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = with_columns_of_fit(self, X)
        checked: Floats = validate_data(
            self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
        )
        return checked

    @property
    def _n_outputs(self) -> int:
        return 1 if self.n_classes_ <= 2 else self.n_classes_

    def _core_tree(self) -> _core.LogisticTree:
        """Return the core's checked view of the tree."""
        tree = self.tree_
        columns = (tree.feature, tree.threshold, tree.left, tree.model, tree.params.reshape(-1))
        return _core.LogisticTree(*columns, self.feature_mean_, self.feature_scale_, self._n_outputs)

    @on_snapshot
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function: a score for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The log-odds of the second of two classes, or the class functions of more, which add up to zero.
        """
        score = self._scores(X)
        return score[:, 0] if self.n_classes_ <= 2 else score

    def _scores(self, X: Any) -> Floats:
        X = self._check_rows(X)
        score = np.empty((len(X), self._n_outputs))
        self._core_tree().predict(X, score)
        return score

    @on_snapshot
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, classes in the order of ``classes_``.
        """
        score = self._scores(X)
        if self.n_classes_ == 1:
            return np.ones((len(score), 1))
        if self.n_classes_ == 2:
            return np.hstack([expit(-score), expit(score)])
        p: Floats = softmax(score, axis=1)
        return p

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of ``predict_proba``; -inf where a probability has rounded to 0.
        """
        with np.errstate(divide="ignore"):
            log_p: Floats = np.log(self.predict_proba(X))
        return log_p

    @on_snapshot
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The most probable class of each row.
        """
        p = self.predict_proba(X)
        labels: npt.NDArray[Any] = self.classes_[p.argmax(axis=1)]
        return labels

    # --------------------------------------------------------------------------------------------------- inspection

    def _linear_models(self) -> tuple[Floats, Floats]:
        """Return intercepts (models × outputs) and slopes (models × outputs × features) for features as they are."""
        slopes: Floats = self.tree_.params[:, :, 1:] / self.feature_scale_
        intercepts: Floats = self.tree_.params[:, :, 0] - slopes @ self.feature_mean_
        return intercepts, slopes

    def _shown_nodes(self, feature_names: list[str], digits: int) -> list[ShownNode]:
        """Return the nodes in words; see ``_show``."""
        tree = self.tree_
        n_iter = tree.n_iter.astype(np.int64)  # on the path
        intercepts, slopes = self._linear_models()
        shown = []
        for i, feature in enumerate(tree.feature):
            error = 100 * tree.wrong[i] / tree.n_samples[i]
            summary = f"{tree.n_samples[i]:g} rows, {n_iter[i]} iterations, error {error:.1f} %"
            if feature >= 0:
                left = int(tree.left[i])
                n_iter[left : left + 2] += n_iter[i]
                name, threshold = feature_names[feature], number(tree.threshold[i], digits)
                shown.append(ShownNode(summary, (left, left + 1), (f"{name} <= {threshold}", f"{name} > {threshold}")))
                continue
            functions = zip(self._function_names(), intercepts[tree.model[i]], slopes[tree.model[i]], strict=True)
            lines = [line for f in functions for line in linear_model(*f, feature_names, digits)]
            shown.append(ShownNode(summary, model=tuple(lines)))
        return shown

    def _function_names(self) -> list[str]:
        """Return what the outputs are called."""
        if self.n_classes_ <= 2:
            return [f"log-odds of {self.classes_[-1]}"]
        return [f"F({label})" for label in self.classes_]
