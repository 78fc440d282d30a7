"""Which device to use, and how much memory it has."""

from __future__ import annotations

import torch

_ON_THE_CPU = 4e9  # bytes, in tests


def free_memory(device: torch.device) -> float:
    """Return how many bytes a device has left."""
    if device.type != "cuda":
        return _ON_THE_CPU
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(free + unused)
