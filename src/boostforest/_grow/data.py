"""What trees are grown on: rows of features, the target, and how every tree gets its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._base.sampling import Sampling
from .._base.typing import Floats, Ints
from .._features.features import Features
from .._features.roles import ROLES, Roles
from .._features.sources import RowSource
from .._losses import Loss, Several

if TYPE_CHECKING:
    from .._base.engine import Engine, Shared


class Replica(NamedTuple):
    """How often a tree has drawn each row of the table, and what the row weighs in it."""

    counts: Ints
    weights: Floats


class KeptTable:
    """A compiled table that is built once and kept for the next trees; copies in other processes build their own."""

    def __init__(self) -> None:
        self.table: _core.TrainingTable | None = None
        self.on_device: Any = None  #: the same on a GPU, see ``on_device.py``
        self.shared: Shared | None = None  # the data, as the workers of another engine have them

    def __reduce__(self) -> tuple[type[KeptTable], tuple[()]]:
        return KeptTable, ()


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The training table, and how trees get their rows of it."""

    X: Floats  #: rows × features, unscaled, NaN where a value is missing
    features: Features
    y: Floats  #: the target as the core takes it, see ``Loss.encode``
    loss: Loss
    sampling: Sampling
    roles: Roles  #: which features may be split on, and which the models see
    offset: Floats | None = None  #: what is added to the scores of every row, rows × outputs; None: zero
    start: Floats | None = None  #: scores that trees start from, with the offset in them; None: the offset alone
    short_thresholds: bool = False  #: as few digits as part the rows of a node alike
    source: RowSource | None = None  #: the whole table, of which X and y are some rows; None: they are all
    kept: KeptTable | None = None  #: shared by the data of one fit, whatever their start; None: nothing is kept

    @property
    def n_classes(self) -> int:
        """Number of classes as the core takes it: a single one is the first of two; 0 of numbers or several targets."""
        if isinstance(self.loss, Several):
            return 0
        return max(self.loss.n_classes, 2) if self.loss.n_classes else 0

    @property
    def n_split_features(self) -> int:
        """How many features may be split on."""
        return self.X.shape[1] if self.roles.split_features is None else len(self.roles.split_features)

    @property
    def first_scores(self) -> Floats | None:
        """The scores of the rows before the first tree, rows × outputs; None: zero."""
        return self.offset if self.start is None else self.start

    @property
    def kept_roles(self) -> dict[str, Any]:
        """What a forest keeps of the roles."""
        return {name: getattr(self.roles, name) for name in ROLES}

    @property
    def shape(self) -> dict[str, Any]:
        """Features and outputs of a forest."""
        several = self.loss.target_end if isinstance(self.loss, Several) else None
        return {"n_features": self.X.shape[1], "n_outputs": self.loss.n_outputs, "target_end": several}

    @property
    def interactions(self) -> _core.Interactions | None:
        """Which columns may act together, as the core takes it."""
        return None if self.roles.interactions is None else self.roles.for_core

    def keeping_table(self) -> TrainingData:
        """Return the same data, whose table is built when it is first asked for and then kept."""
        return self if self.kept is not None else replace(self, kept=KeptTable())

    @property
    def has_table(self) -> bool:
        """Whether the compiled table is there already."""
        return self.kept is not None and self.kept.table is not None

    def table(self, threads: int = 1) -> _core.TrainingTable:
        """Return the compiled table, which grows trees: features scaled, missing values filled."""
        if self.kept is not None and self.kept.table is not None:
            return self.kept.table
        f, roles, several = self.features, self.roles, isinstance(self.loss, Several)
        table = _core.TrainingTable(
            self.X,
            f.mean,
            f.scale,
            np.ascontiguousarray(self.y[:, 0]) if several else self.y,
            self.loss.code,
            self.n_classes,
            f.fill,
            roles.model_features,
            roles.monotonic_cst,
            threads,
            self.loss.numbers,
            self.y if several else None,
        )
        if self.kept is not None:
            self.kept.table = table
        return table

    def shared(self, engine: Engine) -> Shared:
        """Return the data for the workers of another engine, without a start; sent once."""
        if self.kept is not None and self.kept.shared is not None:
            return self.kept.shared
        shared = engine.share(replace(self, start=None, kept=KeptTable()))
        if self.kept is not None:
            self.kept.shared = shared
        return shared

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
