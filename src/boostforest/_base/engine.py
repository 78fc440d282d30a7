"""What works elsewhere: tasks that are pure functions, values that all of them share, and the instructions they use."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Self

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
    def share(self, value: Any) -> "Shared":
        """Send a value once to where all tasks can have it."""

    @abstractmethod
    def run(self, function: Callable[..., Any], shared: "Sequence[Shared]", tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield ``function(*shared, *task)`` for every task, in their order."""

    def run_in_groups(
        self,
        function: Callable[..., Any],
        shared: "Sequence[Shared]",
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
