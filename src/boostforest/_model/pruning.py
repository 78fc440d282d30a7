"""Parts of forests: some of the trees, or trees with subtrees taken off, where a node that was split becomes a leaf."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.typing import Floats, Longs, Mask
from .columns import ForestColumns
from .model import Model, Stages

_NODE_COLUMNS = ("feature", "threshold", "missing_left", "left", "n_samples", "gain", "lower", "upper")
_OF_LEAVES = {"feature": -1, "threshold": 0, "missing_left": 0, "left": 0, "gain": 0}
_LEAST = 1e-30  # weight of a leaf: files may have leaves without rows
_STEPS = 30  # of the search for the gain below which subtrees are taken off


def with_members(model: Model, kept: Longs) -> Model:
    """Return some trees, or bags of boosted ones, as a forest with the same stages; ``kept``: their numbers, ascending.

    What the forest knows out of bag stays as it is.
    """
    stages, members = model.stages, model.stages.members(model.seeds)
    stage_of, every = np.repeat(np.arange(len(stages)), [len(m) for m in members]), list(itertools.chain(*members))
    is_kept = np.zeros(model.n_trees, dtype=bool)
    for first, end in (every[member] for member in kept):
        is_kept[first:end] = True
    units = np.bincount(stage_of[kept], minlength=len(stages))
    return replace(
        model,
        columns=model.columns.take_where(is_kept),
        seeds=model.seeds[is_kept],
        params={name: list(itertools.compress(values, is_kept)) for name, values in model.params.items()},
        stages=Stages(
            tuple(np.cumsum(is_kept)[np.array(stages.ends) - 1].tolist()),
            stages.steps,
            tuple(units.tolist()) if stages.units else (),
        ),
    )


def without_weak_subtrees(columns: ForestColumns, share: float) -> ForestColumns:
    """Return the forest without up to such a share of its nodes: subtrees of the smallest gain per node.

    The gain of a split counts as a part of its tree's: trees may have been grown by different criteria. Roots stay.
    """
    value, levels = _gain_per_node(columns), _levels(columns)
    low, high = 0.0, 2 * float(value[np.isfinite(value)].max(initial=0.0))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        removed = _is_below(columns, value < middle, levels).mean()
        low, high = (middle, high) if removed <= share else (low, middle)
    return prune(columns, value < low)


def prune(columns: ForestColumns, cut: Mask) -> ForestColumns:
    """Return the forest with some nodes made leaves; coefficients are float64.

    Where leaves alone have models, a new leaf has the mean of those below it, weighted by the rows that reached them.
    """
    cut = cut & (columns.feature >= 0)
    kept = ~_is_below(columns, cut, _levels(columns))
    start = np.concatenate([[0], np.cumsum(kept)])[columns.tree_start]
    number = np.cumsum(kept) - 1 - start[columns.tree_of_node]  # of a node that stays, in its tree
    nodes: dict[str, Any] = {name: columns.arrays()[name].copy() for name in _NODE_COLUMNS}
    if columns.loss is not None:
        nodes["loss"] = columns.loss.copy()
    inner = np.flatnonzero(columns.feature >= 0)
    nodes["left"][inner] = number[columns.left[inner] + columns.tree_start[columns.tree_of_node[inner]]]
    for name, value in _OF_LEAVES.items():
        nodes[name][cut] = value
    nodes = {name: column[kept] for name, column in nodes.items()}
    for name in ("lower", "upper"):
        nodes[name] = nodes[name].astype(np.float64)
    params = _params(columns, _leaf_above(columns, kept), kept)
    return replace(columns, tree_start=start, params=params, exponent=None, **nodes)


def _levels(columns: ForestColumns) -> list[Longs]:
    """Return the nodes of every depth below the roots."""
    order = np.argsort(columns.depth, kind="stable")
    ends = np.cumsum(np.bincount(columns.depth))
    return [order[a:b] for a, b in itertools.pairwise(ends)]


def _is_below(columns: ForestColumns, cut: Mask, levels: list[Longs]) -> Mask:
    """Tell which nodes are below one of some nodes."""
    below = np.zeros(len(cut), dtype=bool)
    for nodes in levels:
        parent = columns.parent[nodes]
        below[nodes] = below[parent] | cut[parent]
    return below


def _leaf_above(columns: ForestColumns, kept: Mask) -> Longs:
    """Return for every node itself or, if it goes, the node above it that stays and becomes a leaf."""
    above = np.arange(len(kept))
    for nodes in _levels(columns):
        gone = nodes[~kept[nodes]]
        above[gone] = above[columns.parent[gone]]
    return above


def _gain_per_node(columns: ForestColumns) -> Floats:
    """Return the share of its tree's gain that the subtree of each inner node has, per node; infinite for others."""
    gain = columns.gain.astype(np.float64)
    total = np.bincount(columns.tree_of_node, weights=gain, minlength=columns.n_trees)
    gain /= np.where(total > 0, total, 1)[columns.tree_of_node]
    size = np.ones(len(gain))
    for nodes in reversed(_levels(columns)):
        parent = columns.parent[nodes]
        np.add.at(gain, parent, gain[nodes])
        np.add.at(size, parent, size[nodes])
    keeps = (columns.feature < 0) | (columns.depth == 0)
    return np.where(keeps, np.inf, gain / size)


def _params(columns: ForestColumns, above: Longs, kept: Mask) -> Floats:
    """Return the parameters of the models that are left."""
    parts = [np.empty(0)]
    for tree, nodes, models in columns.models_of_trees():
        if columns.at_all_nodes[tree]:
            parts.append(models[kept[nodes]].astype(np.float64).ravel())
            continue
        order = np.argsort(above[nodes], kind="stable")
        own, ordered = above[nodes][order], models[order].astype(np.float64)
        first = np.flatnonzero(np.diff(own, prepend=-1))
        n_below = np.diff([*first, len(own)])
        weight = np.maximum(columns.n_samples[nodes][order].astype(np.float64), _LEAST)
        weight /= np.repeat(np.add.reduceat(weight, first), n_below)
        means = np.add.reduceat(weight[:, None, None] * ordered, first, axis=0)
        parts.append(np.where((n_below == 1)[:, None, None], ordered[first], means).ravel())
    return np.concatenate(parts)
