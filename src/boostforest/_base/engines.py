"""Work in other processes and on other machines, by the engines that joblib knows: Dask, Ray, Spark and their like.

Our own threads do everything on one machine. Inside ``joblib.parallel_config("dask")`` (or "ray", "spark", …) trees
are grown, and many rows predicted, by the engine's workers. What all tasks need, the table or the model, is sent once.
Tasks are pure functions of their arguments and their results are joined in order, so it does not matter who does what:
the forest is the local one, byte for byte.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Self

import joblib

from .. import _core

Task = tuple[Any, ...]

_TASK_SECONDS = 2.0  # of a task: what sending it costs is little beside that
_LAST_SECONDS = 0.2  # of the last ones, so that no worker waits long for another


class Engine(ABC):
    """Runs tasks elsewhere. In its context, what is done here is done with the instructions of the workers."""

    def __init__(self, kernels: str) -> None:
        self._kernels, self._chosen = kernels, instructions(kernels)

    def __enter__(self) -> Self:
        self._chosen.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._chosen.__exit__(*error)

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many tasks run at the same time."""

    @abstractmethod
    def share(self, value: Any) -> Shared:
        """Send a value once to where all tasks can have it."""

    @abstractmethod
    def run(self, function: Callable[..., Any], shared: Sequence[Shared], tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield ``function(*shared, *task)`` for every task, in their order."""

    def run_in_groups(
        self,
        function: Callable[..., Any],
        shared: Sequence[Shared],
        n: int,
        make_task: Callable[[int, int], Task],
        progress: Callable[[int], None] | None = None,
    ) -> Iterator[Any]:
        """Yield what the function makes of n things, in groups: ``make_task(a, b)`` is the task of those from a to b.

        The first group of every worker is a single thing, which tells how many take about two seconds.
        """
        workers = self.n_workers
        first = min(workers, n)
        bounds, seconds = [*range(first + 1)], 0.0
        while len(bounds) > 1:
            tasks = [make_task(a, b) for a, b in pairwise(bounds)]
            for so_far, (result, taken) in zip(bounds[1:], self.run(_Timed(function), shared, tasks), strict=True):
                seconds += taken
                if progress is not None:
                    progress(so_far)
                yield result
            bounds = _bounds_of_groups(bounds[-1], n, workers, seconds / first)


def _bounds_of_groups(done: int, n: int, workers: int, seconds: float) -> list[int]:
    """Return where groups end: of about two seconds, then ever smaller ones, so that all workers end together."""
    largest, smallest = (max(1, int(limit / max(seconds, 1e-9))) for limit in (_TASK_SECONDS, _LAST_SECONDS))
    bounds = [done]
    while (left := n - bounds[-1]) > 0:
        size = max(smallest, min(largest, left // (2 * workers)))
        bounds.append(bounds[-1] + min(size, -(-left // workers)))
    return bounds


class Shared:
    """A value that every task needs."""

    def __init__(self, value: Any, send: Callable[[Any], Any]) -> None:
        self._value, self._send = value, send
        self.handle = send(value)

    def send_again(self) -> None:
        """Send the value again, after a worker that had it was lost."""
        self.handle = self._send(self._value)


def make_engine(backend: Any) -> Engine | None:
    """Return the engine of joblib's active backend; None inside one of its tasks, each of which has one thread."""
    module = type(backend).__module__
    if module.startswith("ray."):
        return RayEngine()
    if module != "joblib._dask":
        return JoblibEngine(backend)
    from distributed.worker import thread_state

    from .dask_engine import DaskEngine

    return None if hasattr(thread_state, "execution_state") else DaskEngine(backend.client)


class _InUse:
    """How many tasks and fits of this process have chosen instructions, and what was in use before the first."""

    lock = threading.Lock()
    n = 0
    before = ""


@contextmanager
def instructions(kernels: str) -> Iterator[None]:
    """Work with a set of instructions; when the last that has chosen one ends, there are those of before again."""
    with _InUse.lock:
        before = _core.kernels()
        if kernels != before and not _core.select_kernels(kernels):
            raise RuntimeError(
                f"A worker has no {kernels} instructions, only {before}: its trees would differ in the last bits. "
                "Use workers whose processors are of one kind."
            )
        if _InUse.n == 0:
            _InUse.before = before
        _InUse.n += 1
    try:
        yield
    finally:
        with _InUse.lock:
            _InUse.n -= 1
            if _InUse.n == 0:
                _core.select_kernels(_InUse.before)


class _Timed:
    """A function that returns its seconds, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.__name__ = function, function.__name__

    def __call__(self, *arguments: Any) -> tuple[Any, float]:
        start = time.perf_counter()
        result = self._function(*arguments)
        return result, time.perf_counter() - start


def call(kernels: str, function: Callable[..., Any], shared: Sequence[Any], task: Task) -> Any:
    """Call a function on a worker, with the instructions that all workers have."""
    with instructions(kernels):
        return function(*shared, *task)


# -------------------------------------------------------------------------------------------------------------- Ray


class RayEngine(Engine):
    """The workers of a Ray cluster, which does the tasks of lost workers again itself.

    Ray's own backend of joblib starts new workers for every call, which takes seconds.
    """

    def __init__(self) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        super().__init__(_core.kernels())

    @property
    def n_workers(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Shared:
        return Shared(value, self._ray.put)

    def run(self, function: Callable[..., Any], shared: Sequence[Shared], tasks: Iterable[Task]) -> Iterator[Any]:
        remote = self._ray.remote(_call_with_references)
        references = [value.handle for value in shared]
        results = [remote.remote(self._kernels, function, task, *references) for task in tasks]
        try:
            while results:
                yield self._ray.get(results.pop(0))
        finally:
            for result in results:
                self._ray.cancel(result)


def _call_with_references(kernels: str, function: Callable[..., Any], task: Task, *shared: Any) -> Any:
    return call(kernels, function, list(shared), task)


# ------------------------------------------------------------------------------------------------ any other backend


class _Sent:
    """A value that goes with every task."""

    def __init__(self, value: Any) -> None:
        self.value = value


class JoblibEngine(Engine):
    """Whatever joblib has been told to use. Spark is sent what tasks share as a broadcast variable."""

    def __init__(self, backend: Any) -> None:
        self._in_spark = type(backend).__module__.split(".")[0] == "joblibspark"
        super().__init__(_core.kernels())

    @property
    def n_workers(self) -> int:
        return int(joblib.effective_n_jobs(None))

    def share(self, value: Any) -> Shared:
        return Shared(value, _broadcast if self._in_spark else _Sent)

    def run(self, function: Callable[..., Any], shared: Sequence[Shared], tasks: Iterable[Task]) -> Iterator[Any]:
        handles = [value.handle for value in shared]
        jobs = (joblib.delayed(_call_with_values)(self._kernels, function, handles, task) for task in tasks)
        yield from joblib.Parallel(batch_size=1)(jobs)


def _broadcast(value: Any) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate().sparkContext.broadcast(value)


def _call_with_values(kernels: str, function: Callable[..., Any], handles: list[Any], task: Task) -> Any:
    return call(kernels, function, [handle.value for handle in handles], task)
