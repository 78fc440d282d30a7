"""Categories and missing values straight in, beside encoding and filling by hand, on six of Weka's example tables."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from boostforest import BoostForestClassifier
from boostforest_paper import studies
from boostforest_paper.data import DataError
from boostforest_paper.studies import arff
from boostforest_paper.types import Floats

TABLES = ("credit-g", "breast-cancer", "vote", "soybean", "labor", "supermarket")
FOLDS = 5


def by_hand(forest: Any, frame: pd.DataFrame, missing_level: bool) -> Pipeline:
    """Return a forest behind mean imputation and one-hot encoding; a missing category is a level, or all zeros."""
    categories = list(frame.select_dtypes("category"))
    levels = "auto" if missing_level else [frame[name].cat.categories for name in categories]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
    numbers = [name for name in frame if name not in categories]
    return make_pipeline(make_column_transformer((SimpleImputer(), numbers), (one_hot, categories)), forest)


WAYS: dict[str, Callable[[Any, pd.DataFrame], Any]] = {
    "straight in": lambda forest, frame: forest,
    "one-hot, missing as a level": lambda forest, frame: by_hand(forest, frame, True),
    "one-hot, missing as zeros": lambda forest, frame: by_hand(forest, frame, False),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--data", type=Path, default=Path("/usr/share/doc/weka/examples"), metavar="DIR",
        help="folder of Weka's example tables, as Debian's package weka-doc brings them",
    )  # fmt: skip
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES, metavar="NAME")
    parser.add_argument("--repeats", type=studies.positive, default=5, metavar="N", help="of five folds")
    parser.add_argument("--trees", type=studies.positive, default=250, metavar="N", help="of a forest")
    parser.add_argument(
        "--every", type=studies.positive, default=4, metavar="N", help="take each N-th row of supermarket"
    )


def read(name: str, folder: Path, every: int) -> tuple[pd.DataFrame, npt.NDArray]:
    """Return a table and its classes; of the largest only some rows."""
    path = folder / f"{name}.arff"
    if not path.is_file():
        raise DataError(f"The folder {folder} has no file {path.name}; name another one with --data DIR.")
    frame = arff.read(path).iloc[:: every if name == "supermarket" else 1]
    frame = frame.dropna(axis=1, how="all")  # a quarter of supermarket leaves columns without a value
    return frame, frame.pop(frame.columns[-1]).astype(str).to_numpy()


def score(model: Any, X: Any, y: npt.NDArray[Any]) -> tuple[float, float]:
    """Return accuracy and mean log loss; a class that the training part did not have counts as probability 1e-6."""
    p = model.predict_proba(X)
    index = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[index] == y, p[np.arange(len(y)), index], 0.0)
    return float(np.mean(model.classes_[p.argmax(axis=1)] == y)), float(-np.log(np.maximum(own, 1e-6)).mean())


def cross_validate(frame: pd.DataFrame, y: npt.NDArray, args: argparse.Namespace) -> dict[str, Floats]:
    """Return accuracy and log loss of every way in every fold."""
    scores: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=args.repeats, random_state=0)
    for seed, (train, test) in enumerate(splitter.split(frame, y)):
        for way, make in WAYS.items():
            model = make(BoostForestClassifier(args.trees, preset="paper", random_state=seed), frame)
            model.fit(frame.iloc[train], y[train])
            scores[way].append(score(model, frame.iloc[test], y[test]))
    return {way: np.array(values) for way, values in scores.items()}


def ahead(values: Floats, base: Floats) -> tuple[str, str]:
    """Return by how much the base has more in accuracy and log loss, with two standard errors.

    The errors are Nadeau and Bengio's: folds share training rows, so plain ones would be too small.
    """
    if values is base:
        return "", ""
    difference = base - values
    error = 2 * difference.std(axis=0, ddof=1) * np.sqrt(1 / len(values) + 1 / (FOLDS - 1))
    accuracy, loss = (f"{d:+.4f} ± {e:.4f}" for d, e in zip(difference.mean(axis=0), error, strict=True))
    return accuracy, loss


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per table and way, then the averages."""
    tables = {name: read(name, args.data, args.every) for name in args.tables}
    means = []
    for name, (frame, y) in tables.items():
        scores = cross_validate(frame, y, args)
        means.append([values.mean(axis=0) for values in scores.values()])
        for way, values in scores.items():
            more = ahead(values, scores["straight in"])
            yield _line(name, f"{len(y)} × {frame.shape[1]}", way, values.mean(axis=0), more)
    for way, mean in zip(WAYS, np.mean(means, axis=0), strict=True):
        yield _line("average", "", way, mean, ("", ""))


def _line(table: str, size: str, way: str, mean: Floats, more: tuple[str, str]) -> dict[str, Any]:
    scores = {"accuracy": f"{mean[0]:.4f}", "log-loss": f"{mean[1]:.4f}"}
    more_by = {"accuracy: more by": more[0], "log-loss: more by": more[1]}
    return {"table": table, "rows × columns": size, "way": way, **scores, **more_by}
