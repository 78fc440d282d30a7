"""The machine that a fit ran on: without it a time means nothing."""

import os
import platform
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("boostforest", "scikit-learn", "numpy", "scipy")


def describe() -> dict[str, Any]:
    """Return processor, memory, system, Python and the packages that all learners share."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def sentence(machine: dict[str, Any]) -> str:
    """Write a description as one sentence."""
    memory = f", {machine['memory_gb']} GB" if machine.get("memory_gb") else ""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    head = f"{machine['cores']} cores of {machine['processor']}{memory}; {machine['system']}"
    return f"{head}; Python {machine['python']}, {packages}"


def _processor() -> str:
    with suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> int | None:
    with suppress(ValueError, OSError, AttributeError):
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return None
