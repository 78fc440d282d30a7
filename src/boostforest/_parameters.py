"""The parameters of a tree, declared once: what is allowed, how it is said, what the core gets.

To add one: append it to ``TREE_PARAMETERS`` (the position numbers its pool draws, so never insert), read it in
``src/bindings/fit.cpp``, and give the estimators an argument of the same name.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._draws import Seeds, draw, is_distribution

NODE_MODELS = {"constant": 0, "ridge": 1}  # ModelKind in tree_view.hpp
CRITERIA = {"xgb": 0, "mse": 1, "gini": 2, "c45": 3}  # Criterion in split.hpp
TASK_CRITERIA = {"regression": ("xgb", "mse"), "classification": ("xgb", "gini", "c45")}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tree."""

    name: str
    allowed: str  # completes "<name> must be …"
    is_valid: Callable[[Any], bool]
    encode: Callable[[Any, int], float]  # value and number of features, as the core wants it

    def check(self, value: Any) -> Any:
        """Return the value as a plain Python object, or say what is allowed."""
        if isinstance(value, np.generic):
            value = value.item()
        if not self.is_valid(value):
            raise ValueError(
                f"{self.name} must be {self.allowed}, a sequence of such values or a distribution with rvs; "
                f"got {value!r}."
            )
        return value

    def pool(self, value: Any) -> Any:
        """Return the pool that a user's value stands for: a list of checked values, or a distribution."""
        if is_distribution(value):
            return value
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, Sequence):
            return [self.check(value)]
        if len(value) == 0:
            raise ValueError(f"{self.name} is an empty pool; it must hold at least one value.")
        return [self.check(v) for v in value]


def _is_integer(value: object, low: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and low <= int(value) < 2**31


def _is_real(value: object, low: float, high: float = math.inf) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= float(value) <= high
    )


def _integer(name: str, low: int, none: float | None = None) -> Parameter:
    """Declare an integer of at least ``low``; ``none`` is what None means to the core, if None is allowed."""
    return Parameter(
        name,
        f"an integer from {low} to 2^31 - 1" + (" or None" if none is not None else ""),
        lambda v: (v is None and none is not None) or _is_integer(v, low),
        lambda v, d: float(none if v is None and none is not None else v),
    )


def _choice(name: str, codes: dict[str, int]) -> Parameter:
    return Parameter(
        name,
        "one of " + ", ".join(f"'{c}'" for c in codes),
        lambda v: isinstance(v, str) and v in codes,
        lambda v, d: float(codes[v]),
    )


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
        or _is_integer(v, 1)
        or (isinstance(v, float) and 0 < v <= 1)
    ),
    lambda v, d: float(max_features_count(v, d)),
)
_REG_LAMBDA = Parameter("reg_lambda", "a finite number of at least 0", lambda v: _is_real(v, 0), lambda v, d: float(v))
_CLIP = Parameter("clip", "True or False", lambda v: isinstance(v, bool), lambda v, d: float(v))

TREE_PARAMETERS = (
    _choice("node_model", NODE_MODELS),
    _choice("criterion", CRITERIA),
    _integer("min_samples_leaf", 1),
    _REG_LAMBDA,
    _integer("max_leaf_nodes", 2, none=0),
    _integer("max_depth", 1, none=-1),
    MAX_FEATURES,
    _integer("n_cuts", 1),
    _integer("batch_size", 2, none=0),
    _CLIP,
)

TreeParams = dict[str, list[Any]]  # parameter -> one value per tree


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


def draw_tree_params(pools: dict[str, Any], seeds: Seeds, task: str) -> TreeParams:
    """Draw every parameter once per tree."""
    params = {p.name: draw(pools[p.name], seeds, i, p.check) for i, p in enumerate(TREE_PARAMETERS)}
    if is_distribution(pools["criterion"]):
        check_criteria(params["criterion"], task)
    return params


def _encode(parameter: Parameter, values: list[Any], n_features: int) -> npt.NDArray[np.float64]:
    if all(v is values[0] for v in values):  # no pool: small forests are fitted in milliseconds, so this counts
        return np.full(len(values), parameter.encode(values[0], n_features))
    return np.array([parameter.encode(v, n_features) for v in values])


def encode_tree_params(params: TreeParams, seeds: Seeds, n_features: int) -> dict[str, npt.NDArray[Any]]:
    """Return the parameter columns as the core takes them."""
    columns: dict[str, npt.NDArray[Any]] = {p.name: _encode(p, params[p.name], n_features) for p in TREE_PARAMETERS}
    columns["seed"] = seeds
    return columns


def smallest(pool: Iterable[Any]) -> Any:
    """Return the smallest value of a pool, None for a distribution."""
    return None if is_distribution(pool) else min(pool)
