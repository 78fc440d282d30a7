"""Where to split nodes: random thresholds, their gains, the best of them (``src/core/grow/split.cpp``)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .draws import below, child, uniform
from .losses import derivatives
from .table import Path, Table

FEATURE_ORDER, CUTS = 1, 2  # AttemptTag
_NO_COLUMN = 2**31 - 1
_NO_DIFFERENCE = 1e-12  # kNoDifference of src/core/grow/comparable.hpp


@dataclass(eq=False)
class Splits:
    """The best split of each node."""

    feature: torch.Tensor  #: -1: no valid threshold was drawn
    threshold: torch.Tensor
    gain: torch.Tensor
    missing_left: torch.Tensor  #: rows without the feature do better on the left,
    saw_missing: torch.Tensor  #:   and there are some
    possible: torch.Tensor  #: some feature has two distinct values, or a missing one

    @classmethod
    def none(cls, n: int, device: torch.device) -> Splits:
        """Return that there are none yet."""
        no = torch.zeros(n, dtype=torch.bool, device=device)
        feature = torch.full((n,), -1, dtype=torch.int64, device=device)
        zero = torch.zeros(n, dtype=torch.float64, device=device)
        return cls(feature, zero, zero.clone(), no, no.clone(), no.clone())

    def put(self, nodes: torch.Tensor, others: Splits) -> None:
        """Take over the splits of some nodes."""
        for name, values in vars(self).items():
            values[nodes] = getattr(others, name)


@dataclass(eq=False)
class NodeRows:
    """Rows of nodes of similar sizes, nodes × rows; the first row is repeated, with weight 0, where there are fewer."""

    row: torch.Tensor
    w: torch.Tensor
    y: torch.Tensor  #: what the scores are compared with
    scores: torch.Tensor  #: nodes × rows × outputs


class SplitFinder:
    """Tries the thresholds of one attempt at each of some nodes."""

    def __init__(
        self, table: Table, path: Path, rows: NodeRows, key: torch.Tensor, least: torch.Tensor, penalty: torch.Tensor
    ) -> None:
        """``key``: of the attempts; ``least``: weight of a side; ``penalty``: λ of the gain."""
        self._table, self._path, self._rows = table, path, rows
        self._key, self._least, self._penalty = key, least, penalty
        self._cut_key = child(key, CUTS)
        self._stats = _statistics(table, path.criterion, rows)
        self._totals = self._stats.sum(1)
        self._weight = rows.w.sum(1)
        self._best = Splits.none(len(key), table.device)
        self._column = torch.full_like(self._best.feature, _NO_COLUMN)

    def find(self, x: torch.Tensor | None = None) -> Splits:
        """Return the best splits; ``x``: the rows' features, if they are there already."""
        features = self._table.split_features
        if features is None:
            features = torch.arange(self._table.x.shape[1], device=self._table.device)
        if self._path.max_features >= len(features):
            of_all = self._table.split_features is None
            columns = self._table.x[self._rows.row] if x is None else x
            self._try_columns(columns if of_all else columns[..., features], features.expand(len(self._key), -1))
        else:
            self._try_in_order(features)
        return self._best

    def _try_in_order(self, features: torch.Tensor) -> None:
        """Walk a random order of the features in chunks, until one has a valid threshold."""
        key, n = child(self._key, FEATURE_ORDER), len(features)
        order = features.repeat(len(self._key), 1)
        for first in range(0, n, self._path.max_features):
            last = min(first + self._path.max_features, n)
            for i in range(first, last):
                other = (i + below(key, i, n - i)).unsqueeze(1)
                chosen = order.gather(1, other)
                order.scatter_(1, other, order[:, i : i + 1].clone())
                order[:, i : i + 1] = chosen
            open_nodes = self._best.feature < 0
            names = order[:, first:last]
            x = self._table.x[self._rows.row.unsqueeze(2), names.unsqueeze(1)]
            self._try_columns(x, names, open_nodes)
            if not bool((self._best.feature < 0).any()):
                return

    def _try_columns(self, x: torch.Tensor, names: torch.Tensor, open_nodes: torch.Tensor | None = None) -> None:
        """Try thresholds of features as columns, nodes × rows × columns; ``open_nodes``: those that are tried."""
        missing = None
        if self._table.missing is not None:
            missing = self._table.missing[self._rows.row.unsqueeze(2), names.unsqueeze(1)]
        low, high = _ranges(x, missing)
        possible = (low < high).any(1)
        if missing is not None:
            has_missing = missing.any(1)
            missing_sums = _sums(missing, self._stats)
            possible |= has_missing.any(1)
        for k in range(self._path.n_cuts):
            draw = uniform(self._cut_key[:, None], names * self._path.n_cuts + k)
            threshold = low + draw * (high - low)
            left = x <= threshold.unsqueeze(1)
            if missing is not None:
                left &= ~missing
            sums = _sums(left, self._stats)
            self._take_best(sums, threshold, names, False, open_nodes, None)
            if missing is not None:
                self._take_best(sums + missing_sums, threshold, names, True, open_nodes, has_missing)
        self._best.possible |= possible if open_nodes is None else possible & open_nodes
        if missing is not None:
            place = self._column.clamp(max=names.shape[1] - 1).unsqueeze(1)
            saw = (self._best.feature >= 0) & has_missing.gather(1, place).squeeze(1)
            known = torch.ones_like(saw) if open_nodes is None else open_nodes
            self._best.saw_missing = torch.where(known, saw, self._best.saw_missing)

    def _take_best(
        self,
        sums: torch.Tensor,
        threshold: torch.Tensor,
        names: torch.Tensor,
        missing_left: bool,
        open_nodes: torch.Tensor | None,
        columns: torch.Tensor | None,
    ) -> None:
        """Keep what is better than the best so far; ties go to the column that comes first."""
        weight, gain = self._gains(sums)
        least = self._least.unsqueeze(1)
        valid = (weight >= least) & (self._weight.unsqueeze(1) - weight >= least)
        if columns is not None:
            valid &= columns
        if open_nodes is not None:
            valid &= open_nodes.unsqueeze(1)
        gain = torch.where(valid, gain, -torch.inf)
        most = gain.amax(1)
        numbers = torch.arange(gain.shape[1], device=gain.device)
        column = torch.where(valid & (gain == most.unsqueeze(1)), numbers, _NO_COLUMN).amin(1)
        best = self._best
        better = (column != _NO_COLUMN) & (
            (best.feature < 0) | (most > best.gain) | ((most == best.gain) & (column < self._column))
        )
        place = torch.where(better, column, 0).unsqueeze(1)
        best.feature = torch.where(better, names.gather(1, place).squeeze(1), best.feature)
        best.threshold = torch.where(better, threshold.gather(1, place).squeeze(1), best.threshold)
        best.gain = torch.where(better, most, best.gain)
        best.missing_left = torch.where(better, missing_left, best.missing_left)
        self._column = torch.where(better, column, self._column)

    def _gains(self, left: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weight of the left side and gain, nodes × columns, from the sums of the statistics there."""
        totals, criterion = self._totals.unsqueeze(1), self._path.criterion
        if criterion == "xgb":
            h = slice(0, 1) if left.shape[2] == 2 else slice(2, None, 2)
            penalty = self._penalty[:, None, None]
            both = _squares(left[..., 1::2], left[..., h], totals[..., 1::2], totals[..., h], penalty)
            return left[..., 0], comparable(0.5 * both.sum(2))
        if criterion == "mse":
            both = _squares(left[..., 1], left[..., 0], totals[..., 1], totals[..., 0], 0.0)
            before = totals[..., 1] ** 2 / totals[..., 0]
            return left[..., 0], comparable(both - before, before)
        weight = left.sum(2)
        total = self._weight.unsqueeze(1)
        impurity = _gini if criterion == "gini" else _entropy
        before = total * impurity(totals, total)
        after = weight * impurity(left, weight) + (total - weight) * impurity(totals - left, total - weight)
        gain = comparable(before - after, total)
        if criterion == "c45":
            gain = comparable(gain / _entropy(torch.stack([weight, total - weight], dim=2), total))
        return weight, torch.where((weight > 0) & (total - weight > 0), gain, 0.0)


def _statistics(table: Table, criterion: str, rows: NodeRows) -> torch.Tensor:
    """Return what gains are made of, nodes × rows × numbers: w and, for xgb, w g and w h of each output."""
    w = rows.w.unsqueeze(2)
    if criterion == "xgb":
        g, h = derivatives(table.loss, rows.y, rows.scores)
        if h is None:
            return torch.cat([w, w * g], dim=2)  # h = 1: the weight need not be summed twice
        pairs = torch.stack([w * g, w * h], dim=3).flatten(2)
        return torch.cat([w, pairs], dim=2)
    if criterion == "mse":
        return torch.cat([w, w * table.y[rows.row].unsqueeze(2)], dim=2)
    classes = torch.arange(table.n_classes, device=table.device, dtype=rows.y.dtype)
    return w * (rows.y.unsqueeze(2) == classes)


def _ranges(x: torch.Tensor, missing: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the smallest and the largest value of each column; 0 where all are missing."""
    if missing is None:
        return x.amin(1), x.amax(1)
    low = torch.where(missing, torch.inf, x).amin(1)
    high = torch.where(missing, -torch.inf, x).amax(1)
    none = low > high
    return torch.where(none, 0.0, low), torch.where(none, 0.0, high)


def _sums(marked: torch.Tensor, stats: torch.Tensor) -> torch.Tensor:
    """Return the sums of the statistics over the rows that are marked, nodes × columns × numbers."""
    return marked.transpose(1, 2).to(stats.dtype) @ stats


def _squares(
    g_left: torch.Tensor, h_left: torch.Tensor, g: torch.Tensor, h: torch.Tensor, penalty: torch.Tensor | float
) -> torch.Tensor:
    """Return G² / (H + λ) of both sides."""
    h_left = h_left + penalty
    g_right, h_right = g - g_left, h + 2 * penalty - h_left
    left = torch.where(h_left > 0, g_left * g_left / h_left, 0.0)
    return left + torch.where(h_right > 0, g_right * g_right / h_right, 0.0)


def comparable(gain: torch.Tensor, size: torch.Tensor | None = None) -> torch.Tensor:
    """Round gains, so that their last bits do not decide; ``size``: of the terms whose difference they are."""
    half = 2**31
    rounded = ((gain.view(torch.int64) + half) & -2 * half).view(torch.float64)
    return rounded if size is None else torch.where(gain.abs() <= _NO_DIFFERENCE * size, 0.0, rounded)


def _gini(weights: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return torch.where(total > 0, 1 - (weights * weights).sum(2) / (total * total), 0.0)


def _entropy(weights: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    share = weights / total.unsqueeze(2)
    return -torch.where(share > 0, share * torch.log2(share), 0.0).sum(2)
