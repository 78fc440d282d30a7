"""How much memory there is, and refusing what would take more."""

import os
from pathlib import Path

FEWER_CLASSES = "fewer classes (a regressor, if the target is a number)"
SMALL = 2**28  # bytes that nobody asks about
#: Where the system does not tell how much memory there is.
UNKNOWN = 64 * 2**30


def refuse_if_too_much(n_bytes: float, what: str, advice: list[str], is_model: bool = False) -> None:
    """Raise MemoryError with one sentence if there is not so much memory; of a model not twice as much."""
    if n_bytes <= SMALL:
        return
    available = available_memory()
    if n_bytes > (available / 2 if is_model else available):
        there = f"{_gigabytes(available)} are available" + (", half of which a model may take" if is_model else "")
        raise MemoryError(
            f"{what} would take about {_gigabytes(n_bytes)} of memory, and {there}: "
            f"use {', '.join(advice[:-1])} or {advice[-1]}."
        )


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.3g} GB" if n_bytes < 1e12 else f"{n_bytes / 1e9:,.0f} GB"


def available_memory() -> int:
    """Return the bytes that this process can still get, as far as the system tells."""
    found = [n for n in (_of_machine(), *_of_groups()) if n is not None]
    return max(min(found, default=UNKNOWN), 0)


def _of_machine() -> int | None:
    """Return the available memory (Linux), or all there is."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_groups() -> list[int]:
    """Return what is left of the limits of a container or another control group, on Linux."""
    left = []
    for line in _lines("/proc/self/cgroup"):
        number, controllers, path = line.strip().split(":", 2)
        if number == "0":
            root, limit, used = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = root / path.lstrip("/")
        for group in (own, *own.parents):
            values = [_number(group / name) for name in (limit, used)]
            if values[0] is not None and values[1] is not None:
                left.append(values[0] - values[1] + _cached(group))
            if group == root:
                break
    return left


def _cached(group: Path) -> int:
    """Return what a group would give back of the files that it has read."""
    return sum(int(line.split()[1]) for line in _lines(group / "memory.stat") if line.startswith("inactive_file "))


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None  # "max": no limit


def _lines(path: Path | str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
