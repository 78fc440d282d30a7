"""How few digits the coefficients of a forest need: as many as the out-of-bag loss can tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.typing import Floats, Mask, Signs, Singles
from .._core import LEAST_EXPONENT, NO_EXPONENT
from .._losses import Several
from .._model.columns import DTYPES, ForestColumns, clip_range_dtype, is_finite
from .._model.model import Model, Places
from .._model.pruning import with_members
from .data import TrainingData
from .objective import Objective

TOLERANCE = 0.001  # by which the loss may rise
_OF_BOOSTED = 0.0005  # of the squared error, or another loss: what the constants of boosted trees may add to it
_FIRST_TRIED, _LAST_TRIED = 3, 6  # units of a forest, in powers of two above the smallest that many models have
_PART, _LEAST_MEMBERS = 4, 2  # it judges by one in four trees, or bags of boosted ones
_PART_OF_FEW_ROWS, _FEW_ROWS = 2, 2000  # fewer rows tell less, and more trees take little time
_MOST_TARGETS = 3  # of several targets, which are as many predictions of a row, by one in so many of these
_MANY_ROWS, _JUDGES = 8000, 2000  # from here on so many rows judge: all trees are walked for each of them
SHOWN_DIGITS, _RANGE_DIGITS = 2, 3  # in base 2, of what is only looked at and of clip ranges, as the core has them
_HIDDEN_DIGITS, _WEIGHT_DIGITS = 8, 3  # of hidden layers, and of the rows of left children in boosted trees
_GOLDEN = (5**0.5 - 1) / 2
_MOST_CONSTANT = 126  # units: one may be added


@dataclass(frozen=True)
class Units:
    """The smallest units that coefficients of eight bits may have: exponents."""

    forest: int = LEAST_EXPONENT
    boosted: tuple[int, ...] = ()  #: of each boosted stage; none: as small as they may be

    def larger(self, shift: int) -> Units:
        """Return units that are larger by a power of two."""
        return Units(self.forest + shift, tuple(unit + shift for unit in self.boosted))


def with_smallest_dtype(model: Model, data: TrainingData, threads: int) -> Model:
    """Return the model with coefficients of the smallest type whose out-of-bag loss is within a thousandth of its own.

    Without out-of-bag rows predictions of the training rows may move by a thousandth of their standard deviation.
    """
    if model.columns.in_python.any():
        return model
    judge = _Judge(model, data, threads)
    larger, candidates = Units(boosted=judge.units_of_boosted(model)), [(dtype, Units()) for dtype in DTYPES[:0:-1]]
    for dtype, units in [("int8", larger), *candidates] if larger.boosted else candidates:
        part = rounded(judge.part, dtype, units)
        if not is_finite(part, judge.part.columns) or not judge.accepts(part):
            continue
        short = rounded(model, dtype, _largest_units(judge, part, units) if dtype == "int8" else units)
        if is_finite(short, model.columns):
            return replace(model, columns=short)
    return model


def _largest_units(judge: _Judge, part: ForestColumns, units: Units) -> Units:
    """Return the largest units of the forest that are accepted: files are smaller. ``part`` has the smallest ones."""
    many, finer = units_of(replace(judge.part, columns=part)).forest, judge.scores(part)

    def of(shift: int) -> Units:
        return replace(units, forest=many + shift)

    def is_accepted(shift: int) -> bool:
        return judge.accepts(rounded(judge.part, "int8", of(shift)), finer)

    if is_accepted(_FIRST_TRIED):
        refused = next((n for n in range(_FIRST_TRIED + 1, _LAST_TRIED + 1) if not is_accepted(n)), _LAST_TRIED + 1)
        return of(refused - 1)
    return next((of(n) for n in range(_FIRST_TRIED - 1, -1, -1) if is_accepted(n)), units)


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
        self.part = with_members(model, kept)  #: the trees that it judges by
        self._scores, self._seen = self._scores_of(self.part)
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

    def scores(self, columns: ForestColumns) -> Floats:
        """Return the scores of its rows by rounded trees."""
        return self._scores_of(replace(self.part, columns=columns))[0]

    def accepts(self, columns: ForestColumns, finer: Floats | None = None) -> bool:
        """Tell whether rounded trees are good enough; ``finer``: scores in smaller units, which are good enough."""
        after = self.scores(columns)
        whole = after - self._scores
        rows = self._objective.counted(self._seen)
        shift: Any = 0.0
        if finer is not None and rows.any():
            shift = np.average(whole[rows], axis=0, weights=self._objective.part(rows).weight)
        change = shift + self._shrink * (whole - shift)  # what all rows have in common more trees do not take away
        if not self._seen.any() or not self._sampling.bootstrap:
            return float(np.sqrt(np.mean(change**2))) <= TOLERANCE * float(self._scores.std())
        rise = self._figure_of([self._scores + change, self._scores - change]) - self._figure
        if finer is not None:
            rise += self._pull(after - finer)
        return rise <= TOLERANCE * abs(self._figure)

    def _pull(self, change: Floats) -> float:
        """Return what the loss rises by as errors have a side, beyond what may be chance."""
        more, less = (self._objective.losses(self._scores + sign * change) for sign in (1, -1))
        t = self._objective.t_value(more - less, self._seen)
        pull = (self._figure_of([self._scores + change]) - self._figure_of([self._scores - change])) / 2
        return pull * (1 - 1 / t) if t > 1 else 0.0

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


def few_digits(values: npt.NDArray[Any], digits: int, whole: np.ufunc = np.rint) -> npt.NDArray[Any]:
    """Round to so many digits in base 2; ``whole`` rounds to whole numbers."""
    finite = np.isfinite(values)
    fraction, power = np.frexp(np.where(finite, values, 0))
    shortened = np.ldexp(whole(np.ldexp(fraction, digits)), power - digits)
    return np.where(finite, shortened, values).astype(values.dtype)


def rounded(model: Model, dtype: str, units: Units | None = None) -> ForestColumns:
    """Return the trees as a fit with this type would have them, thresholds aside; ``units``: of int8, none smaller."""
    columns, units = model.columns, units or Units()
    if dtype != "int8":
        return columns.astype(dtype)
    if columns.dtype != np.int8:
        short: dict[str, Any] = {"gain": few_digits(columns.gain, SHOWN_DIGITS)}
        short |= {name: few_digits(getattr(columns, name), _RANGE_DIGITS) for name in ("lower", "upper")}
        short["hidden"] = few_digits(columns.hidden, _HIDDEN_DIGITS)
        columns = replace(columns, **short)
    # Boosted stages are the last ones. In a part of a model their bags may have a tree each, as if they were a forest.
    n_boosted = len(units.boosted) or sum(model.stages.boosted)
    stages = model.stages.parts[len(model.stages.parts) - n_boosted :]
    n_forest = stages[0][0] if stages else columns.n_trees
    forest = columns.take(0, n_forest) if stages else columns
    parts = [forest.in_units(units.forest) if columns.dtype == np.int8 else forest.astype(dtype, units.forest)]
    for stage, unit in zip(stages, units.boosted or (LEAST_EXPONENT,) * len(stages), strict=True):
        parts.append(_constants(columns.take(*stage), unit))
    return ForestColumns.concatenate(parts) if stages else parts[0]


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
    n_samples = columns.n_samples if columns.dtype == np.int8 else _short_weights(columns)
    return replace(columns, loss=None, n_samples=n_samples, **short)


def _short_weights(columns: ForestColumns) -> Singles:
    """Return the weights of the rows of nodes, those of left children to a few digits, right ones to add up.

    Only shares of parents matter, in explanations: there are thousands of boosted trees.
    """
    exact, depth = columns.n_samples, columns.depth
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
