"""Growth on a GPU: what can be grown there, and the way from training data to a forest's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import NodeFit
from .._base.typing import Seeds, TreeParams
from .._losses import Logistic, Softmax, SquaredError
from .._model.columns import ForestColumns, ModelKind
from ..nodes._native import Constant, Ridge
from .data import TrainingData
from .parameters import encode_tree_params

if TYPE_CHECKING:
    import torch

    from .._gpu.table import Path, Table

_LOSSES = {SquaredError: "squared", Logistic: "logistic", Softmax: "softmax"}


def why_not(data: TrainingData, params: TreeParams, tree: int) -> str | None:
    """Say why a tree cannot be grown on a GPU; None: it can."""
    if type(data.loss) not in _LOSSES:
        return f"loss={data.loss.name!r}"
    if data.roles.monotonic_cst is not None:
        return "monotonic_cst"
    if not isinstance(params["node_model"][tree], Ridge | Constant):
        return f"node_model={params['node_model'][tree]!r}"
    if params["max_leaf_nodes"][tree] is not None:
        return "max_leaf_nodes"
    return None


def make_table(data: TrainingData, device: torch.device, threads: int) -> Table:
    """Copy the training table to a device."""
    import torch

    from .._gpu.table import Table, to_device

    def move(values: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor | None:
        return None if values is None else to_device(values, device, dtype)

    missing = np.isnan(data.X)
    sampling, roles = data.sampling, data.roles
    x, y = move(data.table(threads).values), move(data.y)
    assert x is not None and y is not None
    return Table(
        x=x,
        missing=move(missing, torch.bool) if missing.any() else None,
        y=y,
        loss=_LOSSES[type(data.loss)],
        n_classes=data.n_classes,
        split_features=move(roles.split_features, torch.int64),
        model_features=move(roles.model_features, torch.int64),
        start=move(data.start),
        bootstrap=sampling.bootstrap,
        n_draws=sampling.n_draws,
        cumulative=move(sampling.cumulative),
        weight=move(sampling.weight),
        balance_classes=sampling.balance_classes,
    )


def paths_of(params: TreeParams, columns: dict[str, Any]) -> dict[Path, list[int]]:
    """Return the trees that can grow together, by what they share."""
    from .._gpu.table import Path

    paths: dict[Path, list[int]] = {}
    for t in range(len(params["node_model"])):
        path = Path(
            criterion=params["criterion"][t],
            max_features=int(columns["max_features"][t]),
            n_cuts=int(columns["n_cuts"][t]),
            batch_size=int(columns["batch_size"][t]),
            clip=bool(columns["clip"][t]),
            shared_hessian=bool(columns["shared_hessian"][t]),
            linear=int(columns["node_model"][t]) == NodeFit.RIDGE,
        )
        paths.setdefault(path, []).append(t)
    return paths


def grow_on_device(
    data: TrainingData, params: TreeParams, seeds: Seeds, dtype: str, threads: int, device: torch.device
) -> ForestColumns:
    """Grow a tree for each seed."""
    import torch

    from .._gpu.device import free_memory
    from .._gpu.forest import grow_forest
    from .._gpu.table import Rules

    columns = encode_tree_params(params, seeds, data.n_split_features)
    table = make_table(data, device, threads)
    own_dtype = {"float64": torch.float64, "float16": torch.float16}.get(dtype, torch.float32)
    parts: dict[int, ForestColumns] = {}
    groups = paths_of(params, columns)
    for path, trees in groups.items():
        rules = Rules(
            path,
            seed=seeds[trees],
            min_samples_leaf=columns["min_samples_leaf"][trees],
            reg_lambda=columns["reg_lambda"][trees],
            node_lambda=columns["node_reg_lambda"][trees],
            max_depth=columns["max_depth"][trees],
        )
        grown = grow_forest(table, rules, own_dtype, free_memory(device))
        n_trees, linear = len(trees), path.linear and table.n_inputs > 0
        own = ForestColumns(
            **grown,
            kind=np.full(n_trees, int(ModelKind.LINEAR if linear else ModelKind.CONSTANT), dtype=np.uint8),
            sum_path=np.full(n_trees, path.clips(table.loss)),
            hidden_start=np.zeros(n_trees + 1, dtype=np.int64),
            hidden=np.zeros(0),
            **vars(data.roles),
            n_features=data.X.shape[1],
            n_outputs=data.loss.n_outputs,
        )
        if len(groups) == 1:
            return own.astype(dtype)
        parts |= {t: own.take(i) for i, t in enumerate(trees)}
    return ForestColumns.concatenate([parts[t] for t in range(len(seeds))]).astype(dtype)
