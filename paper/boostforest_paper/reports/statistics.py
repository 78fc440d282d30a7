"""Comparisons over datasets: ranks, paired t-tests with Benjamini–Hochberg, Friedman with Nemenyi, Elo."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from boostforest_paper.types import Floats

ALPHA = 0.05
ELO_UNIT = 400 / np.log(10)  # of the scale of chess: ten times the odds are 400
DRAWN = 0.1  # games that each learner has won and lost against each other beside the real ones: no Elo is infinite
LEAST_REPEATS = 5  # for a test within a dataset: with fewer, equal differences by chance look like certainty


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


def wins(losses: Floats) -> Floats:
    """Count datasets (rows) on which the learner of the row has a smaller loss than that of the column; equals half."""
    mine, theirs = losses[:, :, np.newaxis], losses[:, np.newaxis, :]
    return ((mine < theirs) + 0.5 * (mine == theirs)).sum(axis=0) * (1 - np.eye(losses.shape[1]))


def bradley_terry(won: Floats) -> Floats:
    """Return log-strengths of mean 0 by maximum likelihood, given how often each row has won against each column."""
    n = len(won)

    def loss(strength: Floats) -> tuple[float, Floats]:
        lead = strength[:, np.newaxis] - strength
        slope = won * special.expit(-lead)
        return -float((won * special.log_expit(lead)).sum()), slope.sum(axis=0) - slope.sum(axis=1)

    def curvature(strength: Floats) -> Floats:
        chance = special.expit(strength[:, np.newaxis] - strength)
        weight = (won + won.T) * chance * (1 - chance)
        return np.diag(weight.sum(axis=1)) - weight + np.full((n, n), 1 / n)  # the mean is free: any curvature will do

    found = optimize.minimize(loss, np.zeros(n), jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-9})
    return found.x - found.x.mean()


def elo(losses: Floats, anchor: int) -> Floats:
    """Rate the learners (columns) by who is better on which dataset (row), the anchor with 1000."""
    strength = bradley_terry(wins(losses) + DRAWN * (1 - np.eye(losses.shape[1])))
    return 1000 + ELO_UNIT * (strength - strength[anchor])


def elo_intervals(losses: Floats, anchor: int, draws: int = 200) -> Floats:
    """Return the ends of 95 % intervals by bootstrap over the datasets: 2 × learners."""
    rng = np.random.default_rng(0)
    n = len(losses)
    return np.percentile([elo(losses[rng.integers(n, size=n)], anchor) for _ in range(draws)], (2.5, 97.5), axis=0)


def improvability(losses: Floats) -> Floats:
    """Return by which share of its loss each learner is behind the best of a dataset, the mean over datasets."""
    best = losses.min(axis=1, keepdims=True)
    return np.divide(losses - best, losses, out=np.zeros_like(losses), where=losses > 0).mean(axis=0)
