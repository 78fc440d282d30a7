"""Which categories need features that tell their levels apart: those that act together with other columns.

What a level stands for comes from other folds, so that it differs a little from row to row. Where the levels of a
column hardly differ on average, these numbers overlap, and no split can tell the levels apart any more. That is of no
harm unless the levels differ in what *other* columns do: in slopes of numbers, or together with levels of other
categories. Both are looked for here in what a regression on the other folds leaves over of the target.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_matrix

from .._base.typing import Floats, Longs
from .levels import PRIOR_WEIGHT, Category, LevelMeans

MAX_ORDERED = 512  # levels: more would take too many splits
_PRIOR = 0.01  # rows: what columns do by themselves must not be left over
_MOST_ROWS, _LEAST_ROWS, _MOST_WORK = 5000, 1000, 2_000_000  # that are looked at: of many pairs of columns fewer
_MOST_TARGETS = 8  # those of which most is left over
_MOST_CELLS = 200_000  # of two categories, by fold
_OVERLAP = 0.2  # share of the rows whose levels cannot be told apart
_CLEARLY, _LEAST_GAIN = 4.0, 0.01  # t value of what is explained of the rest, and its share
_ROUNDING = 1e-4  # of the target's variance: what is less is left over only because of the penalty


def levels_to_tell_apart(
    X: Floats,
    categories: Mapping[int, Category],
    wanted: list[int],
    targets: Floats,
    weight: Floats | None,
    folds: Longs,
) -> list[int]:
    """Return those of the wanted categories, with means, whose levels act together with other columns unseen."""
    few = [j for j in wanted if categories[j].n_levels <= MAX_ORDERED]
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    most = int(np.clip(_MOST_WORK // max(len(few) * len(categories) // 2, 1), _LEAST_ROWS, _MOST_ROWS))
    rows = rows[:: -(-len(rows) // most)] if len(rows) else rows
    folds = folds[rows]
    if not few or X.shape[1] < 2 or len(rows) == 0 or np.ptp(folds) == 0:
        return []
    of_rows = None if weight is None else weight[rows]
    means = LevelMeans(X[rows], categories, targets[rows], of_rows, _PRIOR)
    rest, numbers = means.left_over(few, folds)
    closer = np.sqrt(len(rows) / len(X))  # the more rows, the nearer are the numbers of a level to each other
    mixed = [j for j in few if _overlap(numbers[j], X[rows, j].astype(np.intp), closer) > _OVERLAP]
    if not mixed:
        return []
    counts = np.ones(len(rows)) if of_rows is None else of_rows * len(rows) / of_rows.sum()
    least = _ROUNDING * float((counts @ (targets[rows] - counts @ targets[rows] / len(rows)) ** 2).sum()) / len(rows)
    rest = rest[:, np.argsort(-(rest**2).sum(axis=0), kind="stable")[:_MOST_TARGETS]]
    together = _Together(X[rows], categories, means.standardised(), rest, counts, folds, least)
    return [j for j in mixed if together.acts(j)]


def _overlap(numbers: Floats, levels: Longs, closer: float) -> float:
    """Return the share of rows whose level stands for a number that others stand for, too; folds × levels × targets."""
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    centre, reach = (low + high) / 2, closer * (high - low) / 2
    meets = (np.abs(centre[:, None] - centre) <= reach[:, None] + reach).all(axis=2)
    np.fill_diagonal(meets, False)
    return float(meets.any(axis=1)[levels].mean())


class _Together:
    """Looks for what two columns explain together."""

    def __init__(
        self,
        X: Floats,
        categories: Mapping[int, Category],
        numbers: Floats,
        rest: Floats,
        counts: Floats,
        folds: Longs,
        least: float,
    ) -> None:
        """``numbers``: the columns that are numbers, standardised; ``counts``: what each row counts."""
        self._X, self._categories, self._numbers = X, categories, numbers
        self._rest, self._counts, self._folds = rest, counts, folds
        self._n_folds, self._known = int(folds.max()) + 1, dict[tuple[int, int], bool]()
        self._least = max(least, _LEAST_GAIN * float(counts @ (rest**2).sum(axis=1)) / len(rest))

    def acts(self, j: int) -> bool:
        """Tell whether the levels of a category explain more together with another column."""
        if self._is_clear(self._gains_of_slopes(j)):
            return True
        return any(self._act_as_pair(min(j, k), max(j, k)) for k in self._categories if k != j)

    def _act_as_pair(self, j: int, k: int) -> bool:
        if (j, k) not in self._known:
            gain = self._gain_of_cells(j, k)
            self._known[j, k] = gain is not None and self._is_clear(gain)
        return self._known[j, k]

    def _is_clear(self, gains: Floats) -> bool:
        """Tell whether any column of gains, rows × columns, has a clear mean."""
        mean = np.average(gains, axis=0, weights=self._counts)
        error = np.sqrt(np.average((gains - mean) ** 2, axis=0, weights=self._counts) / len(gains))
        return bool(((mean > self._least) & (mean > _CLEARLY * error)).any())

    def _gains_of_slopes(self, j: int) -> Floats:
        """Return by how much a slope of each level lowers squared errors, for every number: rows × numbers."""
        n_levels, z = self._categories[j].n_levels, self._numbers
        place = self._folds * n_levels + self._X[:, j].astype(np.intp)
        shape = self._n_folds * n_levels, len(place)
        sums = csr_matrix((self._counts, (place, np.arange(len(place)))), shape=shape)
        squares = _of_others(sums @ z**2, self._n_folds)
        gains = np.zeros_like(z)
        for rest in self._rest.T:
            slopes = _of_others(sums @ (z * rest[:, None]), self._n_folds) / (squares + PRIOR_WEIGHT)
            expected = slopes[place] * z
            gains += expected * (2 * rest[:, None] - expected)
        return gains

    def _gain_of_cells(self, j: int, k: int) -> Floats | None:
        """Return by how much a mean of each pair of levels does; None if there are too many."""
        n_levels, n_others = self._categories[j].n_levels, self._categories[k].n_levels
        n = self._n_folds * n_levels * n_others
        if n > _MOST_CELLS:
            return None
        cell = self._X[:, j].astype(np.intp) * n_others + self._X[:, k].astype(np.intp)
        place = self._folds * (n_levels * n_others) + cell
        weights = _of_others(_sums(place, self._counts, n), self._n_folds) + PRIOR_WEIGHT
        gain = np.zeros((len(cell), 1))
        for rest in self._rest.T:
            expected = (_of_others(_sums(place, self._counts * rest, n), self._n_folds) / weights)[place]
            gain[:, 0] += expected * (2 * rest - expected)
        return gain


def _sums(place: Longs, values: Floats, n: int) -> Floats:
    return np.bincount(place, values, n).astype(np.float64, copy=False)


def _of_others(sums: Floats, n_folds: int) -> Floats:
    """Return the sums over the other folds, given those of each fold, one behind the other."""
    by_fold = sums.reshape(n_folds, len(sums) // n_folds, *sums.shape[1:])
    others: Floats = (by_fold.sum(axis=0) - by_fold).reshape(sums.shape)
    return others
