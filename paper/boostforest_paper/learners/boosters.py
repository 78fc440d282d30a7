"""Gradient boosting: XGBoost, LightGBM, scikit-learn's own, CatBoost, and the bagged ones of the paper."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy.typing as npt

from boostforest_paper.learners import Outputs, Params, frames, grids, imported, variant
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


imported(
    "XGBoost",
    "xgboost",
    "xgboost:XGB{}",
    grid=grids.xgboost,
    stop=stop_xgboost,
    staged=staged_xgboost,
    leaves=xgboost_leaves,
    frames=frames.xgboost,
)


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


imported(
    "LightGBM",
    "lightgbm",
    "lightgbm:LGBM{}",
    defaults={"verbosity": -1},
    grid=grids.lightgbm,
    stop=stop_lightgbm,
    staged=staged_lightgbm,
    leaves=lambda n_leaves: {"num_leaves": n_leaves},
    frames=frames.with_categories,
)
variant("LightGBM-linear", "LightGBM", linear_tree=True)
variant("LightGBM (31 leaves)", "LightGBM", n_estimators=100, num_leaves=31, max_bin=255, min_child_samples=20)
variant("LightGBM-linear (31 leaves)", "LightGBM (31 leaves)", linear_tree=True, linear_lambda=0.01)
imported(
    "HistGradientBoosting",
    "scikit-learn",
    "sklearn.ensemble:HistGradientBoosting{}",
    threads="",  # those of the environment
    leaves=lambda n_leaves: {"max_leaf_nodes": n_leaves},
    frames=frames.with_categories,
)
imported(
    "CatBoost",
    "catboost",
    "catboost:CatBoost{}",
    seed="random_seed",
    threads="thread_count",
    defaults={"verbose": False, "allow_writing_files": False},
    frames=frames.NamedCategories,
)
# As many as in the paper, of 1,000 rounds each.
for _name, _members in (("LightGBM", 600), ("XGBoost", 500)):
    imported(
        f"Bagging-{_name}",
        _name.lower(),
        f"boostforest_paper.baselines:Bagged{_name}{{}}",
        needs=_name.lower(),
        defaults={"n_estimators": _members},
    )
    variant(f"Bagging-{_name} (500)", f"Bagging-{_name}", n_estimators=500)  # for MNIST and HIGGS
variant("Bagging-LightGBM (60)", "Bagging-LightGBM", n_estimators=60)  # 600 take minutes a dataset
