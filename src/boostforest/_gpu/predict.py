"""Prediction of forests on a device: rows walk down the trees, and the models on their paths are added up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch

from .._base.typing import Array
from .copies import to_device
from .fused import pack_bits
from .nvrtc import Kernel, kernel

LINKS = ("identity", "sigmoid", "softmax", "exp")
_MOST_FEATURES, _MOST_OUTPUTS = 32, 16  # of the CUDA kernel
_CELLS_AT_ONCE = 1 << 25
_BYTES_AT_ONCE = 2e8  # of trees that all rows walk through before the next ones: the cache of a GPU holds a few
_MISSING_LEFT = 1 << 30


@dataclass(eq=False)
class Sums:
    """What trees give for rows, added up."""

    total: torch.Tensor  #: rows × outputs
    squares: torch.Tensor | None = None  #: of the squares
    n_trees: torch.Tensor | None = None  #: rows × 1: how many trees were added up


class DeviceForest:
    """The trees of a forest on a device."""

    def __init__(
        self,
        columns: dict[str, Array],
        n_features: int,
        n_outputs: int,
        device: torch.device,
        model_features: Array | None = None,
    ) -> None:
        """``columns``: those of a forest, with the ``n_inputs`` and ``params_start`` of its trees."""
        self._device, self._n_features, self._n_outputs = device, n_features, n_outputs

        def move(name: str, dtype: torch.dtype) -> torch.Tensor:
            return to_device(columns[name], device, dtype)

        self._model_features = None if model_features is None else to_device(model_features, device, torch.int64)
        single = columns["params"].dtype.itemsize < 8
        self._params = move("params", torch.float32 if single else torch.float64)
        self.tree_start = move("tree_start", torch.int64)
        self._params_start = move("params_start", torch.int64)
        self._n_inputs = move("n_inputs", torch.int32)
        self._sums_path = move("sum_path", torch.bool)
        self._range = torch.stack([move("lower", torch.float64), move("upper", torch.float64)], dim=1)
        feature, left = move("feature", torch.int64), move("left", torch.int64)
        is_leaf = feature < 0
        trees = torch.arange(len(self._n_inputs), device=device)
        tree = torch.repeat_interleave(trees, torch.diff(self.tree_start))
        leaves_before = is_leaf.to(torch.int64).cumsum(0) - is_leaf.to(torch.int64)
        rank = leaves_before - leaves_before[self.tree_start[:-1]][tree]
        left = torch.where(is_leaf, rank, left)
        packed = torch.where(is_leaf, -1, feature + _MISSING_LEFT * move("missing_left", torch.int64))
        words = (packed & 0xFFFFFFFF) | (left << 32)
        threshold = move("threshold", torch.float64)
        self._nodes = torch.stack([threshold.view(torch.int64), words], dim=1).contiguous()
        self._feature, self._left, self._threshold = feature.to(torch.int32), left.to(torch.int32), threshold
        self._missing_left = move("missing_left", torch.bool)
        n_bytes = self._nodes.nbytes + self._range.nbytes + self._params.nbytes
        self._at_once = max(1, int(_BYTES_AT_ONCE * len(trees) / n_bytes))
        self._wide: tuple[torch.Tensor, torch.Tensor] | None = None  # the parameters as the kernel reads them

    def add(
        self,
        sums: Sums,
        x: torch.Tensor,
        missing: torch.Tensor | None,
        link: str,
        first: int,
        last: int,
        drawn: torch.Tensor | None = None,
        fuse: bool = True,
    ) -> None:
        """Add up what some trees give for scaled rows, where ``drawn`` (trees × rows) is not 0 nothing."""
        fused = self._kernel(link) if fuse else None
        if fused is not None and self._wide is not None:
            params, begin = self._wide
            forest = self._nodes, self.tree_start, begin, self._n_inputs, self._sums_path, self._range, params
            bits = None if missing is None else pack_bits(missing)
            for start in range(first, last, self._at_once):
                end = min(start + self._at_once, last)
                number = torch.tensor((len(x), start, end), dtype=torch.int64).to(self._device)
                own = None if drawn is None else drawn[start - first : end - first]
                fused(len(x), 128, (number, x, bits, *forest, own, sums.total, sums.squares, sums.n_trees))
            return
        for tree in range(first, last):
            own = None if drawn is None else drawn[tree - first] == 0
            self._add_tree(sums, x, missing, link, tree, own)

    def _kernel(self, link: str) -> Kernel | None:
        if self._device.type != "cuda" or self._n_features > _MOST_FEATURES or self._n_outputs > _MOST_OUTPUTS:
            return None
        if self._model_features is not None:
            return None
        single = self._params.dtype == torch.float32
        real = ("REAL", "float" if single else "double"), ("SINGLE", int(single))
        names = ("D", self._n_features), ("J", self._n_outputs), ("LINK", LINKS.index(link)), *real
        found = kernel("predict.cu", "add_trees", names, self._device.index or 0)
        if found is not None and self._wide is None:
            self._wide = self._widened()
            self._params = self._params[:0]  # a second copy would be as large as all the rest
        return found

    def _widened(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the parameters, those of each output filled up to a multiple of 16 bytes, and where trees begin."""
        per = 16 // self._params.element_size()
        starts, n_inputs = self._params_start.tolist(), self._n_inputs.tolist()
        runs = [0, *(t for t in range(1, len(n_inputs)) if n_inputs[t] != n_inputs[t - 1]), len(n_inputs)]
        parts, begin = [], [0]
        for first, last in pairwise(runs):
            n_params = 1 + n_inputs[first]
            wide = -(-n_params // per) * per
            params = self._params[starts[first] : starts[last]].view(-1, n_params)
            parts.append(torch.nn.functional.pad(params, (0, wide - n_params)).view(-1))
            sizes = [(starts[t + 1] - starts[t]) // n_params * wide for t in range(first, last)]
            for size in sizes:
                begin.append(begin[-1] + size)
        return torch.cat(parts), torch.tensor(begin, device=self._device)

    def _add_tree(
        self, sums: Sums, x: torch.Tensor, missing: torch.Tensor | None, link: str, tree: int, own: torch.Tensor | None
    ) -> None:
        rows = torch.arange(len(x), device=self._device) if own is None else own.nonzero().view(-1)
        scores = self._scores(x, missing, rows, tree)
        if link == "sigmoid":
            scores = torch.sigmoid(scores)
        elif link == "softmax":
            scores = torch.softmax(scores, 1)
        elif link == "exp":
            scores = torch.exp(scores)
        sums.total[rows] += scores
        if sums.squares is not None:
            sums.squares[rows] += scores * scores
        if sums.n_trees is not None:
            sums.n_trees[rows] += 1

    def _scores(self, x: torch.Tensor, missing: torch.Tensor | None, rows: torch.Tensor, tree: int) -> torch.Tensor:
        """Return the scores of some rows in a tree."""
        begin = int(self.tree_start[tree])
        sums_path = bool(self._sums_path[tree])
        scores = torch.zeros(len(rows), self._n_outputs, dtype=torch.float64, device=self._device)
        active = torch.arange(len(rows), device=self._device)
        at = torch.zeros_like(active)
        alone = bool(self._feature[begin] < 0)
        while len(active) > 0:
            place = begin + at
            feature = self._feature[place]
            is_leaf = feature < 0
            if sums_path:
                has_model = is_leaf | (at > 0)
                number = at if alone else at - 1
            else:
                has_model, number = is_leaf, self._left[place].long()
            here = has_model.nonzero().view(-1)
            self._add_models(scores, x, rows, active[here], place[here], number[here], tree)
            stay = (~is_leaf).nonzero().view(-1)
            active, place = active[stay], place[stay]
            row, feature = rows[active], feature[stay].long()
            left = x[row, feature] <= self._threshold[place]
            if missing is not None:
                left = torch.where(missing[row, feature], self._missing_left[place], left)
            at = self._left[place] + (~left).long()
        return scores

    def _add_models(
        self,
        scores: torch.Tensor,
        x: torch.Tensor,
        rows: torch.Tensor,
        active: torch.Tensor,
        place: torch.Tensor,
        number: torch.Tensor,
        tree: int,
    ) -> None:
        n_params = 1 + int(self._n_inputs[tree])
        begin, end = self._params_start[tree : tree + 2].tolist()
        params = self._params[begin:end].view(-1, self._n_outputs, n_params)
        inputs = x if self._model_features is None else x[:, self._model_features]
        step = max(1, _CELLS_AT_ONCE // (self._n_outputs * n_params))
        for first in range(0, len(active), step):
            part = slice(first, first + step)
            own = params[number[part]].to(torch.float64)
            out = own[:, :, 0]
            if n_params > 1:
                out = out + (own[:, :, 1:] @ inputs[rows[active[part]]].unsqueeze(2)).squeeze(2)
            ends = self._range[place[part]]
            scores[active[part]] += out.clamp(ends[:, :1], ends[:, 1:])
