"""Growing a forest: groups of trees that fit into the device's memory, and the columns they are joined to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .assemble import to_columns
from .grower import Grower
from .table import Array, Rules, Table

_CELLS_AT_ONCE = 1 << 25  # numbers of rows × features that are worked on at a time: 256 MB
_BYTES_PER_ROW = 150  # of a tree, while it is parted
_SHARE = 0.8  # of the free memory that is planned with
_STAGED = 1 << 26  # bytes that are copied to the host at a time

Columns = dict[str, Array]


class OutOfDeviceMemory(MemoryError):
    """Not even one tree fits."""


def grow_forest(
    table: Table, rules: Rules, dtype: torch.dtype, free_bytes: float, report: Callable[[int], None] | None = None
) -> Columns:
    """Grow trees that have the same path; ``free_bytes`` of the device may be used."""
    at_once = _trees_at_once(table, rules, free_bytes)
    parts: list[Columns] = []
    first = 0
    while first < len(rules):
        own = rules.part(first, first + at_once)
        try:
            parts.append(_grow_group(table, own, dtype, free_bytes))
        except torch.cuda.OutOfMemoryError as error:
            if at_once == 1:
                raise OutOfDeviceMemory(str(error)) from None
            at_once = max(1, min(at_once, len(own)) // 2)
            torch.cuda.empty_cache()
            continue
        first += len(own)
        if report is not None:
            report(first)
    return _joined(parts)


def _trees_at_once(table: Table, rules: Rules, free_bytes: float) -> int:
    rows = min(len(table.y), table.n_draws) if table.bootstrap else len(table.y)
    per_model = 8 * table.n_outputs * (1 + (table.n_inputs if rules.path.linear else 0))
    nodes = 1.4 * (table.n_draws if table.bootstrap else rows) / max(float(np.min(rules.min_samples_leaf)), 1.0)
    per_tree = rows * (_BYTES_PER_ROW + 40 * table.n_outputs) + min(nodes, 2 * rows) * (2.5 * per_model + 200)
    return int(max(1, min(len(rules), _SHARE * free_bytes / per_tree)))


def _grow_group(table: Table, rules: Rules, dtype: torch.dtype, free_bytes: float) -> Columns:
    cells = int(min(_CELLS_AT_ONCE, max(1 << 18, free_bytes / 400)))
    levels = Grower(table, rules, cells).grow()
    columns = to_columns(levels, rules.path.keeps_leaves(table.loss), dtype)
    return {name: to_host(values) for name, values in columns.items()}


def to_host(values: torch.Tensor) -> Array:
    """Copy a tensor to NumPy, large ones through memory that the device can write to directly."""
    if values.device.type != "cuda" or values.numel() * values.element_size() <= _STAGED:
        return np.asarray(values.cpu().numpy())
    out = torch.empty(values.shape, dtype=values.dtype)
    step = _STAGED // values.element_size()
    buffers = [torch.empty(step, dtype=values.dtype, pin_memory=True) for _ in range(2)]
    done: list[Any] = []
    for i, first in enumerate(range(0, len(values), step)):
        part = values[first : first + step]
        buffers[i % 2][: len(part)].copy_(part, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        done.append((event, i % 2, first, len(part)))
        if len(done) == 2:
            _take(out, buffers, *done.pop(0))
    while done:
        _take(out, buffers, *done.pop(0))
    return np.asarray(out.numpy())


def _take(out: torch.Tensor, buffers: list[torch.Tensor], event: Any, which: int, first: int, n: int) -> None:
    event.synchronize()
    out[first : first + n].copy_(buffers[which][:n])


def _joined(parts: list[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "tree_start"}
    first = np.cumsum([0, *(part["tree_start"][-1] for part in parts)])
    starts = [part["tree_start"][:-1] + n for part, n in zip(parts, first, strict=False)]
    joined["tree_start"] = np.concatenate([*starts, first[-1:]])
    return joined
