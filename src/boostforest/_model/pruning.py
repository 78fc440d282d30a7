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
_POWERS = -1000, 1000  # of two: between these is the gain that a split must have to stay
_STEPS = 20  # that halve them, to a five-hundredth


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
        params={name: values.take(is_kept) for name, values in model.params.items()},
        stages=Stages(
            tuple(np.cumsum(is_kept)[np.array(stages.ends) - 1].tolist()),
            stages.steps,
            tuple(units.tolist()) if stages.units else (),
        ),
    )


def without_weak_subtrees(columns: ForestColumns, share: float) -> ForestColumns:
    """Return the forest, each tree without up to such a share of its nodes: subtrees of little gain for their size.

    Gains of different trees are not compared: one split may have nearly all of its tree's gain. Roots stay.
    """
    tree, levels, n_nodes = columns.tree_of_node, _levels(columns), np.diff(columns.tree_start)
    low, high = (np.full(columns.n_trees, float(power)) for power in _POWERS)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = _is_below(columns, _weak(columns, np.exp2(middle)[tree], levels), levels)
        fits = np.bincount(tree, weights=below, minlength=columns.n_trees) <= share * n_nodes
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return prune(columns, _weak(columns, np.exp2(low)[tree], levels))


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


def _weak(columns: ForestColumns, least: Floats, levels: list[Longs]) -> Mask:
    """Tell which splits, roots aside, gain less than ``least`` with those below them that are not weak, per split.

    So a split with little gain stays above some with much, and what goes below it does not count against it.
    """
    inner = columns.feature >= 0
    surplus = np.where(inner, columns.gain.astype(np.float64) - least, 0.0)
    for nodes in reversed(levels):
        np.add.at(surplus, columns.parent[nodes], np.maximum(surplus[nodes], 0.0))
    return np.asarray(inner & (columns.depth > 0) & (surplus < 0))


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
