"""Learners take turns on a table, each in its own process; what fails or takes too long is noted, not fatal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType

from benchmarks.speed.children import Child, ChildError, TimeLimitError
from benchmarks.speed.results import Outcome
from benchmarks.speed.tables import Size, Stored

Start = Callable[[str], Child]


class Runner:
    """The workers of one number of threads; a context, at whose end they are ended.

    Parameters
    ----------
    learners : iterable of str
        Who takes part.
    start : callable
        Starts the worker of a learner.
    limit : float
        Seconds that one fit, or the predictions after it, may take.
    fit_calls : int
        Fits of one repeat, as long as they are short; their median counts.
    """

    def __init__(self, learners: Iterable[str], start: Start, limit: float, fit_calls: int = 1) -> None:
        self.learners = list(learners)
        self.versions: dict[str, str | None] = {}
        self.left_out: dict[str, str] = {}  # why, by name of the learner
        self._start = start
        self._limit = limit
        self._fit_calls = fit_calls
        self._children: dict[str, Child] = {}
        self._too_large: dict[str, list[Size]] = {name: [] for name in self.learners}

    def __enter__(self) -> Runner:
        try:
            for name in self.learners:
                self._begin(name)
            for name in list(self.learners):  # all import at once; nothing is timed yet
                self._greet(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for child in self._children.values():
            child.close()

    def _begin(self, name: str) -> None:
        """Start a worker, maybe again."""
        if name in self._children:
            self._children[name].close()
        self._children[name] = self._start(name)

    def _greet(self, name: str) -> None:
        """Wait for a worker to be ready; who cannot be started is left out from here on."""
        child = self._children[name]
        try:
            self.versions[name] = child.hello()["version"]
        except ChildError as error:
            self.left_out[name] = str(error)
            self.learners.remove(name)
            child.close()

    def run(self, table: Stored, n_repeats: int) -> dict[str, Outcome]:
        """Measure everyone so many times on one table; each repeat begins with another learner."""
        outcomes = {name: Outcome() for name in self.learners}
        for name, outcome in outcomes.items():
            if any(table.size.reaches(size) for size in self._too_large[name]):
                outcome.note = "skipped: a smaller table took too long"
        for repeat in range(n_repeats):
            names = list(outcomes)
            first = repeat % len(names)
            for name in names[first:] + names[:first]:
                if outcomes[name].note is None:
                    self._measure(name, table, repeat, outcomes[name])
        return outcomes

    def _measure(self, name: str, table: Stored, repeat: int, outcome: Outcome) -> None:
        """Do one repeat of one learner: fit, then predict."""
        if not self._children[name].is_alive:
            self._begin(name)
            self._greet(name)
        if name in self.left_out:
            outcome.note = f"could not be started again: {self.left_out[name]}"
            return
        job = {"folder": str(table.folder), "task": table.task, "n_classes": table.size.n_classes}
        job |= {"seed": repeat, "fit_calls": self._fit_calls}
        child = self._children[name]
        step = "fit"
        try:
            outcome.repeats.append(child.ask({**job, "step": step}, self._limit))
            step = "predict"
            outcome.repeats[-1] |= child.ask({**job, "step": step}, self._limit)
        except TimeLimitError as error:
            self._too_large[name].append(table.size)
            outcome.note = f"{step} {error}; skipped here and on larger tables"
            if step == "fit":
                outcome.fit_exceeds = self._limit
        except ChildError as error:
            outcome.note = f"{step} failed: {error}"
