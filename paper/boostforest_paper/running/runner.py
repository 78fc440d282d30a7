"""A run: claims of fits, worker processes that do them, results into the store."""

from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing import connection
from time import monotonic, time

from boostforest_paper import learners
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.progress import Progress
from boostforest_paper.running.store import BEAT_SECONDS, Store
from boostforest_paper.running.workers import Setup, Worker

TICK_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """When a run ends before it is through."""

    minutes: float | None = None  # no fit is begun after so many
    fit_seconds: float | None = None  # a fit that takes longer has failed
    retry_failed: bool = False


class Runner:
    """Do the fits that nobody else does, with several processes at once.

    Parameters
    ----------
    store : Store
        Where the results go.
    setup : Setup
        What the worker processes need to know.
    machine : int
        Number of this machine in the store.
    limits : Limits
        When to end.
    progress : Progress
        Is told what happens.
    """

    def __init__(self, store: Store, setup: Setup, machine: int, limits: Limits, progress: Progress) -> None:
        self._store = store
        self._setup = setup
        self._machine = machine
        self._limits = limits
        self._progress = progress
        self._started, self._retry_before = monotonic(), time() if limits.retry_failed else 0.0
        self._workers: list[Worker] = []
        self._too_slow: set[tuple[str, str]] = set()  # dataset and learner: other repeats would take as long
        self._next_beat = 0.0

    def run(self, jobs: Iterable[Job], n_processes: int) -> bool:
        """Do the jobs in their order; return whether none was left for want of time."""
        waiting = iter(jobs)
        try:
            while True:
                in_time = self._start_fits(waiting, n_processes)
                busy = [worker for worker in self._workers if worker.job is not None]
                if not busy:
                    return in_time
                self._wait(busy)
        finally:
            for worker in self._workers:
                worker.kill()
            self._store.release()

    def _start_fits(self, waiting: Iterable[Job], n_processes: int) -> bool:
        """Give every idle process a fit that is free; return whether there is time for more."""
        minutes = self._limits.minutes
        while sum(worker.job is not None for worker in self._workers) < n_processes:
            if minutes is not None and monotonic() - self._started > 60 * minutes:
                return False
            job = self._claim(waiting)
            if job is None:
                return True
            self._idle_worker().give(job)
            self._progress.begin(job)
        return True

    def _claim(self, waiting: Iterable[Job]) -> Job | None:
        for job in waiting:
            is_too_slow = (job.dataset, job.learner) in self._too_slow
            if not is_too_slow and self._store.claim(job, self._retry_before):
                return job
            self._progress.skip(job)
        return None

    def _idle_worker(self) -> Worker:
        self._workers = [worker for worker in self._workers if worker.is_alive]
        idle = [worker for worker in self._workers if worker.job is None]
        if not idle:
            idle = [Worker(self._setup)]
            self._workers += idle
        return idle[0]

    def _wait(self, busy: list[Worker]) -> None:
        """Take what is ready, end what takes too long, renew the claims."""
        by_pipe = {worker.pipe: worker for worker in busy}
        for pipe in connection.wait(list(by_pipe), TICK_SECONDS):
            worker = by_pipe[pipe]  # type: ignore[index]
            job, answer = worker.job, worker.take()
            if answer is not None:
                self._write(job, answer)
        limit = self._limits.fit_seconds
        for worker in busy:
            if worker.job is not None and limit is not None and worker.seconds > limit:
                worker.kill()
                self._too_slow.add((worker.job.dataset, worker.job.learner))
                self._write(worker.job, f"not done after {limit:g} s")
                worker.job = None
        if monotonic() >= self._next_beat:
            self._store.beat()
            self._next_beat = monotonic() + BEAT_SECONDS
        self._progress.tick()

    def _write(self, job: Job | None, answer: Outcome | str) -> None:
        assert job is not None
        version = learners.find(job.learner).version()
        place = (version, self._machine, self._setup.threads)
        if isinstance(answer, str):
            self._store.fail(job, answer, *place)
            self._progress.fail(job, answer)
        else:
            self._store.finish(job, answer, *place)
            self._progress.finish(job, answer)
