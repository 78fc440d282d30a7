"""Prediction intervals by jackknife+ after bootstrap (Kim, Xu, Barber 2020).

For each training row there is a forest that has not seen it: the trees that have not drawn it. What these forests
predict for a new row, plus and minus their errors on their own left-out rows, makes the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.sampling import Sampling
from .._base.typing import Floats, Mask, Seeds
from .._base.validation import warn
from .._losses import Loss
from .conformal import are_enough, effective_rows, limits, thin_out, weighted_rows

_MOST_ROWS = 2000  # training rows whose errors are used: more change the width by less than a percent
_VALUES_AT_ONCE = 2**24

TreeOutputs = Callable[[Floats, int, bool], Floats]
Parts = Sequence[tuple[int, int]]


@dataclass(eq=False)
class LeftOut:
    """What is kept of the training rows: errors, and which trees have not drawn them."""

    residuals: Floats  #: out-of-bag errors of some rows, absolute, in units of outputs
    absent: Mask  #: trees × rows: the tree has not drawn the row
    weight: Floats | None = None  #: of the rows; None: all the same


def left_out(seeds: Seeds, sampling: Sampling, residuals: Floats, seen: Mask) -> LeftOut:
    """Keep what intervals need, of at most so many rows."""
    rows, weight = thin_out(*weighted_rows(seen, sampling.sample_weight), _MOST_ROWS)
    absent = np.stack([sampling.counts(seed, len(residuals))[rows] == 0 for seed in seeds])
    return LeftOut(np.abs(residuals[rows]), absent, weight)


def intervals(
    loss: Loss,
    outputs_of: TreeOutputs,
    X: Floats,
    parts: Parts,
    steps: Sequence[float],
    kept: LeftOut,
    coverage: float,
) -> Floats:
    """Return lower and upper ends for every row, in units of outputs.

    ``outputs_of`` gives the outputs of one tree, or its scores; a forest has ``parts``, trees from first to end, each
    with its step.
    """
    n_kept = len(kept.residuals)
    if not are_enough(n_kept, kept.weight, coverage):
        by_weight = "" if kept.weight is None else f" that count as {effective_rows(kept.weight):.3g} by their weights"
        warn(
            f"Intervals are infinite: coverage={coverage} needs at least {_rows_needed(coverage)} training rows that "
            f"some tree has left out, and there are {n_kept}{by_weight} (of a larger table {_MOST_ROWS} are kept)."
        )
        return np.tile([-np.inf, np.inf], (len(X), 1))
    ends = np.empty((len(X), 2))
    block = max(1, _VALUES_AT_ONCE // max(n_kept, parts[-1][1]))
    for first in range(0, len(X), block):
        rows = X[first : first + block]
        centres = _left_out_predictions(loss, outputs_of, rows, parts, steps, kept)
        ends[first : first + block, 0] = -limits(kept.residuals - centres, kept.weight, coverage)
        ends[first : first + block, 1] = limits(centres + kept.residuals, kept.weight, coverage)
    return ends


def _rows_needed(coverage: float) -> int:
    """Return the least n with ceil(coverage (n + 1)) <= n."""
    n = int(coverage / (1 - coverage))
    while np.ceil(coverage * (n + 1)) > n:
        n += 1
    return n


def _left_out_predictions(
    loss: Loss, outputs_of: TreeOutputs, X: Floats, parts: Parts, steps: Sequence[float], kept: LeftOut
) -> Floats:
    """Return, for every row of X, the outputs of the forests that have not seen one of the kept rows."""
    scores = np.zeros((len(X), len(kept.residuals)))
    for stage, ((first, end), step) in enumerate(zip(parts, steps, strict=True)):
        outputs = np.column_stack([outputs_of(X, t, stage > 0) for t in range(first, end)])
        absent = kept.absent[first:end].astype(np.float64)
        mean = step * (outputs @ absent) / np.maximum(absent.sum(axis=0), 1)
        scores += mean if stage > 0 else loss.scores(mean)
    return loss.outputs(scores)
