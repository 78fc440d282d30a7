"""Comparisons over datasets: ranks, paired t-tests with Benjamini–Hochberg, Friedman with Nemenyi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

ALPHA = 0.05
LEAST_REPEATS = 5  # for a test within a dataset: with fewer, equal differences by chance look like certainty
Floats = npt.NDArray[np.float64]


def ranks(values: Floats, higher_is_better: bool) -> Floats:
    """Rank the learners (columns) within each dataset (row): 1 is best, equals share the mean of their places."""
    return stats.rankdata(-values if higher_is_better else values, axis=1)


def paired_p_value(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the two-sided p-value of a paired t-test; 1 where nothing differs, 0 where all differ by the same."""
    difference = np.asarray(mine) - np.asarray(theirs)
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(stats.ttest_rel(mine, theirs).pvalue)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the rate of false discoveries."""
    return stats.false_discovery_control(p_values, method="bh").tolist() if len(p_values) else []


class Friedman(NamedTuple):
    """Whether learners differ over datasets at all, and how far apart two of them must be."""

    average_ranks: Floats
    p_value: float
    critical_difference: float  # of average ranks, by Nemenyi at 5 %
    n_datasets: int

    def groups(self) -> list[tuple[int, int]]:
        """Return runs of learners, in the order of their ranks, that are not told apart: (first, last) places."""
        ordered = np.sort(self.average_ranks)
        ends = np.searchsorted(ordered, ordered + self.critical_difference, side="right") - 1
        runs = [(first, int(last)) for first, last in enumerate(ends) if last > first]
        return [run for i, run in enumerate(runs) if i == 0 or run[1] > runs[i - 1][1]]


def friedman(values: Floats, higher_is_better: bool) -> Friedman | None:
    """Test datasets × learners; None with fewer than three learners or two datasets, where there is no test."""
    n, k = values.shape
    if k < 3 or n < 2:
        return None
    table = ranks(values, higher_is_better)
    p_value = float(stats.friedmanchisquare(*values.T).pvalue) if np.ptp(table) > 0 else 1.0
    q = stats.studentized_range.ppf(1 - ALPHA, k, np.inf) / np.sqrt(2)
    return Friedman(table.mean(axis=0), p_value, float(q * np.sqrt(k * (k + 1) / (6 * n))), n)


class Score(NamedTuple):
    """How often the base did better, as well and worse than another learner."""

    win: int
    tie: int
    loss: int


def win_tie_loss(base: Floats, other: Floats, higher_is_better: bool, digits: int = 4) -> Score:
    """Count datasets by the means, rounded as they are shown."""
    difference = np.round(base, digits) - np.round(other, digits)
    if not higher_is_better:
        difference = -difference
    return Score(int((difference > 0).sum()), int((difference == 0).sum()), int((difference < 0).sum()))
