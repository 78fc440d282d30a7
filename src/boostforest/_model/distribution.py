"""What may become of the target of each row: a discrete distribution per row."""

import numbers
from typing import Any

import numpy as np

from .._base.typing import Floats

_ROUNDING = 1e-12  # of sums of probabilities


class Distribution:
    """Discrete distributions of the targets of some rows, from ``predict_distribution``.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_values)
        What the target of each row may be, ascending.
    cumulative : ndarray of shape (n_samples, n_values)
        Probability that the target is at most that.
    """

    def __init__(self, values: Floats, cumulative: Floats) -> None:
        self.values, self.cumulative = values, cumulative

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<distributions of {len(self)} rows, {self.values.shape[1]} values each>"

    @property
    def probabilities(self) -> Floats:
        """Probability of each value."""
        return np.diff(self.cumulative, axis=1, prepend=0.0)

    def mean(self) -> Floats:
        """Return the mean of each row; near ``predict``, but not the same."""
        return np.asarray((self.probabilities * self.values).sum(axis=1))

    def quantile(self, levels: Any) -> Floats:
        """Return the smallest values that the target does not exceed with the given probabilities.

        Parameters
        ----------
        levels : float or array-like of shape (n_levels,)
            Probabilities, above 0 and below 1.

        Returns
        -------
        quantiles : ndarray of shape (n_samples,) for a number, else (n_samples, n_levels)
            They never cross.
        """
        checked = check_levels(levels)
        found = self._at(np.broadcast_to(checked, (len(self), checked.size)))
        return found[:, 0] if checked.ndim == 0 else found

    def cdf(self, y: Any) -> Floats:
        """Return the probability that the target of each row is at most `y`, a number or one for each row."""
        below = np.sum(self.values <= self._targets(y)[:, None], axis=1)
        padded = np.pad(self.cumulative, ((0, 0), (1, 0)))
        return np.asarray(padded[np.arange(len(self)), below])

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw targets.

        Parameters
        ----------
        n : int, default=1
            Draws of each row.
        random_state : int, Generator or None, default=None
            What the draws follow from.

        Returns
        -------
        targets : ndarray of shape (n_samples, n)
        """
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n must be an integer of at least 1; got {n!r}.")
        return self._at(np.random.default_rng(random_state).random((len(self), int(n))))

    def crps(self, y: Any) -> Floats:
        """Return the continuous ranked probability score of each row, in units of the target; smaller is better.

        Parameters
        ----------
        y : float or array-like of shape (n_samples,)
            True targets.
        """
        p, targets = self.probabilities, self._targets(y)[:, None]
        above = (targets < self.values) - self.cumulative + p / 2
        return np.asarray((2 * p * (self.values - targets) * above).sum(axis=1))

    def _at(self, levels: Floats) -> Floats:
        """Return the values of each row at levels of its own, rows × levels."""
        last = self.values.shape[1] - 1
        places = [np.searchsorted(c, own - _ROUNDING) for c, own in zip(self.cumulative, levels, strict=True)]
        return np.take_along_axis(self.values, np.minimum(np.reshape(places, levels.shape), last), axis=1)

    def _targets(self, y: Any) -> Floats:
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape not in ((), (len(self),)):
            raise ValueError(f"y must be a number or have the shape ({len(self)},); got the shape {targets.shape}.")
        return np.broadcast_to(targets, (len(self),))


def check_levels(levels: Any) -> Floats:
    """Return levels of quantiles as an array of at most one dimension."""
    try:
        checked = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty((0, 0))
    if checked.ndim > 1 or checked.size == 0 or not ((checked > 0) & (checked < 1)).all():
        raise ValueError(f"levels must be a number above 0 and below 1, or a list of such; got {levels!r}.")
    return checked
