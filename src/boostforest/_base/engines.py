"""Work in other processes and on other machines, by the engines that joblib knows: Dask, Ray, Spark and their like.

Our own threads do everything on one machine. Inside ``joblib.parallel_config("dask")`` (or "ray", "spark", …) trees
are grown, and many rows predicted, by the engine's workers. What all tasks need, the table or the model, is sent once.
Tasks are pure functions of their arguments and their results are joined in order, so it does not matter who does what:
the forest is the local one, byte for byte.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import joblib

from .. import _core
from .engine import Engine, Shared, Task, call


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
