"""How large an error of a new row can be, by the errors of rows that a forest has not seen: weighted conformal limits.

A row of weight w stands for w rows of the population. The limit at a coverage c is the smallest error q for which the
rows of errors up to q have at least the share c (1 + 1/n) of all weight. The new row counts as one of n: with it the
ranks of all n + 1 rows are equally probable, and its own error may be the largest. n is the number of rows or, with
weights, the number of equally weighted rows that would tell as much, (Σ w)² / Σ w²; the new row then has the mean
weight of a row that is drawn by weight, Σ w² / Σ w. Without weights q is the ⌈c (n + 1)⌉-th smallest error.
"""

import numpy as np

from .._base.typing import Floats, Indices, Mask

Rows = Indices

_ROUNDING = 1e-12  # of sums of shares


def effective_rows(weight: Floats) -> float:
    """Return how many equally weighted rows would tell as much as rows of these weights."""
    share = weight / weight.max() if len(weight) else weight  # squares cannot leave the range of floats
    return float(share.sum() ** 2 / (share @ share)) if len(weight) else 0.0


def weighted_rows(seen: Mask, weight: Floats | None) -> tuple[Rows, Floats | None]:
    """Return the rows that errors are known of, without those of weight 0, and their weights, None if all alike."""
    if weight is None:
        return np.flatnonzero(seen), None
    rows = np.flatnonzero(seen & (weight > 0))
    own = weight[rows]
    return rows, None if (own == own[:1]).all() else own


def thin_out(rows: Rows, weight: Floats | None, most: int) -> tuple[Rows, Floats | None]:
    """Return at most so many of the rows, spread evenly over the table, or over the running sum of the weights."""
    if weight is None or len(rows) <= most:
        return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.intp)], weight
    ends = np.cumsum(weight)
    hits = np.searchsorted(ends, (np.arange(most) + 0.5) * (ends[-1] / most))
    chosen, times = np.unique(np.minimum(hits, len(rows) - 1), return_counts=True)
    return rows[chosen], None if (times == times[0]).all() else times.astype(np.float64)


def are_enough(n: int, weight: Floats | None, coverage: float) -> bool:
    """Tell whether so many rows have a limit that is not infinite."""
    return _rank(n, coverage) <= n if weight is None else _share(weight, coverage) <= 1


def limits(errors: Floats, weight: Floats | None, coverage: float) -> Floats:
    """Return the limit of the errors in every row of a matrix; infinite where there are too few to tell."""
    n = errors.shape[1]
    if not are_enough(n, weight, coverage):
        return np.full(len(errors), np.inf)
    if weight is None:
        rank = _rank(n, coverage)
        return np.asarray(np.partition(errors, rank - 1, axis=1)[:, rank - 1])
    share = _share(weight, coverage)
    order = np.argsort(errors, axis=1)
    held = np.cumsum(weight[order], axis=1)
    first = np.argmax(held >= share * held[:, -1:], axis=1)
    return np.asarray(np.take_along_axis(errors, np.take_along_axis(order, first[:, None], axis=1), axis=1)[:, 0])


def _rank(n: int, coverage: float) -> int:
    return int(np.ceil(coverage * (n + 1)))


def _share(weight: Floats, coverage: float) -> float:
    return coverage * (1 + 1 / effective_rows(weight)) - _ROUNDING


def conformity(p: Floats, y: Indices, seen: Mask, weight: Floats | None) -> tuple[Floats, Floats | None]:
    """Return, in ascending order, how improbable the true class of each row was, and what the rows weigh."""
    rows, weight = weighted_rows(seen, weight)
    scores = 1 - p[rows, y[rows]]
    if weight is None:
        return np.sort(scores), None
    order = np.argsort(scores, kind="stable")
    return scores[order], weight[order]


def conformal_sets(p: Floats, scores: Floats, weight: Floats | None, coverage: float) -> Mask:
    """Return which classes belong to the set of each row, the most probable one always."""
    chosen = np.asarray(1 - p <= limits(scores[None], weight, coverage))
    chosen[np.arange(len(p)), p.argmax(axis=1)] = True
    return chosen
