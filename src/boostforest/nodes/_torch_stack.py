"""Many networks of the same form as one.

The parameters of all networks are the rows of one matrix and their batches one tensor with a leading dimension, so that
a step is a handful of operations for all of them: tiny networks one by one would leave a GPU idle. A stack of one is an
ordinary network.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, vmap

from .._base.typing import Array

Arrays = dict[str, Array]  # a network: parameters and buffers by name


class NetworkForm:
    """What all networks of a stack have in common."""

    def __init__(self, module: nn.Module, limit: float | None, device: torch.device) -> None:
        self.module = module.float().to(device)
        self.limit = limit  #: outputs are kept within ±limit; None: anywhere
        self.device = device
        self.shapes = {name: tuple(p.shape) for name, p in module.named_parameters() if p.requires_grad}
        self.fixed = [name for name in named_tensors(module) if name not in self.shapes]
        self._fastest: nn.Module | None = None

    @property
    def sizes(self) -> list[int]:
        """Numbers in each parameter."""
        return [math.prod(shape) for shape in self.shapes.values()]

    def output_shape(self, n_features: int) -> tuple[int, ...]:
        """Return the shape of what a network makes of two rows."""
        with torch.no_grad():
            outputs = copy.deepcopy(self.module).eval()(torch.zeros((2, n_features), device=self.device))
        return tuple(getattr(outputs, "shape", ()))

    def module_for(self, n_networks: int) -> nn.Module:
        """Return a module of one's own to evaluate networks with: a call changes it for a moment."""
        return copy.deepcopy(self.module if n_networks == 1 or self._fastest is None else self._fastest)

    def choose(self, stack: Stack, x: torch.Tensor) -> None:
        """Find out once how the convolutions of many networks are computed fastest on this GPU."""
        has_convolutions = any(type(part) is nn.Conv2d for part in self.module.modules())
        if self._fastest is not None or len(stack.flat) == 1 or self.device.type != "cuda" or not has_convolutions:
            return
        candidates = [self.module, with_matrix_convolutions(self.module)]
        self._fastest = min(candidates, key=lambda module: _seconds(stack.with_module(module), x))
        stack.module = self.module_for(len(stack.flat)).train(stack.train)


class Stack:
    """Networks of one form, as tensors on the device."""

    def __init__(self, form: NetworkForm, networks: Sequence[Arrays], train: bool) -> None:
        self.form = form
        flat = np.stack([np.concatenate([a[name].ravel() for name in form.shapes]) for a in networks])
        self.flat = torch.from_numpy(flat).to(form.device)
        self.fixed = {
            name: torch.from_numpy(np.stack([a[name] for a in networks])).to(form.device) for name in form.fixed
        }
        self.train = train
        self.module = form.module_for(len(networks)).train(train)

    def with_module(self, module: nn.Module) -> Stack:
        """Return the same networks, evaluated by another module."""
        other = copy.copy(self)
        other.module = copy.deepcopy(module).train(self.train)
        return other

    def __call__(self, flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return networks × rows × outputs, given the parameters of the first networks and a batch for each."""
        pieces = flat.split(self.form.sizes, dim=1)
        params = {
            name: piece.view(-1, *shape) for (name, shape), piece in zip(self.form.shapes.items(), pieces, strict=True)
        }
        if len(flat) == 1:
            state = {name: tensor[0] for name, tensor in {**params, **self.fixed}.items()}
            outputs = functional_call(self.module, state, (x[0],))[None]
        else:
            outputs = vmap(self._one, randomness="different")(params, x)
        limit = self.form.limit
        return outputs if limit is None else limit * torch.tanh(outputs / limit)

    def _one(self, params: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = functional_call(self.module, params, (x,))
        return outputs

    def networks(self) -> list[Arrays]:
        """Return the networks as NumPy arrays."""
        fixed = {name: tensor.cpu().numpy() for name, tensor in self.fixed.items()}
        ends = np.cumsum(self.form.sizes)[:-1]
        result = []
        for i, row in enumerate(self.flat.cpu().numpy()):
            pieces = zip(self.form.shapes.items(), np.split(row, ends), strict=True)
            own = {name: piece.reshape(shape).copy() for (name, shape), piece in pieces}
            result.append(own | {name: array[i].copy() for name, array in fixed.items()})
        return result


@contextmanager
def random_numbers(seed: int, device: torch.device) -> Iterator[None]:
    """Let PyTorch's random numbers follow from a seed, and leave the user's where they were."""
    with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device]):
        torch.manual_seed(seed % 2**63)
        yield


def named_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters and buffers of a network."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def arrays_of(module: nn.Module) -> Arrays:
    """Return parameters and buffers of a network as NumPy arrays."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in named_tensors(module.float()).items()}


def in_stacks(items: Sequence[Any], at_once: int, work: Callable[[Sequence[Any]], None]) -> None:
    """Call ``work`` with so many items at a time, fewer once the memory of the GPU has run out."""
    done = 0
    while done < len(items):
        try:
            work(items[done : done + at_once])
        except torch.cuda.OutOfMemoryError:
            if at_once == 1:
                raise
            at_once //= 2
            torch.cuda.empty_cache()
        else:
            done += at_once


class MatrixConv2d(nn.Module):
    """A convolution as a matrix product: of many networks, that is one batched product instead of a grouped one."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.weight, self.bias = conv.weight, conv.bias
        self._window = {"kernel_size": conv.kernel_size, "dilation": conv.dilation, "padding": conv.padding,
                        "stride": conv.stride}  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolution of images."""
        window = self._window.values()
        height, width = (
            (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            for size, kernel, dilation, padding, stride in zip(x.shape[-2:], *window, strict=True)
        )
        outputs = self.weight.flatten(1) @ nn.functional.unfold(x, **self._window)
        if self.bias is not None:
            outputs = outputs + self.bias[:, None]
        return outputs.unflatten(-1, (height, width))


def with_matrix_convolutions(module: nn.Module) -> nn.Module:
    """Return a copy whose plain convolutions are matrix products; names of parameters stay."""
    module = copy.deepcopy(module)
    for part in list(module.modules()):
        for name, conv in part.named_children():
            plain = type(conv) is nn.Conv2d and conv.groups == 1 and conv.padding_mode == "zeros"
            if plain and not isinstance(conv.padding, str):
                setattr(part, name, MatrixConv2d(conv))
    return module


def _seconds(stack: Stack, x: torch.Tensor) -> float:
    """Return how long a stack takes for a step."""
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        flat = stack.flat.detach().requires_grad_()
        torch.autograd.grad(stack(flat, x).square().mean(), flat)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)
