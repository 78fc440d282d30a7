"""Settings that must stand before the tests are read; and where the product's tests have their helpers."""

import os
import sys
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips its check of array API input
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))  # Weka, and the tables that it is compared on

# As in the product's tests: the same examples in every run, no time limits, no examples kept on disk.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
