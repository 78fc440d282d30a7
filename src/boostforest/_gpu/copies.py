"""Copies between host and device; large ones go through memory that the device reads and writes directly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from .._base.typing import Array

_STAGED = 1 << 26  # bytes at a time


def using(device: torch.device) -> AbstractContextManager[Any]:
    """Make a GPU the current one, whose streams and events are used."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def to_device(values: Array, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Copy numbers to a device; unsigned seeds keep their bits."""
    values = np.ascontiguousarray(values)
    if values.dtype == np.uint64:
        values = values.view(np.int64)
    if device.type != "cuda" or values.nbytes <= _STAGED:
        return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device, dtype, copy=True)
    flat = values.reshape(-1)
    out = torch.empty(flat.shape, dtype=dtype, device=device)

    def fill(buffer: torch.Tensor, first: int, last: int) -> None:
        np.copyto(buffer.numpy(), flat[first:last])
        out[first:last].copy_(buffer, non_blocking=True)

    _in_turns(len(flat), flat[:0].dtype.itemsize, torch.from_numpy(flat[:1].copy()).dtype, fill, None)
    return out.view(values.shape)


def to_host(values: torch.Tensor, out: torch.Tensor) -> None:
    """Copy a tensor of one dimension to the host."""
    if values.device.type != "cuda" or values.numel() * values.element_size() <= _STAGED:
        out.copy_(values)
        return

    def fill(buffer: torch.Tensor, first: int, last: int) -> None:
        buffer.copy_(values[first:last], non_blocking=True)

    def empty(buffer: torch.Tensor, first: int, last: int) -> None:
        out[first:last].copy_(buffer)

    _in_turns(len(values), values.element_size(), values.dtype, fill, empty)


def _in_turns(
    n: int,
    itemsize: int,
    dtype: torch.dtype,
    fill: Callable[[torch.Tensor, int, int], None],
    empty: Callable[[torch.Tensor, int, int], None] | None,
) -> None:
    """Work with two buffers: while the device copies one of them, the host is busy with the other."""
    step = _STAGED // itemsize
    buffers = [torch.empty(step, dtype=dtype, pin_memory=True) for _ in range(2)]
    waiting: list[tuple[torch.cuda.Event, torch.Tensor, int, int]] = []
    for i, first in enumerate([*range(0, n, step), None, None]):
        if len(waiting) == 2 or (first is None and waiting):
            event, buffer, begin, end = waiting.pop(0)
            event.synchronize()
            if empty is not None:
                empty(buffer, begin, end)
        if first is not None:
            last = min(first + step, n)
            buffer = buffers[i % 2][: last - first]
            fill(buffer, first, last)
            event = torch.cuda.Event()
            event.record()
            waiting.append((event, buffer, first, last))
