"""BoostForest beside RandomForest on three datasets that ship with scikit-learn.

Prints a table of scores, times and sizes. With matplotlib it then draws how forests of a single stage converge as trees
are added, and writes the report of the last forest as a page to open in a browser.
"""

import argparse
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from boostforest import BoostForestClassifier, BoostForestRegressor

N_TREES = 250
HEADER = f"{'dataset':<26}{'model':<14}{'test score':<15}{'fit':>10}{'predict':>12}{'size':>12}"
TICKS = (1, 3, 10, 30, 100, N_TREES)
# Blue and vermilion of the Okabe-Ito palette stay apart for every kind of colour vision, and the line
# styles differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "BoostForest": {"color": "#0072B2", "linestyle": ":", "linewidth": 1.8},
    "… fast": {"color": "#0072B2", "linestyle": "-", "linewidth": 1.8},
    "RandomForest": {"color": "#D55E00", "linestyle": "--", "linewidth": 1.5},
}

FILES = """
Look at
  {report:<24}the report of BoostForest on diabetes, to open in a browser
  {picture:<24}how the forests converge, tree by tree"""
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

    curves: dict[str, list[float]]  #: test scores by number of trees
    forest: Any  #: BoostForest as it comes
    X_test: Any
    y_test: Any


def staged(model: Any, X: Any) -> Iterator[npt.NDArray]:
    """Yield the predictions of the first 1, 2, ... trees."""
    if hasattr(model, "staged_predict"):
        yield from model.staged_predict(X)
        return
    # scikit-learn's forests have no staged prediction: average their trees as they would do themselves.
    has_classes = hasattr(model, "classes_")
    X = np.asarray(X)  # the trees were fitted to arrays
    outputs = (tree.predict_proba(X) if has_classes else tree.predict(X) for tree in model.estimators_)
    for count, total in enumerate(accumulate(outputs), start=1):
        yield model.classes_[np.argmax(total, axis=1)] if has_classes else total / count


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
    """Fit the forests and print their lines of the table.

    The default has stages that were weighed together: of it there is the last score only.
    """
    X_train, X_test, y_train, y_test = problem.split()
    curves, models = {}, problem.models()
    for name, model in models.items():
        _, fit_s = timed(model.fit, X_train, y_train)
        predicted, predict_s = timed(model.predict, X_test)
        score = problem.score(y_test, predicted)
        shown = f"{problem.metric} {score:.3f}"
        print(line(problem.title, name, shown, (fit_s, predict_s), model_bytes(model)), flush=True)
        single = name != "BoostForest"
        curves[name] = [problem.score(y_test, stage) for stage in staged(model, X_test)] if single else [score]
    return Result(curves, models["BoostForest"], X_test, y_test)


def draw_panel(axes: Any, problem: Problem, curves: dict[str, list[float]]) -> None:
    """Draw one dataset's curves; the trees are on a log scale because the first ten matter most."""
    from matplotlib.ticker import FixedLocator, NullLocator

    for name, scores in curves.items():
        scores = scores * N_TREES if len(scores) == 1 else scores
        axes.plot(range(1, len(scores) + 1), scores, label=name, **STYLES[name])
    axes.set_xscale("log")
    axes.set_xlim(1, N_TREES)
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
    axes.set_title(problem.title, fontsize=11)
    axes.set_xlabel("number of trees")
    axes.set_ylabel(f"test {problem.metric}")
    axes.grid(alpha=0.3, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw(curves: list[dict[str, list[float]]], path: Path) -> None:
    """Draw one panel per dataset, with one legend below them all."""
    from matplotlib.figure import Figure  # without pyplot no display is needed
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08, wspace=0.04)
    figure = Figure(figsize=(12, 4), layout=layout)
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for axes, problem, scores in zip(panels, PROBLEMS, curves, strict=True):
        draw_panel(axes, problem, scores)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
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
        last.forest.report(last.X_test, last.y_test, args.report, title="BoostForest on diabetes", target="progression")
        draw([result.curves for result in results], args.out)
        print(FILES.format(report=str(args.report), picture=str(args.out)))
    print(NEXT)


if __name__ == "__main__":
    main()
