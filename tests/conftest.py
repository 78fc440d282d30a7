"""Settings that must stand before the tests are read: of SciPy, and of the property-based tests."""

import os

from hypothesis import settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its check of array API input

# The same examples in every run, unless `make test-random` asks for others; no time limits, no examples kept on disk.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
