r"""How arguments are declared, once: default, what is allowed, what the core gets, and the docstring.

A class that is decorated with ``declared`` lists its arguments in its body, as a dataclass does. Its ``__init__`` and
its docstring follow from them and from those of the classes above it::

    @declared
    class Leaves:
        max_depth: Any = argument(default=None, rule=integer(1, none=-1), doc="int\nSplits above a leaf at the most.")

Type checkers and editors read the same declarations: ``declared`` is a ``dataclass_transform`` (PEP 681).
"""

import dataclasses
import inspect
import math
import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from .docs import fill_docstrings
from .draws import is_distribution

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Parameter:
    """What an argument may be; those of trees and node models may also be pools, and the core gets them as numbers."""

    allowed: str  # completes "<name> must be …"
    is_valid: Callable[[Any], bool]
    encode: Callable[[Any, int], float] = lambda v, d: float(v)  # value and number of features, as the core wants it
    name: str = ""
    takes_pools: bool = False

    def check(self, value: Any) -> Any:
        """Return the value as a plain Python object, or say what is allowed."""
        if isinstance(value, np.generic):
            value = value.item()
        if not self.is_valid(value):
            pools = ", a sequence of such values or a distribution with rvs" if self.takes_pools else ""
            raise ValueError(f"{self.name} must be {self.allowed}{pools}; got {value!r}.")
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


def is_integer(value: object, low: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and low <= int(value) < 2**31


def is_real(value: object, low: float, high: float = math.inf) -> bool:
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= float(value) <= high
    )


def integer(low: int, none: float | None = None) -> Parameter:
    """Allow an integer of at least ``low``; ``none`` is what None means to the core, if None is allowed."""
    return Parameter(
        f"an integer from {low} to 2^31 - 1" + (" or None" if none is not None else ""),
        lambda v: (v is None and none is not None) or is_integer(v, low),
        lambda v, d: float(none if v is None and none is not None else v),
    )


def real(low: float, strict: bool = False, none: bool = False) -> Parameter:
    """Allow a finite number of at least ``low``, or above it; ``none``: None is allowed and passed on as NaN."""
    return Parameter(
        f"a finite number {'above' if strict else 'of at least'} {low:g}" + (" or None" if none else ""),
        lambda v: (v is None and none) or (is_real(v, low) and (not strict or v > low)),
        lambda v, d: math.nan if v is None else float(v),
    )


def between(low: float, high: float) -> Parameter:
    """Allow a number above ``low`` and below ``high``."""
    return Parameter(f"a number above {low:g} and below {high:g}", lambda v: is_real(v, low, high) and low < v < high)


def choice(codes: dict[str, int], none: bool = False) -> Parameter:
    """Allow one of some names, and None if so said; the core gets its code."""
    return Parameter(
        ("None or " if none else "") + "one of " + ", ".join(f"'{c}'" for c in codes),
        lambda v: (v is None and none) or (isinstance(v, str) and v in codes),
        lambda v, d: float(codes[v]),
    )


def or_else(rule: Parameter, allowed: str, is_valid: Callable[[Any], bool]) -> Parameter:
    """Allow something else besides."""
    return replace(rule, allowed=f"{rule.allowed} or {allowed}", is_valid=lambda v: rule.is_valid(v) or is_valid(v))


def matching(allowed: str, pattern: str) -> Parameter:
    """Allow strings that a regular expression matches; ``allowed`` says which they are."""
    return Parameter(allowed, lambda v: isinstance(v, str) and re.fullmatch(pattern, v) is not None)


BOOL = Parameter("True or False", lambda v: isinstance(v, bool))

# ------------------------------------------------------------------------------------------------------- arguments


@dataclass(frozen=True)
class Argument:
    """One argument of a class."""

    default: Any
    doc: str  # its type, and below that the text
    rule: Parameter  # with its name
    kw_only: bool
    type: Any = Any


ANYTHING = Parameter("", lambda v: True)  # or checked elsewhere


def argument(*, default: Any = MISSING, doc: str = "", rule: Parameter = ANYTHING, kw_only: bool = True) -> Any:
    """Declare an argument; ``doc`` is its type and, from the second line, its text, with words of the class in braces.

    Without ``doc``: another default for an argument of a class above.
    """
    return Argument(default, inspect.cleandoc(doc), rule, kw_only)


def pooled(*, default: Any, doc: str, rule: Parameter, kw_only: bool = True) -> Any:
    """Declare an argument that may be a pool."""
    return argument(default=default, doc=doc, rule=replace(rule, takes_pools=True), kw_only=kw_only)


@dataclass_transform(kw_only_default=True, field_specifiers=(argument, pooled))
def declared(cls: Class) -> Class:
    """Give a class the ``__init__`` and the docstrings that follow from the arguments in its body and above it."""
    types = inspect.get_annotations(cls, eval_str=True)
    above = _arguments(cls)
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Argument)}
    for name, value in own.items():
        delattr(cls, name)
        known = value if value.doc else above[name]
        own[name] = replace(value, type=types[name], doc=known.doc, rule=replace(known.rule, name=name))
    cls._own_arguments = own  # type: ignore[attr-defined]
    cls._arguments = arguments = _arguments(cls)  # type: ignore[attr-defined]
    if not hasattr(cls, "get_params"):
        return cls  # a list of arguments for estimators
    # dataclasses writes the __init__, but the class does not become one of its own: others take dataclasses apart.
    fields = [(name, a.type, dataclasses.field(default=a.default, kw_only=a.kw_only)) for name, a in arguments.items()]
    made: Any = dataclasses.make_dataclass(cls.__name__, fields, eq=False, repr=False, match_args=False)
    made.__init__.__qualname__, made.__init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    cls.__init__ = made.__init__  # type: ignore[misc]
    fill_docstrings(cls, [(name, a.doc, a.default) for name, a in arguments.items()])
    return cls


def _arguments(cls: type) -> dict[str, Argument]:
    """Return what a class and those above it declare, in the order of an ``__init__``."""
    found: dict[str, Argument] = {}
    for part in reversed(cls.__mro__):
        found |= vars(part).get("_own_arguments", {})
    return dict(sorted(found.items(), key=lambda item: item[1].kw_only))


def arguments_of(cls: Any) -> dict[str, Argument]:
    """Return the arguments of a declared class by their names, in the order of its ``__init__``."""
    found: dict[str, Argument] = cls._arguments
    return found


def check_arguments(owner: object) -> None:
    """Check the arguments that cannot be pools."""
    for name, own in arguments_of(type(owner)).items():
        if not own.rule.takes_pools:
            own.rule.check(getattr(owner, name))
