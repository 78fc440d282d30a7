"""FilterBoost: boosting from a stream of examples, of which a filter picks those that matter."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import validate_data

from .._product import Entropy, Floats, entropy_of, fill_docstring, fitted_aside
from .base import DOCS
from .boosting import BoostedEstimators, Members, Training, member_seeds, stream_of, two_columns
from .checks import check_integer, check_real
from .filters import Filter, FilterEnd, Signs, StreamFilter, TableFilter

_FIRST_OUTCOMES = 64


@fill_docstring(DOCS)
@dataclass(eq=False, repr=False)
class FilterBoostClassifier(BoostedEstimators):
    """FilterBoost for two classes: boosting that draws its examples from a table or a stream.

    Minimises the expected log-loss ``E ln(1 + exp(-y F(x)))``, y = ±1, over ``F = Σ α_t h_t`` [1]_. A filter accepts an
    example with the probability ``1 / (1 + exp(y F(x)))``. Every round fits a member to `n_filtered` accepted examples,
    estimates its edge γ (its share of right answers, less ½) on further ones, and adds it with
    ``α = ½ ln((½ + γ) / (½ - γ))``. It ends when the filter can hardly find an example to accept: then the error is
    below `epsilon`, with a probability of ``1 - delta``.

    Parameters
    ----------
    estimator : classifier, default=None
        The members; their `fit` must take `sample_weight`. None: a decision stump,
        ``DecisionTreeClassifier(max_depth=1)``.
    n_estimators : int, default=250
        Rounds at the most.
    n_filtered : int, default=300
        Accepted examples that a member is fitted to.
    epsilon : float, default=0.01
        Error at which the fit may end, between 0 and 1.
    delta : float, default=0.1
        Probability of an end before that, between 0 and 1.
    tau : float, default=0.5
        Relative accuracy of the edges, between 0 and 1: the edge that is used lies between ``1 / (1 + 2 tau)`` and 1
        times the true one. The examples that this takes grow as ``(1 + 1 / tau)²``.
    max_edge_samples : int, default=20000
        Accepted examples at the most for the edge of one member.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the filter and of the members.

    Attributes
    ----------
    estimators_ : list of estimators
        The members. They know the classes as 0 and 1.
    estimator_weights_ : ndarray of shape (n_members,)
        Their factors α.
    edges_ : ndarray of shape (n_members,)
        Their edges, as they were used.
    stop_reason_ : {"epsilon", "n_estimators", "exhausted"}
        Why the fit ended: the error is below `epsilon`, all rounds are done, or the stream has ended.
    {classes}
    {features}

    Notes
    -----
    As in [1]_, the version with votes: round t has ``delta_t = delta / (3 t (t + 1))``; the r-th example of a round may
    take ``2 / epsilon ln(r (r + 1) / delta_t)`` draws; an edge u from n examples is accepted when
    ``|u| ≥ (1 + 1/tau) sqrt(ln(n (n + 1) / delta_t) / (2 n))`` and used as ``u / (1 + tau)``. Differences: outcomes are
    drawn in blocks that grow by an eighth, so an edge may use a few examples more; at `max_edge_samples` it is used as
    it is, where a member without edge would ask for examples for ever; the fit ends after `n_estimators` rounds.

    With `fit` the examples are rows drawn with replacement, with their weights as probabilities; the guarantee is then
    about the training table. `fit_stream` takes each example once, and the guarantee is about the stream.

    References
    ----------
    .. [1] J. K. Bradley, R. E. Schapire, "FilterBoost: regression and classification on large datasets", Advances in
       Neural Information Processing Systems, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from boostforest_paper.baselines import FilterBoostClassifier
    >>> def batches(rng=np.random.default_rng(0)):
    ...     while True:
    ...         X = rng.normal(size=(1000, 5))
    ...         yield X, np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> model = FilterBoostClassifier(n_estimators=20, random_state=0).fit_stream(batches())
    >>> X, y = next(batches())
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _only_two_classes = True
    _tree = DecisionTreeClassifier(max_depth=1)

    estimator: Any = None
    n_estimators: int = 250
    _: KW_ONLY
    n_filtered: int = 300
    epsilon: float = 0.01
    delta: float = 0.1
    tau: float = 0.5
    max_edge_samples: int = 20_000
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_filtered", self.n_filtered, 1)
        check_integer("max_edge_samples", self.max_edge_samples, 1)
        for name in ("epsilon", "delta", "tau"):
            check_real(name, getattr(self, name), 0, 1, strict=True)

    # ------------------------------------------------------------------------------------------------------ fitting

    def _boost(self, training: Training, entropy: Entropy) -> None:
        X, codes, weight = training
        y = 2 * codes.astype(np.float64) - 1
        self._boost_filtered(TableFilter(X, y, weight, self.epsilon, stream_of(entropy)), entropy)

    def fit_stream(self, batches: Iterable[tuple[Any, Any]], classes: Any = None) -> Self:
        """Fit the ensemble to examples that come in batches; it takes as many as it needs.

        Parameters
        ----------
        batches : iterable of (X, y)
            Batches of examples, drawn at random, of any size: a table and its labels. It may be infinite.
        classes : array-like of shape (2,), default=None
            The labels that there are. None: those of the first batch, which must have both.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with fitted_aside(self) as twin:
            twin._check_parameters()
            entropy = entropy_of(twin.random_state)
            examples = twin._read_batches(iter(batches), classes)
            twin._boost_filtered(StreamFilter(examples, twin.epsilon, stream_of(entropy)), entropy)
        return self

    def _read_batches(self, batches: Iterator[tuple[Any, Any]], classes: Any) -> Iterator[tuple[Any, Floats]]:
        if classes is not None:
            self._set_classes(np.unique(classes))
        for i, (X, y) in enumerate(batches):
            X, y = validate_data(self, X, y, reset=i == 0, dtype=self._table_dtype(), order="C")
            if i == 0 and classes is None:
                self._set_classes(np.unique(y))
            codes = np.searchsorted(self.classes_, y)
            if not np.array_equal(self.classes_.take(codes, mode="clip"), y):
                known = self.classes_.tolist()
                raise ValueError(
                    f"Batch {i} has labels other than {known[0]!r} and {known[1]!r}, the classes there are."
                )
            yield X, 2.0 * codes - 1

    def _boost_filtered(self, examples: Filter, entropy: Entropy) -> None:
        members = self._members()
        fitted: list[Any] = []
        edges: list[float] = []
        self.stop_reason_ = "n_estimators"
        try:
            for t, seed in enumerate(member_seeds(entropy, self.n_estimators), 1):
                delta = self.delta / (3 * t * (t + 1))
                examples.start_round(delta)
                X, y, count = examples.draw(self.n_filtered)
                member = members.fit(X, (y > 0).astype(np.intp), count, seed)
                signs = _signs(members, member)
                edge = self._edge(examples, signs, delta)
                fitted.append(member)
                edges.append(edge)
                examples.add(signs, _alpha(edge))
        except FilterEnd as end:
            self.stop_reason_ = str(end)
        if not fitted:
            raise ValueError(
                f"The examples ended in the first round, which with n_filtered={self.n_filtered} takes more than "
                f"{2 * self.n_filtered} of them: every second is accepted at first."
            )
        self.estimators_, self.edges_ = fitted, np.array(edges)
        self.estimator_weights_ = np.array([_alpha(edge) for edge in edges])

    def _edge(self, examples: Filter, signs: Signs, delta: float) -> float:
        """Estimate the edge of a member to within a factor, by as many examples as that takes."""
        n, n_right = 0, 0
        u = np.zeros(1)
        while n < self.max_edge_samples:
            size = min(_FIRST_OUTCOMES + n // 8, self.max_edge_samples - n)
            right = n_right + np.cumsum(examples.outcomes(signs, size))
            k = n + 1.0 + np.arange(size)
            u = right / k - 0.5
            bound = np.sqrt(np.log(k * (k + 1) / delta) / (2 * k))
            certain = np.abs(u) >= (1 + 1 / self.tau) * bound
            if certain.any():
                return float(u[certain.argmax()] / (1 + self.tau))
            n, n_right = n + size, int(right[-1])
        return float(u[-1] / (1 + self.tau))

    # --------------------------------------------------------------------------------------------------- prediction

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        members = self._members()
        score = np.zeros(len(X))
        for member, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            score += alpha * _signs(members, member)(X)
            yield score

    def _proba_of(self, score: Floats) -> Floats:
        return two_columns(expit(score))


def _signs(members: Members, member: Any) -> Signs:
    """Return the function that asks a member for -1 or 1."""
    return lambda X: 2.0 * members.predict(member, X) - 1


def _alpha(edge: float) -> float:
    return 0.5 * math.log((0.5 + edge) / (0.5 - edge))
