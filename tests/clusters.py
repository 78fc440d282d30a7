"""What the tests on Dask clusters share."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def once_growing(client: Any, action: Callable[[], object]) -> threading.Thread:
    """Call something as soon as workers grow trees, however fast the machine is; return the thread that does."""

    def wait_and_act() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            keys = [str(key) for keys in client.processing().values() for key in keys]
            if any("boostforest-grow" in key for key in keys):
                break
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def saved(forest: Any, folder: Path) -> bytes:
    """Return the file of a forest."""
    path = folder / "model.safetensors"
    forest.save_model(path)
    return path.read_bytes()
