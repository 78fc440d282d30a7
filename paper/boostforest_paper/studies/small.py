"""How small models are, and what that costs: the table of docs/results/small.md."""

from __future__ import annotations

import argparse
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest_paper import studies
from boostforest_paper.data import Dataset, Table
from boostforest_paper.data.paper import SMALL
from boostforest_paper.running.problem import Problem, divide
from boostforest_paper.types import Task

_LOSS: dict[Task, str] = {"classification": "log_loss", "regression": "rmse"}
FOREST, COMPRESSED = "BoostForest", "compressed to LightGBM's size"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    studies.add_common(parser, (*SMALL["classification"], *SMALL["regression"]), repeats=10, trees=250)
    parser.add_argument("--boosters", action="store_true", help="XGBoost and CatBoost, too")


def measure(dataset: Dataset, table: Table, repeat: int, trees: int, boosters: bool) -> dict[str, tuple[int, float]]:
    """Return bytes and loss of every model: log-loss, or RMSE in units of the target's standard deviation."""
    parts = divide(table, repeat)
    problem = Problem(table, dataset.task, parts.both, parts.test, raw=True)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")

        def note(name: str, model: Any, write: Callable[[Any], Any]) -> None:
            write(model)
            loss = problem.score(problem.output(model))[_LOSS[dataset.task]]
            assert loss is not None
            figures[name] = (path.stat().st_size, loss)

        is_regression = dataset.task == "regression"
        own = BoostForestRegressor if is_regression else BoostForestClassifier
        forest = own(trees, random_state=repeat, n_jobs=-1).fit(problem.X, problem.y)
        note(FOREST, forest, lambda m: m.save_model(path))
        others = (
            (ExtraTreesRegressor, RandomForestRegressor)
            if is_regression
            else (ExtraTreesClassifier, RandomForestClassifier)
        )
        for name, cls in zip(("ExtraTrees", "RandomForest"), others, strict=True):
            note(
                name,
                cls(trees, random_state=repeat, n_jobs=-1).fit(problem.X, problem.y),
                lambda m: path.write_bytes(pickle.dumps(m, protocol=5)),
            )
        for name, model, write in _boosters(is_regression, repeat, path, boosters):
            note(name, model.fit(problem.X, problem.y), write)
        try:
            small = forest.compress(max_bytes=figures["LightGBM"][0], X=problem.X, y=problem.y)
            note(COMPRESSED, small, lambda m: m.save_model(path))
        except ValueError as error:
            if "cannot be reached" not in str(error):
                raise
            print(f"{dataset.name}: {error}")
    return figures


def _boosters(
    is_regression: bool, seed: int, path: Path, more: bool
) -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """Yield boosting libraries with their default settings, and how their models are written."""
    import lightgbm

    cls = lightgbm.LGBMRegressor if is_regression else lightgbm.LGBMClassifier
    yield "LightGBM", cls(random_state=seed, verbose=-1), lambda m: m.booster_.save_model(path)
    if not more:
        return
    import catboost
    import xgboost

    cls = xgboost.XGBRegressor if is_regression else xgboost.XGBClassifier
    yield "XGBoost", cls(random_state=seed), lambda m: path.write_bytes(m.get_booster().save_raw("ubj"))
    cls = catboost.CatBoostRegressor if is_regression else catboost.CatBoostClassifier
    own = cls(random_seed=seed, verbose=0, allow_writing_files=False)
    yield "CatBoost", own, lambda m: m.save_model(str(path))


def rows(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a line per dataset and repeat: kilobytes and loss of each model."""
    for dataset, table in studies.tables(args):
        for repeat in range(args.repeats):
            figures = measure(dataset, table, repeat, args.trees, args.boosters)
            line: dict[str, Any] = {"dataset": dataset.name, "rows": dataset.n_rows, "repeat": repeat}
            for name in (FOREST, COMPRESSED, "ExtraTrees", "RandomForest", "LightGBM", "XGBoost", "CatBoost"):
                size, loss = figures.get(name, (None, None))
                if name in figures or args.boosters or name not in ("XGBoost", "CatBoost"):
                    line |= {f"{name}, kB": "" if size is None else f"{size / 1e3:.1f}", f"{name}, loss": loss or ""}
            yield line
