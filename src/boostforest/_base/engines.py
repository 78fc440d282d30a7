"""Work in other processes and on other machines, by the engines that joblib knows: Dask, Ray, Spark and their like.

Our own threads do everything on one machine. Inside ``joblib.parallel_config("dask")`` (or "ray", "spark", …) trees
are grown, and many rows predicted, by the engine's workers. What all tasks need, the table or the model, is sent once.
Tasks are pure functions of their arguments and their results are joined in order, so it does not matter who does what:
the forest is the local one, byte for byte.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import joblib

from .. import _core

Task = tuple[Any, ...]

_KERNELS = ("generic", "avx2", "avx512")  # sets of instructions, the poorest first: they differ in the last bits
_TASK_SECONDS = 2.0  # of a task: what sending it costs is little beside that
_TRIES = 4  # of a task whose worker, or whose copy of what is shared, is lost
_PATIENCE = 10.0  # seconds without any worker, then the work ends
_POLL = 0.5  # seconds
_NO_WORKER = f"The Dask cluster has had no worker for {_PATIENCE:g} seconds."


class Engine(ABC):
    """Runs tasks elsewhere."""

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
    ) -> list[Any]:
        """Return what the function makes of n things, in groups: ``make_task(a, b)`` is the task of those from a to b.

        The first group of every worker is a single thing, which tells how many take about two seconds.
        """
        results: list[Any] = []
        workers, done, size = self.n_workers, 0, 1
        while done < n:
            end = min(done + workers, n) if done == 0 else n
            bounds = [*range(done, end, size), end]
            tasks, seconds = [make_task(a, b) for a, b in pairwise(bounds)], 0.0
            for so_far, (result, taken) in zip(bounds[1:], self.run(_Timed(function), shared, tasks), strict=True):
                results.append(result)
                seconds += taken
                if progress is not None:
                    progress(so_far)
            fair = -(-(n - end) // workers)
            size = max(1, min(fair, int(_TASK_SECONDS * (end - done) / max(seconds, 1e-9))))
            done = end
        return results


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

    return None if hasattr(thread_state, "execution_state") else DaskEngine(backend.client)


def _kernels() -> str:
    return _core.kernels()


class _Timed:
    """A function that returns its seconds, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.__name__ = function, function.__name__

    def __call__(self, *arguments: Any) -> tuple[Any, float]:
        start = time.perf_counter()
        result = self._function(*arguments)
        return result, time.perf_counter() - start


def _call(kernels: str, function: Callable[..., Any], shared: list[Any], task: Task) -> Any:
    """Call a function on a worker, with the instructions that all workers have."""
    if _core.kernels() != kernels and not _core.select_kernels(kernels):
        raise RuntimeError(
            f"A worker has no {kernels} instructions, only {_core.kernels()}: its trees would differ in the last bits. "
            "Use workers whose processors are of one kind."
        )
    return function(*shared, *task)


# ------------------------------------------------------------------------------------------------------------- Dask


class DaskEngine(Engine):
    """The workers of a Dask cluster. Tasks of lost workers are done again by others."""

    def __init__(self, client: Any) -> None:
        self._client = client
        with self._open():
            known = [_core.kernels(), *client.run(_kernels, on_error="ignore").values()]
        self._kernels = min(known, key=_KERNELS.index)
        _core.select_kernels(self._kernels)  # what is done here is done with the same ones

    @property
    def n_workers(self) -> int:
        return max(1, int(sum(self._client.ncores().values())))

    def share(self, value: Any) -> Shared:
        with self._open():
            return Shared(value, self._send)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Say that the client was closed, whatever error that has led to."""
        try:
            yield
        except Exception as error:
            if self._client.status == "running":
                raise
            raise RuntimeError("The Dask client was closed before its tasks were done.") from error

    def _send(self, value: Any) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                return self._client.scatter(value, broadcast=True, hash=False, timeout=_PATIENCE)
            except TimeoutError as error:
                raise RuntimeError(_NO_WORKER) from error
            except (ValueError, KeyError, OSError):  # a worker was lost meanwhile
                if left == 0:
                    raise
                time.sleep(_POLL)
        return None

    def run(self, function: Callable[..., Any], shared: Sequence[Shared], tasks: Iterable[Task]) -> Iterator[Any]:
        tasks = list(tasks)
        futures = [self._submit(function, shared, task) for task in tasks]
        try:
            for i in range(len(tasks)):
                with self._open():
                    result = self._result(i, function, shared, tasks, futures)
                yield result
        finally:
            if self._client.status == "running":
                self._client.cancel([future for future in futures if not future.done()], force=True)

    def _result(
        self, i: int, function: Callable[..., Any], shared: Sequence[Shared], tasks: list[Task], futures: list[Any]
    ) -> Any:
        """Return the result of a task; those that were lost with a worker are done again."""
        from distributed import CancelledError, KilledWorker

        for left in reversed(range(_TRIES)):
            try:
                return self.wait(futures[i])
            except (CancelledError, KilledWorker) as error:
                if left == 0:
                    raise RuntimeError(f"The Dask cluster has lost a task {_TRIES} times: {error}") from error
            for value in shared:
                value.send_again()
            for j, future in enumerate(futures[i:], i):
                if future.status in ("cancelled", "lost", "error"):
                    futures[j] = self._submit(function, shared, tasks[j])
        return None

    def _submit(self, function: Callable[..., Any], shared: Sequence[Shared], task: Task) -> Any:
        handles = [value.handle for value in shared]
        name = f"boostforest-{function.__name__.strip('_')}"
        return self._client.submit(
            _call, self._kernels, function, handles, task, pure=False, key=f"{name}-{id(task)}-{time.monotonic_ns()}"
        )

    def wait(self, future: Any) -> Any:
        """Return the result of a task; an error if all workers are gone, or the client is."""
        from distributed import wait

        last_seen = time.monotonic()
        while not future.done() and self._client.status == "running":
            with suppress(TimeoutError), self._client.as_current():  # wait asks for the default client, if any
                wait(future, timeout=_POLL)
            if self._client.ncores():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > _PATIENCE:
                raise RuntimeError(_NO_WORKER)
        return future.result()


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
        self._kernels = _core.kernels()

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
    return _call(kernels, function, list(shared), task)


# ------------------------------------------------------------------------------------------------ any other backend


class _Sent:
    """A value that goes with every task."""

    def __init__(self, value: Any) -> None:
        self.value = value


class JoblibEngine(Engine):
    """Whatever joblib has been told to use. Spark is sent what tasks share as a broadcast variable."""

    def __init__(self, backend: Any) -> None:
        self._in_spark = type(backend).__module__.split(".")[0] == "joblibspark"
        self._kernels = _core.kernels()

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
    return _call(kernels, function, [handle.value for handle in handles], task)
