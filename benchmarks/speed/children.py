"""Worker processes seen from outside: started with their number of threads, asked in turns, ended for sure."""

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement
from benchmarks.speed.tables import Stored
from boostforest_paper.plugins import THREAD_VARIABLES

ROOT = Path(__file__).resolve().parents[2]


class ChildError(Exception):
    """A worker could not be used, said in one line."""


class Child:
    """One worker process; ``prefix``: a folder whose packages go before the installed ones."""

    def __init__(self, learner: str, threads: int, n_estimators: int, prefix: Path | None = None) -> None:
        path = [str(ROOT), str(ROOT / "paper"), *filter(None, [os.environ.get("PYTHONPATH")])]
        options = []
        if prefix is not None:  # without path files: those of an editable install would put its package first again
            options = ["-S"]
            path = [str(prefix), *path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        self._prefix = prefix
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - close() does
        self._process = subprocess.Popen(
            [sys.executable, *options, "-m", "benchmarks.speed.worker", learner, str(threads), str(n_estimators)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": os.pathsep.join(path)},
            encoding="utf-8",
        )

    def hello(self) -> None:
        """Wait until the worker is ready."""
        file = self._answer()["file"]
        if self._prefix is not None and not Path(file).is_relative_to(self._prefix):
            raise ChildError(f"it would run {file}, not what is in {self._prefix}")

    def measure(self, table: Stored, seed: int, fit_calls: int = 1) -> Measurement:
        """Have one model fitted and asked; of several fits, as long as they are short, the median counts."""
        assert self._process.stdin is not None
        job = {"folder": str(table.folder), "task": table.task, "n_classes": table.n_classes}
        with contextlib.suppress(OSError):  # a worker that is gone gives no answer, which says more
            print(json.dumps(job | {"seed": seed, "fit_calls": fit_calls}), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise ChildError(lines[-1] if lines else f"the process ended with status {status}")

    def close(self) -> None:
        """End the process and wait for it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                    pipe.close()


@contextlib.contextmanager
def closing_all(children: dict[str, Child]) -> Iterator[dict[str, Child]]:
    """End all workers at the end."""
    try:
        yield children
    finally:
        for child in children.values():
            child.close()


def in_turns(children: dict[str, Child], table: Stored, repeats: int, fit_calls: int = 1) -> dict[str, Any]:
    """Measure all on one table, each repeat from another one on; return lists of measurements by name."""
    measured: dict[str, list[Measurement]] = {name: [] for name in children}
    names = list(children)
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            measured[name].append(children[name].measure(table, repeat, fit_calls))
    return measured
