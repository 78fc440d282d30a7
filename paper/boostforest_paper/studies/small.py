"""How small models are, and what that costs: the tables and the picture of docs/results/small.md."""

import argparse
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import learners, studies
from boostforest_paper.data import Dataset, Table
from boostforest_paper.data.paper import SMALL
from boostforest_paper.learners import Settings
from boostforest_paper.running.problem import Problem, divide
from boostforest_paper.running.size import file_bytes
from boostforest_paper.types import Task

_LOSS: dict[Task, str] = {"classification": "log_loss", "regression": "rmse"}
FOREST, COMPRESSED = "BoostForest", "to LightGBM's size"
# Other libraries with their defaults: their names in the registry, and parameters; None: the number of trees.
_OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "ExtraTrees": ("Extra-Trees", {"n_estimators": None, "bootstrap": False}),
    "RandomForest": ("RandomForest", {"n_estimators": None}),
    "LightGBM": ("LightGBM", {}),
    "XGBoost": ("XGBoost", {}),
    "CatBoost": ("CatBoost", {}),
}
LEARNERS = (FOREST, COMPRESSED, *_OTHERS)
_FEW_ROWS = 1000  # sets whose files are compared with LightGBM's


class Figure(NamedTuple):
    """What a model of one split of a dataset is worth."""

    bytes: int
    loss: float  #: log-loss, or RMSE in units of the target's standard deviation


Key = tuple[str, int, str]  # dataset, repeat, learner
Figures = dict[Key, Figure]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, (*SMALL["classification"], *SMALL["regression"]), repeats=3, trees=250)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=LEARNERS, metavar="NAME")
    parser.add_argument("--store", type=Path, metavar="CSV", help="keep every fit there; none is done again")
    parser.add_argument("--picture", type=Path, metavar="SVG", help="draw loss against bytes, over LightGBM's")


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per dataset, means over the repeats, then one with what they come to."""
    figures = _read(args.store)
    names, sizes = [], {}
    for dataset, table in studies.tables(args):
        for repeat in range(args.repeats):
            for learner, figure in measure(dataset, table, repeat, args, figures):
                figures[dataset.name, repeat, learner] = figure
                _append(args.store, (dataset.name, repeat, learner), figure)
        names.append(dataset.name)
        sizes[dataset.name] = dataset.n_rows
        line: dict[str, Any] = {"dataset": dataset.name, "rows": dataset.n_rows}
        for learner in args.learners:
            if learner == COMPRESSED:
                rise = _rise(figures, dataset.name)
                line[f"{COMPRESSED}: change of the loss"] = "" if rise is None else f"{rise:+.1%}"
                continue
            mean = _mean(figures, dataset.name, learner)
            line[f"{learner}, kB"] = "" if mean is None else f"{mean.bytes / 1e3:,.0f}"
            line[f"{learner}, loss"] = "" if mean is None else f"{mean.loss:.3g}"
        yield line
    for says, value in summary(figures, sizes).items():
        print(f"{says}: {value}")
    if args.picture is not None:
        draw(figures, names, args.picture)


def measure(
    dataset: Dataset, table: Table, repeat: int, args: argparse.Namespace, known: Figures
) -> Iterator[tuple[str, Figure]]:
    """Fit what is not known yet of one split; yield bytes and loss of every model."""
    missing = [name for name in args.learners if (dataset.name, repeat, name) not in known]
    if not missing:
        return
    parts = divide(table, repeat)
    problem = Problem(table, dataset.task, parts.both, parts.test, raw=True)
    settings = Settings(dataset.task, dataset.n_rows, dataset.n_classes, repeat, threads=-1)

    def judged(model: Any) -> Figure:
        loss, size = problem.score(problem.output(model))[_LOSS[dataset.task]], file_bytes(model)
        assert loss is not None
        assert size is not None
        return Figure(size, loss)

    wanted = {*missing, *(["LightGBM"] if COMPRESSED in missing else [])}
    for name, (registered, params) in _OTHERS.items():
        if name in wanted and (dataset.name, repeat, name) not in known:
            params = {key: args.trees if value is None else value for key, value in params.items()}
            model = learners.find(registered).build(settings, params).fit(problem.X, problem.y)
            known[dataset.name, repeat, name] = figure = judged(model)
            yield name, figure
    if FOREST not in missing and COMPRESSED not in missing:
        return
    own = settings.pick(BoostForestClassifier, BoostForestRegressor)
    forest = own(args.trees, random_state=repeat, n_jobs=-1).fit(problem.X, problem.y)
    if FOREST in missing:
        yield FOREST, judged(forest)
    if COMPRESSED in missing:
        small = forest.compress(max_bytes=known[dataset.name, repeat, "LightGBM"].bytes, X=problem.X, y=problem.y)
        yield COMPRESSED, judged(small)


# ------------------------------------------------------------------------------------------------------------- results


def _read(store: Path | None) -> Figures:
    if store is None or not store.is_file():
        return {}
    with store.open(newline="") as file:
        return {(name, int(i), who): Figure(int(size), float(loss)) for name, i, who, size, loss in csv.reader(file)}


def _append(store: Path | None, key: Key, figure: Figure) -> None:
    if store is not None:
        with store.open("a", newline="") as file:
            csv.writer(file).writerow([*key, *figure])


def _mean(figures: Figures, dataset: str, learner: str, beside: str = "") -> Figure | None:
    """Return bytes and loss of a learner, as means over the repeats; ``beside``: those of another learner as well."""
    found = [
        figure
        for (name, repeat, who), figure in figures.items()
        if name == dataset and who == learner and (not beside or (name, repeat, beside) in figures)
    ]
    if not found:
        return None
    return Figure(round(float(np.mean([f.bytes for f in found]))), float(np.mean([f.loss for f in found])))


def _rise(figures: Figures, dataset: str) -> float | None:
    """Return by how much the loss rises where a forest is compressed to LightGBM's size, on the same repeats."""
    small, whole = (_mean(figures, dataset, *pair) for pair in ((COMPRESSED, FOREST), (FOREST, COMPRESSED)))
    return None if small is None or whole is None else small.loss / whole.loss - 1


def _is_below(figures: Figures, dataset: str) -> bool:
    """Tell whether the loss of the compressed forest is below that of LightGBM, on the same repeats."""
    own, other = (_mean(figures, dataset, *pair) for pair in ((COMPRESSED, "LightGBM"), ("LightGBM", COMPRESSED)))
    return own is not None and other is not None and own.loss < other.loss


def summary(figures: Figures, sizes: dict[str, int]) -> dict[str, str]:
    """Return what the means of all sets come to; ``sizes``: their rows."""
    means = {(n, who): mean for n in sizes for who in LEARNERS if (mean := _mean(figures, n, who)) is not None}
    told: dict[str, str] = {}

    def ratios(who: str, names: Iterable[str]) -> list[float]:
        return [means[n, FOREST].bytes / means[n, who].bytes for n in names if {(n, FOREST), (n, who)} <= means.keys()]

    for who, most in (("ExtraTrees", np.inf), ("LightGBM", _FEW_ROWS), ("XGBoost", np.inf), ("CatBoost", np.inf)):
        if found := ratios(who, [n for n, size in sizes.items() if size <= most]):
            of = "" if np.isinf(most) else f" of up to {_FEW_ROWS} rows"
            told[f"file over that of {who}, geometric mean of {len(found)} sets{of}"] = (
                f"{np.exp(np.mean(np.log(found))):.2g}"
            )
    both = [n for n in sizes if _rise(figures, n) is not None and (n, "LightGBM") in means]
    if both:
        rise = [r for n in both if (r := _rise(figures, n)) is not None]
        middle = f"{np.mean(rise):+.1%}, {np.median(rise):+.1%}"
        told["to LightGBM's size: change of the loss, mean and median"] = middle
        better = [n for n in both if _is_below(figures, n)]
        others = ", ".join(n for n in both if n not in better)
        told["to LightGBM's size: below its loss on"] = f"{len(better)} of {len(both)} sets, not on {others or 'none'}"
    return told


def draw(figures: Figures, names: list[str], path: Path) -> None:
    """Draw a point for each dataset and learner: its bytes and its loss, both over LightGBM's."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context({"svg.hashsalt": "small", "svg.fonttype": "none", "font.size": 9}):
        canvas = Canvas(figsize=(7.5, 4.5), layout="constrained")
        axes = canvas.subplots()
        for who in LEARNERS:
            points = []
            for name in names:
                own, base = _mean(figures, name, who), _mean(figures, name, "LightGBM")
                if own is not None and base is not None and who != "LightGBM":
                    points.append((own.bytes / base.bytes, own.loss / base.loss))
            if points:
                x, y = np.array(points).T
                (line,) = axes.plot(x, y, "o", markersize=3, alpha=0.35)
                middle = np.exp(np.median(np.log(x))), np.exp(np.median(np.log(y)))
                axes.plot(*middle, "o", markersize=9, color=line.get_color(), label=who)
        axes.plot(1, 1, "k+", markersize=12, label="LightGBM")
        axes.set(xscale="log", yscale="log", ylim=(0.4, 2.0), xlabel="bytes of the file, over LightGBM's")
        axes.set_ylabel("loss, over LightGBM's")
        axes.set_yticks([0.5, 0.7, 1.0, 1.4, 2.0], ["0.5", "0.7", "1", "1.4", "2"])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8, title="small: a set, large: the median")
        canvas.savefig(path, format="svg", metadata={"Date": None})
