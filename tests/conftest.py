"""Settings that must stand before SciPy is imported."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its check of array API input
