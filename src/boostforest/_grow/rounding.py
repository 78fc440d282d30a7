"""How few digits the coefficients of a forest need: as many as the out-of-bag loss can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.typing import Floats, Mask
from .._losses import Several
from .._model.columns import DTYPES, ForestColumns, is_finite
from .._model.model import Model, Places
from .._model.pruning import with_members
from .data import TrainingData
from .objective import Objective

TOLERANCE = 0.001  # by which the loss may rise
MOST_SHIFTS = 6  # of the unit of coefficients: larger ones leave a bit or two
_AUTO_SHIFTS = 2  # that a fit tries
_PART, _LEAST_MEMBERS = 4, 2  # it judges by one in four trees, or bags of boosted ones
_PART_OF_FEW_ROWS, _FEW_ROWS = 2, 2000  # fewer rows tell less, and more trees take little time
_MOST_TARGETS = 3  # of several targets, which are as many predictions of a row, by one in so many of these
_MOST_JUDGES = 4000  # rows: all trees are walked for each of them
SHOWN_DIGITS, _RANGE_DIGITS = 4, 4  # in base 2, of what is only looked at and of clip ranges, as the core has them


def with_smallest_dtype(model: Model, data: TrainingData, threads: int) -> Model:
    """Return the model with coefficients of the smallest type whose out-of-bag loss is within a thousandth of its own.

    Without out-of-bag rows predictions of the training rows may move by a thousandth of their standard deviation.
    """
    if model.columns.in_python.any():
        return model
    judge = _Judge(model, data, threads)
    for dtype in reversed(DTYPES[1:]):
        part = rounded(judge.columns, dtype)
        if not is_finite(part, judge.columns) or not judge.accepts(part):
            continue
        short = rounded(model.columns, dtype, _largest_shift(judge) if dtype == "int8" else 0)
        if is_finite(short, model.columns):
            return replace(model, columns=short)
    return model


def _largest_shift(judge: _Judge) -> int:
    """Return by how many powers of two units may be larger: files are smaller. Most often it is one or two."""

    def is_accepted(shift: int) -> bool:
        return judge.accepts(rounded(judge.columns, "int8", shift), strictly=True)

    first = _AUTO_SHIFTS - 1
    if is_accepted(first):
        return _AUTO_SHIFTS if is_accepted(_AUTO_SHIFTS) else first
    return next((n for n in range(first - 1, 0, -1) if is_accepted(n)), 0)


class _Judge:
    """Compares rounded forests with the one that was grown, by a part of every stage.

    Errors of rounding are as often too large as too small. So the loss is taken after the errors and after their
    opposites: what the mean of both has risen by is not a matter of chance. But single trees are clipped, or their
    outputs averaged as probabilities: this turns errors that are not related to those of the forest into some that are,
    however many trees there are. What the loss rises by through them is noisy, so only larger units have to stand it.
    """

    def __init__(self, model: Model, data: TrainingData, threads: int) -> None:
        n_rows, weight = len(data.X), data.sampling.sample_weight
        # Targets that count nothing may be anything: their losses must not overflow.
        y = data.y if weight is None else np.where(weight > 0, data.y.T, 0.0).T
        step = max(1, n_rows // _MOST_JUDGES) if data.source is None else 1
        judges = np.arange(n_rows) % step == 0
        self._X = data.X if step == 1 else data.X[judges]
        self._places = Places(n_rows, None if step == 1 else np.flatnonzero(judges))
        self._sampling, self._threads = data.sampling, threads
        self._objective = Objective(data.loss, y, weight, data.offset).part(judges)
        members = model.stages.members(model.seeds)
        first = np.cumsum([0, *map(len, members)])
        part = _PART_OF_FEW_ROWS if len(data.X) < _FEW_ROWS else _PART
        part *= min(len(data.loss.parts), _MOST_TARGETS) if isinstance(data.loss, Several) else 1
        sizes = [max(-(-len(m) // part), min(len(m), _LEAST_MEMBERS)) for m in members]
        # From everywhere: the first ones have all been grown with the same settings.
        kept = np.concatenate([b + np.arange(n) * len(m) // n for b, n, m in zip(first, sizes, members, strict=False)])
        # Errors of rounding matter less the more trees there are.
        self._shrink = np.sqrt(max(n / len(m) for n, m in zip(sizes, members, strict=True)))
        self._part = with_members(model, kept)
        self._scores, self._seen = self._scores_of(self._part)
        self._figure = self._figure_of([self._scores])

    @property
    def columns(self) -> ForestColumns:
        """The trees that it judges by."""
        return self._part.columns

    def accepts(self, columns: ForestColumns, strictly: bool = False) -> bool:
        whole = self._scores_of(replace(self._part, columns=columns))[0] - self._scores
        shift = whole[self._seen].mean(axis=0) if strictly and self._seen.any() else 0.0
        change = shift + self._shrink * (whole - shift)  # what all rows have in common more trees do not take away
        if not self._seen.any() or not self._sampling.bootstrap:
            return float(np.sqrt(np.mean(change**2))) <= TOLERANCE * float(self._scores.std())
        rise = self._figure_of([self._scores + change, self._scores - change]) - self._figure
        if strictly:
            bias = (self._figure_of([self._scores + whole]) - self._figure_of([self._scores - whole])) / 2
            rise += max(bias, 0.0)  # errors that happen to help are no reason to make more of them
        return rise <= TOLERANCE * abs(self._figure)

    def _scores_of(self, model: Model) -> tuple[Floats, Mask]:
        X, loss, offset = self._X, self._objective.loss, self._objective.offset
        if self._sampling.bootstrap:
            outputs, seen = model.out_of_bag_outputs(X, self._sampling, self._threads, offset, self._places)
            if seen.any():
                return np.where(seen[:, None], loss.scores(outputs, offset), 0.0), seen
        return loss.scores(model.outputs(X, self._threads, offset), offset), np.zeros(len(X), dtype=bool)

    def _figure_of(self, scores: list[Floats]) -> float:
        """Return the loss, as people read it, of the mean over some scores."""
        losses = np.mean([self._objective.losses(s) for s in scores], axis=0)
        return self._objective.loss.figure(self._objective.average(losses, self._seen))[1]


# ------------------------------------------------------------------------------------------------------------- rounding


def few_digits(values: npt.NDArray[Any], digits: int) -> npt.NDArray[Any]:
    """Round to so many digits in base 2."""
    finite = np.isfinite(values)
    fraction, power = np.frexp(np.where(finite, values, 0))
    shortened = np.ldexp(np.rint(np.ldexp(fraction, digits)), power - digits)
    return np.where(finite, shortened, values).astype(values.dtype)


def rounded(columns: ForestColumns, dtype: str, shift: int = 0) -> ForestColumns:
    """Return the trees as a fit with this type would have them, thresholds aside; ``shift``: in larger units."""
    if dtype != "int8" or columns.dtype == np.int8:
        return columns.astype(dtype)
    short: dict[str, Any] = {"gain": few_digits(columns.gain, SHOWN_DIGITS)}
    short |= {name: few_digits(getattr(columns, name), _RANGE_DIGITS) for name in ("lower", "upper")}
    return replace(columns, **short).astype(dtype, shift)
