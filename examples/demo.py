"""BoostForest beside RandomForest on three datasets that ship with scikit-learn.

Prints a table of scores, times and sizes. With matplotlib it then draws how the loss of BoostForest falls as trees are
added, and writes the report of the last forest as a page to open in a browser.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from boostforest import BoostForestClassifier, BoostForestRegressor, plot

N_TREES = 250
HEADER = f"{'dataset':<26}{'model':<14}{'test score':<15}{'fit':>10}{'predict':>12}{'size':>12}"

FILES = """
Look at
  {report:<24}the report of BoostForest on diabetes, to open in a browser
  {picture:<24}how the loss of forests falls, tree by tree"""
NO_FILES = """
With matplotlib there would be a report page and a picture, too: pip install "boostforest[plot]"
Look at"""
NEXT = """\
  README.md               ten lines to begin with
  docs/when_to_use.md     when to use it, and when not, by measurements
  docs/tables.md          text, categories and missing values in your tables
  docs/command_line.md    fit and predict without writing Python
Next: make test, or the ten lines with your own table in .venv/bin/python."""


class Problem(NamedTuple):
    """One dataset of the demo."""

    title: str
    loader: Callable[..., Any]
    is_classification: bool

    @property
    def metric(self) -> str:
        """Name of the score."""
        return "accuracy" if self.is_classification else "R\u00b2"

    def score(self, y: npt.NDArray, predicted: npt.NDArray) -> float:
        """Accuracy for classes, R2 for numbers."""
        return float((accuracy_score if self.is_classification else r2_score)(y, predicted))

    def models(self) -> dict[str, Any]:
        """Return the forests, unfitted, by name: BoostForest as it comes, as a single stage, and RandomForest."""
        classes = (
            (BoostForestClassifier, RandomForestClassifier)
            if self.is_classification
            else (BoostForestRegressor, RandomForestRegressor)
        )
        settings = {"n_estimators": N_TREES, "n_jobs": -1, "random_state": 0}
        boost, random = classes[0](**settings), classes[1](**settings)
        return {"BoostForest": boost, "… fast": classes[0](preset="fast", **settings), "RandomForest": random}

    def split(self) -> list[Any]:
        """Return the rows to fit and those to test: X, X, y, y. With pandas, columns have names."""
        X, y = self.loader(return_X_y=True, as_frame=find_spec("pandas") is not None)
        return train_test_split(X, y, test_size=0.3, random_state=0, stratify=y if self.is_classification else None)


PROBLEMS = (
    Problem("breast cancer, 2 classes", load_breast_cancer, True),
    Problem("digits, 10 classes", load_digits, True),
    Problem("diabetes, regression", partial(load_diabetes, scaled=False), False),
)


class Result(NamedTuple):
    """What came out on one dataset."""

    forests: dict[str, Any]  #: BoostForest as it comes, and as a single stage
    X_test: Any
    y_test: Any


def model_bytes(model: Any) -> int:
    """BoostForest counts its own size; for another model take the length of its pickle."""
    own = getattr(model, "model_size_", None)
    return len(pickle.dumps(model, protocol=5)) if own is None else int(own)


def timed(call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return what the call returns and the seconds it took."""
    start = perf_counter()
    result = call(*args)
    return result, perf_counter() - start


def line(title: str, name: str, score: str, seconds: tuple[float, float], size: int) -> str:
    """One line of the table, in the columns of `HEADER`; the seconds are those of fit and of predict."""
    times = f"{seconds[0]:>8.2f} s{seconds[1] * 1e3:>9.1f} ms"
    return f"{title:<26}{name:<14}{score:<15}{times}{size / 1e6:>9.2f} MB"


def run(problem: Problem) -> Result:
    """Fit the forests and print their lines of the table."""
    X_train, X_test, y_train, y_test = problem.split()
    models = problem.models()
    for name, model in models.items():
        _, fit_s = timed(model.fit, X_train, y_train)
        predicted, predict_s = timed(model.predict, X_test)
        shown = f"{problem.metric} {problem.score(y_test, predicted):.3f}"
        print(line(problem.title, name, shown, (fit_s, predict_s), model_bytes(model)), flush=True)
    del models["RandomForest"]
    return Result(models, X_test, y_test)


def draw(results: list[Result], path: Path) -> None:
    """Draw one panel per dataset."""
    from matplotlib.figure import Figure  # without pyplot no display is needed

    figure = Figure(figsize=(12, 4), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for axes, problem, result in zip(panels, PROBLEMS, results, strict=True):
        for name, forest in result.forests.items():
            plot.convergence(forest, result.X_test, result.y_test, label=name, ax=axes)
        axes.set_title(problem.title, fontsize=11)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo_convergence.png"), help="where to draw the picture")
    parser.add_argument("--report", type=Path, default=Path("demo_report.html"), help="where to write the page")
    args = parser.parse_args()
    print(HEADER)
    results = [run(problem) for problem in PROBLEMS]
    if find_spec("matplotlib") is None:
        print(NO_FILES)
    else:
        last = results[-1]
        best = last.forests["BoostForest"]
        best.report(last.X_test, last.y_test, args.report, title="BoostForest on diabetes", target="progression")
        draw(results, args.out)
        print(FILES.format(report=str(args.report), picture=str(args.out)))
    print(NEXT)


if __name__ == "__main__":
    main()
