"""The parameters of a tree, declared once: what is allowed, how it is said, what the core gets.

To add one: append it to ``TREE_PARAMETERS`` (the position numbers its pool draws, so never insert), read it in
``src/bindings/training_table.cpp``, and give the estimators an argument of the same name.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.declare import Parameter, choice, integer, is_integer, real
from .._base.draws import distinct, draw_parameter, is_distribution, pool_words
from .._base.typing import Seeds, TreeParams
from .._core import Criterion
from ..nodes._native import SHORTHANDS, NodeModel, draw_node_models, encode_node_models, is_python_model, own_copies

CRITERIA = {criterion.name.lower(): int(criterion) for criterion in Criterion}
TASK_CRITERIA = {"regression": ("xgb", "mse"), "classification": ("xgb", "gini", "c45")}


def max_features_count(value: int | float | str | None, n_features: int) -> int:
    """Return how many features ``max_features`` stands for."""
    if value is None:
        return n_features
    if value == "sqrt":
        return max(1, math.isqrt(n_features))
    if value == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(value, numbers.Integral):
        return min(int(value), n_features)
    return max(1, int(float(value) * n_features))


MAX_FEATURES = Parameter(
    "max_features",
    "an integer of at least 1, a float in (0, 1], 'sqrt', 'log2' or None",
    lambda v: (
        v is None
        or (isinstance(v, str) and v in ("sqrt", "log2"))
        or is_integer(v, 1)
        or (isinstance(v, float) and 0 < v <= 1)
    ),
    lambda v, d: float(max_features_count(v, d)),
)
_CLIP = Parameter("clip", "True or False", lambda v: isinstance(v, bool), lambda v, d: float(v))


def is_node_model(value: object) -> bool:
    """Tell whether a value may be a tree's node model; the parameters of one are checked as well."""
    if isinstance(value, NodeModel):
        value._pools()
        return True
    return (isinstance(value, str) and value in SHORTHANDS) or is_python_model(value)


_NODE_MODEL = Parameter(
    "node_model",
    f"one of {', '.join(map(repr, SHORTHANDS))}, an object of boostforest.nodes, a regressor with fit and predict",
    is_node_model,
    lambda v, d: math.nan,  # encode_node_models has more than one number for it
)

TREE_PARAMETERS = (
    _NODE_MODEL,
    choice("criterion", CRITERIA),
    integer("min_samples_leaf", 1),
    real("reg_lambda", 0),
    integer("max_leaf_nodes", 2, none=0),
    integer("max_depth", 1, none=-1),
    MAX_FEATURES,
    integer("n_cuts", 1),
    integer("batch_size", 2, none=0),
    _CLIP,
)


def tree_pools(estimator: object, task: str) -> dict[str, Any]:
    """Check all tree parameters of an estimator and return their pools."""
    pools = {p.name: p.pool(getattr(estimator, p.name, False)) for p in TREE_PARAMETERS}
    if not is_distribution(pools["criterion"]):
        check_criteria(pools["criterion"], task)
    return pools


def check_criteria(criteria: Iterable[str], task: str) -> None:
    """Refuse criteria that do not fit the task."""
    for criterion in criteria:
        if criterion not in TASK_CRITERIA[task]:
            allowed = ", ".join(f"'{c}'" for c in TASK_CRITERIA[task])
            raise ValueError(f"criterion must be one of {allowed} for {task}; got {criterion!r}.")


def draw_tree_params(pools: dict[str, Any], seeds: Seeds, task: str, shorthands: dict[str, NodeModel]) -> TreeParams:
    """Draw every parameter once per tree; ``shorthands`` says what the name of a node model stands for."""
    params = {p.name: draw_parameter(pools[p.name], seeds, i, p.check) for i, p in enumerate(TREE_PARAMETERS)}
    params["node_model"] = own_copies(draw_node_models(params["node_model"], pool_words(seeds, 0), shorthands))
    if is_distribution(pools["criterion"]):
        check_criteria(params["criterion"], task)
    return params


def _encode(parameter: Parameter, values: list[Any], n_features: int) -> npt.NDArray[np.float64]:
    # Pools are short and small forests are fitted in milliseconds: every value is encoded once, not once per tree.
    codes = {key: parameter.encode(value, n_features) for key, value in distinct(values).items()}
    if len(codes) == 1:
        return np.full(len(values), next(iter(codes.values())))
    return np.array([codes[id(value)] for value in values])


def encode_tree_params(params: TreeParams, seeds: Seeds, n_features: int) -> dict[str, npt.NDArray[Any]]:
    """Return the parameter columns as the core takes them."""
    columns: dict[str, npt.NDArray[Any]] = {p.name: _encode(p, params[p.name], n_features) for p in TREE_PARAMETERS}
    columns |= encode_node_models(params["node_model"], columns["reg_lambda"])
    columns["seed"] = seeds
    return columns


def smallest(pool: Iterable[Any]) -> Any:
    """Return the smallest value of a pool, None for a distribution."""
    return None if is_distribution(pool) else min(pool)


def largest(pool: Iterable[Any]) -> Any:
    """Return the largest value of a pool, None for a distribution or if None is in it."""
    return None if is_distribution(pool) or None in pool else max(pool)
