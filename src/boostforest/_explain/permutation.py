"""Importances by permutation: how much worse predictions get when a column says nothing any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.declare import is_integer
from .._base.typing import Floats, Longs
from .contributions import columns_of_features
from .effects import column_names
from .judged import JudgedRows

if TYPE_CHECKING:
    import pandas as pd

_VALUES_AT_ONCE = 2**22  # features of changed rows
_Z = 1.96  # of 95 % of a normal distribution


@dataclass(frozen=True, eq=False)
class PermutationImportances:
    """By how much a loss rises when columns are shuffled, as ``permutation_importances`` returns it.

    Attributes
    ----------
    columns : list of str
        Names of the columns of the table.
    importances : ndarray of shape (n_columns,)
        Rise of the figure when the column is shuffled, mean over the repeats; below 0 by chance alone.
    standard_errors : ndarray of shape (n_columns,)
        How far importances would move with other rows.
    intervals : ndarray of shape (n_columns, 2)
        95 % intervals.
    figure : str
        What is measured: "RMSE", "log-loss", or the figure of another loss.
    loss : float
        Its value before anything is shuffled.
    out_of_bag : bool
        Whether every row was predicted by trees that have not drawn it.
    n_rows : int
        Rows that were judged.
    """

    columns: list[str]
    importances: Floats
    standard_errors: Floats
    intervals: Floats
    figure: str
    loss: float
    out_of_bag: bool
    n_rows: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per column, the most important first.

        Needs pandas (``pip install "boostforest[frames]"``).

        Returns
        -------
        table : pandas.DataFrame
            ``column``, ``importance``, ``standard_error``, ``lower`` and ``upper`` end of the interval.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame needs pandas: pip install "boostforest[frames]".') from error
        order = np.argsort(-self.importances, kind="stable")
        table = {
            "column": [self.columns[j] for j in order],
            "importance": self.importances[order],
            "standard_error": self.standard_errors[order],
            "lower": self.intervals[order, 0],
            "upper": self.intervals[order, 1],
        }
        return pd.DataFrame(table)


def permutation_importances(
    rows: JudgedRows, n_repeats: Any, max_rows: Any, random_state: Any, threads: int
) -> PermutationImportances:
    """Return the importances of all columns, judged by some rows."""
    if not is_integer(n_repeats, 1):
        raise ValueError(f"n_repeats must be an integer of at least 1; got {n_repeats!r}.")
    if max_rows is not None and not is_integer(max_rows, 2):
        raise ValueError(f"max_rows must be None or an integer of at least 2; got {max_rows!r}.")
    if not is_integer(random_state, 0):
        raise ValueError(f"random_state must be an integer of at least 0; got {random_state!r}.")
    numbers, before, weight = _judged(rows, max_rows, threads)
    shuffled = _Shuffled(rows, numbers, weight, int(random_state), threads)
    changes = np.zeros((rows.model.features.n_columns, len(numbers)))
    for repeat in range(n_repeats):
        changes += (shuffled.losses(repeat) - before) / n_repeats
    share = weight / weight.sum()
    means = changes @ share
    effective = 1 / max(1 - float(share @ share), 1 / len(share))  # n / (n - 1) of equal weights
    errors = np.sqrt(effective * ((changes - means[:, None]) ** 2 @ share**2))
    loss = float(before @ share)

    def rise(by: Floats) -> Floats:
        figure = rows.model.loss.figure
        return np.array([figure(max(loss + one, 0.0))[1] for one in by]) - figure(loss)[1]

    lower, upper = rise(means - _Z * errors), rise(means + _Z * errors)
    return PermutationImportances(
        column_names(rows.model.features),
        rise(means),
        (upper - lower) / (2 * _Z),
        np.column_stack([lower, upper]),
        *rows.model.loss.figure(loss),
        rows.sampling is not None,
        len(numbers),
    )


def _judged(rows: JudgedRows, max_rows: int | None, threads: int) -> tuple[Longs, Floats, Floats]:
    """Return the numbers of the rows that are judged, their losses as they are, and their weights."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    numbers = np.flatnonzero(weight > 0)
    if max_rows is not None and len(numbers) > max_rows:
        numbers = numbers[np.linspace(0, len(numbers) - 1, max_rows).astype(np.intp)]
    outputs, seen = rows.outputs(threads, np.ascontiguousarray(rows.X[numbers]), numbers)
    if not seen.any():
        raise ValueError("every tree has drawn all of these rows: use more trees, or rows that the fit has not seen.")
    numbers = numbers[seen]
    return numbers, rows.losses(outputs[seen], numbers), weight[numbers]


class _Shuffled:
    """Losses of rows in which one column after the other has the values of other rows."""

    def __init__(self, rows: JudgedRows, numbers: Longs, weight: Floats, seed: int, threads: int) -> None:
        self._rows, self._numbers, self._seed, self._threads = rows, numbers, seed, threads
        self._share = None if (weight == weight[0]).all() else weight / weight.sum()
        self._X = np.ascontiguousarray(rows.X[numbers])
        self._column_of, self._n_columns = columns_of_features(rows.model)

    def losses(self, repeat: int) -> Floats:
        """Return the losses of all rows with each column shuffled: columns × rows."""
        at_once = max(1, _VALUES_AT_ONCE // self._X.size)
        columns = range(self._n_columns)
        return np.concatenate([self._of(columns[j : j + at_once], repeat) for j in columns[::at_once]])

    def _of(self, columns: range, repeat: int) -> Floats:
        changed = np.tile(self._X, (len(columns), 1))
        n = len(self._X)
        for i, column in enumerate(columns):
            features = np.flatnonzero(self._column_of == column)
            rows = slice(i * n, (i + 1) * n)
            changed[rows, features] = self._X[np.ix_(self._order(column, repeat), features)]
        numbers = np.tile(self._numbers, len(columns))
        outputs, _ = self._rows.outputs(self._threads, changed, numbers)
        return self._rows.losses(outputs, numbers).reshape(len(columns), n)

    def _order(self, column: int, repeat: int) -> Longs:
        """Return the rows whose values are taken: a permutation or, of weighted rows, draws by weight."""
        generator = np.random.default_rng([self._seed, column, repeat])
        n = len(self._X)
        return generator.permutation(n) if self._share is None else generator.choice(n, n, p=self._share)
