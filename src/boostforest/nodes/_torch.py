"""PyTorch networks at the nodes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from .._base.typing import Floats, Ints
from ._python import NodeFitter, Problem
from ._torch_stack import Arrays, NetworkForm, arrays_of, random_numbers
from ._torch_training import Training, evaluate, train

_LIMIT = 4.0  # of the pseudo-labels in classification
_ROWS_PER_STEP = 2**16  # keep a GPU busy
_ROWS_PER_PREDICTION = 2**13


class Network:
    """A fitted network: its parameters and buffers by name."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def __repr__(self) -> str:
        return f"Network({sum(a.size for a in self.arrays.values())} parameters)"


class TorchFitter(NodeFitter):
    """Trains the networks of all nodes that it is given together; a fitted model is a ``Network``."""

    fits_all_rows: ClassVar[bool] = True
    limits_scores: ClassVar[bool] = True  #: in classification outputs are kept within the range of the pseudo-labels

    def __init__(self, node_model: Any, values: Floats, n_outputs: int, task: str) -> None:
        super().__init__(node_model, values, n_outputs, task)
        self.device = prediction_device(node_model)
        self.predicts_on_threads = self.device.type == "cpu"  # a GPU is busy with one tree
        limit = _LIMIT if task == "classification" and self.limits_scores else None
        self._form = NetworkForm(self._build(seed=0), limit, self.device)
        self._table: torch.Tensor | None = None
        self._checked = False

    @staticmethod
    def loss(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the weighted squared error: networks × rows."""
        return (weights * (outputs - targets) ** 2).mean(dim=2)

    def _build(self, seed: int) -> nn.Module:
        """Return the network with random weights that follow from the seed alone."""
        module, n_features = self.node_model.module, self.values.shape[1]
        with random_numbers(seed, torch.device("cpu")):
            if not isinstance(module, nn.Module):
                return _require_module(module(n_features, self.n_outputs))
            module = copy.deepcopy(module)
            for part in module.modules():
                if callable(getattr(part, "reset_parameters", None)):
                    part.reset_parameters()
            return module

    @property
    def table(self) -> torch.Tensor:
        """The rows, on the device unless they would fill it."""
        if self._table is None:
            table = torch.from_numpy(np.ascontiguousarray(self.values, dtype=np.float32))
            on_gpu = self.device.type == "cuda" and table.nbytes < torch.cuda.mem_get_info()[0] // 2
            self._table = table.to(self.device) if on_gpu else table
        return self._table

    @contextmanager
    def limits(self) -> Iterator[None]:
        """One thread on a CPU, whatever the number of processes: for the same bits."""
        before = torch.get_num_threads()
        if self.device.type == "cpu":
            torch.set_num_threads(1)
        try:
            with super().limits():
                yield
        finally:
            torch.set_num_threads(before)

    def fit(self, problems: list[Problem]) -> list[Any]:
        """Train one network per node."""
        if not problems:
            return []
        self._check_form(problems[0].where)
        starts: dict[int, Arrays] = {}
        for p in problems:
            if p.parent is None and p.tree_key not in starts:
                starts[p.tree_key] = arrays_of(self._build(p.tree_key))
        first = [starts[p.tree_key] if p.parent is None else p.parent.arrays for p in problems]
        model = self.node_model
        at_once = _ROWS_PER_STEP // model.batch_size if self.device.type == "cuda" else 1
        training = Training(
            epochs=model.epochs,
            batch_size=model.batch_size,
            lr=model.lr,
            weight_decay=model.weight_decay,
            at_once=max(1, at_once) if model.nodes_at_once == "auto" else model.nodes_at_once,
        )
        with self.named(f"{problems[0].where} and others fitted with it"):
            return [Network(arrays) for arrays in train(self._form, self.table, problems, first, training, self.loss)]

    def _check_form(self, where: str) -> None:
        """Refuse a network that cannot give what a tree needs."""
        if self._checked:
            return
        if not self._form.shapes:
            self.complain(where, "has no parameters to train")
        with self.named(where):
            shape = self._form.output_shape(self.values.shape[1])
        if shape != (2, self.n_outputs):
            self.complain(where, f"must return rows × {self.n_outputs}, but gave the shape {shape} for 2 rows")
        self._checked = True

    def predict(self, asked: list[tuple[Any, Ints, str]]) -> list[Floats]:
        """Evaluate many networks, many rows at a time."""
        if self.device.type == "cpu" and torch.get_num_threads() != 1:
            torch.set_num_threads(1)  # a worker thread; that of the caller is limited already
        at_once = self.node_model.nodes_at_once
        if at_once == "auto":
            at_once = 32 if self.device.type == "cuda" else 1
        pairs = [(network.arrays, rows) for network, rows, _ in asked]
        return evaluate(self._form, self.table, pairs, _ROWS_PER_PREDICTION, at_once)

    def n_bytes(self, model: Any) -> int:
        """Return the bytes of a network's parameters."""
        return sum(array.nbytes for array in model.arrays.values())


def _require_module(module: Any) -> nn.Module:
    if not isinstance(module, nn.Module):
        raise ValueError(f"TorchNode.module must return a torch.nn.Module when it is called; got {module!r}.")
    return module


def training_device(node_model: Any) -> torch.device:
    """Return where networks are trained."""
    if node_model.device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"node_model={node_model!r} asks for device='cuda', but PyTorch finds no GPU; use device='cpu' or 'auto'."
        )
    return prediction_device(node_model)


def prediction_device(node_model: Any) -> torch.device:
    """Return where networks are evaluated: without a GPU on the CPU, wherever they were trained."""
    return torch.device("cuda" if node_model.device != "cpu" and torch.cuda.is_available() else "cpu")
