"""What a run says while it runs: how many fits are done, and how long the rest will take."""

import sys
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, TextIO

from boostforest_paper.running.estimate import Estimate
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job

LINE_SECONDS = 15.0  # between two lines where the output is not a terminal


def duration(seconds: float) -> str:
    """Write seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:02.0f} min"


class Progress:
    """Keep count, and write one line that changes (on a terminal) or a line now and then.

    Parameters
    ----------
    jobs : iterable of Job
        What the run is to do, done or not.
    done : mapping
        Rows of the store when the run began.
    estimate : Estimate
        What is known about the seconds of a fit; it learns on.
    n_processes : int
        Fits at once.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        done: Mapping[Job, Mapping[str, Any]],
        estimate: Estimate,
        n_processes: int,
        stream: TextIO | None = None,
    ) -> None:
        self._left = {job for job in jobs if job not in done or done[job]["state"] == "claimed"}
        self._n_before = len(list(jobs)) - len(self._left)
        self._estimate = estimate
        self._n_processes = n_processes
        self._stream = stream or sys.stderr
        self._started = monotonic()
        self._next_line = 0.0
        self._running: dict[Job, float] = {}
        self.n_finished = self.n_failed = self.n_others = 0

    def begin(self, job: Job) -> None:
        """Note that a fit has begun."""
        self._running[job] = monotonic()

    def skip(self, job: Job) -> None:
        """Note that a fit is done already, or that another process has it."""
        if job in self._left:
            self._left.discard(job)
            self.n_others += 1

    def finish(self, job: Job, outcome: Outcome) -> None:
        """Note that a fit is done."""
        self._end(job)
        self.n_finished += 1
        self._estimate.add(job, outcome.tune_seconds + outcome.fit_seconds + outcome.predict_seconds)

    def fail(self, job: Job, error: str) -> None:
        """Say that a fit has failed."""
        self._end(job)
        self.n_failed += 1
        self._write(f"failed: {job}: {error}", stays=True)

    def _end(self, job: Job) -> None:
        self._running.pop(job, None)
        self._left.discard(job)

    def left_seconds(self) -> float | None:
        """Return how long the rest will take; None if nothing is known about most of it."""
        if not self._left:
            return 0.0
        now = monotonic()
        known = [
            max(0.0, seconds - (now - self._running.get(job, now)))
            for job in self._left
            if (seconds := self._estimate.seconds(job)) is not None
        ]
        if len(known) < len(self._left) / 2:
            return None
        return sum(known) * len(self._left) / len(known) / self._n_processes

    def tick(self) -> None:
        """Write the line, not too often."""
        if monotonic() < self._next_line:
            return
        is_terminal = self._stream.isatty()
        self._next_line = monotonic() + (1.0 if is_terminal else LINE_SECONDS)
        self._write(self._line(), stays=not is_terminal)

    def _line(self) -> str:
        n_done = self._n_before + self.n_finished + self.n_failed + self.n_others
        left = self.left_seconds()
        text = f"{n_done} of {n_done + len(self._left)} fits, {duration(monotonic() - self._started)} gone"
        text += ", time left unknown yet" if left is None else f", about {duration(left)} left"
        running = next(iter(self._running), None)
        return text if running is None else f"{text} ({running})"

    def _write(self, text: str, stays: bool) -> None:
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[2K{text}" + ("\n" if stays else ""))
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the last line standing and say what was done."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[2K")
        parts = [f"{self.n_finished} fits done in {duration(monotonic() - self._started)}"]
        if self._n_before:
            parts.append(f"{self._n_before} were done before")
        if self.n_others:
            parts.append(f"{self.n_others} done by other processes")
        if self.n_failed:
            parts.append(f"{self.n_failed} failed")
        if self._left:
            parts.append(f"{len(self._left)} left")
        self._write("; ".join(parts) + ".", stays=True)
