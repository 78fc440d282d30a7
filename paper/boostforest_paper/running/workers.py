"""Processes that fit: a learner that crashes or never ends takes its process with it, not the run."""

import math
import multiprocessing
import os
import signal
import threading
import warnings
from multiprocessing import connection
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from boostforest_paper import plugins
from boostforest_paper.experiments import real
from boostforest_paper.plugins import THREAD_VARIABLES
from boostforest_paper.running import fits
from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job

_CONTEXT = multiprocessing.get_context("spawn")  # a fork would inherit threads and locks of the libraries


class Setup(NamedTuple):
    """What a worker needs to know before its first job."""

    folder: Path  # of the data
    threads: int
    plugins: tuple[Path, ...]


def _die_with(parent: Any) -> None:
    """End this process when its parent has ended: nobody would take the result."""
    connection.wait([parent.sentinel])
    os._exit(1)


def _serve(pipe: connection.Connection, setup: Setup) -> None:
    """Answer jobs with outcomes, or with an exception in words, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    threading.Thread(target=_die_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # learners print; the terminal shows the progress
        os.dup2(quiet, stream)
    warnings.simplefilter("ignore")
    for plugin in setup.plugins:
        plugins.load(plugin)
    real.use_folder(setup.folder)
    warm: set[tuple[str, str]] = set()
    pipe.send(None)  # ready
    while True:
        try:
            job = Job(*pipe.recv())
        except EOFError:
            return
        try:
            fits.warm_up(job, warm, setup.folder, setup.threads)
            answer: Outcome | str = fits.run(job, setup.folder, setup.threads)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        pipe.send(answer)


class Worker:
    """One process, and the job that it has."""

    def __init__(self, setup: Setup) -> None:
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(setup.threads)))  # inherited by the process
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, setup), daemon=True)
        self._process.start()
        theirs.close()
        self.job: Job | None = None
        self._started = math.inf  # of the job; imports do not count
        self._is_ready = False

    def give(self, job: Job) -> None:
        """Hand over a job."""
        self.job = job
        self._started = monotonic() if self._is_ready else math.inf
        self.pipe.send(tuple(job))

    def take(self) -> Outcome | str | None:
        """Return the answer, or how the process ended; None if it only says that it is ready to begin."""
        try:
            answer = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            answer = f"the process of the fit ended with {_describe_exit(self._process.exitcode)}"
        if answer is None:
            self._started, self._is_ready = monotonic(), True
        else:
            self.job = None
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether it can take another job."""
        return self._process.is_alive()

    @property
    def seconds(self) -> float:
        """Seconds since it began its job."""
        return monotonic() - self._started

    def kill(self) -> None:
        """End the process whatever it does."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _describe_exit(code: int | None) -> str:
    """Say how a process ended."""
    if code is not None and code < 0:
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"status {code}"
