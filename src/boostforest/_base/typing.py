"""Types that every part uses."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Signs: TypeAlias = npt.NDArray[np.int8]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Array: TypeAlias = npt.NDArray[Any]
Labels: TypeAlias = npt.NDArray[Any]
Seeds: TypeAlias = npt.NDArray[np.uint64]
Entropy: TypeAlias = int | tuple[int, ...]  # what all seeds of a fit follow from
