"""The nodes of a level, their models, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from .splits import Splits


@dataclass(eq=False)
class Nodes:
    """The nodes of one level, by tree, then from left to right."""

    tree: torch.Tensor
    key: torch.Tensor
    begin: torch.Tensor  #: first row
    size: torch.Tensor  #: rows
    weight: torch.Tensor
    count: torch.Tensor  #: rows as often as they were drawn; below a node that needs no batch that node's
    parent: torch.Tensor  #: place in the level above

    def __len__(self) -> int:
        return len(self.tree)

    def part(self, nodes: torch.Tensor) -> Nodes:
        """Return some of the nodes."""
        return Nodes(**{f.name: getattr(self, f.name)[nodes] for f in fields(self)})


@dataclass(eq=False)
class Level:
    """What is kept of a level."""

    tree: torch.Tensor
    weight: torch.Tensor
    loss: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    splits: Splits
    params: torch.Tensor | None  #: of the nodes that keep a model: all, or the leaves

    @property
    def is_split(self) -> torch.Tensor:
        """Which nodes have children."""
        return self.splits.feature >= 0


@dataclass(eq=False)
class Fitted:
    """The models of nodes."""

    params: torch.Tensor  #: nodes × outputs × parameters
    lower: torch.Tensor  #: range of what they were fitted to, infinite if nothing is clipped
    upper: torch.Tensor
    loss: torch.Tensor  #: of the node's rows after the model

    @classmethod
    def empty(cls, n: int, n_outputs: int, n_params: int, device: torch.device) -> Fitted:
        """Return room for models."""
        numbers = torch.empty(3, n, dtype=torch.float64, device=device)
        return cls(torch.empty(n, n_outputs, n_params, dtype=torch.float64, device=device), *numbers)

    def put(self, nodes: torch.Tensor, others: Fitted) -> None:
        """Take over the models of some nodes."""
        for name, values in vars(self).items():
            values[nodes] = getattr(others, name)

    def part(self, nodes: torch.Tensor) -> Fitted:
        """Return some of the models."""
        return Fitted(*(values[nodes] for values in vars(self).values()))
