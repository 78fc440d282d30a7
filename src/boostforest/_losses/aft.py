"""Times until an event, some of them censored: accelerated failure times."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr

from .._base.typing import Array, Floats, Mask
from .._core import LossCode
from .loss import OutOfBag
from .squared_error import IdentityLink

#: Distributions of the noise of log times, by the numbers that the core and files have for them.
DISTRIBUTIONS = {"normal": 1, "logistic": 2, "extreme_value": 3}
_MEDIANS = {1: 0.0, 2: 0.0, 3: float(np.log(np.log(2)))}  # of the noise
_CURVATURES = {1: 1.0, 2: 1 / 3, 3: 1.0}  # expected second derivatives by the distance, of times that are known
_FARTHEST = 30.0  # as in the core
_LARGEST_LOG = 230.0  # likewise
_LARGEST_NOISE = 0.5
_EVENTS_PER_FEATURE = 10  # fewer: the linear model that tells the spread is penalised


def read_times(y: Any) -> Floats:
    """Return times until an event, below 0 where it was not seen until then."""
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None:
        return _signed(*_fields(y, fields))
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers for loss='aft', a time and an event in each row: {error}.") from error
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(
            "y must have two columns, time and event, or be a structured array of both for loss='aft'; got shape "
            f"{values.shape}."
        )
    return _signed(values[:, 0], values[:, 1])


def _fields(y: Any, names: tuple[str, ...]) -> tuple[Array, Array]:
    events = [name for name in names if y.dtype[name].kind == "b"]
    times = [name for name in names if y.dtype[name].kind in "iuf"]
    if len(names) != 2 or len(events) != 1 or len(times) != 1:
        raise ValueError(f"y must have a field of events (bool) and one of times (numbers); got {y.dtype}.")
    return y[times[0]].astype(np.float64), y[events[0]].astype(np.float64)


def _signed(time: Floats, event: Floats) -> Floats:
    if not np.isfinite(time).all() or (len(time) and not time.min() > 0):
        raise ValueError(f"y must have finite times above 0 for loss='aft'; got {np.nanmin(time):g}.")
    if not np.isin(event, (0.0, 1.0)).all():
        raise ValueError("y must have events that are 0 or 1 (or False and True) for loss='aft'.")
    return np.where(event > 0, time, -time)


@dataclass(frozen=True)
class AcceleratedFailureTime(IdentityLink):
    """-log of the likelihood of times t: log t = F + spread · ε. Encoded labels are below 0 where t is censored.

    ``mean`` is the logarithm of the median time at score 0.
    """

    name = "aft"
    code = LossCode.AFT
    predicts_exponential = True
    takes = ("distribution",)
    predicts_mean = False
    boosts = True

    spread: float = 1.0  #: standard unit of the noise of log times
    family: float = 1.0  #: of the noise, see ``DISTRIBUTIONS``

    def __post_init__(self) -> None:
        if self.family not in _MEDIANS:
            raise ValueError(f"loss='aft' has no distribution of number {self.family}")

    @property
    def distribution(self) -> str:
        """The name of the family."""
        return next(name for name, number in DISTRIBUTIONS.items() if number == self.family)

    @classmethod
    def fit(
        cls, y: Any, weight: Floats | None, scale: bool, offset: Floats | None = None, distribution: str = "normal"
    ) -> Self:
        signed: Floats = np.ascontiguousarray(y, dtype=np.float64)
        if not (signed > 0 if weight is None else (signed > 0) & (weight > 0)).any():
            raise ValueError("y must have at least one event for loss='aft'; all times are censored.")
        start = cls(family=float(DISTRIBUTIONS[distribution]))
        return start.settled(np.empty((len(signed), 0)), signed, weight, offset)

    def settled(self, X: Floats, y: Floats, weight: Floats | None, offset: Floats | None) -> Self:
        """Return the loss with the likeliest origin and spread, those of a linear model of some features.

        ``y`` are signed times in the user's units.
        """
        logs = np.log(np.abs(y)) - (0.0 if offset is None else offset[:, 0])
        w = np.ones(len(y)) if weight is None else weight / weight.mean()
        event = np.asarray(y > 0)
        n_events = float(w @ event)
        penalty = 0.0 if n_events >= _EVENTS_PER_FEATURE * X.shape[1] else float(X.shape[1])
        centre, unit = float(np.average(logs, weights=w)), max(float(np.sqrt(np.cov(logs, aweights=w))), 1e-9)
        design = np.column_stack([np.ones(len(y)), np.nan_to_num(X)])
        standard = (logs - centre) / unit

        def objective(b: Floats) -> tuple[float, Floats]:
            spread = np.exp(b[0])
            z = np.clip((standard - design @ b[1:]) / spread, -_FARTHEST, _FARTHEST)
            value, slope, _ = _terms(z, event, int(self.family))
            total = w @ value + n_events * b[0] + penalty / 2 * b[2:] @ b[2:]
            by_f = -(w * slope) / spread
            return float(total), np.r_[n_events - (w * slope) @ z, design.T @ by_f + penalty * np.r_[0.0, b[2:]]]

        found = minimize(objective, np.zeros(2 + X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8})
        spread = float(np.clip(np.exp(found.x[0]), 1e-3, 1e3)) * unit
        origin = (
            centre + unit * float(np.average(design @ found.x[1:], weights=w)) + spread * _MEDIANS[int(self.family)]
        )
        return replace(self, mean=origin, spread=spread)

    def encode(self, y: Any) -> Floats:
        times: Floats = np.ascontiguousarray(y, dtype=np.float64)
        return times / self._time_unit

    @property
    def _time_unit(self) -> float:
        return float(np.exp(self.mean - self.spread * _MEDIANS[int(self.family)]))

    def category_targets(self, y: Floats, offset: Floats | None = None) -> Floats:
        logs = np.log(np.abs(y))
        return (logs if offset is None else logs - offset[:, 0])[:, None]

    @property
    def category_target_names(self) -> list[str]:
        return ["mean log time"]

    def targets(self, y: Floats) -> Floats:
        return np.log(np.maximum(np.abs(y), np.finfo(np.float64).tiny))[:, None]

    def decode(self, outputs: Floats) -> Floats:
        return np.exp(np.clip(outputs[:, 0], -_LARGEST_LOG, _LARGEST_LOG)) * self.output_unit

    @property
    def output_unit(self) -> float:
        return float(np.exp(self.mean))

    @property
    def score_names(self) -> list[str]:
        return ["log(time)"]

    def figure(self, mean_loss: float) -> tuple[str, float]:
        return "negative log-likelihood", mean_loss

    def losses(self, y: Floats, scores: Floats) -> Floats:
        return _terms(self._distances(y, scores[:, 0]), y > 0, int(self.family))[0]

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        slope = _terms(self._distances(y, scores[:, 0]), y > 0, int(self.family))[1]
        return np.asarray(-slope[:, None] / self.spread)

    def curvature(self, scores: Floats) -> Floats:
        return np.full_like(scores, _CURVATURES[int(self.family)] / self.spread**2)

    def limit_losses(self, y: Floats, oob: OutOfBag) -> Floats:
        value, _, bend = _terms(self._distances(y, oob.mean[:, 0]), y > 0, int(self.family))
        noise = np.minimum(oob.variance_of_mean[:, 0] / self.spread**2, _LARGEST_NOISE)
        return np.asarray(value - bend * noise / 2)

    def _distances(self, y: Floats, scores: Floats) -> Floats:
        return np.clip((self.targets(y)[:, 0] - scores) / self.spread, -_FARTHEST, _FARTHEST)


def _terms(z: Floats, event: Mask, family: int) -> tuple[Floats, Floats, Floats]:
    """Return what rows at some distances tell, as in the core, and its derivatives."""
    if family == 1:
        tail = log_ndtr(-z)
        ratio = np.exp(-(z**2) / 2 - tail) / np.sqrt(2 * np.pi)
        bend = np.where(event, 1.0, np.maximum(ratio * (ratio - z), 0.0))
        return np.where(event, z**2 / 2, -tail), np.where(event, z, ratio), bend
    if family == 2:
        softplus, s = np.logaddexp(0, z), expit(z)
        bend = np.where(event, 2.0, 1.0) * s * (1 - s)
        return np.where(event, 2 * softplus - z, softplus), np.where(event, 2 * s - 1, s), bend
    e = np.exp(z)
    return np.where(event, e - z, e), np.where(event, e - 1, e), e


def concordance(y: Floats, predicted: Floats, weight: Floats | None = None) -> float:
    """Return the share of pairs whose order of times is that of their predictions; NaN without a pair.

    Pairs count where it is known who had the event first. Equal predictions count one half.
    """
    if weight is not None:
        counted = weight > 0
        y, predicted, weight = y[counted], predicted[counted], weight[counted]
    time, event = np.abs(y), y > 0
    w = np.ones(len(y)) if weight is None else weight
    right = total = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        own, others = w[i], w[later]
        above = predicted[later] - predicted[i]
        right += own * float(others @ ((above > 0) + 0.5 * (above == 0)))
        total += own * float(others.sum())
    return right / total if total > 0 else float("nan")
