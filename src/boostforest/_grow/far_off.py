"""Targets that are far off: squared error must not let a few of them ruin all predictions.

One target that is a thousand times too large bends every linear model of a forest. Such targets are looked for where
some are far from the median, by what a forest of Huber's loss leaves over out of bag: a few residuals apart from all
others. They are bounded only if that makes the predictions of the other rows better, out of bag, and if a forest of
squared error could not predict them either: targets that are merely rare, or have heavy tails, stay as they are.
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammaincc

from .._base.draws import tree_seeds
from .._base.typing import Floats, Mask
from .._losses import Huber, SquaredError, SquaredErrors
from .._losses.robust import TO_DEVIATIONS, weighted_quantile
from .data import TrainingData
from .native import Request
from .parameters import TREE_PARAMETERS

_TREES, _LEAST_TREES = 40, 15  # of each forest that is compared; several targets that may be far off share the trees
LEAST_ROWS = 30
_SUSPECT = 10.0  # standard deviations of a normal distribution: a target from the median, a residual from 0
_APART = 5.0  # times the largest residual of the others,
_BY_CHANCE = 50.0  #   and to the power of their number: heavy tails have one residual apart now and then
_SURELY_APART = 2.5  # the same where residuals together are too large for the tail of a power law
_TAIL, _UNLIKELY = 1.5, 1e-4  # its index, and the probability that it has residuals as large
_MOST = 0.05  # share of the rows that can be far off
_BOUND = 3.0  # standard deviations of the other residuals that far-off targets are taken to be away
_BETTER = 1.1  # mean squared error of the other rows, before over after
_PREDICTED = 0.8  # of the squared errors of far-off rows that are left where they can be predicted


def bounded_targets(request: Request, data: TrainingData) -> Floats | None:
    """Return one target or several with what is far off nearer to what other rows say; None: all stay as they are."""
    if not isinstance(data.loss, SquaredErrors):
        return bounded_labels(request, data)
    parts = []
    for k, outputs, loss in data.loss.each():
        offset = None if data.offset is None else np.ascontiguousarray(data.offset[:, outputs])
        parts.append(replace(data, y=np.ascontiguousarray(data.y[:, k]), loss=loss, offset=offset))
    n_suspects = sum(_may_be_far_off(part) for part in parts)
    n_trees = max(_TREES // max(n_suspects, 1), _LEAST_TREES)
    found = [bounded_labels(request, part, n_trees) for part in parts]
    if all(labels is None for labels in found):
        return None
    return np.column_stack([data.y[:, k] if labels is None else labels for k, labels in enumerate(found)])


def bounded_labels(request: Request, data: TrainingData, n_trees: int = _TREES) -> Floats | None:
    """Return the target with what is far off nearer to what other rows say; None: all stays as it is.

    ``data`` has target and offset in the user's units: far-off targets may leave no digits in scaled ones.
    """
    if not isinstance(data.loss, SquaredError) or not data.sampling.bootstrap or not _may_be_far_off(data):
        return None
    counted, weight = _counted(data), data.sampling.sample_weight
    labels = np.where(counted, data.y, 0.0)
    robust = Huber.fit(labels[counted], _some(weight, counted), scale=True, offset=_some(data.offset, counted))
    expected, seen = _out_of_bag(request, data, robust, labels, n_trees)
    bounded, far = _bounded(expected, labels, seen & counted, weight)
    if not far.any():
        return None
    before, seen_before = _out_of_bag(request, data, SquaredError(), labels, n_trees)
    after, seen_after = _out_of_bag(request, data, SquaredError(), bounded, n_trees)
    # Far-off targets bend trees of Huber's loss, too: rows beside them are told from them by the forest without them.
    known = seen_before & seen_after & counted
    bounded, far = _bounded(after, labels, known, weight)
    if not far.any():
        return None
    near = known & ~far

    def error(predicted: Floats, rows: Mask) -> float:
        return float(np.average((predicted - labels)[rows] ** 2, weights=_some(weight, rows)))

    gain = error(before, near) / max(error(after, near), np.finfo(np.float64).tiny)
    unknown = error(before, far) > _PREDICTED * error(after, far)
    return np.where(far, bounded, data.y) if gain > _BETTER and unknown else None


def bounded_by(expected: Floats, labels: Floats, rows: Mask, weight: Floats | None = None) -> Floats:
    """Return labels with those of some rows that are far off nearer to what is expected of them."""
    return _bounded(expected, labels, rows, weight)[0]


def _bounded(expected: Floats, labels: Floats, rows: Mask, weight: Floats | None) -> tuple[Floats, Mask]:
    """Return the same, and which labels are far off."""
    far, spread = _apart(labels - expected, rows, weight)
    if not far.any():
        return labels, far
    near, bound = labels[rows & ~far], _BOUND * spread
    # A single tree beside a far-off target may say anything.
    centre = np.clip(expected, near.min() - bound, near.max() + bound)
    return np.where(far, centre + np.clip(labels - centre, -bound, bound), labels), far


def _counted(data: TrainingData) -> Mask:
    """Return the rows with a weight."""
    if data.sampling.cumulative is None:
        return np.ones(len(data.y), dtype=bool)
    return np.asarray(np.diff(data.sampling.cumulative, prepend=0.0) > 0)


def _some(of_rows: Floats | None, rows: Mask) -> Floats | None:
    return None if of_rows is None else of_rows[rows]


def _may_be_far_off(data: TrainingData) -> bool:
    """Tell whether some targets are far from the median."""
    counted = _counted(data)
    y = data.y if data.offset is None else data.y - data.offset[:, 0]
    return bool(counted.sum() >= LEAST_ROWS) and _spread_over(y[counted] - np.median(y[counted]))


def _spread_over(distances: Floats) -> bool:
    """Tell whether some distances from the middle are far larger than most."""
    size = np.abs(distances)
    return bool(size.max() > _SUSPECT * TO_DEVIATIONS * np.median(size) > 0)


def _apart(rest: Floats, rows: Mask, weight: Floats | None) -> tuple[Mask, float]:
    """Return which of some rows have residuals far from all others, and the standard deviation of these."""
    size = np.where(rows, np.abs(rest), 0.0)
    spread = TO_DEVIATIONS * weighted_quantile(size[rows], _some(weight, rows), 0.5)
    order = np.sort(size[rows])
    first = int(np.ceil((1 - _MOST) * len(order)))
    large = order[first:]
    if not spread > 0:
        return np.zeros(len(rest), dtype=bool), spread
    below, number = np.maximum(order[first - 1 : -1], spread), np.arange(len(large), 0, -1)
    # In the tail of a power law the logarithms over the next residual below add up to a gamma variable (Hill 1975).
    logs = np.cumsum(np.log(np.maximum(large, spread))[::-1])[::-1] - number * np.log(below)
    factor = np.maximum(_APART, _BY_CHANCE ** (1 / number))
    factor = np.where(gammaincc(number, _TAIL * np.maximum(logs, 0.0)) < _UNLIKELY, _SURELY_APART, factor)
    gaps = (large > _SUSPECT * spread) & (large > factor * below)
    return size >= large[int(np.argmax(gaps))] if gaps.any() else np.zeros(len(rest), dtype=bool), spread


def _out_of_bag(
    request: Request, data: TrainingData, loss: Huber | SquaredError, labels: Floats, n_trees: int
) -> tuple[Floats, Mask]:
    """Return what a small forest of a loss predicts of labels out of bag, and which rows have a prediction."""
    if isinstance(loss, SquaredError):
        offset = None if data.offset is None else data.offset[:, 0]
        loss = SquaredError.fit(labels if offset is None else labels - offset, None, scale=True)
    in_scores = None if data.offset is None else loss.offset_scores(data.offset)
    own = replace(data, loss=loss, y=loss.encode(labels), offset=in_scores, kept=None)
    ridge = {p.name: p.pool("ridge") for p in TREE_PARAMETERS if p.name == "node_model"}
    model = request.grow(own, tree_seeds(request.entropy, n_trees), 0, ridge, quiet=True)
    oob = model.out_of_bag(own.X, own.sampling, request.threads, offset=in_scores)
    return loss.decode(oob.mean), oob.seen
