"""The learners that are timed, each at its defaults but for the number of trees of a forest, threads and seed.

A learner is added by one function, which imports its package itself, and one entry of `LEARNERS`.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # it would bring pandas into every worker
    from boostforest_paper.datasets import Task

BASE = "BoostForest"  # what all others are divided by


class Settings(NamedTuple):
    """What one model is made for."""

    task: Task
    n_estimators: int  # of forests; boosting has its own default
    threads: int
    seed: int


class Learner(NamedTuple):
    """A learner by its names."""

    name: str  # in the tables
    package: str  # to import
    factory: str  # module:function that makes an unfitted model from Settings


def _pick(settings: Settings, classifier: type, regressor: type, **params: Any) -> Any:
    """Make the estimator of the task."""
    estimator = classifier if settings.task == "classification" else regressor
    return estimator(random_state=settings.seed, **params)


def boost_forest(settings: Settings) -> Any:
    """Make a BoostForest."""
    import boostforest as bf

    params = {"n_estimators": settings.n_estimators, "n_jobs": settings.threads}
    return _pick(settings, bf.BoostForestClassifier, bf.BoostForestRegressor, **params)


def random_forest(settings: Settings) -> Any:
    """Make scikit-learn's RandomForest."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    params = {"n_estimators": settings.n_estimators, "n_jobs": settings.threads}
    return _pick(settings, RandomForestClassifier, RandomForestRegressor, **params)


def extra_trees(settings: Settings) -> Any:
    """Make scikit-learn's ExtraTrees."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    params = {"n_estimators": settings.n_estimators, "n_jobs": settings.threads}
    return _pick(settings, ExtraTreesClassifier, ExtraTreesRegressor, **params)


def hist_gradient_boosting(settings: Settings) -> Any:
    """Make scikit-learn's HistGradientBoosting; its threads are those of the environment."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return _pick(settings, HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def lightgbm(settings: Settings, **params: Any) -> Any:
    """Make a LightGBM model."""
    import lightgbm as lgb

    return _pick(settings, lgb.LGBMClassifier, lgb.LGBMRegressor, n_jobs=settings.threads, verbosity=-1, **params)


def lightgbm_linear(settings: Settings) -> Any:
    """Make a LightGBM model with linear leaves."""
    return lightgbm(settings, linear_tree=True)


def xgboost(settings: Settings) -> Any:
    """Make an XGBoost model."""
    import xgboost as xgb

    return _pick(settings, xgb.XGBClassifier, xgb.XGBRegressor, n_jobs=settings.threads)


def catboost(settings: Settings) -> Any:
    """Make a CatBoost model that neither prints nor writes its log files."""
    import catboost as cat

    params = {"thread_count": settings.threads, "verbose": False, "allow_writing_files": False}
    return _pick(settings, cat.CatBoostClassifier, cat.CatBoostRegressor, **params)


def _learner(name: str, package: str, function: str) -> Learner:
    return Learner(name, package, f"{__name__}:{function}")


LEARNERS: dict[str, Learner] = {
    learner.name: learner
    for learner in (
        _learner(BASE, "boostforest", "boost_forest"),
        _learner("RandomForest", "sklearn", "random_forest"),
        _learner("ExtraTrees", "sklearn", "extra_trees"),
        _learner("HistGB", "sklearn", "hist_gradient_boosting"),
        _learner("LightGBM", "lightgbm", "lightgbm"),
        _learner("LightGBM-linear", "lightgbm", "lightgbm_linear"),
        _learner("XGBoost", "xgboost", "xgboost"),
        _learner("CatBoost", "catboost", "catboost"),
    )
}


class _Counter:
    """A file that only counts: the pickle of a large forest would not fit into memory beside it."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        length = memoryview(data).nbytes
        self.n_bytes += length
        return length


def model_bytes(model: Any) -> int:
    """Size of a fitted model: its own count or file format where it has one, else its pickle's length."""
    if hasattr(model, "model_size_"):
        return int(model.model_size_)
    if hasattr(model, "booster_"):
        return len(model.booster_.model_to_string().encode())
    if hasattr(model, "get_booster"):
        return len(model.get_booster().save_raw("ubj"))
    if hasattr(model, "save_model"):
        return _saved_bytes(model)
    counter = _Counter()
    pickle.Pickler(counter, protocol=5).dump(model)
    return counter.n_bytes


def _saved_bytes(model: Any) -> int:
    """Size of the file that CatBoost's own format takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save_model(os.fspath(path), format="cbm")
        return path.stat().st_size
