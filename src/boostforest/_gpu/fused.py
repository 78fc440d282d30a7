"""Work on nodes in one CUDA kernel each level, for small tables: up to 32 features and 16 outputs."""

from __future__ import annotations

import torch

from .nodes import Fitted, Nodes
from .nvrtc import kernel
from .rows import Rows
from .splits import Splits
from .table import Path, Table

_MOST_FEATURES, _MOST_OUTPUTS = 32, 16
MOST_ROWS = 4096  # of a node: a single warp would take too long over more
_WARPS = 4  # of a block


class FusedNodes:
    """The kernels for one table."""

    def __init__(self, table: Table, path: Path) -> None:
        self._table, self._path = table, path
        defines = _defines(table, path)
        device = table.device.index or 0
        work = kernel("nodes.cu", "work_on_nodes", defines, device)
        apply = kernel("rows.cu", "apply_models", defines, device)
        assert work is not None
        assert apply is not None
        self._work, self._apply = work, apply
        may_split_on = range(table.x.shape[1]) if table.split_features is None else table.split_features.tolist()
        self._split_features = sum(1 << feature for feature in may_split_on)
        self._missing = None if table.missing is None else pack_bits(table.missing)

    def work(
        self,
        rows: Rows,
        nodes: Nodes,
        chosen: torch.Tensor,
        places: torch.Tensor,
        rules: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        fitted: Fitted | None,
        splits: Splits | None,
        may_split: torch.Tensor | None,
        attempt_tag: int,
    ) -> None:
        """Fit models and find splits of the chosen nodes; ``rules``: least weight, λ of the gain and of the models."""
        table, path = self._table, self._path
        flags = (
            len(chosen),
            int(fitted is not None),
            int(splits is not None),
            int(table.loss == "logistic"),
            int(path.clips(table.loss)),
            int(path.shared_hessian),
            path.n_cuts,
            attempt_tag,
            self._split_features,
            path.max_features,
        )
        number = torch.tensor(flags, dtype=torch.int64).to(table.device)
        models = (None,) * 4 if fitted is None else (fitted.params, fitted.lower, fitted.upper, fitted.loss)
        found = (None,) * 6
        if splits is not None:
            found = (
                splits.feature,
                splits.threshold,
                splits.gain,
                splits.missing_left,
                splits.saw_missing,
                splits.possible,
            )
        arguments = (
            number,
            table.x,
            self._missing,
            table.aim,
            rows.row,
            rows.weight,
            rows.scores,
            chosen,
            nodes.begin,
            nodes.size,
            nodes.key,
            nodes.weight,
            may_split,
            nodes.tree,
            *rules,
            places,
            *models,
            *found,
        )
        self._work(32 * len(chosen), 32 * _WARPS, arguments)

    def apply(self, rows: Rows, place: torch.Tensor, owner: torch.Tensor, fitted: Fitted) -> None:
        """Add to the scores of rows what the models of their nodes give."""
        number = torch.tensor((len(place),), dtype=torch.int64).to(self._table.device)
        numbers = number, self._table.x, rows.row, place, owner.to(torch.int32)
        self._apply(len(place), 256, (*numbers, fitted.params, fitted.lower, fitted.upper, rows.scores))


def fused_nodes(table: Table, path: Path) -> FusedNodes | None:
    """Return the kernels, if they can do what is asked for."""
    n_features = table.x.shape[1]
    small = n_features <= _MOST_FEATURES and table.n_outputs <= _MOST_OUTPUTS
    if table.device.type != "cuda" or not small or table.model_features is not None or path.criterion != "xgb":
        return None
    if kernel("nodes.cu", "work_on_nodes", _defines(table, path), table.device.index or 0) is None:
        return None
    return FusedNodes(table, path)


def _defines(table: Table, path: Path) -> tuple[tuple[str, int], ...]:
    return ("D", table.x.shape[1]), ("J", table.n_outputs), ("LINEAR", int(path.linear))


def pack_bits(missing: torch.Tensor) -> torch.Tensor:
    """Pack which values of a row are missing into one number."""
    powers = 2 ** torch.arange(missing.shape[1], device=missing.device)
    total = (missing * powers).sum(1)
    return torch.where(total >= 2**31, total - 2**32, total).to(torch.int32)  # the last bit is the sign's
