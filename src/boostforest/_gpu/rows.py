"""The rows of trees: bootstrap draws, and the batches that large nodes are worked on."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .draws import below, child, uniform
from .table import Table

BOOTSTRAP, ROOT = 0, 1  # TreeTag
_DRAWS_AT_ONCE = 1 << 25


@dataclass(eq=False)
class Rows:
    """Rows of nodes, those of a node next to each other and ascending; what they weigh, and their scores."""

    row: torch.Tensor  #: number in the table, int32
    weight: torch.Tensor
    count: torch.Tensor  #: how often it was drawn, int32
    scores: torch.Tensor  #: rows × outputs


def draw_counts(n: int, n_draws: int, cumulative: torch.Tensor | None, seeds: torch.Tensor) -> torch.Tensor:
    """Return how often each tree has drawn each of n rows, trees × rows; ``cumulative``: as in ``Table``."""
    counts = torch.zeros(len(seeds), n, dtype=torch.int32, device=seeds.device)
    for tree, key in enumerate(child(seeds, BOOTSTRAP)):
        for first in range(0, n_draws, _DRAWS_AT_ONCE):
            i = torch.arange(first, min(first + _DRAWS_AT_ONCE, n_draws), device=seeds.device)
            if cumulative is None:
                drawn = below(key, i, n)
            else:
                points = uniform(key, i) * cumulative[-1]
                drawn = torch.searchsorted(cumulative, points, right=True).clamp(max=n - 1)
            counts[tree] += torch.bincount(drawn, minlength=n).to(torch.int32)
    return counts


def draw_rows(table: Table, seeds: torch.Tensor) -> tuple[Rows, torch.Tensor]:
    """Return the rows of some trees, tree after tree, and how many each has."""
    n, trees = len(table.y), len(seeds)
    if table.bootstrap:
        counts = draw_counts(n, table.n_draws, table.cumulative, seeds)
        weights = _balanced(table, counts) if table.balance_classes else counts.to(torch.float64)
    else:
        counts = torch.ones(trees, n, dtype=torch.int32, device=table.device)
        own = torch.ones(n, dtype=torch.float64, device=table.device) if table.weight is None else table.weight
        weights = own.expand(trees, n)
    drawn = (counts != 0) & (weights != 0)
    place = drawn.view(-1).nonzero().view(-1)
    row = (place % n).to(torch.int32)
    rows = Rows(row, weights.reshape(-1)[place], counts.view(-1)[place], table.start_of(row))
    return rows, drawn.sum(1)


def _balanced(table: Table, counts: torch.Tensor) -> torch.Tensor:
    """Weigh drawn rows so that all classes of a tree have the same total."""
    classes = table.y.long()
    drawn = torch.stack(
        [counts[:, classes == c].sum(1, dtype=torch.int64).to(torch.float64) for c in range(table.n_classes)], dim=1
    )
    n_present = (drawn > 0).sum(1, keepdim=True).to(torch.float64)
    return counts * float(table.n_draws) / (n_present * drawn[:, classes].clamp(min=1))


def draw_positions(key: torch.Tensor, n: torch.Tensor, b: int) -> torch.Tensor:
    """Draw b of the positions 0, …, n - 1 of each node without replacement, ascending: nodes × b.

    Floyd's algorithm: step t takes a number v(t) up to n - b + t, or that bound itself if v(t) is taken already. It is
    if an earlier step has drawn the same number, or if it is the bound of an earlier step that took its bound.
    """
    t = torch.arange(b, device=key.device)
    drawn = below(key[:, None], t, n[:, None] - b + t + 1)
    ordered, step = (drawn * b + t).sort(1).values, t
    repeats = torch.zeros_like(drawn, dtype=torch.bool)
    same = ordered[:, 1:] // b == ordered[:, :-1] // b
    repeats.scatter_(1, ordered[:, 1:] % b, same)
    bound_of = drawn - (n[:, None] - b)  # the step whose bound was drawn
    above = torch.where((bound_of >= 0) & (bound_of < step), bound_of, step)
    for _ in range(max(b - 1, 1).bit_length()):  # chains of such steps, twice as far each time
        repeats = repeats | repeats.gather(1, above)
        above = above.gather(1, above)
    return torch.where(repeats, n[:, None] - b + t, drawn).sort(1).values


def draw_batches(
    rows: Rows, begin: torch.Tensor, n: torch.Tensor, key: torch.Tensor, b: int
) -> tuple[Rows, torch.Tensor]:
    """Draw b rows of each node, one that was drawn k times counting as k; return them and how many each node has."""
    cumulative = rows.count.to(torch.int64).cumsum(0)
    before = torch.where(begin > 0, cumulative[(begin - 1).clamp(min=0)], 0)
    places, taken, sizes = [], [], []
    step = max(1, _DRAWS_AT_ONCE // b)
    for first in range(0, len(key), step):
        part = slice(first, first + step)
        positions = draw_positions(key[part], n[part], b) + before[part, None]
        entry = torch.searchsorted(cumulative, positions.view(-1), right=True)
        new = torch.ones_like(entry, dtype=torch.bool)
        new[1:] = entry[1:] != entry[:-1]
        index = new.nonzero().view(-1)
        places.append(entry[index])
        taken.append(torch.diff(index, append=index.new_full((1,), len(entry))))
        sizes.append(torch.bincount(index // b, minlength=len(positions)))
    place, n_taken = torch.cat(places), torch.cat(taken)
    weight = rows.weight[place] * n_taken / rows.count[place]
    return Rows(rows.row[place], weight, n_taken.to(torch.int32), rows.scores[place]), torch.cat(sizes)
