"""Learners of today beside the large boosters: EBM, ChimeraBoost, PerpetualBooster, RaFFLE, linear-tree."""

from __future__ import annotations

from typing import Any

from boostforest_paper.learners import Settings, frames, learner
from boostforest_paper.types import Task

REGRESSION: tuple[Task, ...] = ("regression",)


@learner("EBM", "interpret-core", frames=frames.as_it_comes)
def ebm(settings: Settings, **params: Any) -> Any:
    """Make an explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    make = settings.pick(ExplainableBoostingClassifier, ExplainableBoostingRegressor)
    return make(n_jobs=settings.threads, random_state=settings.seed, **params)


@learner("ChimeraBoost", "chimeraboost", warm_up=True, frames=frames.NamedCategories)
def chimera_boost(settings: Settings, **params: Any) -> Any:
    """Make ChimeraBoost."""
    from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

    make = settings.pick(ChimeraBoostClassifier, ChimeraBoostRegressor)
    return make(random_state=settings.seed, thread_count=settings.threads, **params)


@learner("PerpetualBooster", "perpetual")
def perpetual(settings: Settings, **params: Any) -> Any:
    """Make PerpetualBooster."""
    from perpetual import PerpetualClassifier, PerpetualRegressor

    make = settings.pick(PerpetualClassifier, PerpetualRegressor)
    return make(seed=settings.seed, num_threads=settings.threads, **params)


@learner("RaFFLE", "fast-model-trees", tasks=REGRESSION)
def raffle(settings: Settings, **params: Any) -> Any:
    """Make a forest of PILOT trees; 100 trees, as in its README, instead of 10."""
    from pilot import RaFFLE

    return RaFFLE(**{"n_estimators": 100, "random_state": settings.seed, **params})


@learner("linear-tree", "linear-tree")
def linear_tree(settings: Settings, **params: Any) -> Any:
    """Make a tree with ridge (logistic for classes) leaves."""
    from lineartree import LinearTreeClassifier, LinearTreeRegressor
    from sklearn.base import BaseEstimator
    from sklearn.linear_model import LogisticRegression, Ridge

    if not hasattr(BaseEstimator, "_validate_data"):
        raise ImportError("linear-tree does not run with this scikit-learn: it calls a method that was removed in 1.7")
    make, leaf = settings.pick((LinearTreeClassifier, LogisticRegression()), (LinearTreeRegressor, Ridge()))
    return make(leaf, **params)
