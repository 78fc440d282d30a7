"""How the members of a forest get their rows."""

from dataclasses import dataclass

import numpy as np

from .. import _core
from .typing import Floats, Ints, Longs


@dataclass(frozen=True, eq=False)
class Sampling:
    """Rows and weights of the members; see ``Sampling`` in ``src/core/grow``."""

    bootstrap: bool = False
    n_draws: int = 0  #: rows that each member draws
    cumulative: Floats | None = None  #: running sum of the weights that rows are drawn by; None: all the same
    weight: Floats | None = None  #: without bootstrap: what the rows weigh; None: all the same
    balance_classes: bool = False  #: the drawn rows weigh as much for every class
    drawn: Ints | None = None  #: how often each row was drawn, if these are the rows of one member
    sample_weight: Floats | None = None  #: the user's, without class weights: what rows count out of bag
    rows: Longs | None = None  #: numbers of the rows, ascending, if they are some of a larger table,
    n_all: int = 0  #:   which has so many

    def counts(self, seed: int | np.uint64, n_rows: int) -> Ints:
        """Return how often the member with this seed has drawn each row."""
        if self.rows is not None:
            drawn = self.draws(seed)
            place = np.minimum(np.searchsorted(self.rows, drawn), len(self.rows) - 1)
            return np.bincount(place[self.rows[place] == drawn], minlength=len(self.rows)).astype(np.int32)
        return _core.bootstrap_counts(int(seed), n_rows, self.n_draws, self.cumulative)

    def draws(self, seed: int | np.uint64) -> Longs:
        """Return the numbers of the rows that a member draws from the larger table, as they come."""
        return _core.bootstrap_draws(int(seed), self.n_all, self.n_draws)
