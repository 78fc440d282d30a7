"""Prediction intervals: of local width (see ``local``), or by jackknife+ after bootstrap (Kim, Xu, Barber 2020).

Jackknife+: for each training row there is a forest that has not seen it: the trees that have not drawn it. What these
forests predict for a new row, plus and minus their errors on their own left-out rows, makes the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.sampling import Sampling
from .._base.typing import Floats, Ints, Longs, Mask, Seeds
from .._base.validation import warn
from .._core import Link
from .._losses import Loss
from .conformal import are_enough, effective_rows, limits, thin_out, weighted_rows
from .local import LocalErrors

_MOST_ROWS = 2000  # training rows whose errors are used: more change the width by less than a percent
_VALUES_AT_ONCE = 2**24

Outputs = Callable[[slice, int, int, bool], Floats]
LeavesOf = Callable[[npt.NDArray[np.intp]], Ints]
Members = Sequence[Sequence[tuple[int, int]]]


@dataclass(eq=False)
class LeftOut:
    """What is kept of the training rows: errors, and which trees have not drawn them."""

    residuals: Floats  #: out-of-bag errors of some rows, absolute, in units of outputs
    bits: npt.NDArray[
        np.uint8
    ]  #: per different seed and row a bit, eight in a byte, 1: its trees have not drawn the row
    seed_of_tree: Longs  #: per tree: which of the seeds it has; those of a bag share theirs
    weight: Floats | None = None  #: of the rows; None: all the same
    local: LocalErrors | None = None  #: the same rows with their signs and leaves; None: not known

    @classmethod
    def of_trees(
        cls, residuals: Floats, bits: npt.NDArray[np.uint8], seeds: Seeds, weight: Floats | None = None
    ) -> "LeftOut":
        """Return the same from bits of every tree."""
        _, first, of_tree = np.unique(seeds, return_index=True, return_inverse=True)
        return cls(residuals, bits[first], of_tree, weight)

    def absent(self, trees: list[int]) -> Mask:
        """Return trees × rows: whether the tree has not drawn the row."""
        bits = self.bits[self.seed_of_tree[trees]]
        return np.unpackbits(bits, axis=1, count=len(self.residuals)).astype(np.bool_)


def left_out(
    seeds: Seeds,
    bags: list[Seeds],
    sampling: Sampling,
    residuals: Floats,
    seen: Mask,
    trees: Longs,
    leaves_of: LeavesOf,
) -> LeftOut:
    """Keep what intervals need, of at most so many rows.

    ``bags`` has the seeds of each boosted stage: rows that all of its bags have drawn are not kept. ``leaves_of`` gives
    the leaves of some rows in ``trees``.
    """
    for stage in bags:
        seen = seen & np.logical_or.reduce([sampling.counts(seed, len(residuals)) == 0 for seed in stage])
    rows, weight = thin_out(*weighted_rows(seen, sampling.sample_weight), _MOST_ROWS)
    different, of_tree = np.unique(seeds, return_inverse=True)  # the trees of a bag share their seed
    absent = np.stack([sampling.counts(seed, len(residuals))[rows] == 0 for seed in different])
    local = None
    if len(rows) > 1:
        local = LocalErrors.of(residuals[rows], leaves_of(rows), trees, weight)
    return LeftOut(np.abs(residuals[rows]), np.packbits(absent, axis=1), of_tree, weight, local)


def intervals(
    loss: Loss,
    outputs_of: Outputs,
    n_rows: int,
    members: Members,
    steps: Sequence[float],
    kept: LeftOut,
    coverage: float,
    offset: Floats | None = None,
) -> Floats:
    """Return lower and upper ends for every row, in units of outputs.

    ``outputs_of`` gives what the outputs of trees from first to end add up to for some rows, or their scores; a stage
    has ``members``, which are such trees, and a step.
    """
    n_kept = len(kept.residuals)
    if _are_infinite(kept, coverage):
        return np.tile([-np.inf, np.inf], (n_rows, 1))
    ends = np.empty((n_rows, 2))
    block = max(1, _VALUES_AT_ONCE // max(n_kept, *map(len, members)))
    for first in range(0, n_rows, block):
        rows = slice(first, min(first + block, n_rows))
        own = None if offset is None else offset[rows]
        centres = _left_out_predictions(loss, outputs_of, rows, members, steps, kept, own)
        ends[rows, 0] = -limits(kept.residuals - centres, kept.weight, coverage)
        ends[rows, 1] = limits(centres + kept.residuals, kept.weight, coverage)
    return ends


def local_intervals(local: LocalErrors, kept: LeftOut, centre: Floats, leaves: Ints, coverage: float) -> Floats:
    """Return lower and upper ends around outputs, as wide as errors are large in the rows' leaves."""
    if _are_infinite(kept, coverage):
        return np.tile([-np.inf, np.inf], (len(centre), 1))
    half = local.half_widths(leaves, coverage)
    return np.column_stack([centre - half, centre + half])


def _are_infinite(kept: LeftOut, coverage: float) -> bool:
    """Tell whether there are too few rows for a coverage, and say so."""
    n_kept = len(kept.residuals)
    if are_enough(n_kept, kept.weight, coverage):
        return False
    by_weight = "" if kept.weight is None else f" that count as {effective_rows(kept.weight):.3g} by their weights"
    warn(
        f"Intervals are infinite: coverage={coverage} needs at least {_rows_needed(coverage)} training rows that "
        f"some tree has left out, and there are {n_kept}{by_weight} (of a larger table {_MOST_ROWS} are kept)."
    )
    return True


def _rows_needed(coverage: float) -> int:
    """Return the least n with ceil(coverage (n + 1)) <= n."""
    n = int(coverage / (1 - coverage))
    while np.ceil(coverage * (n + 1)) > n:
        n += 1
    return n


def _left_out_predictions(
    loss: Loss,
    outputs_of: Outputs,
    rows: slice,
    members: Members,
    steps: Sequence[float],
    kept: LeftOut,
    offset: Floats | None,
) -> Floats:
    """Return, for some rows, the outputs of the forests that have not seen one of the kept rows."""
    scores = np.zeros((rows.stop - rows.start, len(kept.residuals)))
    for number, (stage, step) in enumerate(zip(members, steps, strict=True)):
        outputs = np.column_stack([outputs_of(rows, first, end, number > 0) for first, end in stage])
        absent = kept.absent([first for first, _ in stage]).astype(np.float64)
        n_absent = np.maximum(absent.sum(axis=0), 1)
        if number > 0 or loss.link == Link.IDENTITY:
            own: Any = 0.0 if offset is None or number > 0 else (1 - step) * offset  # the offset counts in full
            scores += step * (outputs @ absent) / n_absent + own
        else:
            of_mean = loss.scores((outputs @ absent) / n_absent, offset)
            scores += step * of_mean if offset is None else step * (of_mean - offset) + offset
    return loss.outputs(scores)
