"""DeepBoost: boosting of trees of several depths, where larger trees have to pay for their size."""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

from .._product import Entropy, Floats, fill_docstring
from .base import DOCS
from .boosting import BoostedClassifier, Members, Training, member_seeds, two_columns
from .checks import check_choice, check_integer, check_real
from .vote_trees import GrownTree, VoteTree

_LEAST_ERROR = 1e-10  # keeps the step of a tree without error finite where there is no penalty
_LEAST_STEP = 1e-10
_LEAST_SLOPE = 1e-300  # of the loss, per row: there is nothing left to learn


@fill_docstring(DOCS)
@dataclass(eq=False, repr=False)
class DeepBoostClassifier(BoostedClassifier):
    """DeepBoost for two classes: trees of several depths in one ensemble, with a penalty on their complexity.

    Minimises, over ``f = Σ α_k h_k`` with trees h = ±1, the objective ::

        1/m Σ_i w_i Φ(1 - y_i f(x_i)) + Σ_k (lambda_ r_k + beta) |α_k|,    Φ(u) = exp(u) or log2(1 + exp(u)),

    by coordinate descent [1]_, y = ±1 and m the sum of the weights. A tree of n splits pays for its Rademacher
    complexity, of which ``r = sqrt((4 n + 2) log2(d + 2) ln(m + 1) / m)`` is a bound (d features). Every round takes
    the tree along which the objective falls fastest, among those that it has and new ones of depth 1, 2, …
    `max_depth`, and goes to the minimum along it, so deep trees come in where they pay.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the trees at the most.
    n_estimators : int, default=100
        Rounds at the most.
    loss : {"exponential", "logistic"}, default="exponential"
        Φ.
    beta : float, default=0.0
        Penalty on the weight of any tree, 0 or more: the L1 penalty of AdaBoost-L1.
    lambda_ : float, default=0.005
        Factor on the complexity of a tree, 0 or more.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What the splits of the trees reduce.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed, which decides between splits that are equally good.

    Attributes
    ----------
    estimators_ : list of VoteTree
        The trees, in flat arrays.
    estimator_weights_ : ndarray of shape (n_trees,)
        Their weights α; 0 for a tree that was taken back.
    steps_ : list of (int, float)
        What each round did: number of the tree, and what was added to its weight.
    objective_ : ndarray of shape (n_rounds + 1,)
        The objective before the first round and after each; it never rises.
    {classes}
    {features}

    Notes
    -----
    Steps and their choice are those of [1]_, which are exact for the exponential loss and minimise a bound of the
    logistic. With `beta` and `lambda_` 0 this is AdaBoost, which votes with 2 α, or logistic boosting. Differences: the
    candidates of a round are the trees that one greedy tree contains when it is cut at each depth, grown by `criterion`
    and not by the error, which many splits leave as it is; splits whose sides vote alike are taken out before they are
    counted. The authors' programs have ``2 n + 1`` and ``ln m`` in r, so their `lambda_` is about 1.4 times ours.
    Probabilities are those at which the loss has its minimum at f.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, U. Syed, "Deep boosting", International Conference on Machine Learning, 2014.

    Examples
    --------
    >>> from boostforest_paper.baselines import DeepBoostClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(cross_val_score(DeepBoostClassifier(random_state=0), X, y).mean() > 0.94)
    True
    """

    _only_two_classes = True

    max_depth: int = 4
    n_estimators: int = 100
    _: KW_ONLY
    loss: str = "exponential"
    beta: float = 0.0
    lambda_: float = 0.005
    criterion: str = "gini"
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, 1)
        check_choice("loss", self.loss, ("exponential", "logistic"))
        check_real("beta", self.beta, 0)
        check_real("lambda_", self.lambda_, 0)
        check_choice("criterion", self.criterion, ("gini", "entropy", "log_loss"))

    # ------------------------------------------------------------------------------------------------------ fitting

    def _boost(self, training: Training, entropy: Entropy) -> None:
        descent = _Descent(self, training)
        base = DecisionTreeClassifier(max_depth=self.max_depth, criterion=self.criterion)
        members = Members("DeepBoost", base, regress=False)
        for seed in member_seeds(entropy, self.n_estimators):
            grown = members.fit(training.X, training.codes, descent.distribution, seed)
            if not descent.step(GrownTree(grown.tree_)):
                break
        self.estimators_ = descent.trees
        self.estimator_weights_ = np.array(descent.alpha)
        self.steps_ = descent.steps
        self.objective_ = np.array(descent.objective)

    # --------------------------------------------------------------------------------------------------- prediction

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        votes: dict[int, Floats] = {}
        score = np.zeros(len(X))
        if not self.steps_:
            yield score
        for k, step in self.steps_:
            if k not in votes:
                votes[k] = self.estimators_[k].predict(X)
            score += step * votes[k]
            yield score

    def _final_score(self, X: Any) -> Floats:
        X = self._check_rows(X)
        score = np.zeros(len(X))
        for tree, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            if alpha != 0:
                score += alpha * tree.predict(X)
        return score

    def _proba_of(self, score: Floats) -> Floats:
        log_odds = 2 * score
        if self.loss == "logistic":
            log_odds = log_odds + np.logaddexp(0, 1 - score) - np.logaddexp(0, 1 + score)
        return two_columns(expit(log_odds))


class _Descent:
    """Coordinate descent on the objective."""

    def __init__(self, model: DeepBoostClassifier, training: Training) -> None:
        self._X, codes, self._weight = training
        self._model = model
        self._y = 2.0 * codes - 1
        self._m = float(self._weight.sum())
        self._capacity = math.log2(self._X.shape[1] + 2) * math.log(self._m + 1) / self._m
        self._score = np.zeros(len(self._y))
        self._votes = np.empty((0, len(self._y)))  # of the trees on the training rows
        self._penalties: list[float] = []
        self.trees: list[VoteTree] = []
        self.alpha: list[float] = []
        self.steps: list[tuple[int, float]] = []
        self.objective: list[float] = []
        self._update()

    def penalty(self, n_splits: int) -> float:
        """Return what a tree pays per unit of its weight."""
        r = math.sqrt((4 * n_splits + 2) * self._capacity)
        return float(self._model.lambda_ * r + self._model.beta)

    def _update(self) -> None:
        """Compute objective and slopes of the loss at the scores."""
        u = 1 - self._y * self._score
        if self._model.loss == "exponential":
            loss = slope = np.exp(u)
        else:
            loss, slope = np.logaddexp(0, u) / math.log(2), expit(u) / math.log(2)
        paid = sum(p * abs(a) for p, a in zip(self._penalties, self.alpha, strict=True))
        self.objective.append(float(self._weight @ loss) / self._m + paid)
        slope = self._weight * slope
        self._slope = float(slope.sum())  # S_t of the paper
        self.distribution: Floats = slope / self._slope if self._slope > 0 else self._weight / self._m

    def step(self, grown: GrownTree) -> bool:
        """Take the best step along a tree that is there or one of the new ones; False if no step helps."""
        if self._slope < _LEAST_SLOPE * self._m:
            return False
        scale = self._m / self._slope
        best, tree, error = 0.0, -1, 0.5
        if self.trees:
            errors = 0.5 * (1 - self._votes[: len(self.trees)] @ (self._y * self.distribution))
            slopes = _slopes(errors - 0.5, np.array(self.alpha), np.array(self._penalties) * scale / 2)
            tree = int(np.abs(slopes).argmax())
            best, error = abs(float(slopes[tree])), float(errors[tree])
        depth = 0
        for k in range(1, grown.depth + 1):
            new_error = grown.error(k)
            gain = 0.5 - new_error - self.penalty(int(grown.is_inner(k).sum())) * scale / 2
            if gain > best + 1e-12:  # of trees that vote alike the first
                best, error, depth = gain, new_error, k
        if depth:
            tree = self._add(grown.cut(depth))
        if best <= 0:
            return False
        eta = _best_step(error, self.alpha[tree], self._penalties[tree] * scale)
        if abs(eta) < _LEAST_STEP:
            return False
        self.alpha[tree] += eta
        if abs(self.alpha[tree]) < _LEAST_STEP:
            self.alpha[tree] = 0.0
        self.steps.append((tree, eta))
        self._score += eta * self._votes[tree]
        self._update()
        return error > 0

    def _add(self, new: VoteTree) -> int:
        """Return the number of a tree; one that votes like an earlier one of its size is that one."""
        votes = new.predict(self._X)
        n = len(self.trees)
        alike = np.flatnonzero(self._votes[:n] @ votes == len(votes))
        penalty = self.penalty(new.n_splits)
        for k in alike.tolist():
            if self._penalties[k] == penalty:
                return k
        if n == len(self._votes):
            self._votes = np.concatenate([self._votes, np.empty((max(16, n), len(votes)))])
        self._votes[n] = votes
        self.trees.append(new)
        self.alpha.append(0.0)
        self._penalties.append(penalty)
        return n


def _slopes(edge: Floats, alpha: Floats, penalty: Floats) -> Floats:
    """Return the derivatives of the objective along trees, in units of the loss's slope; 0 where no step helps."""
    shrunk = np.where(np.abs(edge) <= penalty, 0.0, edge - np.sign(edge) * penalty)
    slopes: Floats = np.where(alpha != 0, edge + np.sign(alpha) * penalty, shrunk)
    return slopes


def _best_step(error: float, alpha: float, penalty: float) -> float:
    """Return the step to the minimum along a tree, of the loss or of its bound: ``penalty`` is Λ m / S."""
    error = min(max(error, _LEAST_ERROR), 1 - _LEAST_ERROR)
    pull = (1 - error) * math.exp(alpha) - error * math.exp(-alpha)
    if abs(pull) <= penalty:
        return -alpha
    root = math.sqrt(penalty**2 / 4 + error * (1 - error))
    if pull > 0:
        return math.log((1 - error) / (penalty / 2 + root))
    return math.log((penalty / 2 + root) / error)
