"""Gradient boosting: XGBoost, LightGBM, scikit-learn's own, CatBoost, and the bagged ones of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy.typing as npt

from boostforest_paper.learners import Outputs, Params, Settings, frames, grids, learner, variant
from boostforest_paper.types import Floats

PATIENCE = 50  # the paper's early_stopping_rounds


def _output(model: Any, X: Floats, **options: Any) -> npt.NDArray:
    predict = getattr(model, "predict_proba", model.predict)
    return predict(X, **options)


def stop_xgboost(model: Any, X: Floats, y: npt.NDArray, X_judge: Floats, y_judge: npt.NDArray) -> Params:
    """Stop when the second part's loss has not got better for 50 rounds."""
    model.set_params(early_stopping_rounds=PATIENCE)
    model.fit(X, y, eval_set=[(X_judge, y_judge)], verbose=False)
    return {"n_estimators": model.best_iteration + 1}


def staged_xgboost(model: Any, X: Floats, sizes: Sequence[int]) -> Outputs:
    """Yield the outputs of the first rounds."""
    for size in sizes:
        yield _output(model, X, iteration_range=(0, size))


def xgboost_leaves(n_leaves: int) -> Params:
    """Grow the best leaf first, so that the number of leaves is the only limit."""
    return {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}


@learner(
    "XGBoost",
    "xgboost",
    grid=grids.xgboost,
    stop=stop_xgboost,
    staged=staged_xgboost,
    leaves=xgboost_leaves,
    frames=frames.xgboost,
)
def xgboost(settings: Settings, **params: Any) -> Any:
    """Make XGBoost."""
    import xgboost as xgb

    make = settings.pick(xgb.XGBClassifier, xgb.XGBRegressor)
    return make(n_jobs=settings.threads, random_state=settings.seed, **params)


def stop_lightgbm(model: Any, X: Floats, y: npt.NDArray, X_judge: Floats, y_judge: npt.NDArray) -> Params:
    """Stop when the second part's loss has not got better for 50 rounds."""
    import lightgbm as lgb

    second = {"eval_set": [(X_judge, y_judge)]}
    if "eval_X" in signature(model.fit).parameters:  # since 4.7
        second = {"eval_X": X_judge, "eval_y": y_judge}
    model.fit(X, y, **second, callbacks=[lgb.early_stopping(PATIENCE, verbose=False)])
    return {"n_estimators": max(1, model.best_iteration_)}


def staged_lightgbm(model: Any, X: Floats, sizes: Sequence[int]) -> Outputs:
    """Yield the outputs of the first rounds."""
    for size in sizes:
        yield _output(model, X, num_iteration=size)


LIGHTGBM = {
    "stop": stop_lightgbm,
    "staged": staged_lightgbm,
    "leaves": lambda n_leaves: {"num_leaves": n_leaves},
    "frames": frames.with_categories,
}


@learner("LightGBM", "lightgbm", grid=grids.lightgbm, **LIGHTGBM)
def lightgbm(settings: Settings, **params: Any) -> Any:
    """Make LightGBM."""
    import lightgbm as lgb

    make = settings.pick(lgb.LGBMClassifier, lgb.LGBMRegressor)
    return make(n_jobs=settings.threads, random_state=settings.seed, verbosity=-1, **params)


variant("LightGBM-linear", "LightGBM", linear_tree=True)
variant("LightGBM (31 leaves)", "LightGBM", n_estimators=100, num_leaves=31, max_bin=255, min_child_samples=20)
variant("LightGBM-linear (31 leaves)", "LightGBM (31 leaves)", linear_tree=True, linear_lambda=0.01)


@learner(
    "HistGradientBoosting",
    "scikit-learn",
    leaves=lambda n_leaves: {"max_leaf_nodes": n_leaves},
    frames=frames.with_categories,
)
def hist_gradient_boosting(settings: Settings, **params: Any) -> Any:
    """Make scikit-learn's histogram booster; its threads are those of the environment."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = settings.pick(HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    return make(random_state=settings.seed, **params)


@learner("CatBoost", "catboost", frames=frames.NamedCategories)
def catboost(settings: Settings, **params: Any) -> Any:
    """Make CatBoost, which neither prints nor writes its log files."""
    import catboost as cat

    make = settings.pick(cat.CatBoostClassifier, cat.CatBoostRegressor)
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": settings.threads}
    return make(random_seed=settings.seed, **quiet, **params)


@learner("Bagging-LightGBM", "lightgbm")
def bagging_lightgbm(settings: Settings, *, n_estimators: int = 600, **params: Any) -> Any:
    """Bag 600 LightGBMs of 1,000 rounds each, as in the paper."""
    import lightgbm  # noqa: F401 - it may be missing

    from boostforest_paper.baselines import BaggedLightGBMClassifier, BaggedLightGBMRegressor

    make = settings.pick(BaggedLightGBMClassifier, BaggedLightGBMRegressor)
    return make(n_estimators, n_jobs=settings.threads, random_state=settings.seed, **params)


@learner("Bagging-XGBoost", "xgboost")
def bagging_xgboost(settings: Settings, *, n_estimators: int = 500, **params: Any) -> Any:
    """Bag 500 XGBoosts of 1,000 rounds each, as in the paper."""
    import xgboost  # noqa: F401 - it may be missing

    from boostforest_paper.baselines import BaggedXGBoostClassifier, BaggedXGBoostRegressor

    make = settings.pick(BaggedXGBoostClassifier, BaggedXGBoostRegressor)
    return make(n_estimators, n_jobs=settings.threads, random_state=settings.seed, **params)


# The paper's settings for MNIST and HIGGS.
variant("Bagging-LightGBM (500)", "Bagging-LightGBM", n_estimators=500)
variant("Bagging-LightGBM (60)", "Bagging-LightGBM", n_estimators=60)  # 600 take minutes a dataset
variant("Bagging-XGBoost (500)", "Bagging-XGBoost", n_estimators=500)
