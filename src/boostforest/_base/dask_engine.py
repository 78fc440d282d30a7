"""Work on the workers of a Dask cluster, whatever may happen to them."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from .. import _core
from .engine import Engine, Shared, Task, call

_KERNELS = ("generic", "avx2", "avx512")  # sets of instructions, the poorest first: they differ in the last bits
_TRIES = 4  # of a task whose worker, or whose copy of what is shared, is lost
_PATIENCE = 10.0  # seconds without any worker, then the work ends
_POLL = 0.5  # seconds
_CONNECT = 2.0  # seconds in which a worker answers, or results come through the scheduler
_NO_WORKER = f"The Dask cluster has had no worker for {_PATIENCE:g} seconds."


def _kernels() -> str:
    return _core.kernels()


class DaskEngine(Engine):
    """The workers of a Dask cluster. Tasks of lost workers are done again by others."""

    def __init__(self, client: Any) -> None:
        self.client = client
        with self._open():
            known = [_core.kernels(), *client.run(_kernels, on_error="ignore").values()]
        super().__init__(min(known, key=_KERNELS.index))

    @property
    def n_workers(self) -> int:
        return max(1, int(sum(self.client.ncores().values())))

    def share(self, value: Any) -> Shared:
        with self._open():
            return Shared(value, self._send)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Say that the client was closed, whatever error that has led to."""
        try:
            yield
        except Exception as error:
            if self.client.status == "running":
                raise
            raise RuntimeError("The Dask client was closed before its tasks were done.") from error

    def _send(self, value: Any) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                return self.client.scatter(value, broadcast=True, hash=False, timeout=_PATIENCE)
            except TimeoutError as error:
                raise RuntimeError(_NO_WORKER) from error
            except (ValueError, KeyError, OSError):  # a worker was lost meanwhile
                if left == 0:
                    raise
                time.sleep(_POLL)
        return None

    def run(self, function: Callable[..., Any], shared: Sequence[Shared], tasks: Iterable[Task]) -> Iterator[Any]:
        tasks = list(tasks)
        # In turns: the scheduler would rather wait for the worker that has most of what is shared than move it.
        slots = [address for address, n in self.client.ncores().items() for _ in range(n)] or [None]
        futures = [
            self._submit(function, shared, task, slot)
            for task, slot in zip(tasks, itertools.cycle(slots), strict=False)
        ]
        try:
            for i in range(len(tasks)):
                with self._open():
                    result = self._result(i, function, shared, tasks, futures)
                futures[i] = None  # the worker may forget it
                yield result
        finally:
            if self.client.status == "running":
                self.client.cancel([f for f in futures if f is not None and not f.done()], force=True)

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

    def _submit(
        self, function: Callable[..., Any], shared: Sequence[Shared], task: Task, worker: str | None = None
    ) -> Any:
        wish = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return self.submit(function, [value.handle for value in shared], task, **wish)

    def submit(self, function: Callable[..., Any], shared: Sequence[Any], task: Task, **options: Any) -> Any:
        """Return the future of ``function(*shared, *task)``; ``options`` are those of ``Client.submit``."""
        key = f"boostforest-{function.__name__.strip('_')}-{id(task)}-{time.monotonic_ns()}"
        return self.client.submit(call, self._kernels, function, list(shared), task, pure=False, key=key, **options)

    def wait(self, future: Any) -> Any:
        """Return the result of a task; an error if all workers are gone, or the client is."""
        from distributed import wait

        last_seen = time.monotonic()
        while not future.done() and self.client.status == "running":
            with suppress(TimeoutError), self.client.as_current():  # wait asks for the default client, if any
                wait(future, timeout=_POLL)
            if self.client.ncores():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > _PATIENCE:
                raise RuntimeError(_NO_WORKER)
        if future.status == "finished":
            return self.client.gather(future, direct=self._reaches_workers)
        return future.result()

    @cached_property
    def _reaches_workers(self) -> bool:
        """Whether workers answer here: what they have made need not go through the scheduler then."""
        from distributed.comm import connect

        async def answers(address: str) -> bool:
            try:
                comm = await connect(address, timeout=_CONNECT, **self.client.connection_args)
            except OSError:
                return False
            comm.abort()
            return True

        return all(self.client.sync(answers, address) for address in list(self.client.ncores())[:1])
