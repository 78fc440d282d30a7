"""Fitting and prediction of boosted piecewise linear trees."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted, validate_data

from .._product import (
    Floats,
    Ints,
    Longs,
    ReadOnlyColumns,
    _core,
    check_sample_weight,
    mean_and_deviation,
    n_threads,
    on_snapshot,
)
from .base import Baseline
from .checks import check_integer, check_real
from .gbdt_pl_bins import WIDTH, make_bins

_UNLIMITED = 2**31 - 1


@dataclass(eq=False, frozen=True)
class PiecewiseTrees(ReadOnlyColumns):
    """Fitted trees one after another, as many per round as there are outputs; one value per node unless said otherwise.

    Children stand behind their parent, side by side. Thresholds and slopes are those of scaled features.
    """

    tree_start: Longs  #: first node of each tree, then the number of nodes
    feature: Ints  #: split feature, -1 for a leaf
    threshold: Floats  #: ``x[feature] <= threshold`` goes left
    left: Ints  #: left child, counted from the tree's first node; the right one is the next; 0 for a leaf
    gain: Floats  #: what the split takes off the loss; 0 for a leaf
    n_samples: Floats  #: weight of the training rows that reached the node
    intercept: Floats  #: of a leaf's model, times the learning rate; 0 for an inner node
    term_start: Longs  #: first term of each node's model, then the number of terms
    term_feature: Ints  #: per term: its feature
    term_slope: Floats  #: per term: its slope, times the learning rate


@dataclass(eq=False, repr=False)
class GBDTPLBase(Baseline):
    """What the regressor and the classifier share."""

    n_estimators: int = 100
    _: KW_ONLY
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    max_var: int = 5
    max_bins: int = 255
    reg_lambda: float = 0.01
    reg_alpha: float = 0.0
    min_child_weight: float = 1e-3
    min_samples_leaf: int = 20
    n_jobs: int | None = None

    # ------------------------------------------------------------------------------------------------------ fitting

    @abstractmethod
    def _encode_target(self, y: Any, weight: Floats) -> tuple[Floats, int, Floats]:
        """Return the target for the core, the number of classes (0: regression) and the scores to start from."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        threads = n_threads(self.n_jobs)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=is_regressor(self))
        weight = check_sample_weight(sample_weight, len(y))
        if weight is None:
            weight = np.ones(len(y))
        elif not weight.all():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        target, n_classes, self.base_score_ = self._encode_target(y, weight)
        self.feature_mean_, self.feature_scale_ = mean_and_deviation(X, weight)
        scaled = self._scale(X)
        bins = make_bins(scaled, weight, int(self.max_bins))
        columns = _core.gbdt_pl_fit(
            np.ascontiguousarray(scaled.T),
            bins.codes,
            bins.n,
            bins.mean,
            bins.end,
            target,
            weight,
            n_classes,
            self.base_score_,
            n_rounds=0 if getattr(self, "n_classes_", 2) == 1 else int(self.n_estimators),
            learning_rate=float(self.learning_rate),
            max_leaves=int(self.max_leaf_nodes),
            max_depth=_UNLIMITED if self.max_depth is None else int(self.max_depth),
            max_regressors=int(self.max_var),
            reg_lambda=float(self.reg_lambda),
            reg_alpha=float(self.reg_alpha),
            min_child_weight=float(self.min_child_weight),
            min_samples_leaf=float(self.min_samples_leaf),
            n_threads=threads,
        )
        if not np.isfinite(columns["intercept"].sum() + columns["term_slope"].sum()):
            raise ValueError("The models of the leaves overflow: rescale X and y, or choose a larger reg_lambda.")
        self.trees_ = PiecewiseTrees(**columns)

    def _check_parameters(self) -> None:
        for name, low in (("n_estimators", 1), ("max_leaf_nodes", 1), ("max_var", 0), ("min_samples_leaf", 1)):
            check_integer(name, getattr(self, name), low)
        check_integer("max_depth", self.max_depth, 1, none=True)
        check_integer("max_bins", self.max_bins, 2, WIDTH)
        for name in ("reg_lambda", "reg_alpha", "min_child_weight"):
            check_real(name, getattr(self, name), 0)
        check_real("learning_rate", self.learning_rate, 0, strict=True)

    # --------------------------------------------------------------------------------------------------- prediction

    def _scale(self, X: Floats) -> Floats:
        scaled: Floats = (X - self.feature_mean_) / self.feature_scale_
        return scaled

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._scale(validate_data(self, X, reset=False, dtype=np.float64, order="C"))

    @property
    @on_snapshot
    def n_estimators_(self) -> int:
        """Number of rounds."""
        check_is_fitted(self)
        return (len(self.trees_.tree_start) - 1) // len(self.base_score_)

    def _core_trees(self) -> _core.PiecewiseTrees:
        """Return the core's checked view of the trees."""
        return _core.PiecewiseTrees(vars(self.trees_), self.n_features_in_, len(self.base_score_))

    def _scores(self, X: Any) -> Floats:
        """Return the scores of all rounds, one column per output."""
        X = self._check_rows(X)
        scores = np.tile(self.base_score_, (len(X), 1))
        self._core_trees().add_scores(X, 0, self.n_estimators_, scores, n_threads(self.n_jobs))
        return scores

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after every round; the array is the same each time."""
        X = self._check_rows(X)
        trees, threads = self._core_trees(), n_threads(self.n_jobs)
        scores = np.tile(self.base_score_, (len(X), 1))
        for i in range(self.n_estimators_):
            trees.add_scores(X, i, i + 1, scores, threads)
            yield scores

    @property
    @on_snapshot
    def feature_importances_(self) -> Floats:
        """Share of each feature in the loss that the splits take away; all 0 without a split."""
        check_is_fitted(self)
        inner = self.trees_.feature >= 0
        gain = np.zeros(self.n_features_in_)
        np.add.at(gain, self.trees_.feature[inner], self.trees_.gain[inner])
        shares: Floats = gain / max(gain.sum(), np.finfo(np.float64).tiny)
        return shares
