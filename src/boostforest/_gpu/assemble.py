"""From the levels of trees to the flat columns of a forest, with the core's numbers of nodes."""

from __future__ import annotations

from typing import Any

import torch

from .nodes import Level


def number_nodes(levels: list[Level]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the first node of each tree, the place of each node among all, and its left child's number in the tree.

    A node that is split gives the next two numbers to its children, then its left side is numbered before the right.
    Nodes are those of all levels, one after another.
    """
    inner: list[torch.Tensor] = []  # splits at and below each node
    for level in reversed(levels):
        own = level.is_split.to(torch.int64)
        if inner:
            own[level.is_split] += inner[-1].view(-1, 2).sum(1)
        inner.append(own)
    inner.reverse()
    n_nodes = 1 + 2 * inner[0]
    tree_start = torch.cat([n_nodes.new_zeros(1), n_nodes.cumsum(0)])
    number = torch.zeros_like(inner[0])  # in its tree
    rank = torch.zeros_like(inner[0])  # among the splits of its tree, for a node that is split
    numbers, lefts = [], []
    for depth, level in enumerate(levels):
        numbers.append(number + tree_start[:-1][level.tree])
        lefts.append(torch.where(level.is_split, 1 + 2 * rank, 0))
        if depth + 1 == len(levels):
            break
        above = rank[level.is_split]
        number = torch.stack([1 + 2 * above, 2 + 2 * above], dim=1).view(-1)
        rank = torch.stack([above + 1, above + 1 + inner[depth + 1].view(-1, 2)[:, 0]], dim=1).view(-1)
    return tree_start, torch.cat(numbers), torch.cat(lefts)


def to_columns(levels: list[Level], leaves_only: bool, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return the columns of the trees; ``leaves_only``: no other nodes keep a model."""
    tree_start, place, left = number_nodes(levels)

    def column(values: list[torch.Tensor], kind: torch.dtype) -> torch.Tensor:
        joined = torch.cat(values)
        out = torch.empty(len(place), dtype=kind, device=place.device)
        out[place] = joined.to(kind)
        return out

    splits = [level.splits for level in levels]
    is_split = [level.is_split for level in levels]
    single, double = torch.float32, torch.float64
    zero_leaves: Any = lambda name: [  # noqa: E731
        torch.where(own, getattr(s, name), 0) for s, own in zip(splits, is_split, strict=True)
    ]
    return {
        "tree_start": tree_start,
        "feature": column([s.feature for s in splits], torch.int32),
        "threshold": column(zero_leaves("threshold"), double),
        "missing_left": column(zero_leaves("missing_left"), torch.uint8),
        "left": column([left], torch.int32),
        "n_samples": column([level.weight for level in levels], single),
        "loss": column([level.loss for level in levels], single),
        "gain": column(zero_leaves("gain"), single),
        "lower": column([level.lower for level in levels], dtype),
        "upper": column([level.upper for level in levels], dtype),
        "params": _params(levels, place, is_split, leaves_only, dtype),
    }


def _params(
    levels: list[Level], place: torch.Tensor, is_split: list[torch.Tensor], leaves_only: bool, dtype: torch.dtype
) -> torch.Tensor:
    """Return the models in the order of their nodes."""
    keeps = [~own if leaves_only or depth == 0 else torch.ones_like(own) for depth, own in enumerate(is_split)]
    kept = torch.zeros(len(place), dtype=torch.int64, device=place.device)
    kept[place] = torch.cat(keeps).to(torch.int64)
    rank = kept.cumsum(0) - kept
    n_models = int(kept.sum())
    first, out = 0, None
    for level, keep in zip(levels, keeps, strict=True):
        here = place[first : first + len(keep)][keep]
        first += len(keep)
        if level.params is None or len(here) == 0:
            continue
        params = level.params.flatten(1)
        level.params = None  # as large as all the rest
        if out is None:
            out = torch.empty(n_models, params.shape[1], dtype=dtype, device=place.device)
        out[rank[here]] = params.to(dtype)
    assert out is not None
    return out.view(-1)
