"""Threads of BLAS: none of its own while we have ours."""

import contextlib
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
import threadpoolctl

from .. import _core

# With fewer features no system reaches BLAS: they have as many unknowns as features, or rows, which are then fewer than
# twice the features (fit_ridge in src/core/ridge/ridge.cpp).
BLAS_FEATURES = _core.BLAS_SIZE // 2


@cache
def use_scipy_blas() -> None:
    """Hand SciPy's BLAS and LAPACK to the core; without them it does everything itself, only slower."""
    blas, lapack = scipy.linalg.cython_blas.__pyx_capi__, scipy.linalg.cython_lapack.__pyx_capi__
    capsules = {"dsyrk": blas["dsyrk"], "dpotrf": lapack["dpotrf"], "dpotrs": lapack["dpotrs"]}
    with contextlib.suppress(ValueError):  # a build with 64-bit integers
        _core.set_blas(capsules)


def _in_a_thread_of_its_own(function: Callable[[], Any]) -> Any:
    """Call a function in a new thread.

    threadpoolctl 3.8 lets only the thread that has set a limit of OpenBLAS change it, as long as that thread lives;
    ours may be set and lifted by different Python threads.
    """
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()), name="boostforest-blas-limit")
    thread.start()
    thread.join()
    return results[0]


class _BlasLimit:
    """SciPy's BLAS for the core, on one thread while any of our calls runs; shared by calls from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                use_scipy_blas()
                self._limit = _in_a_thread_of_its_own(lambda: _controller().limit(limits=1, user_api="blas"))
            self._calls += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                _in_a_thread_of_its_own(self._limit.restore_original_limits)


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()  # finding the libraries takes milliseconds: once


ONE_BLAS_THREAD = _BlasLimit()
