"""A progress bar for long fits."""

import sys
import time


class Progress:
    """Called with the number of finished trees; draws one line on standard error."""

    def __init__(self, total: int, what: str = "trees") -> None:
        self.total = total
        self.what = what
        self.restart()

    def restart(self) -> None:
        """Count the seconds from now on."""
        self._start = time.perf_counter()

    def __call__(self, done: int) -> None:
        seconds = time.perf_counter() - self._start
        filled = 30 * done // self.total
        left = f", {seconds / done * (self.total - done):.0f} s left" if 0 < done < self.total else ""
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {done:,}/{self.total:,} {self.what}, {seconds:.1f} s{left}"
        print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        """Draw the full bar and end the line."""
        self(self.total)
        print(file=sys.stderr)  # noqa: T201
