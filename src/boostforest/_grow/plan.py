"""What a forest is asked to do beyond the paper: stages, an adaptive pool, calibration, enough trees."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._model.calibration import CALIBRATIONS
from .parameters import TREE_PARAMETERS
from .staged import LEAST_TREES

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"n_stages": 1, "pool": "uniform", "calibrate": False},
    "best": {"n_stages": "auto", "pool": "adaptive", "calibrate": "auto"},
}
POOLS = ("uniform", "adaptive")
_MORE_TREES = {"paper": 1, "best": 2}  # trees that a preset grows, in multiples of n_estimators
_LEAST_ADAPTIVE = 80  # trees: eight for each setting of the first round, and some of what is found


@dataclass(frozen=True)
class Plan:
    """The arguments of a forest after its preset has filled the gaps."""

    budget: int | None  #: trees to grow; None: as many as it takes
    n_stages: int | str
    calibrate: Any  #: False, or how
    own: Set[str] | None  #: tree parameters that an adaptive pool leaves alone; None: the pool is uniform

    @property
    def is_plain(self) -> bool:
        """Whether it is the paper's forest."""
        return self.budget is not None and self.n_stages == 1 and not self.calibrate and self.own is None


def read_plan(forest: Any, task: str) -> Plan:
    """Check the arguments, and that they go together."""
    if not isinstance(forest.preset, str) or forest.preset not in PRESETS:
        raise ValueError(f"preset must be 'paper' or 'best'; got {forest.preset!r}.")
    preset = PRESETS[forest.preset]
    asked = {name: value for name in preset if (value := getattr(forest, name, None)) is not None}
    _check("n_stages", asked, "None, 'auto' or an integer of at least 1", _is_stages)
    _check("pool", asked, "None, 'uniform' or 'adaptive'", lambda v: isinstance(v, str) and v in POOLS)
    shown = ", ".join(map(repr, CALIBRATIONS))
    _check("calibrate", asked, f"None, {shown}", lambda v: isinstance(v, bool | str) and v in CALIBRATIONS)
    plan = {**preset, **asked}
    if task == "regression":
        plan["calibrate"] = False
    auto = isinstance(forest.n_estimators, str)
    budget = None if auto else int(forest.n_estimators) * _MORE_TREES[forest.preset]
    own = _set_parameters(forest) if plan["pool"] == "adaptive" else None
    made = Plan(budget, plan["n_stages"], plan["calibrate"], own)
    if not made.is_plain:
        _check_out_of_bag(forest, made, asked)
    return made


def _check(name: str, asked: dict[str, Any], allowed: str, is_allowed: Any) -> None:
    if name in asked and not is_allowed(asked[name]):
        raise ValueError(f"{name} must be {allowed}; got {asked[name]!r}.")


def _is_stages(value: Any) -> bool:
    if isinstance(value, str):
        return value == "auto"
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1


def _check_out_of_bag(forest: Any, plan: Plan, asked: dict[str, Any]) -> None:
    """Refuse what cannot be judged out of bag."""
    reasons = {
        "preset='best'": forest.preset == "best",
        "pool='adaptive'": plan.own is not None,
        f"n_stages={plan.n_stages!r}": plan.n_stages != 1,
        f"calibrate={plan.calibrate!r}": bool(plan.calibrate),
        "n_estimators='auto'": plan.budget is None,
    }
    reason = next(name for name, holds in reasons.items() if holds)
    if not forest.bootstrap:
        raise ValueError(f"{reason} needs bootstrap=True: it is decided by the rows that a tree has not drawn.")
    if forest.warm_start:
        raise ValueError(f"{reason} does not go with warm_start=True: the trees depend on each other.")
    if plan.budget is None:
        return
    stages = 1 if plan.n_stages == "auto" else int(plan.n_stages)
    least = max(2 * LEAST_TREES * (stages - 1), _LEAST_ADAPTIVE if plan.own is not None else 1)
    if plan.budget < least:
        per = _MORE_TREES[forest.preset]
        raise ValueError(f"{reason} needs n_estimators of at least {-(-least // per)}; got {forest.n_estimators}.")


def _set_parameters(forest: Any) -> Set[str]:
    """Return the tree parameters that are not at their defaults."""
    defaults = inspect.signature(type(forest).__init__).parameters
    return {
        p.name
        for p in TREE_PARAMETERS
        if p.name in defaults and not _same(getattr(forest, p.name), defaults[p.name].default)
    }


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.array_equal(value, default))
