"""Growth of many trees at once, level by level. The algorithm is that of ``src/core/grow/grower.cpp``.

Rows of all nodes of a level stand in one array, those of a node next to each other. Nodes of similar sizes are worked
on together. Nothing is added up in an order that depends on the machine's mood: the same device gives the same trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch

from .draws import child
from .fused import MOST_ROWS, fused_nodes
from .losses import centred, pseudo_labels, row_losses
from .ridge import fit_constants, fit_ridges
from .rows import ROOT, Rows, draw_batches, draw_rows
from .splits import NodeRows, SplitFinder, Splits
from .table import Rules, Table, to_device

LEFT_CHILD, RIGHT_CHILD, MODEL_BATCH, FIRST_ATTEMPT = 0, 1, 2, 3  # NodeTag
SPLIT_BATCH = 0  # AttemptTag
_ROOT_ATTEMPTS = 100
_SIZES = sorted({n * 2**k for k in range(2, 30) for n in (2, 3)})  # 8, 12, 16, 24, …: rows that nodes are filled up to
_PIECE = 128  # rows that models are applied to at a time


@dataclass(eq=False)
class Nodes:
    """The nodes of one level, by tree, then from left to right."""

    tree: torch.Tensor
    key: torch.Tensor
    begin: torch.Tensor  #: first row
    size: torch.Tensor  #: rows
    weight: torch.Tensor
    count: torch.Tensor  #: rows as often as they were drawn; below a node that needs no batch that node's
    parent: torch.Tensor  #: place in the level above

    def __len__(self) -> int:
        return len(self.tree)

    def part(self, nodes: torch.Tensor) -> Nodes:
        """Return some of the nodes."""
        return Nodes(**{f.name: getattr(self, f.name)[nodes] for f in fields(self)})


@dataclass(eq=False)
class Level:
    """What is kept of a level."""

    tree: torch.Tensor
    weight: torch.Tensor
    loss: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    splits: Splits
    params: torch.Tensor | None  #: of the nodes that keep a model: all, or the leaves

    @property
    def is_split(self) -> torch.Tensor:
        """Which nodes have children."""
        return self.splits.feature >= 0


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
        weight, count = _segment_sums(rows.weight, sizes), _segment_sums(rows.count, sizes)
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
        each = sample.weight * row_losses(self._table.loss, self._table.y[sample.row], sample.scores)
        return _segment_sums(each, chosen.size) * nodes.weight / _segment_sums(sample.weight, chosen.size)

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
        for chosen, size in _buckets(nodes.size, self._cells // self._cells_per_row(), rest):
            own = nodes.part(chosen)
            bucket, place = _gather(table, rows, own, size)
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
            owner, place = _owners(nodes)
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
        owner, place = _owners(own)
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
        moved = Rows(*(_moved(values, place, target) for values in vars(rows).values()))
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
        balance = _segment_sums(torch.where(missing, 0.0, torch.where(left, weight, -weight)), own.size)
        learned = splits.missing_left[parents]
        sent = torch.where(splits.saw_missing[parents], learned, balance >= 0)
        splits.missing_left[parents] = sent
        return torch.where(missing, sent[owner], left)

    def _children(self, rows: Rows, own: Nodes, parents: torch.Tensor, n_left: torch.Tensor) -> Nodes:
        size = torch.stack([n_left, own.size - n_left], dim=1).view(-1)
        key = torch.stack([child(own.key, LEFT_CHILD), child(own.key, RIGHT_CHILD)], dim=1).view(-1)
        count = torch.where(
            self._uses_batch(own).repeat_interleave(2),
            _segment_sums(rows.count, size),
            own.count.repeat_interleave(2),
        )
        return Nodes(
            own.tree.repeat_interleave(2),
            key,
            size.cumsum(0) - size,
            size,
            _segment_sums(rows.weight, size),
            count,
            parents.repeat_interleave(2),
        )


@dataclass(eq=False)
class Fitted:
    """The models of nodes."""

    params: torch.Tensor  #: nodes × outputs × parameters
    lower: torch.Tensor  #: range of what they were fitted to, infinite if nothing is clipped
    upper: torch.Tensor
    loss: torch.Tensor  #: of the node's rows after the model

    @classmethod
    def empty(cls, n: int, n_outputs: int, n_params: int, device: torch.device) -> Fitted:
        """Return room for models."""
        numbers = torch.empty(3, n, dtype=torch.float64, device=device)
        return cls(torch.empty(n, n_outputs, n_params, dtype=torch.float64, device=device), *numbers)

    def put(self, nodes: torch.Tensor, others: Fitted) -> None:
        """Take over the models of some nodes."""
        for name, values in vars(self).items():
            values[nodes] = getattr(others, name)

    def part(self, nodes: torch.Tensor) -> Fitted:
        """Return some of the models."""
        return Fitted(*(values[nodes] for values in vars(self).values()))


def _buckets(sizes: torch.Tensor, rows_at_once: int, among: torch.Tensor | None) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield nodes of similar sizes, and how many rows each of them is filled up to; ``among``: only of these nodes."""
    if among is not None:
        for part, size in _buckets(sizes[among], rows_at_once, None):
            yield among[part], size
        return
    if len(sizes) == 0:
        return
    edges = torch.tensor(_SIZES, device=sizes.device)
    bucket = torch.bucketize(sizes, edges)
    order = bucket.argsort(stable=True)
    first = 0
    for size, n in zip(_SIZES, torch.bincount(bucket, minlength=len(_SIZES)).tolist(), strict=True):
        step = max(1, rows_at_once // size)
        for start in range(first, first + n, step):
            yield order[start : min(start + step, first + n)], size
        first += n


def _gather(table: Table, rows: Rows, nodes: Nodes, size: int) -> tuple[NodeRows, torch.Tensor]:
    """Return the rows of nodes, filled up to the same number, and where they stand."""
    offset = torch.arange(size, device=table.device)
    valid = offset < nodes.size[:, None]
    place = nodes.begin[:, None] + torch.where(valid, offset, 0)
    row = rows.row[place]
    weight = torch.where(valid, rows.weight[place], 0.0)
    return NodeRows(row, weight, table.y[row], rows.scores[place]), place


def _owners(nodes: Nodes) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the node of every row of nodes, and where the row stands."""
    owner = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.size.device), nodes.size)
    shift = nodes.begin - (nodes.size.cumsum(0) - nodes.size)
    return owner, torch.arange(len(owner), device=owner.device) + shift[owner]


def _moved(values: torch.Tensor, place: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    out = torch.empty((len(target), *values.shape[1:]), dtype=values.dtype, device=values.device)
    out[target] = values[place]
    return out


def shortened(
    threshold: torch.Tensor, value: torch.Tensor, left: torch.Tensor, known: torch.Tensor | None, sizes: torch.Tensor
) -> torch.Tensor:
    """Return thresholds with as few digits as part the rows of nodes alike, but eight in base 2; see the core's."""
    on_left, on_right = (left, ~left) if known is None else (left & known, ~left & known)
    most = _segment_extremes(torch.where(on_left, value, -torch.inf), sizes, "max")
    least = _segment_extremes(torch.where(on_right, value, torch.inf), sizes, "min")
    fraction, power = torch.frexp(threshold)
    short, done = threshold.clone(), torch.zeros_like(threshold, dtype=torch.bool)
    for digits in range(8, 53):
        rounded = torch.ldexp(torch.round(fraction * 2.0**digits), power - digits)
        good = (most <= rounded) & (rounded < least) & ~done
        short = torch.where(good, rounded, short)
        done |= good
    return short


def _segment_extremes(values: torch.Tensor, sizes: torch.Tensor, which: str) -> torch.Tensor:
    return torch.segment_reduce(values, which, lengths=sizes, axis=0, unsafe=True)


def _segment_sums(values: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """Add up runs of values of these sizes, each in the same order every time."""
    if values.dtype.is_floating_point:
        return torch.segment_reduce(values, "sum", lengths=sizes, axis=0, unsafe=True)
    ends = values.to(torch.int64).cumsum(0)
    last = sizes.cumsum(0)
    total = torch.where(last > 0, ends[(last - 1).clamp(min=0)], 0)
    return torch.diff(total, prepend=total.new_zeros(1))
