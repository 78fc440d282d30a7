"""What monotonic constraints gain and cost where they are true: the tables of docs/constraints.md."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from boostforest_paper import learners, studies
from boostforest_paper.data import DataError, find, paper
from boostforest_paper.data.folder import ANOTHER_FOLDER
from boostforest_paper.learners import Settings
from boostforest_paper.running.fits import timed

Table = tuple[Any, Any, Any]  # X, y, standard deviation of y; None for classes
Group = Iterator[tuple[str, Any, list[tuple[Table, Table]]]]  # name, constraints, training and test part by repeat

# What one would say before having seen the data.
CONSTRAINTS = {
    "AMPG": {"weight": -1, "horsepower": -1, "model_year": 1},
    "BH": {"RM": 1, "LSTAT": -1, "CRIM": -1, "PTRATIO": -1},
    "CCPP": {"AT": -1, "V": -1},
    "CCS": {"cement": 1, "blast_furnace_slag": 1, "water": -1, "age": 1},
    "CS": {"cement": 1, "slag": 1, "water": -1},
    "NO": {"log_cars_per_hour": 1, "wind_speed": -1},
    "PID": {"glucose": 1, "bmi": 1, "pregnancies": 1, "pedigree": 1, "age": 1},
}
SIGNALS: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "linear": (lambda X: X[:, 0] + 3 * X[:, 1], [1, 0, 0, 0, 0, 0]),
    "curved": (lambda X: np.logaddexp(0, 2 * X[:, 0]) - np.exp(-X[:, 2]) + 2 * X[:, 1], [1, 0, 1, 0, 0, 0]),
    "root, absolute": (lambda X: 3 * np.cbrt(X[:, 0]) + 3 * np.abs(X[:, 1]), [1, 0, 0, 0, 0, 0]),
    "step, sine": (lambda X: 3 * (X[:, 0] > 0.3) + 3 * X[:, 1] + np.sin(3 * X[:, 1]), [1, 0, 0, 0, 0, 0]),
    "product": (lambda X: 2 * np.exp(0.7 * X[:, 0]) * (np.sin(2 * X[:, 1]) + 1.2) + X[:, 2], [1, 0, 1, 0, 0, 0]),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, tuple(CONSTRAINTS), repeats=10, trees=100)


def unfitted(trees: int, seed: int, constraints: Any, classify: bool) -> dict[str, Any]:
    """Return the learners to compare."""
    settings = Settings("classification" if classify else "regression", 0, 2 if classify else 0, seed, 1)
    forest, booster = learners.find("BoostForest"), learners.find("HistGradientBoosting")
    return {
        "free": forest.build(settings, {"n_estimators": trees}),
        "constrained": forest.build(settings, {"n_estimators": trees, "monotonic_cst": constraints}),
        "HGB": booster.build(settings, {}),
        "HGB constrained": booster.build(settings, {"monotonic_cst": constraints}),
    }


def measure(train: Table, test: Table, constraints: Any, trees: int, seed: int) -> dict[str, tuple[float, ...]]:
    """Return per learner: error (RMSE in standard deviations, or log-loss), seconds to fit, seconds to predict."""
    (X, y), (X_new, y_new, deviation) = train[:2], test
    figures = {}
    for name, model in unfitted(trees, seed, constraints, classify=deviation is None).items():
        _, fit = timed(lambda model=model: model.fit(X, y))
        predict = model.predict_proba if deviation is None else model.predict
        output, seconds = timed(lambda predict=predict: predict(X_new))
        error = log_loss(y_new, output) if deviation is None else np.sqrt(np.mean((output - y_new) ** 2)) / deviation
        figures[name] = float(error), fit, seconds
    return figures


def real_tables(names: list[str], folder: Path, share: float, seeds: range) -> Group:
    """Yield the datasets with their constraints, split at random."""
    for name in names:
        frame = paper.read_frame(name, folder)
        target = frame.pop("target")
        deviation = target.std() if pd.api.types.is_float_dtype(target) else None
        frame = frame.select_dtypes("number")
        parts = []
        for seed in seeds:
            X, X_new, y, y_new = train_test_split(frame, target, train_size=share, random_state=seed)
            parts.append(((X, y, deviation), (X_new, y_new, deviation)))
        yield f"{name} ({int(share * len(frame))} rows)", CONSTRAINTS[name], parts


def synthetic_tables(n: int, noise: float, seeds: range) -> Group:
    """Yield functions that are known, seen through noise; the error is that of the function itself."""
    for name, (signal, constraints) in SIGNALS.items():
        parts = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            X, X_new = rng.normal(size=(n, 6)), rng.normal(size=(2000, 6))
            deviation = signal(X_new).std()
            y = signal(X) + noise * deviation * rng.normal(size=n)
            parts.append(((X, y, deviation), (X_new, signal(X_new), deviation)))
        yield f"{name} ({n} rows, noise {noise:g})", constraints, parts


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per table; of other sources than the files the columns have other names."""
    names = [find(name).name for name in args.datasets]
    for name in names:
        if name not in CONSTRAINTS or not (args.data / f"{name}.parquet").is_file():
            raise DataError(f"{args.data} has no {name}.parquet with known constraints; {ANOTHER_FOLDER}.")
    seeds = range(args.repeats)
    groups = [real_tables(names, args.data, share, seeds) for share in (0.8, 0.2)]
    groups += [synthetic_tables(n, noise, seeds) for n in (300, 1500) for noise in (0.3, 1.0)]
    for group in groups:
        for name, constraints, parts in group:
            yield line(name, [measure(*part, constraints, args.trees, seed) for seed, part in enumerate(parts)])


def line(name: str, runs: list[dict[str, tuple[float, ...]]]) -> dict[str, Any]:
    """Return mean errors, what the constraints change with its standard error, and the times over those without."""
    error, fit, predict = np.array([list(run.values()) for run in runs]).transpose(2, 1, 0)
    change = error[1] - error[0]
    spread = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
    free, bound, other, other_bound = (f"{mean:.4f}" for mean in error.mean(axis=1))
    fit_ratio, predict_ratio = (f"× {np.median(t[1]) / np.median(t[0]):.2f}" for t in (fit, predict))
    return {
        "table": name,
        "free": free,
        "constrained": bound,
        "difference": f"{change.mean():+.4f} ± {spread:.4f}",
        "HGB": other,
        "HGB constrained": other_bound,
        "fit": fit_ratio,
        "predict": predict_ratio,
    }
