"""How much memory a fit will take, and whether there is as much: many classes times many features grow fast."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.arrays import TreeParams
from .._base.memory import FEWER_CLASSES, SMALL, available_memory, refuse_if_too_much
from .._base.typing import Floats
from .._model.columns import clip_range_dtype
from ..nodes._native import ELM, Constant, python_trees
from .data import TrainingData

_NODE_BYTES = 29  # of a node, without its coefficients and clip range
_LEAVES_PER_WEIGHT = 0.7  # leaves of a tree, in multiples of the weight of its rows / min_samples_leaf, as measured
_MOST_THREADS = 64  # of the core
_GROWING = 2.5  # a tree's models in float64 while it grows, in arrays that double, and packed
_STATE = 4  # scores, probabilities, pseudo-labels and weights of a node's rows


@dataclass(frozen=True)
class TreeSizes:
    """What the size of trees depends on, and is not drawn."""

    weight: float  #: of the rows of a tree
    n_distinct: int  #: rows at the most that splits can tell apart
    n_inputs: int  #: features that node models see
    n_outputs: int
    all_nodes: bool  #: all nodes keep their models, not the leaves alone
    dtype: str  #: of the coefficients


def trees_bytes(params: TreeParams, sizes: TreeSizes, n_threads: int) -> tuple[float, float]:
    """Estimate the bytes that trees with these parameters will take, and those that growing them takes beside them."""
    models = params["node_model"]
    n_inputs = models.encoded(_n_inputs, sizes.n_inputs)
    limits = np.array([np.inf if n is None else n for n in params["max_leaf_nodes"]])
    depths = np.array([np.inf if n is None else min(n, 60) for n in params["max_depth"]])
    leaf_weight = np.array(params["min_samples_leaf"], dtype=np.float64)
    leaves = np.minimum(_LEAVES_PER_WEIGHT * sizes.weight / leaf_weight, sizes.n_distinct)
    leaves = np.maximum(np.minimum(np.minimum(leaves, limits), 2**depths), 1)
    nodes = 2 * leaves - 1
    per_model = sizes.n_outputs * (1 + n_inputs)
    n_models = nodes if sizes.all_nodes else leaves
    coefficient, clip_end = (np.dtype(d).itemsize for d in (sizes.dtype, clip_range_dtype(sizes.dtype)))
    kept = n_models * (per_model * coefficient + (sizes.n_outputs if sizes.dtype == "int8" else 0))
    hidden = np.array([8 * model.n_hidden * (1 + sizes.n_inputs) if isinstance(model, ELM) else 0 for model in models])
    trees = kept + nodes * (_NODE_BYTES + 2 * clip_end) + hidden
    growing = nodes * per_model * 8
    in_python = python_trees(models)  # nobody knows how large other models are
    trees[in_python] = growing[in_python] = 0
    return float(trees.sum()), _GROWING * n_threads * float(growing.max())


def check_trees(data: TrainingData, params: TreeParams, dtype: str, n_threads: int, copies: int = 1) -> None:
    """Refuse trees that there is not enough memory for; ``copies``: how often they will be there at the same time."""
    n_rows, n_features = data.X.shape
    sampling, roles = data.sampling, data.roles
    n_inputs = n_features if roles.model_features is None else len(roles.model_features)
    weight = n_rows if sampling.weight is None else float(sampling.weight.sum())
    sizes = TreeSizes(
        weight=sampling.n_draws if sampling.bootstrap else weight,
        n_distinct=n_rows,
        n_inputs=n_inputs,
        n_outputs=data.loss.n_outputs,
        all_nodes=roles.monotonic_cst is not None or any(params["clip"]),
        dtype=dtype,
    )
    n_threads = min(n_threads, len(params["clip"]), _MOST_THREADS)
    largest = max(n_rows if size is None else min(size, n_rows) for size in params["batch_size"])
    table = 0.0 if data.has_table else 8.0 * n_rows * n_features
    tables = table + _STATE * 8.0 * largest * data.loss.n_outputs * n_threads

    trees, growing = trees_bytes(params, sizes, n_threads)
    n_bytes = copies * trees + growing + tables
    if n_bytes <= SMALL or max(n_bytes, 2 * trees) <= available_memory():
        return
    sizes = replace(sizes, n_distinct=_distinct_rows(data.X))  # rows that are alike cannot be told apart
    trees, growing = trees_bytes(params, sizes, n_threads)
    n_trees = len(params["clip"])
    what = f"{n_trees:,} {'tree' if n_trees == 1 else 'trees'} of {n_inputs:,} features"
    advice = ["fewer features", "a larger min_samples_leaf"]
    if n_trees > 1:
        advice.insert(0, "fewer trees (n_estimators)")
    if dtype != "int8":
        advice.append('dtype="int8"')
    if data.loss.n_classes > 2:
        what += f" and {data.loss.n_classes:,} classes"
        advice.insert(0, FEWER_CLASSES)
    refuse_if_too_much(copies * trees + growing + tables, what, advice)
    refuse_if_too_much(trees, what, advice, is_model=True)


def _n_inputs(model: Any, n_features: int) -> int:
    if isinstance(model, Constant) or (isinstance(model, str) and model == "constant"):
        return 0
    return int(model.n_hidden) if isinstance(model, ELM) else n_features


def _distinct_rows(X: Floats) -> int:
    """Return how many different rows a table has."""
    rows = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))
    return len(np.unique(rows))
