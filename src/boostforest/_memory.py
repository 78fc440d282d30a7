"""How much memory a fit will take, and whether there is as much: many classes times many features grow fast."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._draws import distinct
from .nodes._native import ELM, Constant
from .nodes._python import python_trees

if TYPE_CHECKING:
    from ._parameters import TreeParams
    from ._python_grower import TrainingData

_NODE_BYTES = 29  # of a node, without its coefficients and clip range
_LEAVES_PER_WEIGHT = 0.7  # leaves of a tree, in multiples of the weight of its rows / min_samples_leaf, as measured
_MOST_THREADS = 64  # of the core
_GROWING = 2.5  # a tree's models in float64 while it grows, in arrays that double, and packed
_STATE = 4  # scores, probabilities, pseudo-labels and weights of a node's rows
_TABLES, _TARGETS = 3, 3  # matrices of features, and of targets, that are there while categories become features
_SMALL = 2**28  # bytes that nobody asks about
_FEWER_CLASSES = "fewer classes (a regressor, if the target is a number)"
#: Where the system does not tell how much memory there is.
UNKNOWN = 64 * 2**30


@dataclass(frozen=True)
class TreeSizes:
    """What the size of trees depends on, and is not drawn."""

    weight: float  #: of the rows of a tree
    n_distinct: int  #: rows at the most that splits can tell apart
    n_inputs: int  #: features that node models see
    n_outputs: int
    all_nodes: bool  #: all nodes keep their models, not the leaves alone
    coefficient: int  #: bytes of one


def trees_bytes(params: TreeParams, sizes: TreeSizes, n_threads: int) -> tuple[float, float]:
    """Estimate the bytes that trees with these parameters will take, and those that growing them takes beside them."""
    models = params["node_model"]
    known = {key: _n_inputs(model, sizes.n_inputs) for key, model in distinct(models).items()}
    n_inputs = np.array([known[id(model)] for model in models])
    limits = np.array([np.inf if n is None else n for n in params["max_leaf_nodes"]])
    depths = np.array([np.inf if n is None else min(n, 60) for n in params["max_depth"]])
    leaf_weight = np.array(params["min_samples_leaf"], dtype=np.float64)
    leaves = np.minimum(_LEAVES_PER_WEIGHT * sizes.weight / leaf_weight, sizes.n_distinct)
    leaves = np.maximum(np.minimum(np.minimum(leaves, limits), 2**depths), 1)
    nodes = 2 * leaves - 1
    per_model = sizes.n_outputs * (1 + n_inputs)
    kept = (nodes if sizes.all_nodes else leaves) * per_model * sizes.coefficient
    hidden = np.array([8 * model.n_hidden * (1 + sizes.n_inputs) if isinstance(model, ELM) else 0 for model in models])
    trees = kept + nodes * (_NODE_BYTES + 2 * sizes.coefficient) + hidden
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
        n_outputs=data.n_outputs,
        all_nodes=roles.monotonic_cst is not None or (data.n_classes == 0 and any(params["clip"])),
        coefficient=np.dtype(dtype).itemsize,
    )
    n_threads = min(n_threads, len(params["clip"]), _MOST_THREADS)
    largest = max(n_rows if size is None else min(size, n_rows) for size in params["batch_size"])
    tables = 8.0 * n_rows * n_features + _STATE * 8.0 * largest * data.n_outputs * n_threads

    trees, growing = trees_bytes(params, sizes, n_threads)
    n_bytes = copies * trees + growing + tables
    if n_bytes <= _SMALL or n_bytes <= available_memory():
        return
    sizes = replace(sizes, n_distinct=_distinct_rows(data.X))  # rows that are alike cannot be told apart
    trees, growing = trees_bytes(params, sizes, n_threads)
    n_trees = len(params["clip"])
    what = f"{n_trees:,} {'tree' if n_trees == 1 else 'trees'} of {n_inputs:,} features"
    advice = ["fewer features", "a larger min_samples_leaf"]
    if n_trees > 1:
        advice.insert(0, "fewer trees (n_estimators)")
    if dtype != "float16":
        advice.append('dtype="float32"' if dtype == "float64" else 'dtype="float16"')
    if data.n_classes > 2:
        what += f" and {data.n_classes:,} classes"
        advice.insert(0, _FEWER_CLASSES)
    _refuse_if_too_much(copies * trees + growing + tables, what, advice)


def check_features(n_rows: int, n_columns: int, n_features: int, n_targets: int) -> None:
    """Refuse a table that there is not enough memory for, after its categories have become features."""
    n_bytes = 8.0 * n_rows * (_TABLES * n_features + _TARGETS * n_targets)
    what = f"{n_features:,} features, which {n_columns:,} columns and their categories become"
    if n_targets > 2:
        _refuse_if_too_much(n_bytes, f"{what} with {n_targets:,} classes,", [_FEWER_CLASSES, "fewer text columns"])
    else:
        _refuse_if_too_much(n_bytes, f"{what},", ["a smaller max_one_hot", "fewer text columns"])


def _n_inputs(model: Any, n_features: int) -> int:
    if isinstance(model, Constant) or (isinstance(model, str) and model == "constant"):
        return 0
    return int(model.n_hidden) if isinstance(model, ELM) else n_features


def _refuse_if_too_much(n_bytes: float, what: str, advice: list[str]) -> None:
    """Raise MemoryError with one sentence if there is not so much memory."""
    if n_bytes <= _SMALL:
        return
    available = available_memory()
    if n_bytes > available:
        raise MemoryError(
            f"{what} would take about {_gigabytes(n_bytes)} of memory, and {_gigabytes(available)} are available: "
            f"use {', '.join(advice[:-1])} or {advice[-1]}."
        )


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.3g} GB" if n_bytes < 1e12 else f"{n_bytes / 1e9:,.0f} GB"


def available_memory() -> int:
    """Return the bytes that this process can still get, as far as the system tells."""
    found = [n for n in (_of_machine(), *_of_groups()) if n is not None]
    return max(min(found, default=UNKNOWN), 0)


def _of_machine() -> int | None:
    """Return the available memory (Linux), or all there is."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_groups() -> list[int]:
    """Return what is left of the limits of a container or another control group, on Linux."""
    left = []
    for line in _lines("/proc/self/cgroup"):
        number, controllers, path = line.strip().split(":", 2)
        if number == "0":
            root, limit, used = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = root / path.lstrip("/")
        for group in (own, *own.parents):
            values = [_number(group / name) for name in (limit, used)]
            if values[0] is not None and values[1] is not None:
                left.append(values[0] - values[1] + _cached(group))
            if group == root:
                break
    return left


def _cached(group: Path) -> int:
    """Return what a group would give back of the files that it has read."""
    return sum(int(line.split()[1]) for line in _lines(group / "memory.stat") if line.startswith("inactive_file "))


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None  # "max": no limit


def _lines(path: Path | str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _distinct_rows(X: npt.NDArray[np.float64]) -> int:
    """Return how many different rows a table has."""
    rows = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))
    return len(np.unique(rows))
