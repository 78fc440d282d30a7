"""What a process has to do before it fits: limit the threads, run the user's registrations."""

import importlib.util
import sys
from pathlib import Path

# Thread pools read these once, when they are loaded: a running process cannot be limited for certain.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def load(path: Path) -> None:
    """Run a file that registers datasets, learners or experiments."""
    spec = importlib.util.spec_from_file_location(f"boostforest_paper_plugin_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pickles of its classes look for it here
    spec.loader.exec_module(module)
