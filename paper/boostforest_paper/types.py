"""Types that the whole package shares."""

from typing import Literal

import numpy as np
import numpy.typing as npt

Task = Literal["classification", "regression"]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
