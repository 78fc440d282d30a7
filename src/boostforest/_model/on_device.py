"""Prediction on a GPU: the way from a forest's columns and rows of features to sums over trees."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import _core
from .._base.sampling import Sampling
from .._base.typing import Floats, Seeds
from .._core import Link, ModelKind
from .._features.features import Features
from .columns import ForestColumns

Result = TypeVar("Result")

_LINKS = {Link.IDENTITY: "identity", Link.LOG: "exp", Link.SIGMOID: "sigmoid", Link.SOFTMAX: "softmax"}
_EXACT = 110  # powers of two that numbers of eight bits may be multiples of in single precision
_CELLS_AT_ONCE = 1 << 28  # of rows × features, and of rows × trees whose draws are known

# Measured on 16 cores and an H200, in seconds: a row in a tree takes a thread of the CPU, and takes the GPU, so long; a
# byte that goes there takes so long, and so does any call.
_CPU_TREE, _GPU_TREE, _GPU_BYTE, _GPU_CALL = 7e-7, 2e-9, 3e-10, 0.1


def pays(columns: ForestColumns, n_rows: int, first: int, last: int, threads: int) -> bool:
    """Tell whether "auto" predicts on a GPU."""
    cells = float(n_rows) * (last - first) * columns.n_outputs
    moved = 0 if "_on_device" in columns.__dict__ else columns.nbytes
    return cells * _CPU_TREE / threads > _GPU_CALL + cells * _GPU_TREE + moved * _GPU_BYTE


def can_predict(columns: ForestColumns, first: int, last: int) -> bool:
    """Tell whether a GPU can evaluate some trees: those with linear models, or constants."""
    kinds = columns.kind[first:last]
    on_features = (kinds == int(ModelKind.LINEAR)) | (kinds == int(ModelKind.CONSTANT))
    return columns.monotonic_cst is None and columns.target_end is None and bool(on_features.all())


def within_memory(columns: ForestColumns, compute: Callable[[], Result]) -> Result | None:
    """Return what is computed on a GPU; None if its memory is too small, so that the core has to do it."""
    import torch

    try:
        return compute()
    except torch.cuda.OutOfMemoryError:
        columns.__dict__.pop("_on_device", None)
        torch.cuda.empty_cache()
        return None


def _forest(columns: ForestColumns, device: Any) -> Any:
    """Return the trees on the device; they stay there as long as the columns are there."""
    from .._gpu.predict import DeviceForest

    kept: dict[Any, Any] = columns.__dict__.setdefault("_on_device", {})
    if device not in kept:
        arrays = columns.arrays()
        arrays |= {"n_inputs": columns.n_inputs, "params_start": columns.tree_params_start}
        arrays["params"] = columns.coefficients()
        if columns.exponent is not None and int(np.abs(columns.exponent.astype(np.int64)).max(initial=0)) < _EXACT:
            arrays["params"] = arrays["params"].astype(np.float32)  # so many digits they do have
        kept.clear()
        kept[device] = DeviceForest(arrays, columns.n_features, columns.n_outputs, device, columns.model_features)
    return kept[device]


def _rows(features: Features, X: Floats, device: Any) -> tuple[Any, Any]:
    """Return scaled rows on the device, and which of their values are missing."""
    import torch

    from .._gpu.copies import to_device

    missing = np.isnan(X)
    if missing.any():
        filled = _core.filled_rows(np.ascontiguousarray(X), features.mean, features.scale, features.fill)
        return to_device(filled.reshape(X.shape), device, torch.float64), to_device(missing, device, torch.bool)
    mean, scale = (to_device(v, device, torch.float64) for v in (features.mean, features.scale))
    return (to_device(X, device, torch.float64) - mean) / scale, None


def add_up(
    columns: ForestColumns, features: Features, X: Floats, link: Link, first: int, last: int, device: Any
) -> Floats:
    """Add up what some trees give for rows of features, rows × outputs."""
    import torch

    from .._gpu.copies import using
    from .._gpu.predict import Sums

    out = np.empty((len(X), columns.n_outputs))
    step = max(1, _CELLS_AT_ONCE // X.shape[1])
    with using(device):
        forest = _forest(columns, device)
        for begin in range(0, len(X), step):
            x, missing = _rows(features, X[begin : begin + step], device)
            sums = Sums(torch.zeros(len(x), columns.n_outputs, dtype=torch.float64, device=device))
            forest.add(sums, x, missing, _LINKS[link], first, last)
            out[begin : begin + step] = sums.total.cpu().numpy()
    return out


def add_up_out_of_bag(
    columns: ForestColumns, features: Features, X: Floats, link: Link, seeds: Seeds, sampling: Sampling, device: Any
) -> tuple[Floats, Floats, Floats]:
    """Add up outputs, squares and numbers of the trees that have not drawn a row."""
    import torch

    from .._gpu.copies import to_device, using
    from .._gpu.predict import Sums
    from .._gpu.rows import draw_counts

    with using(device):
        forest = _forest(columns, device)
        x, missing = _rows(features, X, device)
        total, squares = torch.zeros(2, len(X), columns.n_outputs, dtype=torch.float64, device=device)
        sums = Sums(total, squares, torch.zeros(len(X), 1, dtype=torch.float64, device=device))
        cumulative = sampling.cumulative
        known = None if cumulative is None else to_device(cumulative, device, torch.float64)
        keys = to_device(seeds, device, torch.int64)
        step = max(1, _CELLS_AT_ONCE // len(X))
        for first in range(0, len(seeds), step):
            last = min(first + step, len(seeds))
            drawn = (draw_counts(len(X), sampling.n_draws, known, keys[first:last]) != 0).to(torch.uint8)
            forest.add(sums, x, missing, _LINKS[link], first, last, drawn)
        assert sums.squares is not None
        assert sums.n_trees is not None
        return sums.total.cpu().numpy(), sums.squares.cpu().numpy(), sums.n_trees.cpu().numpy()
