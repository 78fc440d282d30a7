"""Trains and evaluates bagged networks, through what trains the networks at the nodes of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import joblib
import numpy as np
import torch

from boostforest.nodes._torch import TorchFitter, training_device
from boostforest.nodes.torch import TorchNode

from .._product import Floats, Problem, Sampling, Seeds, child, drawn_rows

_TRAINING_TAG, _WEIGHTS_TAG = 5, 6  # beside those in _draws
_CELLS_AT_ONCE = 2**24  # outputs that are held
_PROBLEMS_AT_ONCE = 64  # targets and weights are held


class BagFitter(TorchFitter):
    """Trains networks by the squared error, without limits of their outputs."""

    limits_scores: ClassVar[bool] = False
    called: ClassVar[str] = "network"


class ClassFitter(BagFitter):
    """Trains networks whose outputs are the arguments of a softmax."""

    @staticmethod
    def loss(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the weighted cross-entropy: networks × rows."""
        return -(weights * targets * torch.log_softmax(outputs, dim=2)).sum(dim=2)


def _fitter(node: TorchNode, table: Floats, n_outputs: int, task: str) -> BagFitter:
    return (ClassFitter if task == "classification" else BagFitter)(node, table, n_outputs, task)


def train_networks(
    node: TorchNode, table: Floats, targets: Floats, task: str, sampling: Sampling, seeds: Seeds, n_jobs: Any
) -> list[Any]:
    """Return a network for each seed; on a CPU several processes share them out."""
    n_parts = 1 if training_device(node).type == "cuda" else min(joblib.effective_n_jobs(n_jobs), len(seeds))
    parts = np.array_split(np.arange(len(seeds)), n_parts)
    results = joblib.Parallel(n_jobs=n_parts)(
        joblib.delayed(_train_part)(node, table, targets, task, sampling, part, seeds[part]) for part in parts
    )
    return [network for result in results for network in result]


def _train_part(
    node: TorchNode, table: Floats, targets: Floats, task: str, sampling: Sampling, numbers: Any, seeds: Seeds
) -> list[Any]:
    fitter = _fitter(node, table, len(targets), task)
    size = max(_PROBLEMS_AT_ONCE, 1 if isinstance(node.nodes_at_once, str) else node.nodes_at_once)
    trained = []
    for first in range(0, len(seeds), size):
        some = zip(numbers[first : first + size].tolist(), seeds[first : first + size].tolist(), strict=True)
        problems = [_problem(f"network {number}", targets, sampling, seed) for number, seed in some]
        with fitter.limits():
            trained += fitter.fit(problems)
    return trained


def _problem(where: str, targets: Floats, sampling: Sampling, seed: int) -> Problem:
    """Return the rows that a network is trained on, as often as they were drawn."""
    n = targets.shape[1]
    if sampling.bootstrap:
        rows = drawn_rows(seed, n, sampling)
        weight = np.ones(len(rows))
    else:
        rows = np.arange(n) if sampling.weight is None else np.flatnonzero(sampling.weight)
        weight = np.ones(n) if sampling.weight is None else sampling.weight[rows]
    return Problem(
        where=where,
        rows=rows.astype(np.int32),
        count=len(rows),
        w=weight,
        z=targets[:, rows],
        v=np.tile(weight, (len(targets), 1)),
        parent=None,
        key=child(seed, _TRAINING_TAG),
        tree_key=child(seed, _WEIGHTS_TAG),
    )


def network_outputs(node: TorchNode, table: Floats, n_outputs: int, task: str, networks: list[Any]) -> Iterator[Floats]:
    """Yield the outputs of each network, as many networks at a time as memory allows: rows × outputs."""
    fitter = _fitter(node, table, n_outputs, task)
    rows = np.arange(len(table), dtype=np.int32)
    size = max(1, _CELLS_AT_ONCE // (len(table) * n_outputs))
    for first in range(0, len(networks), size):
        with fitter.limits():
            results = fitter.predict([(network, rows, "a network") for network in networks[first : first + size]])
        for result in results:
            yield result.T
