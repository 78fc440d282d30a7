"""Growth on a GPU: what can be grown there, and the way from training data to a forest's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arrays import TreeParams
from .._base.device import find_device
from .._base.progress import Progress
from .._base.typing import Seeds
from .._core import ModelKind, NodeFit
from .._losses import Logistic, Softmax, SquaredError
from .._model.columns import ForestColumns
from ..nodes._native import SHORTHANDS, Constant, Ridge
from .data import TrainingData
from .parameters import encode_tree_params

if TYPE_CHECKING:
    import torch

    from .._gpu.table import Path, Table

_LOSSES = {SquaredError: "squared", Logistic: "logistic", Softmax: "softmax"}

# Measured on 16 cores and an H200, in seconds: a feature of a row takes a thread of the CPU, and takes the GPU, so long
# per tree.
_CPU_CELL, _GPU_CELL, _GPU_FIT = 5e-8, 1.7e-9, 1.0


def _pays(data: TrainingData, n_trees: int, threads: int) -> bool:
    """Tell whether "auto" grows trees on a GPU."""
    cells = float(data.X.size) * data.loss.n_outputs * n_trees
    return cells * _CPU_CELL / threads > _GPU_FIT + cells * _GPU_CELL


def why_not(data: TrainingData, node_model: object, max_leaf_nodes: int | None) -> str | None:
    """Say what keeps a tree from being grown on a GPU; None: nothing does."""
    if type(data.loss) not in _LOSSES:
        return f"loss={data.loss.name!r}"
    if data.roles.monotonic_cst is not None:
        return "monotonic_cst"
    if data.roles.interactions is not None:
        return "interaction_cst"
    if data.source is not None:
        return "a source of rows"
    known = SHORTHANDS.get(node_model) if isinstance(node_model, str) else node_model
    if not isinstance(known, Ridge | Constant):
        return f"node_model={node_model!r}"
    if isinstance(known, Ridge) and known.max_features is not None:
        return f"max_features={known.max_features} of Ridge"
    return None if max_leaf_nodes is None else f"max_leaf_nodes={max_leaf_nodes}"


def check_request(data: TrainingData, pools: dict[str, Any], device: str) -> None:
    """Refuse what cannot be grown on the device that was asked for by its name, and a device that is not there."""
    if device in ("cpu", "auto"):
        return
    find_device(device, pays=True)
    models, limits = (p if isinstance(p, list) else [None] for p in (pools["node_model"], pools["max_leaf_nodes"]))
    for model in models:
        for limit in limits:
            if reason := why_not(data, model, limit):
                raise ValueError(
                    f"device={device!r} does not go with {reason}: a GPU grows ridge and constant trees of squared "
                    "errors and classes, without constraints or limits on the leaves; use 'cpu' or 'auto'."
                )


def grow_where_possible(
    data: TrainingData, params: TreeParams, seeds: Seeds, dtype: str, threads: int, verbose: int, device: str
) -> list[tuple[list[int], ForestColumns]]:
    """Grow the trees that a GPU can grow, if it pays; return them by their numbers."""
    models, limits = params["node_model"], params["max_leaf_nodes"]
    trees = [t for t in range(len(seeds)) if why_not(data, models[t], limits[t]) is None]
    found = find_device(device, _pays(data, len(trees), threads)) if trees else None
    if found is None:
        return []
    from .._gpu.copies import using

    own = {name: values.take(trees) for name, values in params.items()}
    with using(found):
        grown = grow_on_device(data, own, seeds[trees], dtype, threads, verbose, found)
    return [([trees[i] for i in group], columns) for group, columns in grown]


def grow_on_device(
    data: TrainingData, params: TreeParams, seeds: Seeds, dtype: str, threads: int, verbose: int, device: torch.device
) -> list[tuple[list[int], ForestColumns]]:
    """Grow a tree for each seed; return groups of them, by their numbers. FloatingPointError: they are not finite."""
    import torch

    from .._gpu.forest import OutOfDeviceMemory, grow_forest, usable_memory
    from .._gpu.table import Rules

    columns = encode_tree_params(params, seeds, data.n_split_features)
    own_dtype = {"float64": torch.float64, "float16": torch.float16}.get(dtype, torch.float32)
    progress = Progress(len(seeds)) if verbose else None
    pieces: list[tuple[list[int], ForestColumns]] = []
    done = 0
    try:
        table = _table_on(data, device, threads)
        for path, trees in _paths(columns, params["criterion"], data.short_thresholds or dtype == "int8").items():
            rules = Rules(
                path,
                seed=seeds[trees],
                min_samples_leaf=columns["min_samples_leaf"][trees],
                reg_lambda=columns["reg_lambda"][trees],
                node_lambda=columns["node_reg_lambda"][trees],
                max_depth=columns["max_depth"][trees],
            )
            report = None if progress is None else lambda n, before=done, bar=progress: bar(before + n)
            grown = grow_forest(table, rules, own_dtype, usable_memory(device), report)
            pieces.append((trees, _to_forest(data, grown, path, dtype)))
            done += len(trees)
    except (OutOfDeviceMemory, torch.cuda.OutOfMemoryError):
        raise MemoryError(
            f"device='{device}' has too little memory for {data.X.shape[0]} rows of {data.X.shape[1]} features and one "
            "tree at a time; use device='cpu', or fewer rows per tree (max_samples)."
        ) from None
    if progress is not None:
        progress.close()
    return pieces


def _to_forest(data: TrainingData, grown: dict[str, Any], path: Path, dtype: str) -> ForestColumns:
    n_trees = len(grown["tree_start"]) - 1
    n_inputs = data.X.shape[1] if data.roles.model_features is None else len(data.roles.model_features)
    kind = ModelKind.LINEAR if path.linear and n_inputs > 0 else ModelKind.CONSTANT
    columns = ForestColumns(
        **grown,
        kind=np.full(n_trees, int(kind), dtype=np.uint8),
        sum_path=np.full(n_trees, path.clips(_LOSSES[type(data.loss)])),
        hidden_start=np.zeros(n_trees + 1, dtype=np.int64),
        hidden=np.zeros(0),
        **data.kept_roles,
        n_features=data.X.shape[1],
        n_outputs=data.loss.n_outputs,
    )
    return columns.astype(dtype)


def _paths(columns: dict[str, Any], criteria: Sequence[str], short_thresholds: bool) -> dict[Path, list[int]]:
    """Return the trees that can grow together, by what they share."""
    from .._gpu.table import Path

    paths: dict[Path, list[int]] = {}
    for t, criterion in enumerate(criteria):
        path = Path(
            criterion=criterion,
            max_features=int(columns["max_features"][t]),
            n_cuts=int(columns["n_cuts"][t]),
            batch_size=int(columns["batch_size"][t]),
            clip=bool(columns["clip"][t]),
            shared_hessian=bool(columns["shared_hessian"][t]),
            linear=int(columns["node_model"][t]) == NodeFit.RIDGE,
            short_thresholds=short_thresholds,
        )
        paths.setdefault(path, []).append(t)
    return paths


def _table_on(data: TrainingData, device: torch.device, threads: int) -> Table:
    """Return the training table on a device; its rows stay there for the next trees of a fit."""
    import torch

    from .._gpu.copies import to_device
    from .._gpu.table import Table

    def move(values: Any, dtype: torch.dtype = torch.float64) -> Any:
        return None if values is None else to_device(values, device, dtype)

    sampling, roles = data.sampling, data.roles
    own = {"split_features": move(roles.split_features, torch.int64), "start": move(data.first_scores)}
    if data.kept is not None and data.kept.on_device is not None:
        kept: Table = data.kept.on_device
        return replace(kept, **own)
    missing = np.isnan(data.X)
    if missing.any():
        x = move(data.table(threads).values)
    else:
        x = (move(data.X) - move(data.features.mean)) / move(data.features.scale)
    table = Table(
        x=x,
        missing=move(missing, torch.bool) if missing.any() else None,
        y=move(data.y),
        loss=_LOSSES[type(data.loss)],
        n_classes=data.n_classes,
        model_features=move(roles.model_features, torch.int64),
        bootstrap=sampling.bootstrap,
        n_draws=sampling.n_draws,
        cumulative=move(sampling.cumulative),
        weight=move(sampling.weight),
        balance_classes=sampling.balance_classes,
        **own,
    )
    if data.kept is not None:
        data.kept.on_device = table
    return table
