"""Runs Weka, the reference for the model trees and for boosting, where Java and its jar are installed."""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

JAR = Path(os.environ.get("BOOSTFOREST_WEKA_JAR", "/usr/share/java/weka.jar"))  # where Debian's package puts it
PROGRAMS = {
    "M5P": "weka.classifiers.trees.M5P",
    "LMT": "weka.classifiers.trees.LMT",
    "SimpleLogistic": "weka.classifiers.functions.SimpleLogistic",
    "LogitBoost": "weka.classifiers.meta.LogitBoost",
    "MultiBoostAB": "weka.classifiers.meta.MultiBoostAB",
}


def why_not() -> str | None:
    """Say why Weka cannot run here; None if it can."""
    if shutil.which("java") is None:
        return "Java is not installed"
    return None if JAR.is_file() else f"Weka is not installed: no {JAR} (BOOSTFOREST_WEKA_JAR names another file)"


class Fold(NamedTuple):
    """A table, split into two parts; classes are numbers."""

    X_train: Floats
    y_train: npt.NDArray
    X_test: Floats
    y_test: npt.NDArray


def fold(X: Floats, y: npt.NDArray, repeat: int) -> Fold:
    """Split a table at random, a fifth for the test, as the paper's experiments do."""
    order = np.random.default_rng(repeat).permutation(len(y))
    n_test = -(-len(y) // 5)
    train, test = order[n_test:], order[:n_test]
    return Fold(X[train], y[train], X[test], y[test])


def by_class(part: Fold) -> Fold:
    """Return the part with labels as numbers and training rows sorted by class.

    Weka groups the rows by class before it deals them into folds, and may change their order then; sorted rows stay.
    """
    classes = np.unique(np.concatenate([part.y_train, part.y_test]))
    y_train, y_test = (np.searchsorted(classes, y) for y in (part.y_train, part.y_test))
    order = np.argsort(y_train, kind="stable")
    return Fold(part.X_train[order], y_train[order], part.X_test, y_test)


class WekaRun(NamedTuple):
    """What Weka prints about a model and its test rows."""

    score: float  #: RMSE or accuracy
    n_leaves: int
    seconds: float  #: to build the model, in steps of 0.01


def run(program: str, part: Fold, options: Sequence[str] = ()) -> WekaRun:
    """Fit and test."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_parts(Path(folder), program, part)
        output = _java(PROGRAMS[program], "-t", train, "-T", test, *options)
    tested = output[output.index("=== Error on test data ===") :]
    n_leaves = re.search(r"Number of (?:Leaves +|Rules ):\s+(\d+)", output)
    if program == "M5P":
        score = float(_number_after("Root mean squared error", tested))
    else:
        score = int(_number_after("Correctly Classified Instances", tested)) / len(part.y_test)
    seconds = float(_number_after("Time taken to build model:", output))
    return WekaRun(score, int(n_leaves[1]) if n_leaves else 1, seconds)


def predict_m5p(part: Fold, options: Sequence[str] = ()) -> Floats:
    """Fit M5P and predict; Weka prints three decimals."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_parts(Path(folder), "M5P", part)
        output = _java(PROGRAMS["M5P"], "-t", train, "-T", test, *options, "-p", "0")
    return np.array([float(line.split()[2]) for line in output.splitlines() if re.match(r" +\d+ ", line)])


def probabilities(program: str, part: Fold, options: Sequence[str] = ()) -> Floats:
    """Fit and predict the probabilities of the test rows, to six decimals."""
    n_classes = int(part.y_train.max()) + 1
    with tempfile.TemporaryDirectory() as folder:
        train, test = write_parts(Path(folder), program, part)
        written = Path(folder, "out.arff")
        files = ["-b", "-i", train, "-o", str(Path(folder, "train-out.arff")), "-r", test, "-s", str(written)]
        learner = " ".join([PROGRAMS[program], *options])
        add = "weka.filters.supervised.attribute.AddClassification"
        _java(add, "-W", learner, "-distribution", "-c", "last", *files)
        rows = written.read_text(encoding="ascii").split("@data")[1].split()
    return np.array([[float(v) for v in row.split(",")[-n_classes:]] for row in rows])


def version() -> str:
    """Return Weka's version."""
    return _java("weka.core.Version").split()[0]


def _java(program: str, *arguments: str) -> str:
    command = ["java", "-cp", str(JAR), program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _number_after(label: str, text: str) -> str:
    return text.split(label, 1)[1].split(maxsplit=1)[0]


def write_parts(folder: Path, program: str, part: Fold) -> tuple[str, str]:
    """Write the two parts in Weka's format, the target last; NaN is a missing value."""
    classes = ",".join(f"c{k}" for k in range(int(max(part.y_train.max(), part.y_test.max())) + 1))
    target = "numeric" if program == "M5P" else f"{{{classes}}}"
    paths = folder / "train.arff", folder / "test.arff"
    for path, X, y in zip(paths, (part.X_train, part.X_test), (part.y_train, part.y_test), strict=True):
        lines = ["@relation table", *[f"@attribute x{j} numeric" for j in range(X.shape[1])]]
        lines += [f"@attribute y {target}", "@data"]
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            written = repr(float(label)) if program == "M5P" else f"c{label}"
            lines.append(",".join([*["?" if v != v else repr(v) for v in row], written]))
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(paths[0]), str(paths[1])


def papers_data(name: str, folder: Path) -> tuple[Floats, npt.NDArray]:
    """Read one of the paper's datasets, which boostforest-paper knows."""
    from boostforest_paper import data

    X, y, _ = data.load(name, folder)
    return X, y


def read_record(path: Path) -> dict[str, Any]:
    """Return Weka's recorded figures by dataset."""
    return json.loads(path.read_text(encoding="utf-8"))["results"]


def record_from_command_line(path: Path, text: str | None, known: Iterable[str], record: Callable[..., Any]) -> None:
    """Record what the command line names, or else all that is known without files; Weka takes a while."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: those that are generated")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the paper's datasets")
    args = parser.parse_args()
    results = read_record(path) if path.is_file() else {}
    for name in args.names or known:
        results[name] = record(name, args.data)
        print(name, results[name], flush=True)  # noqa: T201
        path.write_text(json.dumps({"results": results, "weka": version()}, indent=1) + "\n", encoding="utf-8")


def run_all(runs: Mapping[Any, tuple[str, Fold]]) -> dict[Any, WekaRun]:
    """Run several programs side by side."""
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return dict(zip(runs, pool.map(lambda one: run(*one), runs.values()), strict=True))
