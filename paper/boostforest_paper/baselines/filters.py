"""Where FilterBoost gets its examples: filters over a table, and over a stream of batches.

A filter draws examples one by one and accepts each with the probability ``q = 1 / (1 + exp(y F(x)))``: those that the
ensemble is unsure of, or wrong about. When it rejects very many in a row, few such examples are left.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from .._product import Floats, Mask

Signs = Callable[[Any], Floats]  # what a member says about rows: -1 or 1

_NEGLIGIBLE = 1e-18  # probability that a double cannot see
_LEAST_PART = 1024  # rows of a batch that are worked on at once


class FilterEnd(Exception):
    """There are no more examples to be had; the reason is ``stop_reason_`` of the classifier."""


class Accepted(NamedTuple):
    """Examples that a filter has accepted."""

    X: Any
    y: Floats  #: -1 or 1
    times: Floats  #: how often each was accepted


class Filter(ABC):
    """Draws examples and accepts some; ends when it has rejected too many in a row."""

    def __init__(self, epsilon: float, rng: np.random.Generator) -> None:
        self._epsilon, self._rng = epsilon, rng
        self.start_round(1.0)

    def start_round(self, delta: float) -> None:
        """Begin a round in which the filter may end wrongly with the probability ``delta`` at the most."""
        self._delta, self._n_accepted = delta, 0

    def _patience(self, n: int) -> Floats:
        """Return the numbers of draws for each of the next n examples within which one must be accepted.

        Example r of a round may take ``2/epsilon ln(r (r + 1) / delta)`` draws. If the ensemble's error were above
        epsilon, q would have a mean above epsilon / 2, and so many rejections a probability below delta / (r (r + 1)).
        """
        r = self._n_accepted + 1.0 + np.arange(n)
        return np.ceil(2 / self._epsilon * np.log(r * (r + 1) / self._delta))

    @abstractmethod
    def draw(self, n: int) -> Accepted:
        """Return n accepted examples."""

    @abstractmethod
    def outcomes(self, signs: Signs, n: int) -> Mask:
        """Return whether a member is right about each of n newly accepted examples."""

    @abstractmethod
    def add(self, signs: Signs, alpha: float) -> None:
        """Add a member to the ensemble."""


class TableFilter(Filter):
    """Draws rows of a table with replacement, by their weights.

    Rejections are not played out: which row is accepted next, and after how many rejections, are drawn at once from
    their distributions. That gives the same examples, in distribution, at the cost of the accepted ones.
    """

    def __init__(self, X: Any, y: Floats, weight: Floats, epsilon: float, rng: np.random.Generator) -> None:
        super().__init__(epsilon, rng)
        self._X, self._y = X, y
        self._share = weight / weight.sum()
        self._score = np.zeros(len(y))
        self._set_probabilities()

    def _set_probabilities(self) -> None:
        accepted = self._share * expit(-self._y * self._score)
        self._rate = float(accepted.sum())  # of examples that are accepted
        if self._rate == 0:
            raise FilterEnd("epsilon")
        self._accepted = accepted / self._rate
        self._correct: tuple[Signs | None, float] = (None, 0.0)

    def _accept(self, n: int) -> None:
        """Count n accepted examples, or end because one of them would have taken too many draws."""
        log_reject = math.log1p(-min(self._rate, 0.5))
        if n * math.exp(self._patience(1)[0] * log_reject) > _NEGLIGIBLE:
            too_many = np.exp(self._patience(n) * log_reject)
            if self._rng.random() < -np.expm1(np.log1p(-too_many).sum()):
                raise FilterEnd("epsilon")
        self._n_accepted += n

    def draw(self, n: int) -> Accepted:
        """Return n accepted rows, repeated ones as counts."""
        self._accept(n)
        count = self._rng.multinomial(n, self._accepted)
        rows = np.flatnonzero(count)
        return Accepted(self._X[rows], self._y[rows], count[rows].astype(np.float64))

    def outcomes(self, signs: Signs, n: int) -> Mask:
        """Draw from the probability that the member is right about an accepted row."""
        self._accept(n)
        if self._correct[0] is not signs:
            self._correct = (signs, float(self._accepted[signs(self._X) == self._y].sum()))
        return self._rng.random(n) < self._correct[1]

    def add(self, signs: Signs, alpha: float) -> None:
        """Add a member to the ensemble."""
        self._score += alpha * signs(self._X)
        self._set_probabilities()


class StreamFilter(Filter):
    """Takes examples from batches as they come, each once."""

    def __init__(self, batches: Iterator[tuple[Any, Floats]], epsilon: float, rng: np.random.Generator) -> None:
        super().__init__(epsilon, rng)
        self._batches = batches  # rows and labels, -1 or 1
        self._ensemble: list[tuple[Signs, float]] = []
        self._X: Any = None
        self._y = self._score = np.empty(0)
        self._rejected = 0  # since the last accepted example

    def start_round(self, delta: float) -> None:
        """Begin a round; rejections of the last one do not count any more."""
        super().start_round(delta)
        self._rejected = 0

    def _next_batch(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            raise FilterEnd("exhausted")
        self._X, self._y = batch
        self._score = np.zeros(len(self._y))
        for signs, alpha in self._ensemble:
            self._score += alpha * signs(self._X)

    def _accept(self, n: int) -> Accepted:
        """Take up to n examples from a part of the batch."""
        if len(self._y) == 0:
            self._next_batch()
        part = slice(max(_LEAST_PART, 4 * n))
        q = expit(-self._y[part] * self._score[part])
        chosen = np.flatnonzero(self._rng.random(len(q)) < q)[:n]
        draws = np.diff(chosen, prepend=-1)
        draws[:1] += self._rejected
        if (draws > self._patience(len(draws))).any():
            raise FilterEnd("epsilon")
        self._n_accepted += len(chosen)
        last = int(chosen[-1]) if len(chosen) else -1 - self._rejected
        end = last + 1 if len(chosen) == n else len(q)
        self._rejected = end - 1 - last
        if self._rejected >= self._patience(1)[0]:
            raise FilterEnd("epsilon")
        taken = Accepted(self._X[chosen], self._y[chosen], np.ones(len(chosen)))
        self._X, self._y, self._score = self._X[end:], self._y[end:], self._score[end:]
        return taken

    def draw(self, n: int) -> Accepted:
        """Return the next n examples that are accepted."""
        parts: list[Accepted] = []
        while n > 0:
            parts.append(self._accept(n))
            n -= len(parts[-1].y)
        return Accepted(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def outcomes(self, signs: Signs, n: int) -> Mask:
        """Ask the member about the next examples that are accepted."""
        X, y, _ = self.draw(n)
        right: Mask = signs(X) == y
        return right

    def add(self, signs: Signs, alpha: float) -> None:
        """Add a member to the ensemble."""
        self._ensemble.append((signs, alpha))
        if len(self._y):
            self._score = self._score + alpha * signs(self._X)
