"""Runs Weka's LMT and SimpleLogistic, and its boosting."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import weka
from boostforest_paper.datasets import Floats, Fold

CLASSIFIERS = {
    "LMT": "weka.classifiers.trees.LMT",
    "SimpleLogistic": "weka.classifiers.functions.SimpleLogistic",
    "LogitBoost": "weka.classifiers.meta.LogitBoost",
    "MultiBoostAB": "weka.classifiers.meta.MultiBoostAB",
}


class WekaRun(NamedTuple):
    """What Weka prints about a classifier and its test rows."""

    accuracy: float
    n_leaves: int
    seconds: float  #: to build the model, in steps of 0.01


def by_class(part: Fold) -> Fold:
    """Return the part with labels as numbers and training rows sorted by class.

    Weka groups the rows by class before it deals them into folds, and may change their order then; sorted rows stay.
    """
    classes = np.unique(np.concatenate([part.y_train, part.y_test]))
    y_train, y_test = (np.searchsorted(classes, y) for y in (part.y_train, part.y_test))
    order = np.argsort(y_train, kind="stable")
    return Fold(part.X_train[order], y_train[order], part.X_test, y_test)


def run(classifier: str, part: Fold, options: Sequence[str] = ()) -> WekaRun:
    """Fit and test; labels are numbers."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = _write_parts(Path(folder), part)
        output = _java(CLASSIFIERS[classifier], "-t", train, "-T", test, *options)
    tested = output[output.index("=== Error on test data ===") :]
    n_leaves = re.search(r"Number of Leaves +:\s+(\d+)", output)
    return WekaRun(
        int(_number_after("Correctly Classified Instances", tested)) / len(part.y_test),
        int(n_leaves[1]) if n_leaves else 1,
        float(_number_after("Time taken to build model:", output)),
    )


def _number_after(label: str, text: str) -> str:
    return text.split(label, 1)[1].split(maxsplit=1)[0]


def probabilities(classifier: str, part: Fold, options: Sequence[str] = ()) -> Floats:
    """Fit and predict the probabilities of the test rows, to six decimals."""
    n_classes = int(part.y_train.max()) + 1
    with tempfile.TemporaryDirectory() as folder:
        train, test = _write_parts(Path(folder), part)
        written = Path(folder) / "out.arff"
        learner = " ".join([CLASSIFIERS[classifier], *options])
        files = ["-b", "-i", train, "-o", str(Path(folder) / "train-out.arff"), "-r", test, "-s", str(written)]
        program = "weka.filters.supervised.attribute.AddClassification"
        _java(program, "-W", learner, "-distribution", "-c", "last", *files)
        rows = written.read_text(encoding="ascii").split("@data")[1].split()
    return np.array([[float(v) for v in row.split(",")[-n_classes:]] for row in rows])


def _java(program: str, *arguments: str) -> str:
    command = ["java", "-cp", str(weka.JAR), program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _write_parts(folder: Path, part: Fold) -> tuple[str, str]:
    """Write the two parts in Weka's format; NaN is a missing value."""
    paths = folder / "train.arff", folder / "test.arff"
    classes = ",".join(f"c{k}" for k in range(max(part.y_train.max(), part.y_test.max()) + 1))
    for path, X, y in zip(paths, (part.X_train, part.X_test), (part.y_train, part.y_test), strict=True):
        lines = ["@relation table", *[f"@attribute x{j} numeric" for j in range(X.shape[1])]]
        lines += [f"@attribute y {{{classes}}}", "@data"]
        for row, label in zip(X.tolist(), y, strict=True):
            lines.append(",".join([*["?" if v != v else repr(v) for v in row], f"c{label}"]))
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(paths[0]), str(paths[1])
