"""The members of a pool forest: which kinds there are, what each member draws, how one is made."""

import difflib
import hashlib
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .._base.declare import ANYTHING, Parameter
from .._base.draws import Seeds, choose_columns, draw, member_words, pool_words
from .._base.typing import Indices
from .._grow.parameters import MAX_FEATURES, max_features_count

Columns = Indices

_METHODS = ("fit", "predict", "get_params", "set_params")
_OTHER_TASK = {"regression": "regressor", "classification": "classifier"}


class Kind(NamedTuple):
    """One kind of member."""

    name: str  # what messages call it: argument and class
    estimator: Any
    pools: dict[str, Any]  # parameter -> a list of values, or a distribution
    weight: float  # share of the forest, in units of all weights


class Member(NamedTuple):
    """One member before its fit: everything that follows from its number and the forest's seed."""

    number: int
    estimator: Any
    params: dict[str, Any]
    seed: int
    columns: Columns


# ------------------------------------------------------------------------------------------------------- declaration


def check_kinds(estimator: Any, pools: Any, weights: Any, task: str) -> list[Kind]:
    """Check what a forest shall be made of; every message says which estimator is meant."""
    is_list = isinstance(estimator, list | tuple)
    estimators = list(estimator) if is_list else [estimator]
    if not estimators:
        raise ValueError("estimator is an empty list; it must hold at least one estimator.")
    places = [f"estimator[{i}]" if is_list else "estimator" for i in range(len(estimators))]
    names = [_check_estimator(place, member, task) for place, member in zip(places, estimators, strict=True)]
    shares = _check_weights(weights, len(estimators))
    tables = _one_table_each(pools, len(estimators))
    return [
        Kind(name, member, _check_pools(table, name, member), share)
        for name, member, table, share in zip(names, estimators, tables, shares, strict=True)
    ]


def _check_estimator(place: str, estimator: Any, task: str) -> str:
    """Return the name of an estimator, or say what is wrong with it."""
    if isinstance(estimator, type):
        raise TypeError(f"{place} must be an estimator; got the class {estimator.__name__}, not an instance of it.")
    name = f"{place} ({type(estimator).__name__})"
    missing = [method for method in _METHODS if not callable(getattr(estimator, method, None))]
    if missing:
        raise TypeError(
            f"{name} must be a scikit-learn estimator with the methods {', '.join(_METHODS)}; "
            f"it has no {' and no '.join(missing) if len(missing) < 3 else 'such methods'}."
        )
    tags = tags_of(estimator)
    kind = None if tags is None else tags.estimator_type
    if kind is not None and kind != _OTHER_TASK[task]:
        raise ValueError(f"{name} must be a {_OTHER_TASK[task]}, as this forest is for {task}; it is a {kind}.")
    return name


def tags_of(estimator: Any) -> Any:
    """Return scikit-learn's tags of an estimator, None if it has none."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError, ValueError):  # no estimator at all, or one made without scikit-learn
        return None


def _check_weights(weights: Any, n: int) -> list[float]:
    if weights is None:
        return [1.0] * n
    values = weights.tolist() if isinstance(weights, np.ndarray) else weights
    valid = isinstance(values, Sequence) and not isinstance(values, str) and len(values) == n
    if not valid or not all(isinstance(w, numbers.Real) and 0 < float(w) < math.inf for w in values):
        raise ValueError(f"weights must be None or a list of {n} positive numbers, one per estimator; got {weights!r}.")
    return [float(w) for w in values]


def _one_table_each(pools: Any, n: int) -> list[Any]:
    """Return the pools of each estimator: a single dict is for all of them."""
    if pools is None or isinstance(pools, Mapping):
        return [pools or {}] * n
    valid = isinstance(pools, list | tuple) and all(p is None or isinstance(p, Mapping) for p in pools)
    if not valid or len(pools) != n:
        raise ValueError(
            f"pools must be a dict of parameter names and pools, or a list of {n} such dicts, one per estimator; "
            f"got {pools!r}."
        )
    return [p or {} for p in pools]


def _check_pools(pools: Mapping[str, Any], name: str, estimator: Any) -> dict[str, Any]:
    known = estimator.get_params(deep=True) if pools else {}
    for parameter in pools:
        if parameter not in known:
            near = difflib.get_close_matches(str(parameter), known, 3) or sorted(estimator.get_params(deep=False))
            raise ValueError(
                f"pools has the parameter {parameter!r}, which {name} does not have; it has "
                f"{', '.join(map(repr, near))}."
            )
    return {parameter: _foreign(parameter).pool(pool) for parameter, pool in pools.items()}


def _foreign(name: str) -> Parameter:
    """Declare the parameter of an estimator that checks its values itself."""
    return replace(ANYTHING, name=f"pools[{name!r}]")


def picks_columns_by_name(kinds: list[Kind]) -> bool:
    """Tell whether some estimator may need a data frame rather than an array."""
    from sklearn.compose import ColumnTransformer

    return any(
        isinstance(part, ColumnTransformer)
        for kind in kinds
        for part in (kind.estimator, *kind.estimator.get_params(deep=True).values())
    )


# ------------------------------------------------------------------------------------------------------------- draws


def draw_members(kinds: list[Kind], max_features: Any, seeds: Seeds, first: int, n_features: int) -> list[Member]:
    """Draw kind, parameters and columns of the members from number ``first`` on."""
    kind_of = share_out([kind.weight for kind in kinds], first + len(seeds))[first:]
    params: list[dict[str, Any]] = [{} for _ in seeds]
    for k, kind in enumerate(kinds):
        own = np.flatnonzero(kind_of == k)
        for name, pool in kind.pools.items():
            values = draw(pool, pool_words(seeds[own], _number(name)), _foreign(name).check)
            for i, value in zip(own.tolist(), values, strict=True):
                params[i][name] = value
    words = pool_words(seeds, _number("max_features of the forest"))
    widths = draw(MAX_FEATURES.pool(max_features), words, MAX_FEATURES.check)
    everything = np.arange(n_features)
    members = []
    for i, width in enumerate(widths):
        count = max_features_count(width, n_features)
        columns = everything if count == n_features else choose_columns(seeds[i], n_features, count)
        members.append(Member(first + i, kinds[kind_of[i]].estimator, params[i], int(seeds[i]), columns))
    return members


def share_out(weights: list[float], n: int) -> Indices:
    """Give each of n members its kind, so that any first part of them is as close to the weights as can be."""
    shares = np.array(weights) / sum(weights)
    counts = np.zeros(len(weights))
    kind_of = np.empty(n, dtype=np.intp)
    for i in range(n):
        # The kind that is furthest behind; rounded, so that equal kinds take turns.
        kind_of[i] = np.argmax(np.round(shares * (i + 1) - counts, 9))
        counts[kind_of[i]] += 1
    return kind_of


def _number(name: str) -> int:
    """Return a number that depends on the name alone: a pool's draws do not depend on which other pools there are."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def make_estimator(member: Member) -> Any:
    """Return a fresh estimator with the member's parameters, and a seed wherever it takes one."""
    return seeded_clone(member.estimator, member.seed, member.params)


def seeded_clone(estimator: Any, seed: int, params: Mapping[str, Any] | None = None) -> Any:
    """Return a copy, not fitted, with other values of some parameters and a seed for every other ``random_state``."""
    estimator = clone(estimator)
    fixed = params or {}
    if fixed:
        estimator.set_params(**{name: clone(value, safe=False) for name, value in fixed.items()})
    seeded = [
        name
        for name in estimator.get_params(deep=True)
        if (name == "random_state" or name.endswith("__random_state")) and name not in fixed
    ]
    if seeded:
        key = np.array([seed], dtype=np.uint64)
        estimator.set_params(**{name: int(member_words(key, _number(name))[0] >> np.uint64(33)) for name in seeded})
    return estimator
