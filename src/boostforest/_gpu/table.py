"""What trees are grown on and how, as tensors on one device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from .._base.typing import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows on a device."""

    x: torch.Tensor  #: rows × features, scaled, missing values filled
    missing: torch.Tensor | None  #: rows × features: which values are missing; None: none of them
    y: torch.Tensor  #: the target, or the number of the class
    loss: str  #: "squared", "logistic" or "softmax"
    n_classes: int  #: 0 in regression
    split_features: torch.Tensor | None  #: features that may be split on; None: all
    model_features: torch.Tensor | None  #: features that node models see; None: all
    start: torch.Tensor | None  #: scores that trees start from, rows × outputs; None: zero
    bootstrap: bool
    n_draws: int
    cumulative: torch.Tensor | None  #: running sum of the weights that rows are drawn by
    weight: torch.Tensor | None  #: without bootstrap: what rows weigh
    balance_classes: bool

    @property
    def device(self) -> torch.device:
        """Where all tensors are."""
        return self.x.device

    @property
    def n_outputs(self) -> int:
        """Scores per row."""
        return self.n_classes if self.loss == "softmax" else 1

    @property
    def n_inputs(self) -> int:
        """Features that node models see."""
        return self.x.shape[1] if self.model_features is None else len(self.model_features)

    def inputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return what node models see of some rows."""
        x = self.x[rows]
        return x if self.model_features is None else x[..., self.model_features]

    @cached_property
    def aim(self) -> torch.Tensor:
        """What the scores of rows are compared with.

        Scores under squared errors are the error itself, as in the core, and aim at zero: of the little that is left
        over in deep nodes, a difference of large numbers would keep no digits.
        """
        return torch.zeros_like(self.y) if self.loss == "squared" else self.y

    def start_of(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the scores that rows start from."""
        if self.start is None:
            start = torch.zeros(len(rows), self.n_outputs, dtype=torch.float64, device=self.device)
        else:
            start = self.start[rows]
        return start - self.y[rows].unsqueeze(1) if self.loss == "squared" else start


class Path(NamedTuple):
    """The parameters that decide how trees are computed: trees grow together if they have the same."""

    criterion: str
    max_features: int
    n_cuts: int
    batch_size: int  #: 0: all rows
    clip: bool
    shared_hessian: bool
    linear: bool  #: ridge regressions, else constants
    short_thresholds: bool = False  #: with as few digits as part the rows alike

    def keeps_leaves(self, loss: str) -> bool:
        """Whether leaves alone have models, which are then the sums of those on their paths."""
        return not self.clips(loss)

    def clips(self, loss: str) -> bool:
        """Whether the outputs of models are kept within the range of what they were fitted to."""
        return self.clip and loss == "squared"


@dataclass(frozen=True, eq=False)
class Rules:
    """Parameters of trees that grow together, one value each but for the path."""

    path: Path
    seed: Array  #: uint64
    min_samples_leaf: Array
    reg_lambda: Array  #: of the gain
    node_lambda: Array  #: of the ridge regressions
    max_depth: Array  #: -1: no limit

    def __len__(self) -> int:
        return len(self.seed)

    def part(self, first: int, last: int) -> Rules:
        """Return some of the trees."""
        own = {name: values[first:last] for name, values in vars(self).items() if name != "path"}
        return Rules(self.path, **own)
