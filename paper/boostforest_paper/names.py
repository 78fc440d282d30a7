"""Names in registries: an unknown one is answered with the known ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


class UnknownNameError(Exception):
    """A name that no registry has; the sentence lists those it has."""


def find(kind: str, name: str, registry: Mapping[str, T]) -> T:
    """Return the entry of this name; names may be written in another case."""
    if name in registry:
        return registry[name]
    same = [known for known in registry if known.casefold() == name.casefold()]
    if len(same) == 1:
        return registry[same[0]]
    raise UnknownNameError(f"There is no {kind} called {name!r}; known are: {', '.join(registry)}.")
