"""MultiBoost: wagged committees of AdaBoost."""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from .._product import Entropy, Floats, fill_docstring
from .base import DOCS
from .boosting import BoostedEstimators, Training, member_seeds, stream_of, two_columns
from .checks import check_integer

_LEAST_WEIGHT = 1e-8
_LEAST_BETA = 1e-10
_TRIES = 10  # to find a member that is better than chance


@fill_docstring(DOCS)
@dataclass(eq=False, repr=False)
class MultiBoostClassifier(BoostedEstimators):
    """MultiBoost: AdaBoost in several committees, each of which starts from random weights (wagging).

    Within a committee this is AdaBoost.M1, which minimises ``Σ w exp(-y F(x))`` step by step for two classes: a member
    with the weighted error ε gets the vote ``log((1 - ε) / ε)``, then the rows that it gets wrong are made to weigh as
    much as the others together. A new committee starts with weights drawn from the exponential distribution, the
    continuous version of a bootstrap's Poisson counts. AdaBoost reduces bias and variance, wagging variance [1]_.

    Parameters
    ----------
    estimator : classifier, default=None
        The members; their `fit` must take `sample_weight`. None: ``DecisionTreeClassifier(max_depth=4)``.
    n_estimators : int, default=100
        Members in all committees together.
    n_committees : int or None, default=None
        Committees of about equal size. None: the root of `n_estimators`, rounded down. 1: AdaBoost alone.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the wagging and of the members.

    Attributes
    ----------
    estimators_ : list of estimators
        The members. They know the classes by their positions in `classes_`: 0, 1, …
    estimator_weights_ : ndarray of shape (n_members,)
        Their votes.
    estimator_errors_ : ndarray of shape (n_members,)
        Their weighted errors on the training table.
    {classes}
    {features}

    See Also
    --------
    sklearn.ensemble.AdaBoostClassifier : One committee, with another rule for more than two classes.

    Notes
    -----
    As in [1]_: the first committee starts from the weights of the rows, the others from these times random numbers; a
    member that is not better than chance is dropped and a new committee begins, as it does after a member without
    error, whose vote is ``log(1e10)``; weights are at least 1e-8 of their mean. Differences: the exponential numbers
    are continuous (there: a thousand steps); after ten dropped members in a row the fit ends with the members there are
    (there it goes on for ever), with scikit-learn's error if there are none. Weka's MultiBoostAB ends the fit at a
    member without error or one that is not better than chance. Probabilities are shares of the votes, there their
    softmax.

    References
    ----------
    .. [1] G. I. Webb, "MultiBoosting: a technique for combining boosting and wagging", Machine Learning, 2000.

    Examples
    --------
    >>> from boostforest_paper.baselines import MultiBoostClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(MultiBoostClassifier(random_state=0), X, y).mean() > 0.92)
    True
    """

    _tree = DecisionTreeClassifier(max_depth=4)

    estimator: Any = None
    n_estimators: int = 100
    _: KW_ONLY
    n_committees: int | None = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_committees", self.n_committees, 1, none=True)
        if self.n_committees is not None and self.n_committees > self.n_estimators:
            raise ValueError(
                f"n_committees={self.n_committees} must not be above n_estimators={self.n_estimators}: a committee "
                "has at least one member."
            )

    def _committee_ends(self) -> set[int]:
        """Return how many members there are when a committee is complete."""
        n = math.isqrt(self.n_estimators) if self.n_committees is None else self.n_committees
        return {math.ceil(i * self.n_estimators / n) for i in range(1, n)}

    def _boost(self, training: Training, entropy: Entropy) -> None:
        members, rng = self._members(), stream_of(entropy)
        X, codes, first = training
        least = _LEAST_WEIGHT * first.mean()
        ends = self._committee_ends()
        weight = first
        kept: list[tuple[Any, float, float]] = []  # member, error, vote
        failed = 0
        seeds = iter(member_seeds(entropy, self.n_estimators * _TRIES))
        while len(kept) < self.n_estimators and failed < _TRIES:
            member = members.fit(X, codes, weight, next(seeds))
            wrong = members.predict(member, X) != codes
            error = float(weight[wrong].sum() / weight.sum())
            if error >= 0.5:
                failed += 1
                weight = _wag(first, rng)
                continue
            failed = 0
            kept.append((member, error, -math.log(max(error / (1 - error), _LEAST_BETA))))
            if error == 0 or len(kept) in ends:
                weight = _wag(first, rng)
            else:
                weight = np.maximum(weight / np.where(wrong, 2 * error, 2 * (1 - error)), least)
        if not kept:
            raise ValueError(
                "BaseClassifier in MultiBoostClassifier ensemble is worse than random, ensemble can not be fit."
            )
        self.estimators_ = [member for member, _, _ in kept]
        self.estimator_errors_ = np.array([error for _, error, _ in kept])
        self.estimator_weights_ = np.array([vote for _, _, vote in kept])

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        members = self._members()
        votes = np.zeros((len(X), self.n_classes_))
        rows, total = np.arange(len(X)), 0.0
        for member, vote in zip(self.estimators_, self.estimator_weights_, strict=True):
            votes[rows, members.predict(member, X)] += vote
            total += vote
            yield (votes[:, 1] - votes[:, 0]) / total if self.n_classes_ == 2 else votes / total

    def _proba_of(self, score: Floats) -> Floats:
        return two_columns((1 + score) / 2) if score.ndim == 1 else score.copy()


def _wag(first: Floats, rng: np.random.Generator) -> Floats:
    """Return random weights of the same sum."""
    weight = first * np.maximum(rng.exponential(size=len(first)), _LEAST_WEIGHT)
    scaled: Floats = weight * (first.sum() / weight.sum())
    return scaled
