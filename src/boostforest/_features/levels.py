"""What a level of a category stands for: the mean of the target, as far as the other columns do not explain it.

The plain mean of a level mixes its own effect with that of its company: fine diamonds are small, so that the finest are
the cheapest. So the target is regressed on all columns at once (ridge; numbers standardised, a coefficient per level),
and a level stands for the overall mean plus its coefficient. Its penalty counts as PRIOR_WEIGHT rows at the overall
mean: without other columns, that makes the mean of the level's rows and as many rows at the overall mean.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._base.arrays import mean_and_deviation
from .._base.threads import ONE_BLAS_THREAD
from .._base.typing import Floats, Longs

PRIOR_WEIGHT = 10.0  # rows that the overall mean counts as in the mean of a level
MAX_COEFFICIENTS = 512  # of the regression; categories of many levels beyond get means of what it leaves over
_NUMBER_PENALTY = 1.0  # rows, too: a slope is learned from all rows, and what it lacks would go to the levels
_FAR = 5.0  # standard deviations: numbers further off count as so many
_BLOCK = 4096  # rows whose coefficients stand in memory at once, as a matrix


class Category(Protocol):
    """What is needed of a column of categories."""

    @property
    def n_levels(self) -> int:
        """Number of levels."""


class _Sums(NamedTuple):
    """Weighted sums over some rows."""

    n_rows: float  # of weight above 0
    weight: float
    targets: Floats
    columns: Floats  # of the regression's columns
    products: Floats  # of these with each other
    with_targets: Floats  # and with the targets

    def plus(self, other: "_Sums") -> "_Sums":
        pairs: Any = zip(self, other, strict=True)
        return _Sums(*(mine + theirs for mine, theirs in pairs))


class _Fitted(NamedTuple):
    """A regression of the targets."""

    prior: Floats  # overall mean of the targets
    coefficients: Floats  # columns × targets
    unit: float  # what the weights are multiplied by to count as rows


class LevelMeans:
    """Means of levels in one table.

    ``X`` holds the columns of the table, a category as the number of its level, NaN if that is unknown.
    """

    def __init__(
        self,
        X: Floats,
        categories: Mapping[int, Category],
        targets: Floats,
        weight: Floats | None,
        prior: float = PRIOR_WEIGHT,
    ) -> None:
        self._X, self._targets = X, targets
        self._weight = np.ones(len(X)) if weight is None else weight
        self._categories = categories
        numbers = [j for j in range(X.shape[1]) if j not in categories]
        self._numbers = numbers if len(numbers) <= MAX_COEFFICIENTS else []
        self._mean, self._deviation = mean_and_deviation(X[:, self._numbers], weight)
        self._start: dict[int, int] = {}  # first coefficient of every category that has some
        self._n = len(self._numbers)
        for j in sorted(categories, key=lambda j: categories[j].n_levels):
            if self._n + categories[j].n_levels <= MAX_COEFFICIENTS:
                self._start[j] = self._n
                self._n += categories[j].n_levels
        self._prior, self._penalty = prior, np.full(self._n, prior)
        self._penalty[: len(self._numbers)] = min(prior, _NUMBER_PENALTY)

    def of_all_rows(self, wanted: list[int]) -> dict[int, Floats]:
        """Return for these categories what their levels stand for: levels × targets."""
        rows = np.arange(len(self._X))
        with ONE_BLAS_THREAD:
            fitted = self._fit(self._sums(rows))
            return {j: self._means(j, fitted, rows) for j in wanted}

    def of_other_folds(self, wanted: list[int], folds: Longs) -> dict[int, Floats]:
        """Return for every row what its level stands for in the rows of the other folds: rows × targets."""
        out = {j: np.full(self._targets.shape, np.nan) for j in wanted}
        with ONE_BLAS_THREAD:
            for rows, others, fitted in self._without_each_fold(folds):
                for j in wanted:
                    known = rows[~np.isnan(self._X[rows, j])]
                    out[j][known] = self._means(j, fitted, others)[self._X[known, j].astype(np.intp)]
        return out

    def left_over(self, wanted: list[int], folds: Longs) -> tuple[Floats, dict[int, Floats]]:
        """Return what regressions on the other folds leave over of the targets, rows × targets.

        And for these categories what their levels stand for in the other folds: folds × levels × targets.
        """
        rest = np.empty_like(self._targets)
        numbers: dict[int, list[Floats]] = {j: [] for j in wanted}
        with ONE_BLAS_THREAD:
            for rows, others, fitted in self._without_each_fold(folds):
                for some, columns in self._blocks(rows):
                    rest[some] = self._targets[some] - fitted.prior - columns @ fitted.coefficients
                for j in wanted:
                    numbers[j].append(self._means(j, fitted, others))
        return rest, {j: np.stack(of_folds) for j, of_folds in numbers.items()}

    def _without_each_fold(self, folds: Longs) -> Iterator[tuple[Longs, Longs, _Fitted]]:
        """Yield the rows of each fold, those of the others, and the regression on these."""
        parts = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
        sums = [self._sums(rows) for rows in parts]
        for fold, rows in enumerate(parts):
            # Added up without the own fold, not subtracted from all: no rounding error knows a row's own target.
            others = reduce(_Sums.plus, sums[:fold] + sums[fold + 1 :], self._sums(rows[:0]))
            yield rows, np.flatnonzero(folds != fold), self._fit(others)

    def standardised(self) -> Floats:
        """Return the columns that are numbers, in standard deviations; missing ones are 0."""
        rows = np.arange(len(self._X))
        return np.concatenate([columns[:, : len(self._numbers)] for _, columns in self._blocks(rows)])

    def _blocks(self, rows: Longs) -> Iterator[tuple[Longs, Floats]]:
        """Yield some of the rows at a time, with the columns of the regression: numbers, then a 1 for each level."""
        for start in range(0, max(len(rows), 1), _BLOCK):
            some = rows[start : start + _BLOCK]
            columns = np.zeros((len(some), self._n))
            with np.errstate(over="ignore"):
                numbers = (self._X[some][:, self._numbers] - self._mean) / self._deviation
            columns[:, : len(self._numbers)] = np.nan_to_num(np.clip(numbers, -_FAR, _FAR), copy=False)
            for j, first in self._start.items():
                known = np.flatnonzero(~np.isnan(self._X[some, j]))
                columns[known, first + self._X[some[known], j].astype(np.intp)] = 1.0
            yield some, columns

    def _sums(self, rows: Longs) -> _Sums:
        return reduce(_Sums.plus, (self._sums_of(*block) for block in self._blocks(rows)))

    def _sums_of(self, rows: Longs, columns: Floats) -> _Sums:
        w, targets = self._weight[rows], self._targets[rows]
        weighted = columns * w[:, None]
        products = (w @ targets, weighted.sum(axis=0), columns.T @ weighted, weighted.T @ targets)
        return _Sums(float(np.count_nonzero(w)), float(w.sum()), *products)

    def _fit(self, sums: _Sums) -> _Fitted:
        # The unit of the weights does not matter, nor do rows without any.
        unit = sums.n_rows / sums.weight if sums.weight > 0 else 1.0
        prior = sums.targets / sums.weight if sums.weight > 0 else np.zeros_like(sums.targets)
        left = unit * sums.products + np.diag(self._penalty)
        right = unit * (sums.with_targets - np.outer(sums.columns, prior))
        return _Fitted(prior, np.asarray(np.linalg.solve(left, right), dtype=np.float64), unit)

    def _means(self, j: int, fitted: _Fitted, rows: Longs) -> Floats:
        """Return what the levels of a column stand for; ``rows`` are those of the regression."""
        n_levels = self._categories[j].n_levels
        if j in self._start:
            first = self._start[j]
            return fitted.prior + fitted.coefficients[first : first + n_levels]
        sums, counts = np.zeros((n_levels, len(fitted.prior))), np.full((n_levels, 1), self._prior)
        for some, columns in self._blocks(rows[~np.isnan(self._X[rows, j])]):
            levels, w = self._X[some, j].astype(np.intp), fitted.unit * self._weight[some][:, None]
            np.add.at(sums, levels, w * (self._targets[some] - fitted.prior - columns @ fitted.coefficients))
            np.add.at(counts, levels, w)
        means: Floats = fitted.prior + sums / counts
        return means


def leading_directions(
    X: Floats, categories: Mapping[int, Category], wanted: list[int], targets: Floats, weight: Floats | None, n: int
) -> Floats:
    """Return the n combinations of targets, targets × n, in which the levels of these categories differ most."""
    means = LevelMeans(X, categories, targets, weight).of_all_rows(wanted)
    counted = np.ones(len(X)) if weight is None else weight
    spread = np.zeros((targets.shape[1], targets.shape[1]))
    with ONE_BLAS_THREAD:
        for j in wanted:
            known = ~np.isnan(X[:, j])
            share = np.bincount(X[known, j].astype(np.intp), counted[known], categories[j].n_levels)
            share = share / max(share.sum(), np.finfo(np.float64).tiny)
            apart = means[j] - share @ means[j]
            spread += apart.T @ (share[:, None] * apart)
        # All of them: asked for some, LAPACK may give fewer where eigenvalues are equal.
        directions = np.asarray(np.linalg.eigh(spread)[1][:, : -n - 1 : -1], dtype=np.float64)
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(n)]
    return np.ascontiguousarray(directions * np.sign(largest))  # either sign would do: always the same one
