"""AdamW over stacks of networks, each with its own rows and its own order of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._base.typing import Array, Floats, Ints, Longs
from ._python import Problem
from ._torch_stack import Arrays, NetworkForm, Stack, in_stacks, random_numbers

# Outputs, targets and weights, networks × rows × outputs -> the loss, networks × rows.
Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

_BETAS, _EPS = (0.9, 0.999), 1e-8
_STEPS_AHEAD = 32  # batches that are drawn, and sent to the device, at a time


@dataclass(frozen=True)
class Training:
    """How networks are trained."""

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    at_once: int  #: networks in a stack


def train(
    form: NetworkForm,
    table: torch.Tensor,
    problems: Sequence[Problem],
    first: Sequence[Arrays],
    training: Training,
    loss: Loss,
) -> list[Arrays]:
    """Return a network for each problem, trained from the one given in ``first``."""
    result: list[Any] = [None] * len(problems)

    def train_some(numbers: Sequence[int]) -> None:
        stack = Stack(form, [first[i] for i in numbers], train=True)
        with random_numbers(problems[numbers[0]].key, form.device):  # of layers that have some, such as dropout
            _train_stack(stack, table, [problems[i] for i in numbers], training, loss)
        for i, network in zip(numbers, stack.networks(), strict=True):
            result[i] = network

    # Networks of many rows, and steps, first: those of a stack then end at about the same time.
    by_rows = sorted(range(len(problems)), key=lambda i: -len(problems[i].rows))
    in_stacks(by_rows, 1 if form.fixed else training.at_once, train_some)
    return result


def _train_stack(
    stack: Stack, table: torch.Tensor, problems: Sequence[Problem], training: Training, loss: Loss
) -> None:
    data = _StackData(problems, table, stack.form.device)
    width = min(training.batch_size, len(problems[0].rows))
    batches = [
        _Batches(p, start, data.filler, training.batch_size, width)
        for p, start in zip(problems, data.starts, strict=True)
    ]
    total_steps = [training.epochs * b.n_batches for b in batches]
    optimizer = _AdamW(stack.flat, training)
    for step in range(total_steps[0]):
        active = sum(total > step for total in total_steps)
        if step % _STEPS_AHEAD == 0:
            ahead = data.to_device(np.stack([b.take(_STEPS_AHEAD) for b in batches[:active]]))
        places = ahead[:active, step % _STEPS_AHEAD]
        if active == 1:
            places = places[:, places[0] < data.filler]  # nothing to fill up: normalisation layers see real rows only
        x, targets, weights, n_rows = data.batch(places)
        if step == 0:
            stack.form.choose(stack, x)
        flat = stack.flat[:active].detach().requires_grad_()
        errors = loss(stack(flat, x), targets, weights).sum(dim=1) / n_rows
        optimizer.step(torch.autograd.grad(errors.sum(), flat)[0])


class _StackData:
    """Rows, targets and weights of all networks one behind the other, and a row of weight 0 to fill up batches."""

    def __init__(self, problems: Sequence[Problem], table: torch.Tensor, device: torch.device) -> None:
        self._table, self._device = table, device
        lengths = [len(p.rows) for p in problems]
        self.starts = np.cumsum([0, *lengths[:-1]])
        self.filler = sum(lengths)
        self._rows = torch.from_numpy(np.concatenate([*(p.rows for p in problems), [0]])).to(table.device).long()
        self._targets = self._join([p.z for p in problems])
        self._weights = self._join([p.v / p.v.mean() for p in problems])  # the optimiser's steps do not scale with them

    def _join(self, values: list[Floats]) -> torch.Tensor:
        filler = np.zeros((len(values[0]), 1))
        joined = np.concatenate([*values, filler], axis=1).T
        return self.to_device(np.ascontiguousarray(joined, dtype=np.float32))

    def to_device(self, array: Array) -> torch.Tensor:
        """Return an array as a tensor on the device, without waiting for the work that is under way there."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self._device, non_blocking=True) if self._device.type == "cuda" else tensor

    def batch(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return features, targets and weights at networks × rows places, and how many of each network's are real."""
        rows = self._rows[places.to(self._table.device)]
        x = self._table[rows].to(self._device)
        return x, self._targets[places], self._weights[places], (places < self.filler).sum(dim=1).clamp(min=1)


class _Batches:
    """The batches of one network: all its rows in a new random order every epoch, the last one filled up."""

    def __init__(self, problem: Problem, start: int, filler: int, batch_size: int, width: int) -> None:
        self._n, self._start, self._filler, self._width = len(problem.rows), start, filler, width
        self.n_batches = math.ceil(self._n / batch_size)
        self._rng = np.random.default_rng(problem.key)
        self._rest = np.empty((0, width), dtype=np.int64)

    def take(self, n: int) -> Longs:
        """Return the places of the next n batches."""
        parts = [self._rest]
        n_there = len(self._rest)
        while n_there < n:
            epoch = np.full(self.n_batches * self._width, self._filler)
            epoch[: self._n] = self._start + self._rng.permutation(self._n)
            parts.append(epoch.reshape(self.n_batches, self._width))
            n_there += self.n_batches
        joined = np.concatenate(parts)
        self._rest = joined[n:]
        return joined[:n]


class _AdamW:
    """AdamW on the rows of a matrix, of which those at the end may stop early."""

    def __init__(self, flat: torch.Tensor, training: Training) -> None:
        self._flat, self._training = flat, training
        self._mean, self._square = torch.zeros_like(flat), torch.zeros_like(flat)
        self._steps = 0

    def step(self, gradient: torch.Tensor) -> None:
        """Take one step of the first networks."""
        self._steps += 1
        n, (beta1, beta2) = len(gradient), _BETAS
        flat, mean, square = self._flat[:n], self._mean[:n], self._square[:n]
        flat.mul_(1 - self._training.lr * self._training.weight_decay)
        mean.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        scale = (square.sqrt() / math.sqrt(1 - beta2**self._steps)).add_(_EPS)
        flat.addcdiv_(mean, scale, value=-self._training.lr / (1 - beta1**self._steps))


def evaluate(
    form: NetworkForm,
    table: torch.Tensor,
    asked: Sequence[tuple[Arrays, Ints]],
    rows_at_once: int,
    at_once: int,
) -> list[Floats]:
    """Return outputs × rows for each network and its rows."""
    result: list[Floats] = [np.empty((0, 0))] * len(asked)
    pieces = [(i, first) for i, (_, rows) in enumerate(asked) for first in range(0, len(rows), rows_at_once)]
    pieces.sort(key=lambda piece: -min(rows_at_once, len(asked[piece[0]][1]) - piece[1]))

    def evaluate_some(some: Sequence[tuple[int, int]]) -> None:
        rows = [asked[i][1][first : first + rows_at_once] for i, first in some]
        places = np.zeros((len(some), len(rows[0])), dtype=np.int64)
        for line, own in zip(places, rows, strict=True):
            line[: len(own)] = own
        stack = Stack(form, [asked[i][0] for i, _ in some], train=False)
        with torch.no_grad():
            x = table[torch.from_numpy(places).to(table.device)].to(form.device)
            outputs = stack(stack.flat, x).transpose(1, 2).double().cpu().numpy()
        for (i, first), output, own in zip(some, outputs, rows, strict=True):
            if result[i].size == 0:
                result[i] = np.empty((len(output), len(asked[i][1])))
            result[i][:, first : first + len(own)] = output[:, : len(own)]

    in_stacks(pieces, 1 if form.fixed else at_once, evaluate_some)
    return result
