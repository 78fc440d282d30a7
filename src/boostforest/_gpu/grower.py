"""Growth of many trees at once, level by level. The algorithm is that of ``src/core/grow/grower.cpp``.

Rows of all nodes of a level stand in one array, those of a node next to each other. Nodes of similar sizes are worked
on together. Nothing is added up in an order that depends on the machine's mood: the same device gives the same trees.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from .copies import to_device
from .draws import child
from .fused import MOST_ROWS, fused_nodes
from .losses import centred, pseudo_labels, row_losses
from .nodes import Fitted, Level, Nodes
from .ridge import fit_constants, fit_ridges
from .rows import ROOT, Rows, draw_batches, draw_rows
from .segments import buckets, gather_rows, moved_rows, owners, segment_sums, shortened
from .splits import NodeRows, SplitFinder, Splits
from .table import Rules, Table

LEFT_CHILD, RIGHT_CHILD, MODEL_BATCH, FIRST_ATTEMPT = 0, 1, 2, 3  # NodeTag
SPLIT_BATCH = 0  # AttemptTag
_ROOT_ATTEMPTS = 100
_PIECE = 128  # rows that models are applied to at a time


class Grower:
    """Grows the trees of one group."""

    def __init__(self, table: Table, rules: Rules, cells_at_once: int, fuse: bool = True) -> None:
        """``cells_at_once``: numbers of rows × features that are worked on at a time; ``fuse``: with CUDA kernels."""
        self._table, self._path, self._cells = table, rules.path, cells_at_once
        float64, device = torch.float64, table.device
        self._seed = to_device(rules.seed, device, torch.int64)
        self._least = to_device(rules.min_samples_leaf, device, float64)
        self._penalty = to_device(rules.reg_lambda, device, float64)
        self._node_penalty = to_device(rules.node_lambda, device, float64)
        self._max_depth = to_device(rules.max_depth, device, torch.int64)
        self._clips = self._path.clips(table.loss)
        self._fused = fused_nodes(table, rules.path) if fuse else None
        self._n_params = 1 + (table.n_inputs if self._path.linear else 0)

    def grow(self) -> list[Level]:
        """Return the levels, from the roots down."""
        rows, nodes = self._start()
        level = self._roots(rows, nodes)
        levels, sums = [level], None
        while bool(level.is_split.any()):
            rows, nodes = self._part(rows, nodes, level.splits)
            level, params = self._level(rows, nodes, len(levels))
            if not self._clips:
                if sums is not None:
                    params = params + sums[nodes.parent]
                sums = params
                params = params[~level.is_split]
            level.params = params
            levels.append(level)
        return levels

    # ------------------------------------------------------------------------------------------------------- roots

    def _start(self) -> tuple[Rows, Nodes]:
        rows, sizes = draw_rows(self._table, self._seed)
        begin = sizes.cumsum(0) - sizes
        trees = torch.arange(len(sizes), device=self._table.device)
        weight, count = segment_sums(rows.weight, sizes), segment_sums(rows.count, sizes)
        return rows, Nodes(trees, child(self._seed, ROOT), begin, sizes, weight, count, trees)

    def _roots(self, rows: Rows, nodes: Nodes) -> Level:
        """Find the splits of the roots, which have no models; they are tried again while there is none."""
        infinite = torch.full_like(nodes.weight, torch.inf)
        loss = self._start_loss(rows, nodes)
        splits = Splits.none(len(nodes), self._table.device)
        open_nodes = torch.arange(len(nodes), device=self._table.device)[self._may_split(nodes, 0)]
        uses_batch = self._uses_batch(nodes)
        for attempt in range(_ROOT_ATTEMPTS):
            if len(open_nodes) == 0:
                break
            found = self._find(rows, nodes.part(open_nodes), attempt)
            splits.put(open_nodes, found)
            again = (found.feature < 0) & (found.possible | uses_batch[open_nodes])
            open_nodes = open_nodes[again]
        level = Level(nodes.tree, nodes.weight, loss, -infinite, infinite, splits, None)
        self._fit_lonely_roots(rows, nodes, level)
        return level

    def _start_loss(self, rows: Rows, nodes: Nodes) -> torch.Tensor:
        sample, chosen = self._sample(rows, nodes, child(nodes.key, MODEL_BATCH))
        each = sample.weight * row_losses(self._table.loss, self._table.aim[sample.row], sample.scores)
        return segment_sums(each, chosen.size) * nodes.weight / segment_sums(sample.weight, chosen.size)

    def _fit_lonely_roots(self, rows: Rows, nodes: Nodes, level: Level) -> None:
        """Give a model to the trees of a single node."""
        alone = (~level.is_split).nonzero().view(-1)
        if len(alone) == 0:
            return
        fitted = self._fit(rows, nodes.part(alone))
        level.loss[alone], level.lower[alone], level.upper[alone] = fitted.loss, fitted.lower, fitted.upper
        level.params = fitted.params

    # ------------------------------------------------------------------------------------------------------ levels

    def _level(self, rows: Rows, nodes: Nodes, depth: int) -> tuple[Level, torch.Tensor]:
        """Fit the models of new nodes and find their splits; also return the models' own parameters."""
        fitted = Fitted.empty(len(nodes), self._table.n_outputs, self._n_params, self._table.device)
        splits = Splits.none(len(nodes), self._table.device)
        may_split, uses_batch = self._may_split(nodes, depth), self._uses_batch(nodes)
        whole = (~uses_batch).nonzero().view(-1)
        self._work(rows, nodes.part(whole), whole, fitted, splits, may_split[whole])
        large = uses_batch.nonzero().view(-1)
        if len(large) > 0:
            part = nodes.part(large)
            sample, chosen = self._sample(rows, part, child(part.key, MODEL_BATCH))
            self._work(sample, chosen, large, fitted, None, None)
            self._apply(rows, part, fitted.part(large))
            large = large[may_split[large]]
            splits.put(large, self._find(rows, nodes.part(large), 0))
        level = Level(nodes.tree, nodes.weight, fitted.loss, fitted.lower, fitted.upper, splits, None)
        return level, fitted.params

    def _may_split(self, nodes: Nodes, depth: int) -> torch.Tensor:
        limit = self._max_depth[nodes.tree]
        heavy = nodes.weight >= 2 * self._least[nodes.tree]
        return ((limit < 0) | (depth < limit)) & heavy & (nodes.size >= 2)

    def _uses_batch(self, nodes: Nodes) -> torch.Tensor:
        return (nodes.count > self._path.batch_size) & (self._path.batch_size > 0)

    def _sample(self, rows: Rows, nodes: Nodes, key: torch.Tensor) -> tuple[Rows, Nodes]:
        """Return the rows that nodes are worked on, batches if they are large: either all are, or none."""
        if not bool(self._uses_batch(nodes)[:1].any()):
            return rows, nodes
        chosen = replace(nodes)
        sample, chosen.size = draw_batches(rows, nodes.begin, nodes.count, key, self._path.batch_size)
        chosen.begin = chosen.size.cumsum(0) - chosen.size
        return sample, chosen

    def _find(self, rows: Rows, nodes: Nodes, attempt: int) -> Splits:
        """Find splits without fitting models."""
        splits = Splits.none(len(nodes), self._table.device)
        if len(nodes) == 0:
            return splits
        key = child(nodes.key, FIRST_ATTEMPT + attempt)
        sample, chosen = self._sample(rows, nodes, child(key, SPLIT_BATCH))
        everyone = torch.arange(len(nodes), device=self._table.device)
        self._work(sample, chosen, everyone, None, splits, torch.ones_like(everyone, dtype=torch.bool), attempt)
        return splits

    def _fit(self, rows: Rows, nodes: Nodes) -> Fitted:
        """Fit models without finding splits."""
        fitted = Fitted.empty(len(nodes), self._table.n_outputs, self._n_params, self._table.device)
        sample, chosen = self._sample(rows, nodes, child(nodes.key, MODEL_BATCH))
        everyone = torch.arange(len(nodes), device=self._table.device)
        self._work(sample, chosen, everyone, fitted, None, None)
        return fitted

    # ----------------------------------------------------------------------------------------------- work on nodes

    def _work(
        self,
        rows: Rows,
        nodes: Nodes,
        places: torch.Tensor,
        fitted: Fitted | None,
        splits: Splits | None,
        may_split: torch.Tensor | None,
        attempt: int = 0,
    ) -> None:
        """Fit models, if asked for, and find splits, if asked for; ``places``: where the results go."""
        table, path = self._table, self._path
        rest = None
        if self._fused is not None:
            small = (nodes.size <= MOST_ROWS).nonzero().view(-1)
            rules = self._least, self._penalty, self._node_penalty
            tag = FIRST_ATTEMPT + attempt
            self._fused.work(rows, nodes, small, places, rules, fitted, splits, may_split, tag)
            if len(small) == len(nodes):
                return
            rest = (nodes.size > MOST_ROWS).nonzero().view(-1)
        for chosen, size in buckets(nodes.size, self._cells // self._cells_per_row(), rest):
            own = nodes.part(chosen)
            bucket, place = gather_rows(table, rows, own, size)
            x = table.x[bucket.row]
            if fitted is not None:
                inputs = x if table.model_features is None else x[..., table.model_features]
                result = self._fit_bucket(bucket, inputs, own)
                rows.scores[place.view(-1)] = bucket.scores.view(-1, table.n_outputs)
                fitted.put(places[chosen], result)
            if splits is None or may_split is None:
                continue
            key = child(own.key, FIRST_ATTEMPT + attempt)
            trees = own.tree
            finder = SplitFinder(table, path, bucket, key, self._least[trees], self._penalty[trees])
            found = finder.find(x)
            found.feature = torch.where(may_split[chosen], found.feature, -1)
            found.gain *= own.weight / bucket.w.sum(1)
            splits.put(places[chosen], found)

    def _cells_per_row(self) -> int:
        return max(int(self._table.x.shape[1]), 8 + 4 * self._table.n_outputs)

    def _fit_bucket(self, bucket: NodeRows, x: torch.Tensor, nodes: Nodes) -> Fitted:
        """Fit the models of some nodes, and move the scores of their rows."""
        table, path = self._table, self._path
        z, v = pseudo_labels(table.loss, bucket.y, bucket.scores, bucket.w, path.shared_hessian)
        if path.linear and table.n_inputs > 0:
            models = fit_ridges(x, bucket.w, z, v, self._node_penalty[nodes.tree])
        else:
            models = fit_constants(z, v)
        params, step = centred(models.params, 1), centred(models.fitted, 2)
        upper = torch.full_like(nodes.weight, torch.inf)
        lower = -upper
        if self._clips:
            lower, upper = z[..., 0].amin(1), z[..., 0].amax(1)
            step = step.clamp(lower[:, None, None], upper[:, None, None])
        bucket.scores = bucket.scores + step
        loss = (bucket.w * row_losses(table.loss, bucket.y, bucket.scores)).sum(1)
        return Fitted(params, lower, upper, loss * nodes.weight / bucket.w.sum(1))

    def _apply(self, rows: Rows, nodes: Nodes, fitted: Fitted) -> None:
        """Add to the scores of all rows of nodes what the nodes' models give."""
        table = self._table
        if self._fused is not None:
            owner, place = owners(nodes)
            self._fused.apply(rows, place, owner, fitted)
            return
        pieces = (nodes.size + _PIECE - 1) // _PIECE
        owner = torch.repeat_interleave(torch.arange(len(nodes), device=table.device), pieces)
        first = torch.arange(len(owner), device=table.device) - (pieces.cumsum(0) - pieces)[owner]
        begin = nodes.begin[owner] + first * _PIECE
        last = nodes.begin[owner] + nodes.size[owner] - 1
        step = max(1, self._cells // (_PIECE * self._cells_per_row()))
        offsets = torch.arange(_PIECE, device=table.device)
        for start in range(0, len(owner), step):
            part = slice(start, start + step)
            place = torch.minimum(begin[part, None] + offsets, last[part, None])  # the last row may be repeated
            own = owner[part]
            params = fitted.params[own]
            out = params[:, None, :, 0]
            if params.shape[2] > 1:
                out = out + table.inputs(rows.row[place]) @ params[:, :, 1:].transpose(1, 2)
            else:
                out = out.expand(-1, _PIECE, -1)
            if self._clips:
                out = out.clamp(fitted.lower[own, None, None], fitted.upper[own, None, None])
            rows.scores[place.view(-1)] = (rows.scores[place] + out).view(-1, table.n_outputs)

    # --------------------------------------------------------------------------------------------------- partition

    def _part(self, rows: Rows, nodes: Nodes, splits: Splits) -> tuple[Rows, Nodes]:
        """Part the rows of nodes by their splits; rows of other nodes are dropped. Returns the children."""
        table, n_features = self._table, self._table.x.shape[1]
        parents = (splits.feature >= 0).nonzero().view(-1)
        own, feature = nodes.part(parents), splits.feature[parents]
        owner, place = owners(own)
        start = own.size.cumsum(0) - own.size
        inside = place - own.begin[owner]
        row = rows.row[place].long()
        cell = row * n_features + feature[owner]
        value = table.x.view(-1)[cell]
        left = value <= splits.threshold[parents][owner]
        if self._path.short_thresholds:
            known = None if table.missing is None else ~table.missing.view(-1)[cell]
            splits.threshold[parents] = shortened(splits.threshold[parents], value, left, known, own.size)
        if table.missing is not None:
            left = self._send_missing(
                left, table.missing.view(-1)[cell], rows.weight[place], own, splits, parents, owner
            )
        n_left_before = left.to(torch.int64).cumsum(0)
        before = torch.where(start > 0, n_left_before[(start - 1).clamp(min=0)], 0)
        n_left = n_left_before[start + own.size - 1] - before
        rank = n_left_before - before[owner]  # of those on the left up to here
        target = start[owner] + torch.where(left, rank - 1, n_left[owner] + inside - rank)
        moved = Rows(*(moved_rows(values, place, target) for values in vars(rows).values()))
        children = self._children(moved, own, parents, n_left)
        if table.missing is None:
            weight = children.weight.view(-1, 2)
            splits.missing_left[parents] = weight[:, 0] >= weight[:, 1]
        return moved, children

    def _send_missing(
        self,
        left: torch.Tensor,
        missing: torch.Tensor,
        weight: torch.Tensor,
        own: Nodes,
        splits: Splits,
        parents: torch.Tensor,
        owner: torch.Tensor,
    ) -> torch.Tensor:
        """Send rows without the feature where the split says; if it has seen none, to the larger side."""
        balance = segment_sums(torch.where(missing, 0.0, torch.where(left, weight, -weight)), own.size)
        learned = splits.missing_left[parents]
        sent = torch.where(splits.saw_missing[parents], learned, balance >= 0)
        splits.missing_left[parents] = sent
        return torch.where(missing, sent[owner], left)

    def _children(self, rows: Rows, own: Nodes, parents: torch.Tensor, n_left: torch.Tensor) -> Nodes:
        size = torch.stack([n_left, own.size - n_left], dim=1).view(-1)
        key = torch.stack([child(own.key, LEFT_CHILD), child(own.key, RIGHT_CHILD)], dim=1).view(-1)
        count = torch.where(
            self._uses_batch(own).repeat_interleave(2),
            segment_sums(rows.count, size),
            own.count.repeat_interleave(2),
        )
        return Nodes(
            own.tree.repeat_interleave(2),
            key,
            size.cumsum(0) - size,
            size,
            segment_sums(rows.weight, size),
            count,
            parents.repeat_interleave(2),
        )
