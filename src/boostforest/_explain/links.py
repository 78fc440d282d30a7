"""From what trees add up to, to what the user sees: probabilities, log-odds, predictions in the units of the target.

Where that is not linear, contributions are rescaled for each pair of a row and a background row, so that they add up to
the difference of what the user sees: by the slope of the line between both, as shap does for links.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from .._base.typing import Floats
from .._losses.cross_entropy import _LEAST_PROBABILITY
from .._model.model import Model
from .contributions import Part

_SCORES = _core.Link.IDENTITY
_TINY = float(np.finfo(np.float64).tiny)
_NEAR = 1e-6  # nearer points have the derivative for a slope
_RULE = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, eq=False)
class Level:
    """What the trees add up to for some rows: the mean of the first stage, and the scores of the later ones."""

    first: Floats  #: rows × outputs
    later: Floats | None  #: the same; None without later stages


class Link(ABC):
    """The way from the trees to one kind of output."""

    is_linear = False

    def __init__(self, model: Model) -> None:
        end, weights = model.stages.ends[0], model.stages.tree_weights()
        self.model, self.loss, self.calibration = model, model.loss, model.calibration
        self.step = model.stages.steps[0]
        self.is_plain = _is_plain(model)
        self.first = _first_stage(model)
        self.later = None if len(model.stages) == 1 else Part(end, model.n_trees, weights[end:].copy(), _SCORES)

    @property
    def parts(self) -> list[Part]:
        """The trees whose contributions are asked for."""
        return [self.first] if self.later is None else [self.first, self.later]

    def level(self, X: Floats, threads: int) -> Level:
        """Return what the trees add up to for rows of features."""
        first, *later = (part.sums(self.model, X, threads) for part in self.parts)
        return Level(first, later[0] if later else None)

    @abstractmethod
    def outputs(self, level: Level) -> Floats:
        """Return what the user sees: rows, or rows × outputs."""

    @abstractmethod
    def slopes(self, rows: Level, others: Level) -> list[Floats]:
        """Return for each part how outputs follow what its trees add up to, between pairs of rows.

        Rows × others × outputs × outputs of trees; a linear link has 1 × 1 × ….
        """

    def _scores(self, level: Level) -> Floats:
        scores = self.step * self.loss.scores(level.first)
        return scores if level.later is None else scores + level.later


class Linear(Link):
    """Predictions that are linear in the outputs, or the scores, of the trees."""

    is_linear = True

    def __init__(self, model: Model, part: Part, decode: Callable[[Floats], Floats]) -> None:
        super().__init__(model)
        self.first, self.later, self._decode = part, None, decode

    def outputs(self, level: Level) -> Floats:
        return self._decode(level.first)

    def slopes(self, rows: Level, others: Level) -> list[Floats]:
        ends = np.vstack([np.zeros(self.loss.n_outputs), np.eye(self.loss.n_outputs)])
        seen = _as_columns(self._decode(ends))
        return [(seen[1:] - seen[0]).T[None, None]]


class OneOutput(Link):
    """Trees with one output, and any function of it."""

    def __init__(self, model: Model, finish: Callable[[Floats], Floats]) -> None:
        super().__init__(model)
        self._finish = finish  # from what a forest predicts to what the user sees

    def _of_scores(self, scores: Floats) -> Floats:
        return _as_columns(self._finish(self.calibration.outputs(self.loss, scores)))

    def outputs(self, level: Level) -> Floats:
        return self._finish(level.first if self.is_plain else self.calibration.outputs(self.loss, self._scores(level)))

    def slopes(self, rows: Level, others: Level) -> list[Floats]:
        ends = _pairs(rows.first, others.first)
        in_range = (lambda p: np.minimum(p, 1 - p)) if self.loss.n_classes else _one_and_size
        if self.is_plain:
            return [_secants(lambda v: _as_columns(self._finish(v)), *ends, in_range)]
        to_scores = self.step * _secants(self.loss.scores, *ends, in_range)
        to_seen = _secants(self._of_scores, *_pairs(self._scores(rows), self._scores(others)), _one_and_size)
        return [to_seen * to_scores] if self.later is None else [to_seen * to_scores, to_seen]


class ManyClasses(Link):
    """More than two classes: probabilities, or their logarithms."""

    def __init__(self, model: Model, logarithms: bool) -> None:
        super().__init__(model)
        self._logarithms = logarithms

    def _probabilities(self, level: Level) -> Floats:
        return level.first if self.is_plain else self.calibration.outputs(self.loss, self._scores(level))

    def outputs(self, level: Level) -> Floats:
        p = self._probabilities(level)
        return np.log(np.maximum(p, _TINY)) if self._logarithms else p

    def slopes(self, rows: Level, others: Level) -> list[Floats]:
        n = self.loss.n_outputs
        start, end = _pairs(rows.first, others.first)
        if self.is_plain:
            return [_diagonal(_secants(lambda p: np.log(np.maximum(p, _TINY)), start, end, np.abs))]
        logs = _diagonal(_secants(lambda p: np.log(np.maximum(p, _LEAST_PROBABILITY)), start, end, np.abs))
        to_scores = self.step * (np.eye(n) - 1 / n) @ logs
        log_p = [np.log(np.maximum(self._probabilities(level), _TINY)) for level in (rows, others)]
        start, end = _pairs(*log_p)
        to_seen = self.calibration.factor * (np.eye(n) - _mean_softmax(start, end)[:, :, None, :])
        if not self._logarithms:
            to_seen = _diagonal(_secants(np.exp, start, end, _one_and_size)) @ to_seen
        return [to_seen @ to_scores] if self.later is None else [to_seen @ to_scores, to_seen]


def find_link(model: Model, output: str, additive: bool = True) -> Link:
    """Return the way to an output; refuse what is not there or, if it must, cannot add up."""
    loss = model.loss
    if loss.n_classes == 0:
        if output == "probability":
            raise ValueError("output='probability' needs a classifier; a regressor has 'prediction' and 'score'.")
        return _number_link(model, output)
    if output == "score" and model.n_trees == 1:
        return Linear(model, Part(0, 1, np.ones(1), _SCORES), _squeezed)
    if output != "score" and (loss.n_classes == 1 or _is_plain(model)):
        return Linear(model, _first_stage(model), loss.decode)
    if loss.n_outputs == 1:
        return OneOutput(model, _log_odds if output == "score" else loss.decode)
    if model.calibration.knots and additive:
        raise ValueError(
            f"output={output!r} of more than two classes cannot be explained after calibrate='isotonic', since its "
            "steps do not add up over classes; fit with calibrate='temperature' or False."
        )
    return ManyClasses(model, output == "score")


def _number_link(model: Model, output: str) -> Link:
    loss = model.loss
    if loss.link == _SCORES:
        every = Part(0, model.n_trees, model.stages.tree_weights().copy(), _SCORES)
        is_plain = _is_plain(model)

        def decode(scores: Floats) -> Floats:
            return loss.decode(scores if is_plain else model.calibration.outputs(loss, scores))

        if _is_straight(decode):
            return Linear(model, every, decode)
        if output == "score":
            return Linear(model, every, _squeezed)
    elif output == "score":
        return OneOutput(model, lambda outputs: np.log(loss.decode(outputs)))  # the log link is all there is
    elif _is_plain(model) and _is_straight(loss.decode):
        return Linear(model, _first_stage(model), loss.decode)
    return OneOutput(model, loss.decode)


def _is_plain(model: Model) -> bool:
    """Tell whether a forest predicts the mean output of its trees."""
    return len(model.stages) == 1 and model.stages.steps[0] == 1 and model.calibration.is_identity


def _first_stage(model: Model) -> Part:
    """Return the mean output of the first stage."""
    end, n = model.stages.ends[0], model.stages.counts[0]
    return Part(0, end, np.full(end, 1 / n), model.loss.link)


def _is_straight(function: Callable[[Floats], Floats]) -> bool:
    """Tell whether a function of one number is linear."""
    seen = function(np.array([[-1.0], [0.0], [1.0], [3.0]]))
    steps = np.diff(seen) / [1.0, 1.0, 2.0]
    return bool(np.allclose(steps, steps[0], rtol=1e-9))


def _squeezed(values: Floats) -> Floats:
    return values[:, 0] if values.shape[1] == 1 else values


def _log_odds(p: Floats) -> Floats:
    odds: Floats = np.log(np.maximum(p[:, 0], _TINY)) - np.log(np.maximum(1 - p[:, 0], _TINY))
    return odds


def _as_columns(values: Floats) -> Floats:
    return values[:, None] if values.ndim == 1 else values


def _one_and_size(values: Floats) -> Floats:
    return 1 + np.abs(values)


def _pairs(rows: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the start and the end of all pairs, rows × others × outputs."""
    start, end = np.broadcast_arrays(others[None], rows[:, None])
    return start, end


def _secants(
    function: Callable[[Floats], Floats], start: Floats, end: Floats, size: Callable[[Floats], Floats]
) -> Floats:
    """Return the slopes of a function of every number between start and end, or where these meet.

    ``size``: of the numbers, what counts as near follows from it. The function takes rows × numbers. It may return more
    columns if there is one number: then the result is rows × others × columns × 1.
    """
    shape = start.shape
    a, b = start.reshape(-1, shape[2]), end.reshape(-1, shape[2])
    middle = (a + b) / 2
    reach = _NEAR * size(middle)
    near = np.abs(b - a) < reach
    left, right = np.where(near, middle - reach, a), np.where(near, middle + reach, b)
    width = right - left
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(width != 0, (function(right) - function(left)) / width, 0.0)
    return slopes.reshape(*shape[:2], -1, 1) if shape[2] == 1 else slopes.reshape(shape)


def _diagonal(values: Floats) -> Floats:
    """Return matrices with the last axis on their diagonals."""
    return values[..., None] * np.eye(values.shape[-1])


def _mean_softmax(start: Floats, end: Floats) -> Floats:
    """Return the mean of the softmax from one logarithm of probabilities to another, rows × others × classes.

    It is what log Σ e^s follows: the sum of w · (end - start) is its change, which is 0 here. What the rule leaves of
    it is put right along the change, less its mean: w adds up to 1 as before.
    """
    change = end - start
    w = np.zeros_like(start)
    for point, weight in zip(*_RULE, strict=True):
        powers = np.exp(start + (1 + point) / 2 * change)
        w += weight / 2 * powers / powers.sum(axis=2, keepdims=True)
    apart = change - change.mean(axis=2, keepdims=True)
    square = np.maximum((apart**2).sum(axis=2, keepdims=True), _TINY)
    return np.asarray(w - (w * change).sum(axis=2, keepdims=True) * apart / square)
