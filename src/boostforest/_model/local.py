"""How far targets are from predictions here, by the out-of-bag errors of training rows that share leaves with a row.

A training row counts for a new one in a tree if both are in the same leaf, there as much as its share of the leaf
(Meinshausen 2006), in the mean over the trees. The weighted mean of the absolute errors, to a power that makes the
errors of the training rows most probable, is the scale of a row. Errors in units of their scales are nearly alike
everywhere: their conformal limit among rows of similar scales, times the scale, is the half width of an interval. For a
whole distribution they are weighted once more, and its levels are corrected so that the training rows, each without
itself, are spread evenly over them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base.typing import Floats, Ints, Longs
from .._losses.robust import weighted_quantile
from .conformal import effective_rows, limits

MOST_TREES = 20  # whose leaves are kept: more change little, and files grow with them
_FROM_ALL = 0.1  # what the mean error of all rows counts in a scale, beside 1 for the leaves
_POWERS = np.arange(9) / 4
_MOST_ERROR = 20.0  # times the median error: what an error counts in scales
_MOST_PARTS = 5  # of the training rows by their scales, each with a limit of its own;
_OUTSIDE, _ROWS = 20, 100  #   so many rows are outside of the intervals of each part, and there are so many at least
_EVERYWHERE = 0.5  # share of a distribution in which all rows count alike, wherever they are


@dataclass(frozen=True, eq=False)
class LocalErrors:
    """Out-of-bag errors of some training rows, and the leaves that these are in."""

    residuals: Floats  #: target − prediction, in units of outputs
    leaves: npt.NDArray[np.integer[Any]]  #: rows × some trees: number of the leaf's node in its tree
    trees: Longs  #: which trees these are, ascending
    weight: Floats | None = None  #: of the rows; None: all the same

    @classmethod
    def of(cls, residuals: Floats, leaves: Ints, trees: Longs, weight: Floats | None) -> "LocalErrors":
        """Return the same with leaves in as few bytes as they need."""
        short = leaves.astype(np.uint16) if leaves.max() < 2**16 else leaves
        return cls(residuals, short, trees, weight)

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalErrors, (self.residuals, self.leaves, self.trees, self.weight)  # the rest follows

    @property
    def n_trees(self) -> int:
        """Trees whose leaves are kept."""
        return int(self.leaves.shape[1])

    # -------------------------------------------------------------------------------------------------------- scales

    @cached_property
    def _shares(self) -> Floats:
        """What each row counts among all."""
        n = len(self.residuals)
        return np.full(n, 1 / n) if self.weight is None else self.weight / self.weight.sum()

    @cached_property
    def _starts(self) -> Longs:
        """First place of each tree in a list of the leaves of all; the last place is for leaves without a row."""
        return np.append(0, np.cumsum(self.leaves.max(axis=0).astype(np.int64) + 1))

    def _places(self, leaves: npt.NDArray[np.integer[Any]]) -> Longs:
        """Return the places of leaves, rows × trees."""
        places = self._starts[:-1] + leaves
        return np.asarray(np.where(places < self._starts[1:], places, self._starts[-1]))

    @cached_property
    def _of_leaves(self) -> tuple[Floats, Floats]:
        """What the rows of each leaf count, and their mean absolute error; 0 without rows."""
        places, n = self._places(self.leaves).ravel(), int(self._starts[-1]) + 1
        shares, errors = self._shares, self._sizes
        total = np.asarray(np.bincount(places, np.repeat(shares, self.n_trees), n), dtype=np.float64)
        summed = np.bincount(places, np.repeat(shares * errors, self.n_trees), n)
        return total, summed / np.where(total > 0, total, 1)

    @cached_property
    def _sizes(self) -> Floats:
        """Absolute errors, none too large: one target that is far off would make the scales of all rows beside it."""
        sizes = np.abs(self.residuals)
        middle = weighted_quantile(sizes, self.weight, 0.5)
        return np.asarray(np.minimum(sizes, _MOST_ERROR * middle)) if middle > 0 else sizes

    @cached_property
    def _mean_error(self) -> float:
        return float(self._shares @ self._sizes)

    @cached_property
    def _own(self) -> tuple[Floats, float]:
        """The scales of the kept rows, each without itself, and the power."""
        total, mean = self._of_leaves
        places, errors = self._places(self.leaves), self._sizes
        own = (self._shares[:, None] / total[places]).mean(axis=1)
        count = np.maximum(1 - own, 0.0) + _FROM_ALL
        scales = self._relative(np.maximum(mean[places].mean(axis=1) - own * errors, 0.0), count)
        if self._mean_error == 0:
            return scales, 0.0
        powers = scales[:, None] ** _POWERS
        loss = self._shares @ np.log(powers) + np.log(self._shares @ (errors[:, None] / powers))
        power = float(_POWERS[np.argmin(loss)])
        return scales**power, power

    def _relative(self, errors: Floats, count: Floats) -> Floats:
        """Return local mean errors, in units of that of all rows."""
        if self._mean_error == 0:
            return np.ones(len(errors))
        return (errors / self._mean_error + _FROM_ALL) / count

    def scales(self, leaves: Ints) -> Floats:
        """Return how large errors are in rows with these leaves, beside those of other rows."""
        total, mean = self._of_leaves
        places = self._places(leaves)
        count = (total[places] > 0).mean(axis=1) + _FROM_ALL
        return np.asarray(self._relative(mean[places].mean(axis=1), count) ** self._own[1])

    def half_widths(self, leaves: Ints, coverage: float) -> Floats:
        """Return the half widths of intervals of this coverage for rows with these leaves."""
        scales = self.scales(leaves)
        return np.asarray(scales * np.interp(np.log(scales), *self._limits(coverage)))

    def _limits(self, coverage: float) -> tuple[Floats, Floats]:
        """Return logarithms of scales, ascending, and the limits of the errors in units of the scales there."""
        scales, power = self._own
        errors, order = np.abs(self.residuals / scales), np.argsort(scales, kind="stable")
        n_rows = len(scales) if self.weight is None else effective_rows(self.weight)
        most = min(n_rows * (1 - coverage) / _OUTSIDE, n_rows / _ROWS, _MOST_PARTS if power > 0 else 1)
        for n_parts in range(max(int(most), 1), 0, -1):
            parts = np.array_split(order, n_parts)
            weights = [None if self.weight is None else self.weight[part] for part in parts]
            found = [limits(errors[part][None], own, coverage)[0] for part, own in zip(parts, weights, strict=True)]
            if np.isfinite(found).all():  # the weights of a part may say less than their number
                break
        return np.array([np.log(scales[part]).mean() for part in parts]), np.array(found)

    # -------------------------------------------------------------------------------------------------- distributions

    @cached_property
    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(self.residuals / self._own[0], kind="stable")

    @cached_property
    def errors(self) -> Floats:
        """The errors of the kept rows in units of their scales, ascending."""
        return np.asarray((self.residuals / self._own[0])[self._order])

    @cached_property
    def _members(self) -> sparse.csr_matrix:
        """What each row, in the order of the errors, counts for rows in each leaf: places × rows."""
        places = self._places(self.leaves[self._order])
        shares = self._shares[self._order][:, None] / self._of_leaves[0][places] / self.n_trees
        rows = np.repeat(np.arange(len(places)), self.n_trees)
        shape = (int(self._starts[-1]) + 1, len(places))
        return sparse.csr_matrix((shares.ravel(), (places.ravel(), rows)), shape)

    def _weights(self, leaves: npt.NDArray[np.integer[Any]]) -> Floats:
        """Return what the leaves alone make the kept rows count for other rows."""
        places = self._places(leaves)
        ends = np.arange(len(places) + 1) * self.n_trees
        here = sparse.csr_matrix((np.ones(places.size), places.ravel(), ends), (len(places), self._members.shape[0]))
        return np.asarray((here @ self._members).toarray())

    def _running_sums(self, weights: Floats, everywhere: Floats) -> Floats:
        """Return the distribution functions at the errors."""
        count = weights.sum(axis=1, keepdims=True)
        mixed = weights * ((1 - _EVERYWHERE) / np.where(count > 0, count, 1)) + _EVERYWHERE * everywhere
        sums = np.cumsum(mixed, axis=1)
        return np.asarray(sums / sums[:, -1:])

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        """Levels of the weighted errors, ascending, and the share of training rows that are found below them."""
        n, order, errors = len(self.residuals), self._order, self.errors
        first, last = np.searchsorted(errors, errors, "left"), np.searchsorted(errors, errors, "right")
        found = np.empty(n)
        for start in range(0, n, 256):
            rows = np.arange(start, min(start + 256, n))
            others = np.arange(n) != rows[:, None]
            weights = self._weights(self.leaves[order[rows]]) * others
            sums = np.pad(self._running_sums(weights, self._shares[order] * others), ((0, 0), (1, 0)))
            here = np.arange(len(rows))
            found[rows] = (sums[here, first[rows]] + sums[here, last[rows]]) / 2
        by_level = np.argsort(found, kind="stable")
        n_rows = n if self.weight is None else effective_rows(self.weight)
        below = np.cumsum(self._shares[order][by_level]) * n_rows / (n_rows + 1)
        return np.concatenate([[0.0], found[by_level], [1.0]]), np.concatenate([[0.0], below, [1.0]])

    def distribution(self, leaves: Ints) -> Floats:
        """Return for rows with these leaves the probability of errors up to each of ``errors``, rows × errors."""
        sums = self._running_sums(self._weights(leaves), self._shares[self._order])
        corrected = np.interp(sums, *self._levels)
        corrected[:, -1] = 1.0
        return np.asarray(np.maximum.accumulate(corrected, axis=1))
