"""The parameters of a tree, declared once: default, what is allowed, how it is said, what the core gets, docstring.

To add one: append it to ``TreeArguments`` (the position numbers its pool draws, so never insert) and read it in
``src/bindings/training_table.cpp``. Estimators, docstrings and files have it from here.
"""

import math
import numbers
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from .._base.arrays import TreeParams
from .._base.declare import BOOL, Parameter, arguments_of, choice, declared, integer, is_integer, pooled, real
from .._base.draws import draw_parameter, is_distribution, pool_keys
from .._base.typing import Array, Seeds
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


_MAX_FEATURES = Parameter(
    "an integer of at least 1, a float in (0, 1], 'sqrt', 'log2' or None",
    lambda v: (
        v is None
        or (isinstance(v, str) and v in ("sqrt", "log2"))
        or is_integer(v, 1)
        or (isinstance(v, float) and 0 < v <= 1)
    ),
    lambda v, d: float(max_features_count(v, d)),
)


def is_node_model(value: object) -> bool:
    """Tell whether a value may be a tree's node model; the parameters of one are checked as well."""
    if isinstance(value, NodeModel):
        value._pools()
        return True
    return (isinstance(value, str) and value in SHORTHANDS) or is_python_model(value)


_NODE_MODEL = Parameter(
    f"one of {', '.join(map(repr, SHORTHANDS))}, an object of boostforest.nodes, a regressor with fit and predict",
    is_node_model,
    lambda v, d: math.nan,  # encode_node_models has more than one number for it
)


@declared
class TreeArguments:
    """The parameters of a tree; each of them may be a pool, from which every tree draws."""

    node_model: Any = pooled(
        default="ridge",
        rule=_NODE_MODEL,
        doc="""{"ridge", "constant", "elm", "svr"}, object of `boostforest.nodes` or regressor
        What sits at the nodes: a ridge regression on all features, a constant, an extreme learning machine (a ridge
        regression on random hidden units), a linear support vector regression, or any regressor with `fit` and
        `predict`. {shorthands}""",
    )
    criterion: Any = pooled(
        default="xgb",
        rule=choice(CRITERIA),
        doc="""{criteria}
        What a split maximises: the boosting gain, or {label_criteria}.""",
    )
    min_samples_leaf: Any = pooled(
        default=10,
        rule=integer(1),
        doc="""int
        Rows that each side of a split must have (weights count, see `fit`).""",
    )
    reg_lambda: Any = pooled(
        default=0.1,
        rule=real(0),
        doc="""float
        Penalty λ on the squared slopes of the ridge and ELM models, unless they have one of their own, and in the
        gain.""",
    )
    max_leaf_nodes: Any = pooled(
        default=None,
        rule=integer(2, none=0),
        doc="""int
        Leaves that a tree may have. The leaf of the highest loss is split first. None: no limit.""",
    )
    max_depth: Any = pooled(
        default=None,
        rule=integer(1, none=-1),
        doc="""int
        Splits between the root and a leaf at the most. None: no limit.""",
    )
    max_features: Any = pooled(
        default=1.0,
        rule=_MAX_FEATURES,
        doc="""int, float, {"sqrt", "log2"} or None
        Features that are tried at a node: their number or share. More are tried only while none has a valid split.""",
    )
    n_cuts: Any = pooled(
        default=1,
        rule=integer(1),
        doc="""int
        Random thresholds that are tried per feature.""",
    )
    batch_size: Any = pooled(
        default=1000,
        rule=integer(2, none=0),
        doc="""int
        A node with more rows is split, and its models are fitted, on that many random ones. None: always on all.""",
    )


@declared
class RegressionTreeArguments(TreeArguments):
    """Those of a regression tree."""

    clip: Any = pooled(
        default=True,
        rule=BOOL,
        doc="""bool
        Keep the output of each node's model within the range of what it was fitted to.""",
    )


@declared
class ClassificationTreeArguments(TreeArguments):
    """Those of a classification tree."""

    shared_hessian: Any = pooled(
        default=False,
        rule=BOOL,
        doc="""bool
        With three and more classes: give a row the same weight in the node models of all classes, the largest of its
        second derivatives, instead of one for each. All classes of a node are then solved at once, which takes half of
        the time and less with many classes; the probabilities are about as good once they are calibrated, and too
        cautious before. Node models in Python do not share.""",
    )


_DECLARED = arguments_of(RegressionTreeArguments) | arguments_of(ClassificationTreeArguments)
_ORDER = sorted(_DECLARED, key=lambda name: 8.5 if name == "clip" else [*_DECLARED].index(name))

#: All of them. The position numbers the draws from a pool, so that ``clip`` stays the tenth.
TREE_PARAMETERS = tuple(_DECLARED[name].rule for name in _ORDER)
_NAMES = [p.name for p in TREE_PARAMETERS]
MAX_FEATURES = _DECLARED["max_features"].rule


def tree_pools(estimator: object, task: str, left_open: Set[str] = frozenset()) -> dict[str, Any]:
    """Check all tree parameters of an estimator and return their pools; None stands for False in those left open."""
    values = {p.name: getattr(estimator, p.name, False) for p in TREE_PARAMETERS}
    values |= {name: False for name in left_open if values[name] is None}
    pools = {p.name: p.pool(values[p.name]) for p in TREE_PARAMETERS}
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
    keys = pool_keys(seeds)
    params = {p.name: draw_parameter(pools[p.name], keys, i, p.check) for i, p in enumerate(TREE_PARAMETERS)}
    params["node_model"] = own_copies(draw_node_models(params["node_model"], seeds, shorthands))
    if is_distribution(pools["criterion"]):
        check_criteria(params["criterion"], task)
    return params


def encode_tree_params(params: TreeParams, seeds: Seeds, n_features: int) -> dict[str, Array]:
    """Return the parameter columns as the core takes them."""
    table = np.empty((len(TREE_PARAMETERS), len(seeds)))
    table.T[:] = [p.encode(params[p.name].values[0], n_features) for p in TREE_PARAMETERS]
    for row, p in zip(table, TREE_PARAMETERS, strict=True):
        if len(params[p.name].values) > 1:  # few of them
            row[:] = params[p.name].encoded(p.encode, n_features)
    columns: dict[str, Array] = dict(zip(_NAMES, table, strict=True))
    columns |= encode_node_models(params["node_model"], columns["reg_lambda"])
    columns["seed"] = seeds
    return columns


def smallest(pool: Iterable[Any]) -> Any:
    """Return the smallest value of a pool, None for a distribution."""
    return None if is_distribution(pool) else min(pool)


def largest(pool: Iterable[Any]) -> Any:
    """Return the largest value of a pool, None for a distribution or if None is in it."""
    return None if is_distribution(pool) or None in pool else max(pool)
