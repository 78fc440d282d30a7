"""GBDT-PL: gradient boosting of piecewise linear trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.multiclass import check_classification_targets

from .._product import Floats, fill_docstring, warn_if_one_class
from . import gbdt_pl_docs as docs
from .base import DOCS
from .gbdt_pl_base import GBDTPLBase
from .predicting import StagedNumbersMixin, StagesMixin


@fill_docstring(
    docs.body(
        "GBDTPLClassifier : The classifier.\nboostforest.BoostForestRegressor : A forest of boosted model trees.",
        base="the mean of the target",
        loss="squared error: g = F − y, h = 1",
        start="As in the code, scores start from the mean.",
    )
)
class GBDTPLRegressor(StagedNumbersMixin, GBDTPLBase):
    """GBDT-PL for regression: gradient boosting of trees with linear models at their leaves.

    Histogram-based like LightGBM, but a split is judged by the linear models that it makes possible, not by constants.
    Few and small trees do where the target is smooth. Deterministic: nothing is drawn.

    {body}

    Examples
    --------
    >>> from boostforest_paper.baselines import GBDTPLRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(1000, random_state=0)
    >>> model = GBDTPLRegressor(50, max_leaf_nodes=8).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.95)
    True
    """

    def _encode_target(self, y: Any, weight: Floats) -> tuple[Floats, int, Floats]:
        y = np.ascontiguousarray(y, dtype=np.float64)
        return y, 0, np.array([np.average(y, weights=weight)])

    def _values(self, X: Any) -> Floats:
        return self._scores(X)[:, 0]

    def _staged_values(self, X: Any) -> Iterator[Floats]:
        for scores in self._staged_scores(X):
            yield scores[:, 0].copy()


@fill_docstring(
    docs.body(
        "GBDTPLRegressor : The regressor.\nboostforest.BoostForestClassifier : A forest of boosted model trees.",
        base="the log-odds of the second of two classes, or the logarithms of the shares of more",
        loss="logistic or, for more than two classes, softmax cross-entropy: g = p − y, h = p (1 − p)",
        start="Scores start from the shares of the classes, where the code has 0.",
        classes=DOCS["classes"],
    )
)
class GBDTPLClassifier(StagesMixin, GBDTPLBase):
    """GBDT-PL for classification: gradient boosting of trees with linear models at their leaves.

    Histogram-based like LightGBM, but a split is judged by the linear models that it makes possible, not by constants.
    For more than two classes every round grows one tree per class. Deterministic: nothing is drawn.

    {body}

    Examples
    --------
    >>> from boostforest_paper.baselines import GBDTPLClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GBDTPLClassifier(20, max_leaf_nodes=4).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def _encode_target(self, y: Any, weight: Floats) -> tuple[Floats, int, Floats]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        warn_if_one_class(self.classes_)
        codes = codes.reshape(-1)
        logs = np.log(np.bincount(codes, weights=weight) / weight.sum())
        if self.n_classes_ == 1:
            return codes.astype(np.float64), 2, np.zeros(1)
        start = logs[1:] - logs[0] if self.n_classes_ == 2 else logs - logs.mean()
        return codes.astype(np.float64), self.n_classes_, start

    def _score_of(self, scores: Floats) -> Floats:
        return scores[:, 0].copy() if self.n_classes_ <= 2 else scores

    def _final_score(self, X: Any) -> Floats:
        return self._score_of(self._scores(X))  # a single class has score 0

    def _stages(self, X: Any) -> Iterator[Floats]:
        yield from map(self._score_of, self._staged_scores(X))

    def _proba_of(self, score: Floats) -> Floats:
        if self.n_classes_ == 1:
            return np.ones((len(score), 1))
        if self.n_classes_ == 2:
            return np.column_stack([expit(-score), expit(score)])
        p: Floats = softmax(score, axis=1)
        return p

    def _log_proba_of(self, score: Floats) -> Floats:
        """Return logarithms that are exact where probabilities are next to 0."""
        if self.n_classes_ == 1:
            return np.zeros((len(score), 1))
        if self.n_classes_ == 2:
            return np.column_stack([log_expit(-score), log_expit(score)])
        log_p: Floats = log_softmax(score, axis=1)
        return log_p
