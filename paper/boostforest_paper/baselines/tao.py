"""TAO: an oblique decision tree with linear leaves, by alternating optimisation."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._product import (
    Floats,
    Indices,
    argument,
    check_sample_weight,
    class_weights,
    declared,
    entropy_of,
    mean_and_deviation,
    warn_if_one_class,
)
from .base import DOCS, Baseline
from .checks import check_choice, check_integer, check_real
from .predicting import ProbabilitiesMixin, of_rows
from .tao_docs import WORDS, TAOArguments
from .tao_optimiser import TAOOptimiser
from .tao_tree import cart_start, random_start

_STARTS = {"cart": cart_start, "random": random_start}
_LOSSES = ("log_loss", "zero_one")
_MAX_DEPTH = 20  # a complete tree of random directions has twice as many nodes with every level


@declared
class TAOClassifier(ProbabilitiesMixin, Baseline, TAOArguments):
    """TAO-l: a decision tree with oblique splits and linear softmax leaves, by tree alternating optimisation.

    CART grows a tree and never looks back. TAO goes through its nodes again and again, and replaces each decision by
    the hyperplane, each leaf by the linear classifier that is best for the rest of the tree. The tree gets smaller and
    more accurate, never larger.

    {parameters}

    Attributes
    ----------
    tree_ : TAOTree
        The tree as NumPy columns; hyperplanes and models are those of scaled features.
    objectives_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and each time that all nodes have been gone through, before dead ends are cut off.
    n_iter_ : int
        How often all nodes have been gone through.
    n_leaves_ : int
        Number of leaves.
    {classes}
    feature_mean_, feature_scale_ : ndarray of shape (n_features_in_,)
        Means and standard deviations of the training rows.
    {features}

    See Also
    --------
    BaggedTAOClassifier : Many of them, on bootstrap replicas.
    boostforest.model_trees.LMTClassifier : A tree with linear leaves and splits on one feature.

    Notes
    -----
    {notes}

    References
    ----------
    {references}

    Examples
    --------
    >>> from boostforest_paper.baselines import TAOClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = TAOClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> bool(tree.objectives_[-1] < tree.objectives_[0] / 3)
    True
    >>> bool(tree.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _words = DOCS | WORDS

    class_weight: Any = argument(
        default=None,
        doc="""dict, "balanced" or None
        Weights of the classes; they multiply `sample_weight`.""",
    )
    random_state: Any = argument(
        default=None,
        doc="""int, RandomState instance, Generator or None
        Seed of the start: random directions, or the order in which CART looks at equally good splits.""",
    )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        seed = int(np.random.SeedSequence(entropy_of(self.random_state)).generate_state(1)[0]) >> 1
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weight = check_sample_weight(sample_weight, len(y))
        self.classes_, codes = np.unique(y, return_inverse=True)
        codes = codes.reshape(-1)
        self.n_classes_ = len(self.classes_)
        warn_if_one_class(self.classes_)
        if self.class_weight is not None:
            per_row = class_weights(self.class_weight, self.classes_, codes, weight)
            weight = per_row if weight is None else weight * per_row
        weight = np.ones(len(codes)) if weight is None else weight
        used = weight > 0
        X, codes, weight = X[used], codes[used], weight[used]
        self.feature_mean_, self.feature_scale_ = mean_and_deviation(X, weight)
        scaled = self._scale(X)
        n_classes = max(2, self.n_classes_)
        start = _STARTS[self.init](scaled, codes, weight, n_classes, int(self.max_depth), seed)
        optimiser = TAOOptimiser(start, scaled, codes, weight, n_classes, float(self.reg_alpha), self.loss)
        self.objectives_ = np.array(optimiser.run(int(self.max_iter)))
        self.tree_ = start.without_dead_ends(optimiser.node_weights())

    def _check_parameters(self) -> None:
        check_integer("max_depth", self.max_depth, 0, _MAX_DEPTH)
        check_integer("max_iter", self.max_iter, 0)
        check_real("reg_alpha", self.reg_alpha, 0)
        check_choice("init", self.init, tuple(_STARTS))
        check_choice("loss", self.loss, _LOSSES)

    def _scale(self, X: Floats) -> Floats:
        scaled: Floats = np.ascontiguousarray((X - self.feature_mean_) / self.feature_scale_)
        return scaled

    def _check_rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._scale(validate_data(self, X, reset=False, dtype=np.float64))

    @property
    def n_iter_(self) -> int:
        """How often all nodes have been gone through."""
        check_is_fitted(self)
        return len(self.objectives_) - 1

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.coef)

    @of_rows("leaves : ndarray of shape (n_samples,)", "Number of the leaf's node.")
    def apply(self, X: Any) -> Indices:
        """Return the leaf that each row falls into."""
        X = self._check_rows(X)
        return self.tree_.leaves(X, np.zeros(len(X), dtype=np.intp))

    def _final_score(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        X = self._check_rows(X)
        if self.n_classes_ == 1:
            return np.ones((len(X), 1))
        scores = self.tree_.scores(X, self.tree_.leaves(X, np.zeros(len(X), dtype=np.intp)))
        if self.n_classes_ == 2:
            return np.hstack([expit(-scores), expit(scores)])
        p: Floats = softmax(scores, axis=1)
        return p
