"""How few digits the coefficients of a forest need: as many as the out-of-bag loss can tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.typing import Floats, Longs, Mask, Signs, Singles
from .._core import LEAST_EXPONENT, NO_EXPONENT, node_depths
from .._losses import OutOfBag, Several
from .._model.columns import DTYPES, ForestColumns, clip_range_dtype, is_finite, with_type
from .._model.model import Model, Places
from .._model.pruning import with_members
from .data import TrainingData
from .objective import Objective
from .parameters import smallest

TOLERANCE = 0.001  # by which the loss may rise
_OF_BOOSTED = 0.0005  # of the squared error, or another loss: what the constants of boosted trees may add to it
_OF_RANGES = 0.01  # the same of clip ranges, if all of them were off at random
_FIRST_TRIED, _LAST_TRIED = 3, 6  # units of a forest, in powers of two above the smallest that many models have
_HOPE = 0.5  # powers of two above what is expected to be accepted, to begin with
_PART, _LEAST_MEMBERS = 4, 2  # it judges by one in four trees, or bags of boosted ones
_PART_OF_FEW_ROWS, _FEW_ROWS = 2, 2000  # fewer rows tell less, and more trees take little time
_MOST_TARGETS = 3  # of several targets, which are as many predictions of a row, by one in so many of these
_MANY_ROWS, _JUDGES = 8000, 2000  # from here on so many rows judge: all trees are walked for each of them
SHOWN_DIGITS, _RANGE_DIGITS = 2, 3  # in base 2, of what is only looked at and of clip ranges, as the core has them
ANY_UNIT = 1000  # an exponent: no clip range is as large
_HIDDEN_DIGITS, _WEIGHT_DIGITS = 8, 3  # of hidden layers, and of the rows of left children in boosted trees
_ROWS_OF_SINGLES, _LEAST_PENALTY = 1000, 1e-5  # from here on forests grow in float32: half as much is written and read
_GOLDEN = (5**0.5 - 1) / 2
_MOST_CONSTANT = 126  # units: one may be added


@dataclass(frozen=True)
class Units:
    """The smallest units that coefficients of eight bits may have: exponents."""

    forest: int = LEAST_EXPONENT
    boosted: tuple[int, ...] = ()  #: of each boosted stage; none: as small as they may be

    def of_boosted(self, i: int) -> int:
        """Return that of the i-th boosted stage."""
        return self.boosted[i] if self.boosted else LEAST_EXPONENT

    def larger(self, shift: int) -> Units:
        """Return units that are larger by a power of two."""
        return Units(self.forest + shift, tuple(unit + shift for unit in self.boosted))


def first_dtype(data: TrainingData, penalties: Any, *, scaled: bool) -> str:
    """Return the type in which a forest is grown whose type is chosen in the end: float32 for many rows.

    In units of standard deviations nothing is too large for it, and the penalty keeps slopes from cancelling out.
    """
    least = smallest(penalties)
    fits = scaled and least is not None and least >= _LEAST_PENALTY
    return "float32" if fits and len(data.y) >= _ROWS_OF_SINGLES else "float64"


def with_smallest_dtype(model: Model, data: TrainingData, threads: int) -> Model:
    """Return the model with coefficients of the smallest type whose out-of-bag loss is within a thousandth of its own.

    Without out-of-bag rows predictions of the training rows may move by a thousandth of their standard deviation.
    """
    if model.columns.in_python.any():
        return model
    judge = _Judge(model, data, threads)
    larger = Units(boosted=judge.units_of_boosted(model))
    smaller = DTYPES[: DTYPES.index(model.columns.dtype.name) : -1]
    candidates = [(dtype, Units()) for dtype in smaller]
    for dtype, units in [("int8", larger), *candidates] if larger.boosted else candidates:
        if judge.rise(dtype, units) <= 1:
            best = _largest_units(judge, units) if dtype == "int8" else units
            short = rounded(model, dtype, best)
            if is_finite(short, model.columns):
                return replace(model, columns=short)
    return model


def _largest_units(judge: _Judge, units: Units) -> Units:
    """Return the largest units of the forest that are accepted, at least these: files are smaller."""
    finer = judge.scores("int8", units)
    exponent = judge.parts.forest_of("int8", units.forest).exponent
    assert exponent is not None
    many = _many(exponent)

    def of(shift: int) -> Units:
        return replace(units, forest=many + shift)

    # What is lost grows with the square of the unit, more or less: so the largest that may be accepted is known from
    # one, and those below are tried.
    rise = judge.rise("int8", of(_FIRST_TRIED), finer)
    expected = _FIRST_TRIED - np.log2(max(rise, 2.0**-20)) / 2
    first = int(np.clip(np.floor(expected + _HOPE), 0, _LAST_TRIED))
    for shift in range(first, -1, -1):
        is_known = shift == _FIRST_TRIED
        if (rise if is_known else judge.rise("int8", of(shift), finer)) <= 1:
            return of(shift)
    return units


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
        step = n_rows // _JUDGES if data.source is None and n_rows >= _MANY_ROWS else 1
        judges = np.arange(n_rows) % step == 0
        self._X = data.X if step == 1 else data.X[judges]
        self._places = Places(n_rows, None if step == 1 else np.flatnonzero(judges))
        self._sampling, self._threads = data.sampling, threads
        self._objective = Objective(data.loss, y, weight, data.offset).part(judges)
        members = model.stages.members(model.seeds)
        first = np.cumsum([0, *map(len, members)])
        part = _PART_OF_FEW_ROWS if n_rows < _FEW_ROWS else _PART
        part *= min(len(data.loss.parts), _MOST_TARGETS) if isinstance(data.loss, Several) else 1
        sizes = [max(-(-len(m) // part), min(len(m), _LEAST_MEMBERS)) for m in members]
        # From everywhere: the first ones have all been grown with the same settings.
        kept = np.concatenate([b + np.arange(n) * len(m) // n for b, n, m in zip(first, sizes, members, strict=False)])
        # Errors of rounding matter less the more trees there are.
        self._shrink = np.sqrt(max(n / len(m) for n, m in zip(sizes, members, strict=True)))
        self._part = with_members(model, kept)  # the trees that it judges by
        self.parts = Parts(self._part, sum(model.stages.boosted))  #: the same, as they are rounded
        self._known: dict[tuple[int, str, int], OutOfBag] = {}  # of stages that were rounded, by what and to which unit
        self._scores, self._seen = self._scores_of("", Units())
        self._figure = self._figure_of([self._scores])

    def units_of_boosted(self, model: Model) -> tuple[int, ...]:
        """Return for each boosted stage the exponent of the largest unit that adds little to the loss.

        A constant is off by a unit at most, and not more often to one side than to the other (see `_constants`): what
        a sum over rounds is off by has a variance of a sixth of the unit's square for each of them, and bags are many.
        """
        boosted = [i for i, is_boosted in enumerate(model.stages.boosted) if is_boosted]
        rows = self._seen if self._seen.any() else np.ones(len(self._X), dtype=bool)
        objective = self._objective
        losses, curvature = objective.losses(self._scores), objective.loss.curvature(self._scores).sum(axis=1)
        most = _OF_BOOSTED * abs(objective.average(losses, rows)) / max(len(boosted), 1)
        found = []
        for stage in boosted:
            (first, end), n_bags, step = (getattr(model.stages, n)[stage] for n in ("parts", "counts", "steps"))
            of_unit = step**2 * (end - first) / n_bags**2 / 12 * objective.average(curvature, rows)
            unit = np.sqrt(most / of_unit) if most > 0 and of_unit > 0 else 0.0
            found.append(int(np.clip(np.floor(np.log2(unit)), LEAST_EXPONENT, 0)) if unit > 0 else LEAST_EXPONENT)
        return tuple(found)

    def scores(self, dtype: str, units: Units) -> Floats:
        """Return the scores of its rows by rounded trees."""
        return self._scores_of(dtype, units)[0]

    def rise(self, dtype: str, units: Units, finer: Floats | None = None) -> float:
        """Return what rounded trees cost, as a part of what they may cost; infinite if they are not finite.

        ``finer``: scores in smaller units, which are good enough.
        """
        if not self.parts.is_finite(dtype, units):
            return np.inf
        return self.rise_of(self.scores(dtype, units), finer)

    def rise_of(self, after: Floats, finer: Floats | None = None) -> float:
        """Return the same of the scores by rounded trees."""
        whole = after - self._scores
        rows = self._objective.counted(self._seen)
        shift: Any = 0.0
        if finer is not None and rows.any():
            shift = np.average(whole[rows], axis=0, weights=self._objective.part(rows).weight)
        change = shift + self._shrink * (whole - shift)  # what all rows have in common more trees do not take away
        if not self._seen.any() or not self._sampling.bootstrap:
            return _share(float(np.sqrt(np.mean(change**2))), TOLERANCE * float(self._scores.std()))
        rise = self._figure_of([self._scores + change, self._scores - change]) - self._figure
        if finer is not None:
            rise += self._pull(after - finer)
        return _share(rise, TOLERANCE * abs(self._figure))

    def _pull(self, change: Floats) -> float:
        """Return what the loss rises by as errors have a side, beyond what may be chance."""
        more, less = (self._objective.losses(self._scores + sign * change) for sign in (1, -1))
        t = self._objective.t_value(more - less, self._seen)
        pull = (self._figure_of([self._scores + change]) - self._figure_of([self._scores - change])) / 2
        return pull * (1 - 1 / t) if t > 1 else 0.0

    def _scores_of(self, dtype: str, units: Units) -> tuple[Floats, Mask]:
        """Return the scores by rounded trees, without a type by exact ones, and the rows that have them out of bag."""
        X, loss, offset = self._X, self._objective.loss, self._objective.offset
        if self._sampling.bootstrap:
            stages = [self._stage(i, dtype, units) for i in range(len(self._part.stages))]
            outputs, seen = self._part.of_stages(stages, offset)
            if seen.any():
                return np.where(seen[:, None], loss.scores(outputs, offset), 0.0), seen
        whole = replace(self._part, columns=self.parts.rounded(dtype, units))
        return loss.scores(whole.outputs(X, self._threads, offset), offset), np.zeros(len(X), dtype=bool)

    def _stage(self, stage: int, dtype: str, units: Units) -> OutOfBag:
        number = stage - (len(self._part.stages) - len(self.parts.boosted))  # of a boosted one; below 0: of the forest
        unit = units.forest if number < 0 else units.of_boosted(number)
        if (key := (stage, dtype, unit)) not in self._known:
            if number < 0:
                columns = self.parts.forest_of(dtype, unit).take(*self._part.stages.parts[stage], copied=False)
            else:
                columns = self.parts.boosted_of(number, dtype, unit)
            rows = self._X, self._sampling, self._threads, self._objective.offset, self._places
            self._known[key] = self._part.stage_out_of_bag(stage, *rows, columns)
        return self._known[key]

    def _figure_of(self, scores: list[Floats]) -> float:
        """Return the loss, as people read it, of the mean over some scores."""
        losses = np.mean([self._objective.losses(s) for s in scores], axis=0)
        return self._objective.loss.figure(self._objective.average(losses, self._seen))[1]


# ------------------------------------------------------------------------------------------------------------- rounding


def few_digits(values: npt.NDArray[Any], digits: int | Longs, whole: np.ufunc = np.rint) -> npt.NDArray[Any]:
    """Round to so many digits in base 2; ``whole`` rounds to whole numbers."""
    finite = np.isfinite(values)
    if not finite.any():  # as the clip ranges of boosted trees
        return values
    fraction, power = np.frexp(np.where(finite, values, 0))
    shortened = np.ldexp(whole(np.ldexp(fraction, digits)), power - digits)
    return np.where(finite, shortened, values).astype(values.dtype)


def rounded(model: Model, dtype: str, units: Units | None = None, of_ranges: int = ANY_UNIT) -> ForestColumns:
    """Return the trees as a fit with this type would have them, thresholds aside; ``units``: of int8, none smaller.

    ``of_ranges``: exponent of the unit that clip ranges of int8 are rounded to where their few digits would be coarser.
    """
    units = units or Units()
    return Parts(model, len(units.boosted) or sum(model.stages.boosted), of_ranges).rounded(dtype, units)


class Parts:
    """The forest of a model and its boosted stages, the last ones, which are rounded in other ways.

    In a part of a model bags of boosted stages may have a tree each, as if they were a forest: so their number is told.
    """

    def __init__(self, model: Model, n_boosted: int, of_ranges: int = ANY_UNIT) -> None:
        stages = model.stages.parts[len(model.stages.parts) - n_boosted :]
        n_forest = stages[0][0] if stages else model.n_trees
        self._forest = model.columns.take(0, n_forest, copied=False)
        #: the trees of each boosted stage
        self.boosted = [model.columns.take(*stage, copied=False) for stage in stages]
        self._of_ranges = of_ranges
        self._known: dict[tuple[Any, ...], ForestColumns] = {}

    def rounded(self, dtype: str, units: Units) -> ForestColumns:
        """Return all trees."""
        boosted = [self.boosted_of(i, dtype, units.of_boosted(i)) for i in range(len(self.boosted))]
        if dtype == "int8":
            boosted = [_shown_in_short(after, own) for after, own in zip(boosted, self.boosted, strict=True)]
        forest = self.forest_of(dtype, units.forest)
        return ForestColumns.concatenate([forest, *boosted]) if boosted else forest

    def is_finite(self, dtype: str, units: Units) -> bool:
        """Tell whether all that was rounded is still a number."""
        boosted = [is_finite(self.boosted_of(i, dtype, units.of_boosted(i)), own) for i, own in enumerate(self.boosted)]
        return is_finite(self.forest_of(dtype, units.forest), self._forest) and all(boosted)

    def forest_of(self, dtype: str, unit: int) -> ForestColumns:
        """Return the trees of the forest; without a type as they are."""
        if not dtype:
            return self._forest
        key = dtype, unit
        if key not in self._known:
            self._known[key] = self._round_forest(dtype, unit)
        return self._known[key]

    def _round_forest(self, dtype: str, unit: int) -> ForestColumns:
        if dtype != "int8":
            return self._forest.astype(dtype)
        if self._forest.dtype == np.int8:
            return self._forest.in_units(unit)
        return self._short_forest.astype(dtype, unit)

    @cached_property
    def _short_forest(self) -> ForestColumns:
        return _with_few_digits(self._forest, self._of_ranges)

    def boosted_of(self, i: int, dtype: str, unit: int) -> ForestColumns:
        """Return the trees of the i-th boosted stage, likewise; what is only looked at stays as it is."""
        if not dtype:
            return self.boosted[i]
        key = i, dtype, unit
        if key not in self._known:
            own = self.boosted[i]
            self._known[key] = _constants(own, unit) if dtype == "int8" else own.astype(dtype)
        return self._known[key]


def _with_few_digits(columns: ForestColumns, of_ranges: int = ANY_UNIT) -> ForestColumns:
    """Return the trees with fewer digits of what is not a coefficient."""
    short: dict[str, Any] = {"gain": few_digits(columns.gain, SHOWN_DIGITS)}
    for name in ("lower", "upper"):
        ends = getattr(columns, name)
        above = np.frexp(np.where(np.isfinite(ends), ends, 0))[1] - of_ranges  # powers of two that the unit is below
        short[name] = with_type(few_digits(ends, np.maximum(above, _RANGE_DIGITS)), clip_range_dtype("int8"))
    return replace(columns, **short, hidden=few_digits(columns.hidden, _HIDDEN_DIGITS))


def _constants(columns: ForestColumns, unit: int) -> ForestColumns:
    """Return the trees of a boosted stage with constants of eight bits.

    Hundreds of small constants add up to a score. Rounded to the nearest number, those below half a unit would vanish,
    all of them. So what is added before they are rounded down differs from tree to tree, and evenly fills a unit.
    """
    start = columns.tree_params_start
    values = columns.coefficients().astype(np.float64)
    largest = np.maximum.reduceat(np.abs(values), start[:-1])
    smallest = np.frexp(largest / _MOST_CONSTANT)[1]
    exponent = np.where(largest > 0, np.clip(smallest, LEAST_EXPONENT, NO_EXPONENT), LEAST_EXPONENT)
    exponent = np.where(np.isfinite(largest), np.maximum(exponent, unit), NO_EXPONENT)
    added = np.arange(columns.n_trees) * _GOLDEN % 1
    sizes = np.diff(start)
    with np.errstate(invalid="ignore"):
        numbers = np.floor(np.ldexp(values, np.repeat(-exponent, sizes)) + np.repeat(added, sizes))
    short: dict[str, Any] = {
        "params": np.where(np.repeat(exponent < NO_EXPONENT, sizes), numbers, 0).astype(np.int8),
        "exponent": np.repeat(exponent, sizes).astype(np.int8),
    }
    short |= {name: getattr(columns, name).astype(clip_range_dtype("int8")) for name in ("lower", "upper")}
    return replace(columns, **short)


def _shown_in_short(columns: ForestColumns, before: ForestColumns) -> ForestColumns:
    """Return boosted trees in int8 with few digits of what is only looked at, unless they had so few before."""
    if before.dtype == np.int8:
        return columns
    return replace(_with_few_digits(columns), loss=None, n_samples=_short_weights(columns))


def _short_weights(columns: ForestColumns) -> Singles:
    """Return the weights of the rows of nodes, those of left children to a few digits, right ones to add up.

    Only shares of parents matter, in explanations: there are thousands of boosted trees.
    """
    exact, depth = columns.n_samples, node_depths(columns.tree_start, columns.left)
    inner = np.flatnonzero(columns.left > 0)
    left = columns.left[inner] + columns.tree_start[columns.tree_of_node[inner]]
    weight = exact.copy()
    for level in range(int(depth.max(initial=0))):
        here = depth[inner] == level
        parent, child = inner[here], left[here]
        whole, share = weight[parent], exact[child] / np.maximum(exact[parent], np.float32(1e-30))
        near = few_digits(whole * share, _WEIGHT_DIGITS)
        near = np.where(near < whole, near, few_digits(whole * share, _WEIGHT_DIGITS, np.floor))
        weight[child] = np.where(share < 1, near, whole)
        weight[child + 1] = whole - weight[child]
    return weight


def unit_of_ranges(objective: Objective, outputs: Floats, rows: Mask) -> int:
    """Return the exponent of the largest unit of clip ranges that is small beside what outputs of some rows are off by.

    Trees share the ends of ranges: where many rows have the same target, far from others, all are off to the same side.
    """
    scores = objective.scores(outputs)
    curvature = objective.average(objective.loss.curvature(scores).sum(axis=1), rows)
    if not curvature > 0:
        return ANY_UNIT
    most = _OF_RANGES * abs(objective.average(objective.losses(scores), rows))
    unit = np.sqrt(24 * most / curvature)  # what is rounded to units is off by a variance of a twelfth of their square
    return int(np.floor(np.log2(np.clip(unit, 2.0**LEAST_EXPONENT, 2.0**ANY_UNIT))))


def _share(cost: float, most: float) -> float:
    """Return a cost as a part of what it may be."""
    if cost <= 0:
        return 0.0
    return cost / most if most > 0 else np.inf


def units_of(model: Model) -> Units:
    """Return the smallest units that many models have: an eighth or more of them."""
    exponent, start = model.columns.exponent, model.columns.tree_outputs_start
    assert exponent is not None
    stages = list(zip(model.stages.parts, model.stages.boosted, strict=True))
    forest = [exponent[start[first] : start[end]] for (first, end), boosted in stages if not boosted]
    boosted = [exponent[start[first] : start[end]] for (first, end), boosted in stages if boosted]
    return Units(_many(np.concatenate(forest)), tuple(map(_many, boosted)))


def _many(exponents: Signs) -> int:
    return int(np.quantile(exponents, 1 / 8, method="lower")) if len(exponents) else LEAST_EXPONENT
