"""What the benchmarks share in reporting: the machine they ran on and the JSON file of their results."""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("boostforest", "scikit-learn", "numpy", "scipy")


def environment() -> dict[str, Any]:
    """Versions and processor: without them a time means nothing."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def write_json(path: Path, args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write options, environment and results; paths among the options stay out, they are this machine's."""
    options = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
    content = {"options": options, "environment": environment(), **results}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
