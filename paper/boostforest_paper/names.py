"""Registries: what is found by its name. An unknown name is answered with the known ones."""

from typing import Protocol, TypeVar


class Named(Protocol):
    """What a registry holds."""

    @property
    def name(self) -> str:
        """The name that it is found by."""


T = TypeVar("T", bound=Named)


class UnknownNameError(Exception):
    """A name that no registry has; the sentence lists those it has."""


class Registry(dict[str, T]):
    """Entries of one kind by their names."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def register(self, entry: T) -> T:
        """Add an entry; its name must be new."""
        if entry.name in self:
            article = "an" if self._kind[0] in "aeiou" else "a"
            raise ValueError(f"There is {article} {self._kind} called {entry.name!r} already.")
        self[entry.name] = entry
        return entry

    def find(self, name: str) -> T:
        """Return the entry of this name, which may be written in another case."""
        if name in self:
            return self[name]
        same = [known for known in self if known.casefold() == name.casefold()]
        if len(same) == 1:
            return self[same[0]]
        raise UnknownNameError(f"There is no {self._kind} called {name!r}; known are: {', '.join(self)}.")
