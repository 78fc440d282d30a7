"""What trees are grown on: rows of features, the target, and how every tree gets its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from .._base.sampling import Sampling
from .._base.typing import Floats
from .._features.features import Features
from .._features.roles import Roles
from .._losses import Loss


class Replica(NamedTuple):
    """How often a tree has drawn each row of the table, and what the row weighs in it."""

    counts: npt.NDArray[np.int32]
    weights: Floats


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The training table, and how trees get their rows of it."""

    X: Floats  #: rows × features, unscaled, NaN where a value is missing
    features: Features
    y: Floats  #: the target as the core takes it, see ``Loss.encode``
    loss: Loss
    sampling: Sampling
    roles: Roles  #: which features may be split on, and which the models see
    start: Floats | None = None  #: scores that trees start from, rows × outputs; None: zero

    @property
    def n_classes(self) -> int:
        """Number of classes as the core takes it: a single one is the first of two; 0 in regression."""
        return max(self.loss.n_classes, 2) if self.loss.n_classes else 0

    def table(self) -> _core.Table:
        """Return the table in scaled units."""
        f, may_cut = self.features, self.roles.split_features
        return _core.Table(self.X, f.mean, f.scale, self.y, self.loss.code, self.n_classes, f.fill, may_cut)

    def replica(self, seed: int) -> Replica:
        """Return the rows of one tree."""
        n, sampling = len(self.y), self.sampling
        if not sampling.bootstrap:
            weight = np.ones(n) if sampling.weight is None else sampling.weight
            return Replica(np.ones(n, dtype=np.int32), weight)
        counts = sampling.counts(seed, n)
        weights = counts.astype(np.float64)
        if sampling.balance_classes:  # rows / (classes · rows of the class), over the replica
            classes = self.y.astype(np.intp)
            drawn = np.bincount(classes, weights=weights, minlength=self.n_classes)
            weights *= sampling.n_draws / (np.count_nonzero(drawn) * np.maximum(drawn, 1.0)[classes])
        return Replica(counts, weights)
