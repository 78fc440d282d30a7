"""Runs Weka, the reference for the model trees, where Java and its jar are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

JAR = Path(os.environ.get("BOOSTFOREST_WEKA_JAR", "/usr/share/java/weka.jar"))  # where Debian's package puts it


def why_not() -> str | None:
    """Say why Weka cannot run here; None if it can."""
    if shutil.which("java") is None:
        return "Java is not installed"
    return None if JAR.is_file() else f"Weka is not installed: no {JAR} (BOOSTFOREST_WEKA_JAR names another file)"


class WekaRun(NamedTuple):
    """What Weka prints about a regression model and its test rows."""

    rmse: float
    n_leaves: int
    seconds: float  #: to build the model, in steps of 0.01


def run_m5p(X: Floats, y: Floats, X_test: Floats, y_test: Floats, options: Sequence[str] = ()) -> WekaRun:
    """Fit M5P and test it."""
    output = _call(X, y, X_test, y_test, options)
    tested = output[output.index("=== Error on test data ===") :]
    return WekaRun(
        float(_number_after("Root mean squared error", tested)),
        int(_number_after("Number of Rules :", output)),
        float(_number_after("Time taken to build model:", output)),
    )


def _number_after(label: str, text: str) -> str:
    return text.split(label, 1)[1].split(maxsplit=1)[0]


def predict_m5p(X: Floats, y: Floats, X_test: Floats, options: Sequence[str] = ()) -> Floats:
    """Fit M5P and predict; Weka prints three decimals."""
    output = _call(X, y, X_test, np.zeros(len(X_test)), [*options, "-p", "0"])
    return np.array([float(line.split()[2]) for line in output.splitlines() if re.match(r" +\d+ ", line)])


def version() -> str:
    """Return Weka's version."""
    command = ["java", "-cp", str(JAR), "weka.core.Version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def _call(X: Floats, y: Floats, X_test: Floats, y_test: Floats, options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder) / "train.arff", Path(folder) / "test.arff"
        write_arff(train, X, y)
        write_arff(test, X_test, y_test)
        command = ["java", "-cp", str(JAR), "weka.classifiers.trees.M5P", "-t", str(train), "-T", str(test), *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write_arff(path: Path, X: Floats, y: Floats) -> None:
    """Write a table of numbers with its target as the last column; NaN is a missing value."""
    names = [*[f"x{j}" for j in range(X.shape[1])], "y"]
    lines = ["@relation table", *[f"@attribute {name} numeric" for name in names], "@data"]
    lines += [",".join("?" if np.isnan(v) else repr(float(v)) for v in row) for row in np.column_stack([X, y]).tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
