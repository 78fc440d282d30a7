"""What is measured of one fitted model: seconds, peak memory, size."""

import contextlib
import ctypes
import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.speed.learners import model_bytes

TIMES = ("fit_seconds", "predict_seconds", "row_seconds")
QUANTITIES = (*TIMES, "peak_bytes", "model_bytes")
Measurement = dict[str, float | None]  # by quantity; None where the system does not tell

FIT_SECONDS = 0.5
PREDICT_CALLS, PREDICT_SECONDS = 20, 0.5  # a call on a small part takes milliseconds: one alone is mostly chance
ROW_CALLS, ROW_SECONDS = 300, 0.5
_PROC = Path("/proc/self")


def seconds_of(call: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of one call, by some clock: that on the wall, or ``process_time``."""
    start = clock()
    call()
    return clock() - start


def median_seconds(call: Callable[[int], object], n_calls: int, budget: float) -> float:
    """Median of at most so many calls, which get their number; fewer once they have taken the budget of seconds."""
    seconds: list[float] = []
    while len(seconds) < n_calls and sum(seconds) < budget:
        number = len(seconds)
        seconds.append(seconds_of(lambda: call(number)))  # noqa: B023 - called at once
    return float(np.median(seconds))


def _resident_bytes(field: str) -> int:
    """Resident memory as the kernel counts it: VmRSS now, VmHWM the most since the last reset."""
    found = re.search(rf"^{field}:\s+(\d+) kB", (_PROC / "status").read_text(), re.MULTILINE)
    assert found is not None
    return 1024 * int(found.group(1))


def _start_peak() -> int | None:
    """Begin to watch for the peak; return the bytes resident now. None except on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    # Memory of the previous model that malloc keeps would hide as much of this one's; and so every fit pays for its
    # own, as the first one of a process does.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        (_PROC / "clear_refs").write_text("5")  # resets VmHWM
    except OSError:
        return None
    return _resident_bytes("VmRSS")


def measure_fit(model: Any, X: npt.NDArray, y: npt.NDArray, n_calls: int = 1) -> Measurement:
    """Fit a model; the memory is what that takes above what was there before, the data among it.

    With several calls it is the memory of a second fit beside the first model.
    """
    gc.collect()
    before = _start_peak()
    fit_seconds = median_seconds(lambda _: model.fit(X, y), n_calls, FIT_SECONDS)
    # The kernel's counts lag behind by a few pages: a fit that needs nothing new may seem to give some back.
    peak_bytes = None if before is None else max(0, _resident_bytes("VmHWM") - before)
    return {"fit_seconds": fit_seconds, "peak_bytes": peak_bytes}


def measure_predict(model: Any, X: npt.NDArray) -> Measurement:
    """Predict all rows, then single ones as a caller would, validation included."""
    rows = [X[i : i + 1] for i in range(min(len(X), ROW_CALLS))]
    return {
        "predict_seconds": median_seconds(lambda _: model.predict(X), PREDICT_CALLS, PREDICT_SECONDS),
        "row_seconds": median_seconds(lambda i: model.predict(rows[i % len(rows)]), ROW_CALLS, ROW_SECONDS),
        "model_bytes": model_bytes(model),
    }
