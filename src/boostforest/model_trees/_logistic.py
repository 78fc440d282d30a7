"""What LMT and SimpleLogistic share: fitting through the core, and prediction with a tree of logistic models."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from .. import _core
from .._base.arrays import ReadOnlyColumns, check_sample_weight, class_weights, mean_and_deviation
from .._base.declare import BOOL, argument, declared, integer
from .._base.draws import entropy_of
from .._base.typing import Array, Floats, Ints, Labels
from .._estimator.arguments import ClassArguments
from .._estimator.classifier import LabelsMixin, find_classes
from .._estimator.docs import CLASS_ATTRIBUTES
from .._estimator.show import ShownNode, linear_model, number
from .._estimator.snapshot import on_snapshot
from ._model_tree import ModelTree


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


@declared
class LogitBoostArguments:
    """How the models of nodes are fitted."""

    n_iter: int | None = argument(
        default=None,
        rule=integer(0, none=-1),
        doc="""int
        Number of LogitBoost iterations; None chooses it by cross-validation in five folds (Weka's ``-I``).""",
    )
    max_iter: int = argument(
        default=200,
        rule=integer(0),
        doc="""int
        The largest number that is chosen.""",
    )
    n_iter_no_change: int = argument(
        default=50,
        rule=integer(0),
        doc="""int
        Stop looking for the number of iterations after so many without a new minimum; 0 goes on to `max_iter`.""",
    )
    use_aic: bool = argument(
        default=False,
        rule=BOOL,
        doc="""bool
        Choose the number of iterations by Akaike's criterion on the training rows, without folds: faster (Weka's
        ``-A``).""",
    )
    error_on_probabilities: bool = argument(
        default=False,
        rule=BOOL,
        doc="""bool
        Cross-validate the mean absolute error of the probabilities, not the share of wrong classes (Weka's ``-P``).""",
    )
    shuffle: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Shuffle the rows before they are dealt into folds, class by class. False deals them in their order, as Weka
        does.""",
    )
    random_state: Any = argument(
        default=None,
        doc="""int, RandomState instance, Generator or None
        Seed of the shuffle. Nothing else is random.""",
    )


class LogisticTreeClassifier(ClassArguments, LogitBoostArguments, LabelsMixin, ModelTree):
    """A tree of logistic models; SimpleLogistic is a tree of one node."""

    _words: ClassVar = {
        "or_balanced": "",
        "but_weights": ".",
        "references": """\
References
----------
.. [1] N. Landwehr, M. Hall, E. Frank, "Logistic model trees", Machine Learning 59, 161-205, 2005.
.. [2] M. Sumner, E. Frank, M. Hall, "Speeding up logistic model tree induction", Knowledge Discovery in Databases:
   PKDD 2005, 675-683, 2005.""",
    }
    _attributes = (
        CLASS_ATTRIBUTES
        + """\
n_iter_ : int
    LogitBoost iterations of the root's model.
tree_ : LogisticTree
    The model as NumPy columns.
feature_mean_, feature_scale_ : ndarray of shape (n_features,)
    Means and standard deviations of the training rows; missing values are replaced by the means.
"""
    )

    tree_: LogisticTree
    classes_: Array
    n_classes_: int
    n_iter_: int
    n_features_in_: int
    feature_mean_: Floats
    feature_scale_: Floats

    # ------------------------------------------------------------------------------------------------------ fitting

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        entropy = entropy_of(self.random_state)
        X, y = self._check_training(X, y)
        weight = check_sample_weight(sample_weight, len(y))
        self.classes_ = find_classes(y, None)
        self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
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

    # --------------------------------------------------------------------------------------------------- prediction

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
    def _probabilities(self, X: Any) -> tuple[Labels, Floats]:
        score = self._scores(X)
        if self.n_classes_ == 1:
            return self.classes_, np.ones((len(score), 1))
        if self.n_classes_ == 2:
            return self.classes_, np.hstack([expit(-score), expit(score)])
        return self.classes_, softmax(score, axis=1)

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
