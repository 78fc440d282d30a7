"""Smaller forests, each step with what it costs: numbers of fewer digits, then fewer nodes and trees."""

import hashlib
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from .._base.sampling import Sampling
from .._base.typing import Floats, Mask
from .._explain.judged import Draws
from .._features.targets import read_known
from .._losses import AcceleratedFailureTime, CrossEntropy, Loss, Several, SquaredError
from .._losses.aft import read_times
from .._model.columns import ForestColumns, is_finite
from .._model.model import Known, Model
from .._model.pruning import with_members, without_weak_subtrees
from .far_off import LEAST_ROWS, bounded_by
from .objective import Objective
from .rounding import SHOWN_DIGITS, few_digits, rounded, unit_of_ranges, units_of

_THRESHOLD_DIGITS = (8, 12, 16, 24)  # in base 2, the fewest first
_MOST_SHIFTS = 6  # of the unit of coefficients: larger ones leave a bit or two
_PRUNED = (0.0, 0.5, 0.75)  # shares of the nodes that are tried
_MOST_VALUES = 4_000  # rows × outputs that trees are chosen by


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows that tell what a smaller forest is worth: out of bag if they were drawn from, or rows of their own."""

    X: Floats
    objective: Objective
    sampling: Sampling | None  #: how trees have drawn from these rows; None: they have not
    threads: int

    def outputs(self, model: Model) -> tuple[Floats, Mask]:
        """Return what a model predicts, and for which rows."""
        if self.sampling is None:
            return model.outputs(self.X, self.threads, self.objective.offset), np.ones(len(self.X), dtype=bool)
        return model.out_of_bag_outputs(self.X, self.sampling, self.threads, self.objective.offset)

    def loss(self, model: Model) -> float:
        """Return the loss as people read it (see `Objective.figure`)."""
        return self.objective.figure(*self.outputs(model))

    def bounded(self, model: Model) -> "Judge":
        """Return a judge who bounds targets that are far off what the model predicts, as a fit does."""
        outputs, seen = self.outputs(model)
        own = self.objective
        labels = bounded_by(outputs[:, 0], own.y, own.counted(seen), own.weight)
        return replace(self, objective=replace(own, y=labels))


def check_compression(tolerance: Any, max_bytes: Any) -> None:
    """Check the arguments that say how small a forest must be."""
    is_number = isinstance(tolerance, numbers.Real) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= float(tolerance) <= 1:
        raise ValueError(f"tolerance must be a number from 0 to 1; got {tolerance!r}.")
    is_count = isinstance(max_bytes, numbers.Integral) and not isinstance(max_bytes, bool)
    if max_bytes is not None and not (is_count and max_bytes >= 1):
        raise ValueError(f"max_bytes must be None or an integer of at least 1; got {max_bytes!r}.")


def judge_of(
    model: Model,
    X: Floats,
    y: Any,
    threads: int,
    draws: Draws,
    offset: Floats | None = None,
    weight: Floats | None = None,
) -> Judge:
    """Return the judge that rows with a target make: out of bag if they are those of the fit, as ``draws`` tell."""
    encoded = model.loss.encode(_read_target(model.loss, X, y))
    # Targets that count nothing may be anything: their losses must not overflow.
    counted = encoded if weight is None else np.where(weight > 0, encoded.T, 0.0).T
    objective = Objective(model.loss, counted, weight, offset)
    if model.known.target != hashlib.sha256(encoded.tobytes()).digest():
        return _bounded(Judge(X, objective, None, threads), model)
    _, sampling = draws(encoded, weight)
    if sampling is None:
        raise ValueError(
            "compress cannot judge the training rows out of bag: all trees must have drawn from them with "
            "bootstrap=True; give rows that the forest has not seen."
        )
    return _bounded(Judge(X, objective, sampling, threads), model)


def _bounded(judge: Judge, model: Model) -> Judge:
    return judge.bounded(model) if isinstance(model.loss, SquaredError) and len(judge.X) >= LEAST_ROWS else judge


def _read_target(loss: Loss, X: Floats, y: Any) -> Any:
    """Return the target of the rows to judge by, checked."""
    if isinstance(loss, Several):
        return read_known(loss, y, len(X))
    y = read_times(y) if isinstance(loss, AcceleratedFailureTime) else column_or_1d(y)
    check_consistent_length(X, y)
    if not isinstance(loss, CrossEntropy):
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    unknown = y[~np.isin(y, loss.classes)]
    if len(unknown):
        raise ValueError(f"y has the class {unknown[0]!r}, which the forest does not know.")
    return y


def compress(
    model: Model, judge: Judge, tolerance: float, max_bytes: int | None, size_of: Callable[[Model], int]
) -> Model:
    """Return a smaller model that knows what each step has cost; ``size_of`` is the size of a model's file.

    No step is taken once the file is as small as was asked for.
    """
    outputs, rows = judge.outputs(model)
    loss = judge.objective.figure(outputs, rows)
    limit = (1 + tolerance) * loss
    report = [_row("forest as it is", model, size_of(model), loss)]

    def is_enough(n_bytes: int) -> bool:
        return max_bytes is not None and n_bytes <= max_bytes

    def note(step: str, smaller: Model, loss: float) -> None:
        report.append(_row(step, smaller, size_of(smaller), loss))

    if is_enough(report[0]["bytes"]):
        return replace(model, known=replace(model.known, compression_report=report))
    gain = few_digits(model.columns.gain, SHOWN_DIGITS)
    exact = small = replace(model, columns=replace(model.columns, gain=gain, loss=None))
    of_ranges = unit_of_ranges(judge.objective, outputs, rows)
    for candidates in (_thresholds, lambda of: _coefficients(of, of_ranges)):
        if is_enough(report[-1]["bytes"]):
            break
        exact = small
        found, step = _fewest(exact, candidates(exact), judge, limit, lambda short: is_enough(size_of(short)))
        if step and size_of(found) < report[-1]["bytes"]:  # fewer digits may be coded in more bytes
            small = found
            note(step, small, judge.loss(small))
    if max_bytes is not None and not is_enough(report[-1]["bytes"]):
        step, small, loss = _fewer_trees(exact, of_ranges, judge, max_bytes, size_of)
        note(step, small, loss)
    return replace(small, known=replace(small.known, compression_report=report))


def _row(step: str, model: Model, n_bytes: int, loss: float) -> dict[str, Any]:
    return {"step": step, "n_trees": model.n_trees, "bytes": n_bytes, "loss": loss}


# --------------------------------------------------------------------------------------------------------- fewer digits


def _fewest(
    model: Model,
    candidates: list[tuple[str, ForestColumns]],
    judge: Judge,
    limit: float,
    is_enough: Callable[[Model], bool],
) -> tuple[Model, str]:
    """Return the model with the last candidate up to which all keep the loss below the limit, and what it is.

    None comes after one that is small enough.
    """
    found, step = model, ""
    for says, columns in candidates:
        smaller = replace(model, columns=columns)
        if not is_finite(columns, model.columns) or judge.loss(smaller) > limit:
            if found is not model:  # those that come later are coarser still
                break
            continue
        found, step = smaller, says
        if is_enough(found):
            break
    return found, step


def _thresholds(model: Model) -> list[tuple[str, ForestColumns]]:
    columns = model.columns
    return [
        (f"thresholds of {n} bits", replace(columns, threshold=few_digits(columns.threshold, n)))
        for n in reversed(_THRESHOLD_DIGITS)
    ]


def _coefficients(model: Model, of_ranges: int) -> list[tuple[str, ForestColumns]]:
    """Return the forest with float16, with int8, and with int8 in larger and larger units.

    ``of_ranges``: exponent of the unit of clip ranges.
    """
    columns = model.columns
    found = []
    if columns.dtype.itemsize > 2:
        found.append(("coefficients in float16", columns.astype("float16")))
    short = replace(model, columns=rounded(model, "int8", of_ranges=of_ranges))
    if columns.dtype != np.int8:
        found.append(("coefficients in int8", short.columns))
    units, shifts = units_of(short), range(1, _MOST_SHIFTS + 1)
    # From the digits that there are: constants that are rounded twice are off by more.
    larger = [(2**k, units.larger(k)) for k in shifts]
    return found + [(f"units {n} times as large", rounded(model, "int8", own, of_ranges)) for n, own in larger]


# ---------------------------------------------------------------------------------------------------------- fewer trees


def _fewer_trees(
    model: Model, of_ranges: int, judge: Judge, max_bytes: int, size_of: Callable[[Model], int]
) -> tuple[str, Model, float]:
    """Return trees that fit, the best ones first, with as many nodes and digits as are best for so many bytes."""
    found = []
    model = replace(model, known=Known(target=model.known.target))  # what was learned out of bag is of all trees
    for share in (0.0,) if model.columns.in_python.any() else _PRUNED:
        fewer = replace(model, columns=without_weak_subtrees(model.columns, share)) if share else model
        candidates = [(says, replace(fewer, columns=columns)) for says, columns in _coefficients(fewer, of_ranges)]
        candidates = [(says, short) for says, short in candidates if is_finite(short.columns, fewer.columns)]
        smallest = candidates[-1][1]
        order = tree_order(smallest, judge, int(1.5 * model.n_trees * max_bytes / size_of(smallest)) + 10)
        for says, short in candidates:
            n = _most_trees(short, order, max_bytes, size_of)
            if n > 0:
                small = _best_trees(short, order, n)
                found.append((judge.loss(small), f"{share:.0%} fewer nodes, {says}" if share else says, small))
    if not found:
        small = _best_trees(smallest, order, len(model.stages))
        raise ValueError(
            f"max_bytes={max_bytes} cannot be reached: the smallest forest that was found has {size_of(small)} bytes, "
            f"with {small.n_trees} of {model.n_trees} trees and a loss of {judge.loss(small):.6g}."
        )
    loss, says, small = min(found, key=lambda entry: entry[0])
    return f"{small.n_trees} of {model.n_trees} trees, {says}", small, loss


def _most_trees(model: Model, order: list[int], max_bytes: int, size_of: Callable[[Model], int]) -> int:
    """Return how many trees of an order fit; 0: not even one of each stage."""
    low, high = len(model.stages) - 1, len(order) + 1  # so many fit, and so many do not
    while high - low > 1:
        middle = (low + high) // 2
        fits = size_of(_best_trees(model, order, middle)) <= max_bytes
        low, high = (middle, high) if fits else (low, middle)
    return low if low >= len(model.stages) else 0


def _best_trees(model: Model, order: list[int], n: int) -> Model:
    """Return the first members of an order as a forest."""
    return replace(with_members(model, np.sort(order[:n])), known=model.known)


def tree_order(model: Model, judge: Judge, most: int) -> list[int]:
    """Return trees, at most so many, of which the first ones make the best forest that can be built tree by tree.

    The trees of several stages correct each other: they keep their order, and each stage its share. Of boosted stages
    it is the bags that are counted.
    """
    if len(model.stages) > 1:
        share = [(np.arange(n) - (np.arange(n) == 0)) / n for n in map(len, model.stages.members(model.seeds))]
        return [int(t) for t in np.argsort(np.concatenate(share), kind="stable")]
    outputs, absent = _outputs_of_trees(model, judge)
    n, offset = outputs.shape[1], judge.objective.offset
    objective = replace(judge.objective, y=judge.objective.y[:n], offset=None if offset is None else offset[:n])
    # A row that no chosen tree may judge gets the mean of all: with few trees these are many.
    total = (outputs * absent).sum(axis=0) / np.maximum(absent.sum(axis=0), 1)
    count = np.ones((outputs.shape[1], 1))
    order: list[int] = []
    left = list(range(model.n_trees))
    while left and len(order) < most:
        means = ((total + outputs[t] * absent[t]) / (count + absent[t]) for t in left)
        best = left.pop(int(np.argmin([objective.losses(objective.scores(mean)).mean() for mean in means])))
        order.append(best)
        total += outputs[best] * absent[best]
        count += absent[best]
    return order


def _outputs_of_trees(model: Model, judge: Judge) -> tuple[Floats, Mask]:
    """Return trees × rows × outputs, and which rows each tree has not drawn: trees × rows × 1."""
    n_trees, n_rows = model.n_trees, len(judge.X)
    rows: Mask = np.ones((n_trees, n_rows), dtype=bool)
    if judge.sampling is not None:
        rows = np.array([judge.sampling.counts(seed, n_rows) == 0 for seed in model.seeds])
    most = max(1, _MOST_VALUES // model.loss.n_outputs)
    offset = None if judge.objective.offset is None else judge.objective.offset[:most]
    outputs = [model.sums(judge.X[:most], judge.threads, False, slice(t, t + 1), offset) for t in range(n_trees)]
    return np.array(outputs), rows[:, :most, None]
