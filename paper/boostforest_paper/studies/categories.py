"""Tables as they come: categories and missing values straight in, beside encoding and filling by hand.

``python -m benchmarks.real_tables categories``: six of Weka's example tables, against the same forest behind mean
imputation and one-hot encoding. ``python -m benchmarks.real_tables missing``: ten of the paper's datasets with cells
knocked out, against two boosters that take missing values too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import datasets, report
from boostforest_paper.datasets import Floats
from boostforest_paper.studies import arff

WEKA_DIR = Path("/usr/share/doc/weka/examples")  # Debian's package weka-doc
WEKA_TABLES = ("credit-g", "breast-cancer", "vote", "soybean", "labor", "supermarket")
KNOCKED_OUT = ("SEE", "VC3", "PID", "VS", "DRD", "AMPG", "NO", "BH", "CCS", "ASN")
SHARES = (0.1, 0.3, 0.5)
FOLDS = 5


# ----------------------------------------------------------------------------------------------------------- categories


def by_hand(forest: Any, frame: pd.DataFrame, missing_level: bool) -> Pipeline:
    """Return a forest behind mean imputation and one-hot encoding; a missing category is a level, or all zeros."""
    categories = list(frame.select_dtypes("category"))
    levels = "auto" if missing_level else [frame[name].cat.categories for name in categories]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
    numbers = [name for name in frame if name not in categories]
    return make_pipeline(make_column_transformer((SimpleImputer(), numbers), (one_hot, categories)), forest)


CATEGORY_LEARNERS: dict[str, Callable[[Any, pd.DataFrame], Any]] = {
    "straight in": lambda forest, frame: forest,
    "one-hot, missing as a level": lambda forest, frame: by_hand(forest, frame, True),
    "one-hot, missing as zeros": lambda forest, frame: by_hand(forest, frame, False),
}


def score_classifier(model: Any, X: Any, y: npt.NDArray[Any]) -> tuple[float, float]:
    """Return accuracy and mean log loss; a class that the training part did not have counts as probability 1e-6."""
    p = model.predict_proba(X)
    index = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[index] == y, p[np.arange(len(y)), index], 0.0)
    return float(np.mean(model.classes_[p.argmax(axis=1)] == y)), float(-np.log(np.maximum(own, 1e-6)).mean())


def run_categories(args: argparse.Namespace) -> dict[str, Any]:
    """Cross-validate every learner on Weka's tables; print accuracy and log loss."""
    record = {}
    head = f"{'table':<14}{'rows':>6}{'columns':>8}  {'learner':<28}{'accuracy':>9}{'log loss':>9}"
    print(f"{head}   straight in is ahead by (± 2 standard errors)")
    for name in args.tables:
        frame = arff.read(args.weka / f"{name}.arff").iloc[:: args.every if name == "supermarket" else 1]
        frame = frame.dropna(axis=1, how="all")  # a quarter of supermarket leaves columns without a value
        y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
        scores: dict[str, list[tuple[float, float]]] = {learner: [] for learner in CATEGORY_LEARNERS}
        splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=args.repeats, random_state=0)
        for seed, (train, test) in enumerate(splitter.split(frame, y)):
            for learner, make in CATEGORY_LEARNERS.items():
                forest = BoostForestClassifier(args.estimators, n_jobs=args.n_jobs, random_state=seed)
                model = make(forest, frame)
                model.fit(frame.iloc[train], y[train])
                scores[learner].append(score_classifier(model, frame.iloc[test], y[test]))
        record[name] = {learner: np.array(values) for learner, values in scores.items()}
        for learner, values in record[name].items():
            print(
                f"{name:<14}{len(y):>6}{frame.shape[1]:>8}  {learner:<28}"
                + compare(values, record[name]["straight in"])
            )
        sys.stdout.flush()
    for learner in CATEGORY_LEARNERS:
        mean = np.mean([record[name][learner].mean(axis=0) for name in args.tables], axis=0)
        print(f"{'average':<14}{'':>14}  {learner:<28}{mean[0]:>9.4f}{mean[1]:>9.4f}")
    return record


def compare(values: Floats, base: Floats) -> str:
    """Return mean scores, and what the base is ahead of them with two standard errors.

    The errors are Nadeau and Bengio's: folds share training rows, so plain ones would be too small.
    """
    text = "".join(f"{mean:>9.4f}" for mean in values.mean(axis=0))
    if values is base:
        return text
    difference = base - values
    error = 2 * difference.std(axis=0, ddof=1) * np.sqrt(1 / len(values) + 1 / (FOLDS - 1))
    return text + "".join(f"   {d:+.4f} ± {e:.4f}" for d, e in zip(difference.mean(axis=0), error, strict=True))


# -------------------------------------------------------------------------------------------------------------- missing


def boosters(is_classifier: bool, seed: int) -> dict[str, Any]:
    """Return the other learners; one thread each, as threads that wait for each other time nothing but the machine."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    hist = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    light = LGBMClassifier if is_classifier else LGBMRegressor
    return {"HistGB": hist(random_state=seed), "LightGBM": light(random_state=seed, n_jobs=1, verbose=-1)}


def knock_out(X: Floats, share: float, at_random: bool, seed: int) -> Floats:
    """Return the table without a share of its cells: any, or the likelier the larger a value is in its column."""
    ranks = pd.DataFrame(X).rank(pct=True).to_numpy()
    chance = share if at_random else np.minimum(1.0, 2 * share * ranks)
    return np.where(np.random.default_rng(seed).random(X.shape) < chance, np.nan, X)


def conditions() -> Iterator[tuple[float, bool]]:
    """Yield share and mechanism: nothing missing first."""
    yield 0.0, True
    yield from ((share, at_random) for at_random in (True, False) for share in SHARES)


def error_of(model: Any, fold: datasets.Fold, is_classifier: bool) -> float:
    """Return the share of wrong labels, or the RMSE in deviations of the training target."""
    predicted = model.predict(fold.X_test)
    if is_classifier:
        return float(np.mean(predicted != fold.y_test))
    return float(np.sqrt(np.mean((predicted - fold.y_test) ** 2)) / np.std(fold.y_train))


def run_missing(args: argparse.Namespace) -> dict[str, Any]:
    """Score the learners on tables with fewer and fewer cells; print their errors and how these grow."""
    errors: dict[tuple[float, bool], dict[str, dict[str, list[float]]]] = {c: {} for c in conditions()}
    for name in args.datasets:
        X, y = datasets.load(name, args.data)
        is_classifier = datasets.TASKS[name] == "classification"
        forest_class = BoostForestClassifier if is_classifier else BoostForestRegressor
        for condition in errors:
            for repeat in range(args.repeats):
                fold = datasets.fold(knock_out(X, *condition, seed=repeat), y, repeat)
                forest = forest_class(args.estimators, n_jobs=args.n_jobs, random_state=repeat)
                for learner, model in {"BoostForest": forest, **boosters(is_classifier, repeat)}.items():
                    model.fit(fold.X_train, fold.y_train)
                    scores = errors[condition].setdefault(learner, {}).setdefault(name, [])
                    scores.append(error_of(model, fold, is_classifier))
        print_dataset(name, errors)
    print_growth(args.datasets, errors)
    return {
        f"{share:.0%} {'at random' if at_random else 'not at random'}": v for (share, at_random), v in errors.items()
    }


def growth(name: str, learner: str, errors: dict[Any, Any]) -> Floats:
    """Return the error without gaps, then what each condition adds to it; means over the repeats."""
    means = np.array([np.mean(by_learner[learner][name]) for by_learner in errors.values()])
    return np.concatenate([means[:1], means[1:] - means[0]])


def print_row(name: str, learner: str, values: Floats) -> None:
    """Print the error of one learner and how it grows."""
    print(f"{name:<9}{learner:<13}{values[0]:>8.4f}" + "".join(f"{value:>+10.4f}" for value in values[1:]), flush=True)


def print_dataset(name: str, errors: dict[Any, Any]) -> None:
    """Print one dataset's rows, below a head line if it is the first."""
    learners = list(next(iter(errors.values())))
    if list(next(iter(errors.values()))[learners[0]]) == [name]:
        heads = [f"{share:.0%} {'random' if at_random else 'large'}" for share, at_random in list(errors)[1:]]
        print(f"{'dataset':<9}{'learner':<13}{'error':>8}" + "".join(f"{head:>10}" for head in heads))
    for learner in learners:
        print_row(name, learner, growth(name, learner, errors))


def print_growth(names: list[str], errors: dict[Any, Any]) -> None:
    """Print the averages over classification and regression sets: errors of the two are no sum."""
    for task in ("classification", "regression"):
        chosen = [name for name in names if datasets.TASKS[name] == task]
        for learner in next(iter(errors.values())) if chosen else ():
            rows = [growth(name, learner, errors) for name in chosen]
            print_row(f"{task[:7]}.", learner, np.mean(rows, axis=0))


# ----------------------------------------------------------------------------------------------------------------- main


def make_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_tables", description=__doc__)
    parser.add_argument("part", choices=["categories", "missing"])
    parser.add_argument("--repeats", type=int, default=5, help="repeats of a five-fold split, or random splits")
    parser.add_argument("--estimators", type=int, default=250, help="trees of one forest")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of one forest")
    parser.add_argument("--weka", type=Path, default=WEKA_DIR, metavar="DIR", help="folder of Weka's example tables")
    parser.add_argument("--tables", nargs="+", default=list(WEKA_TABLES), choices=WEKA_TABLES, metavar="NAME")
    parser.add_argument("--every", type=int, default=4, help="take every n-th row of supermarket, the largest table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every score here")
    datasets.add_arguments(parser)
    parser.set_defaults(datasets=list(KNOCKED_OUT))
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one part of the benchmark."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = make_parser()
    args = datasets.parse(parser, argv)
    start = perf_counter()
    if args.part == "categories":
        missing = [name for name in args.tables if not (args.weka / f"{name}.arff").is_file()]
        if missing:
            parser.exit(2, f"The folder {args.weka} has no file {missing[0]}.arff; name another one with --weka DIR.\n")
        results = run_categories(args)
    else:
        results = run_missing(args)
    print(f"total time {perf_counter() - start:.1f} s")
    if args.json:
        report.write_json(args.json, args, {"results": _plain(results)})
    return 0


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


if __name__ == "__main__":
    sys.exit(main())
