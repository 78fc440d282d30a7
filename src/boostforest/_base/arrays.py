"""Arrays that must stay as they were checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array itself, which can no longer be written to."""
    array.flags.writeable = False
    return array


class ReadOnlyColumns:
    """A dataclass of arrays that the core follows without looking twice: what was checked must stay as it is."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # copies and pickles do not keep the flag
