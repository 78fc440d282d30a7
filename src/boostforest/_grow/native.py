"""Growing trees, in the core or, where the node model is Python's, in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._base.progress import Progress
from .._base.threads import one_blas_thread
from .._base.typing import Seeds, TreeParams
from .._base.validation import warn_if_unconverged
from .._model.columns import ForestColumns
from ..nodes._native import largest_hidden_layer
from ..nodes._python import python_trees
from .data import TrainingData
from .memory import check_trees
from .parameters import encode_tree_params


def grow_trees(
    data: TrainingData,
    params: TreeParams,
    seeds: Seeds,
    *,
    dtype: str,
    threads: int,
    verbose: int = 0,
    first_number: int = 0,
) -> ForestColumns:
    """Grow a tree for each seed; ``first_number`` is the first tree's number in messages."""
    check_trees(data, params, dtype, threads)
    in_python = python_trees(params["node_model"])
    if not in_python:
        return _grow_in_core(data, params, seeds, dtype, threads, verbose)
    from .python.grower import grow_in_python, make_plans

    data = data.keeping_table()
    plans = make_plans(params, seeds, in_python, first_number, data.roles.n_split(data.X.shape[1]))
    trees = grow_in_python(data, plans, threads, verbose)
    parts = {t: tree.astype(dtype) for t, tree in zip(in_python, trees, strict=True)}
    if rest := [t for t in range(len(seeds)) if t not in parts]:
        own = {name: [values[t] for t in rest] for name, values in params.items()}
        in_core = _grow_in_core(data, own, seeds[rest], dtype, threads, verbose)
        parts |= {t: in_core.take(i) for i, t in enumerate(rest)}
    return ForestColumns.concatenate([parts[t] for t in range(len(seeds))])


def _grow_in_core(
    data: TrainingData, params: TreeParams, seeds: Seeds, dtype: str, threads: int, verbose: int
) -> ForestColumns:
    n_features = data.X.shape[1]
    progress = Progress(len(seeds)) if verbose else None
    with one_blas_thread(max(n_features, largest_hidden_layer(params["node_model"]))):
        sampling, roles = data.sampling, data.roles
        columns: dict[str, Any] = data.table(threads).grow(
            encode_tree_params(params, seeds, roles.n_split(n_features)),
            sampling.bootstrap,
            sampling.n_draws,
            sampling.cumulative,
            sampling.weight,
            sampling.balance_classes,
            threads,
            progress,
            roles.split_features,
            data.start,
            dtype,
        )
    if progress is not None:
        progress.close()
    warn_if_unconverged(columns.pop("n_unconverged"))
    rounded = dtype != "float64"
    ranges_fit = not rounded or (columns["lower"].max() < np.inf and columns["upper"].min() > -np.inf)
    if not ranges_fit or not math.isfinite(columns["params"].sum(dtype=np.float64)):
        fewer = f" in dtype={dtype!r}" if rounded else ""
        raise ValueError(f"X or y has values too large to compute with{fewer}; rescale them, or use scale=True.")
    return ForestColumns(**columns, **vars(data.roles), n_features=n_features, n_outputs=data.loss.n_outputs)
