"""Fitting aside and reading whole: who predicts while an estimator is fitted again has the old model or the new one.

An estimator's fitted state is its ``__dict__``. A fit never changes that dictionary: it works on a twin, and then puts
the twin's dictionary in its place, in one assignment. Who holds the old dictionary keeps the old state, whole.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")


def _with_state(estimator: E, state: dict[str, Any]) -> E:
    """Return an object of the estimator's class that has a state, without a call of any of its methods."""
    other: E = object.__new__(type(estimator))
    other.__dict__ = state
    return other


def snapshot(estimator: E) -> E:
    """Return the estimator as it is now: a later fit does not change it."""
    return _with_state(estimator, vars(estimator))


@contextlib.contextmanager
def fitted_aside(estimator: E) -> Iterator[E]:
    """Give a twin to be fitted, and take over its state in the end; after an error nothing has changed.

    Parameters stay as they are at the end: somebody may have set them meanwhile.
    """
    twin = _with_state(estimator, vars(estimator).copy())
    yield twin
    names = estimator._get_param_names()  # type: ignore[attr-defined]
    parameters = {name: value for name, value in vars(estimator).items() if name in names}
    estimator.__dict__ = vars(twin) | parameters


def on_snapshot(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Let a method that reads a fitted estimator see one state from its beginning to its end."""

    @functools.wraps(method)
    def read(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(snapshot(self), *args, **kwargs)

    return read
