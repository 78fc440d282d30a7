"""LogitBoost: additive logistic regression by Newton steps, each fitted by a regressor."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.tree import DecisionTreeRegressor

from .._product import Array, Entropy, Floats, centred, fill_docstring
from .base import DOCS
from .boosting import BoostedEstimators, Members, Training, member_seeds, two_columns
from .checks import check_choice, check_real

_LEAST_WEIGHT = 2 * np.finfo(np.float64).eps


@fill_docstring(DOCS)
@dataclass(eq=False, repr=False)
class LogitBoostClassifier(BoostedEstimators):
    """LogitBoost: an additive logistic model of regressors, fitted by Newton steps.

    Minimises the weighted log-loss ``-Σ w log p(y | x)`` over ``F = Σ f_t``, where ``p`` is the logistic function of F
    for two classes and the softmax of one F per class for more [1]_. A round computes, for each class,
    ``z = (y - p) / (p (1 - p))``, fits a regressor to z with the weights ``p (1 - p)``, and adds it to F.

    Parameters
    ----------
    estimator : regressor, default=None
        What is fitted in each round, once per class if there are more than two; its `fit` must take `sample_weight`.
        None: a decision stump, ``DecisionTreeRegressor(max_depth=1)``.
    n_estimators : int, default=100
        Rounds.
    learning_rate : float, default=1.0
        Factor on what a round adds to F, above 0.
    z_max : float, default=4.0
        The pseudo-labels z are kept within ±z_max; values from 2 to 4 are usual.
    clipped_weight : {"newton", "gradient"}, default="newton"
        Weight of a row whose pseudo-label was clipped: ``p (1 - p)`` as for all others, or ``|y - p| / z_max``. With
        the latter, weight times pseudo-label is still the gradient; Weka does this, with `z_max` 3.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the regressors that take one.

    Attributes
    ----------
    estimators_ : list of list of estimators
        The regressors of each round: one for two classes, one per class for more.
    {classes}
    {features}

    See Also
    --------
    boostforest.model_trees.SimpleLogisticClassifier : LogitBoost with one linear regression at a time.

    Notes
    -----
    As in supplementary algorithm 1 of [2]_. What a round adds is centred over more than two classes:
    ``f_j ← (J-1)/J (f_j - mean of f)``. Weights are at least twice the machine's epsilon. In [1]_ F is half the
    log-odds for two classes; here it is the log-odds, which gives the same probabilities. The weights of a round are
    scaled to the sum of those of the rows, as in Weka, so that a penalty of the regressor means the same in all rounds.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression: a statistical view of boosting", The
       Annals of Statistics, 2000.
    .. [2] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest_paper.baselines import LogitBoostClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(cross_val_score(LogitBoostClassifier(), X, y).mean() > 0.95)
    True
    """

    _tree = DecisionTreeRegressor(max_depth=1)

    estimator: Any = None
    n_estimators: int = 100
    _: KW_ONLY
    learning_rate: float = 1.0
    z_max: float = 4.0
    clipped_weight: str = "newton"
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("learning_rate", self.learning_rate, 0, strict=True)
        check_real("z_max", self.z_max, 0, strict=True)
        check_choice("clipped_weight", self.clipped_weight, ("newton", "gradient"))

    def _boost(self, training: Training, entropy: Entropy) -> None:
        members = self._members()
        X, codes, weight = training
        n_outputs = 1 if self.n_classes_ == 2 else self.n_classes_
        targets = (codes == np.arange(2 - n_outputs if n_outputs == 1 else 0, self.n_classes_)[:, None]).astype(float)
        score = np.zeros((n_outputs, len(codes)))
        seeds = iter(member_seeds(entropy, self.n_estimators * n_outputs))
        self.estimators_: list[list[Any]] = []
        for _ in range(self.n_estimators):
            p = self._p_of(score)
            fitted = []
            for y, p_own in zip(targets, p, strict=True):
                z, w = self._working_labels(y, p_own)
                w *= weight
                fitted.append(members.fit(X, z, w * (weight.sum() / w.sum()), next(seeds)))
            self.estimators_.append(fitted)
            score += self._step(members, fitted, X)

    def _working_labels(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Return pseudo-labels and weights."""
        w = np.maximum(p * (1 - p), _LEAST_WEIGHT)
        z = np.clip((y - p) / w, -self.z_max, self.z_max)
        if self.clipped_weight == "gradient":
            w = np.maximum((y - p) / np.where(z == 0, 1.0, z), _LEAST_WEIGHT)
        return z, w

    def _step(self, members: Members, fitted: list[Any], X: Any) -> Floats:
        """Return what a round adds: outputs × rows."""
        outputs = np.array([members.predict(member, X) for member in fitted], dtype=np.float64)
        return self.learning_rate * centred(outputs.reshape(len(fitted), len(X)))

    @staticmethod
    def _p_of(score: Floats) -> Array:
        return np.asarray(expit(score) if len(score) == 1 else softmax(score, axis=0))

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        members = self._members()
        score = np.zeros((len(self.estimators_[0]), len(X)))
        for fitted in self.estimators_:
            score += self._step(members, fitted, X)
            yield score[0] if len(score) == 1 else score.T

    def _proba_of(self, score: Floats) -> Floats:
        if score.ndim == 1:
            return two_columns(expit(score))
        p: Floats = softmax(score, axis=1)
        return p
