"""How large a fitted model is."""

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any


class _Counter:
    """A file that only counts: the pickle of a large forest would not fit into memory beside it."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, content: Any) -> int:
        length = memoryview(content).nbytes
        self.n_bytes += length
        return length


def model_bytes(model: Any) -> int | None:
    """Return the length of a fitted model's pickle, the one measure that every learner has; None if it has not."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return counter.n_bytes


def file_bytes(model: Any) -> int | None:
    """Return the size of a fitted model in the file format that its library has; else the length of its pickle."""
    if hasattr(model, "booster_"):
        return len(model.booster_.model_to_string().encode())
    if hasattr(model, "get_booster"):
        return len(model.get_booster().save_raw("ubj"))
    if not hasattr(model, "save_model"):
        return model_bytes(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save_model(os.fspath(path))
        return path.stat().st_size
