"""Worker processes seen from outside: started with their number of threads, asked with a time limit, ended for sure."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from boostforest_paper.plugins import THREAD_VARIABLES

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300.0  # imports and warm-up; generous, because a cold disk may be slow


class ChildError(Exception):
    """A worker could not be used, said in one line."""


class MissingPackageError(ChildError):
    """Its package is not installed."""


class TimeLimitError(ChildError):
    """It did not answer in time and was ended."""


class Child:
    """One worker process.

    Parameters
    ----------
    learner : str
        What it runs, by its name in boostforest-paper's registry.
    threads : int
        Threads of the learner and of every thread pool.
    n_estimators : int
        Trees of a forest.
    prefix : Path, optional
        Folder whose packages go before the installed ones. Path files of the environment are then not read:
        those of an editable install would put its package first again.
    plugins : sequence of Path
        Files that register more learners.
    """

    def __init__(
        self, learner: str, threads: int, n_estimators: int, *, prefix: Path | None = None, plugins: Sequence[Path] = ()
    ) -> None:
        self._prefix = prefix
        path = [str(ROOT), str(ROOT / "paper"), *filter(None, [os.environ.get("PYTHONPATH")])]
        options = []
        if prefix is not None:
            options = ["-S"]
            path = [str(prefix), *path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        arguments = [learner, str(threads), str(n_estimators), *map(str, plugins)]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - close() does
        self._process = subprocess.Popen(
            [sys.executable, *options, "-m", "benchmarks.speed.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": os.pathsep.join(path)},
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stdout: IO[str]) -> None:
        """Pass on what the worker says: a pipe cannot be read with a time limit on every system, a queue can."""
        for line in stdout:
            self._lines.put(line)
        self._lines.put("")

    def hello(self) -> dict[str, Any]:
        """Wait until the worker is ready; return the version and file of its package."""
        answer = self._answer(START_SECONDS)
        if self._prefix is not None and not Path(answer["file"]).is_relative_to(self._prefix):
            raise ChildError(f"it would run {answer['file']}, not what is in {self._prefix}")
        return answer

    def ask(self, job: dict[str, Any], limit: float) -> dict[str, Any]:
        """Have one job done within a limit of seconds."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a worker that is gone gives no answer, which says more
            print(json.dumps(job), file=self._process.stdin, flush=True)
        return self._answer(limit)

    def _answer(self, limit: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise TimeLimitError(f"not done after {limit:g} s") from None
        if not line:
            raise ChildError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "missing" in answer:
            raise MissingPackageError(answer["missing"])
        if "error" in answer:
            raise ChildError(answer["error"])
        return answer

    def _last_words(self) -> str:
        """How a worker ended that nobody asked to."""
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process ended with status {status}{': ' + lines[-1] if lines else ''}"

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and wait for it; harmless when done twice."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                    pipe.close()
