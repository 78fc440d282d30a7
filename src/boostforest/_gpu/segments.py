"""Rows of nodes that stand next to each other in one array: gathered, added up, parted."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .nodes import Nodes
from .rows import Rows
from .splits import NodeRows
from .table import Table

_SIZES = sorted({n * 2**k for k in range(2, 30) for n in (2, 3)})  # 8, 12, 16, 24, …: rows that nodes are filled up to


def buckets(sizes: torch.Tensor, rows_at_once: int, among: torch.Tensor | None) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield nodes of similar sizes, and how many rows each of them is filled up to; ``among``: only of these nodes."""
    if among is not None:
        for part, size in buckets(sizes[among], rows_at_once, None):
            yield among[part], size
        return
    if len(sizes) == 0:
        return
    edges = torch.tensor(_SIZES, device=sizes.device)
    bucket = torch.bucketize(sizes, edges)
    order = bucket.argsort(stable=True)
    first = 0
    for size, n in zip(_SIZES, torch.bincount(bucket, minlength=len(_SIZES)).tolist(), strict=True):
        step = max(1, rows_at_once // size)
        for start in range(first, first + n, step):
            yield order[start : min(start + step, first + n)], size
        first += n


def gather_rows(table: Table, rows: Rows, nodes: Nodes, size: int) -> tuple[NodeRows, torch.Tensor]:
    """Return the rows of nodes, filled up to the same number, and where they stand."""
    offset = torch.arange(size, device=table.device)
    valid = offset < nodes.size[:, None]
    place = nodes.begin[:, None] + torch.where(valid, offset, 0)
    row = rows.row[place]
    weight = torch.where(valid, rows.weight[place], 0.0)
    return NodeRows(row, weight, table.aim[row], rows.scores[place]), place


def owners(nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the node of every row of nodes, and where the row stands."""
    owner = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.size.device), nodes.size)
    shift = nodes.begin - (nodes.size.cumsum(0) - nodes.size)
    return owner, torch.arange(len(owner), device=owner.device) + shift[owner]


def moved_rows(values: torch.Tensor, place: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return some values, at their new places."""
    out = torch.empty((len(target), *values.shape[1:]), dtype=values.dtype, device=values.device)
    out[target] = values[place]
    return out


def shortened(
    threshold: torch.Tensor, value: torch.Tensor, left: torch.Tensor, known: torch.Tensor | None, sizes: torch.Tensor
) -> torch.Tensor:
    """Return thresholds with as few digits as part the rows of nodes alike, but eight in base 2; see the core's."""
    on_left, on_right = (left, ~left) if known is None else (left & known, ~left & known)
    most = _segment_extremes(torch.where(on_left, value, -torch.inf), sizes, "max")
    least = _segment_extremes(torch.where(on_right, value, torch.inf), sizes, "min")
    fraction, power = torch.frexp(threshold)
    short, done = threshold.clone(), torch.zeros_like(threshold, dtype=torch.bool)
    for digits in range(8, 53):
        rounded = torch.ldexp(torch.round(fraction * 2.0**digits), power - digits)
        good = (most <= rounded) & (rounded < least) & ~done
        short = torch.where(good, rounded, short)
        done |= good
    return short


def _segment_extremes(values: torch.Tensor, sizes: torch.Tensor, which: str) -> torch.Tensor:
    return torch.segment_reduce(values, which, lengths=sizes, axis=0, unsafe=True)


def segment_sums(values: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """Add up runs of values of these sizes, each in the same order every time."""
    if values.dtype.is_floating_point:
        return torch.segment_reduce(values, "sum", lengths=sizes, axis=0, unsafe=True)
    ends = values.to(torch.int64).cumsum(0)
    last = sizes.cumsum(0)
    total = torch.where(last > 0, ends[(last - 1).clamp(min=0)], 0)
    return torch.diff(total, prepend=total.new_zeros(1))
