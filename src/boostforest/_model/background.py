"""Some rows of the training table, which explanations compare others with."""

from dataclasses import dataclass
from typing import Any

from .._base.typing import Floats


@dataclass(frozen=True, eq=False)
class Background:
    """Training rows in memory; no file has them, nor a pickle."""

    table: Floats | None = None  #: the columns as numbers, see ``_features``; None: they were left behind

    def __reduce__(self) -> tuple[Any, ...]:
        return Background, ()

    def __copy__(self) -> "Background":
        return self

    def __deepcopy__(self, memo: Any) -> "Background":
        return self
