"""Growing a forest: groups of trees that fit into the device's memory, and the columns they are joined to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from .._base.typing import Array
from .assemble import to_columns
from .copies import to_host
from .grower import Grower
from .table import Rules, Table

_CELLS_AT_ONCE = 1 << 25  # numbers of rows × features that are worked on at a time: 256 MB
_BYTES_PER_ROW, _BYTES_PER_SCORE, _BYTES_PER_NODE = 110, 24, 150  # of a tree while it grows
_NODES_PER_WEIGHT = 1.4  # nodes of a tree, in multiples of the weight of its rows / min_samples_leaf, as measured
_OF_A_CPU = 4e9  # bytes, in tests
_SHARE = 0.7  # of a device's memory that is planned with
_MARGIN = 1.2  # room for the trees of later groups, which may be larger

Columns = dict[str, Array]
_NUMPY = {
    torch.float64: np.float64,
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.int32: np.int32,
    torch.uint8: np.uint8,
}


class OutOfDeviceMemory(MemoryError):
    """Not even one tree fits."""


def grow_forest(
    table: Table, rules: Rules, dtype: torch.dtype, usable_bytes: float, report: Callable[[int], None] | None = None
) -> Columns:
    """Grow trees that have the same path; ``usable_bytes`` of the device may be used."""
    at_once = _trees_at_once(table, rules, usable_bytes)
    joined = _Joined(len(rules))
    first = 0
    while first < len(rules):
        own = rules.part(first, first + at_once)
        try:
            joined.add(_grow_group(table, own, dtype, usable_bytes))
        except torch.cuda.OutOfMemoryError as error:
            if len(own) == 1:
                raise OutOfDeviceMemory(str(error)) from None
            at_once = len(own) // 2
            torch.cuda.empty_cache()
            continue
        first += len(own)
        if report is not None:
            report(first)
    return joined.columns()


def usable_memory(device: torch.device) -> float:
    """Return how many bytes are planned with: a share of all, whoever else uses the device, so that fits are alike."""
    return _SHARE * torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else _OF_A_CPU


def _trees_at_once(table: Table, rules: Rules, usable_bytes: float) -> int:
    """Return how many trees are grown together: as many as there is memory for."""
    n_rows = float(len(table.y))
    draws = float(table.n_draws) if table.bootstrap else n_rows
    distinct = n_rows * -np.expm1(-draws / n_rows) if table.bootstrap else n_rows
    per_model = 8 * table.n_outputs * (1 + (table.n_inputs if rules.path.linear else 0))
    leaf_weight = np.maximum(rules.min_samples_leaf, 1.0)
    nodes = min(float((_NODES_PER_WEIGHT * draws / leaf_weight).mean()), 2 * distinct)
    copies = 1.5 if rules.path.keeps_leaves(table.loss) else 2.3  # of the models, while they are put in order
    of_rows = distinct * (_BYTES_PER_ROW + _BYTES_PER_SCORE * table.n_outputs)
    per_tree = of_rows + nodes * (copies * per_model + _BYTES_PER_NODE)
    return int(max(1, min(len(rules), usable_bytes / per_tree)))


def _grow_group(table: Table, rules: Rules, dtype: torch.dtype, usable_bytes: float) -> dict[str, torch.Tensor]:
    cells = int(min(_CELLS_AT_ONCE, max(1 << 18, usable_bytes / 400)))
    levels = Grower(table, rules, cells).grow()
    columns = to_columns(levels, rules.path.keeps_leaves(table.loss), dtype)
    ranges_fit = (columns["lower"] < torch.inf).all() & (columns["upper"] > -torch.inf).all()
    if not bool(ranges_fit & columns["params"].sum(dtype=torch.float64).isfinite()):
        raise FloatingPointError
    return columns


class _Joined:
    """Columns of groups, joined as they come: a forest may take up half of the host's memory."""

    def __init__(self, n_trees: int) -> None:
        self._n_trees = n_trees
        self._arrays: Columns = {}
        self._used: dict[str, int] = {}
        self._starts = [np.zeros(1, dtype=np.int64)]

    def add(self, columns: dict[str, torch.Tensor]) -> None:
        """Append the columns of a group."""
        starts = columns.pop("tree_start").cpu().numpy()
        self._starts.append(self._starts[-1][-1] + starts[1:])
        share = (len(starts) - 1) / self._n_trees
        for name, values in columns.items():
            used = self._used.get(name, 0)
            self._used[name] = used + len(values)
            room = len(values) if share == 1 else int(len(values) / share * _MARGIN) + 1  # untouched, it costs nothing
            if name not in self._arrays:
                self._arrays[name] = np.empty(room, dtype=_NUMPY[values.dtype])
            if len(self._arrays[name]) < self._used[name]:
                self._arrays[name] = np.concatenate(
                    [self._arrays[name][:used], np.empty(room, self._arrays[name].dtype)]
                )
            to_host(values, torch.from_numpy(self._arrays[name])[used : self._used[name]])

    def columns(self) -> Columns:
        """Return the columns of all trees."""
        joined = {name: values[: self._used[name]] for name, values in self._arrays.items()}
        return joined | {"tree_start": np.concatenate(self._starts)}
