"""Learners of today beside the large boosters: EBM, ChimeraBoost, PerpetualBooster, RaFFLE, linear-tree."""

from typing import Any

from boostforest_paper.learners import Settings, frames, imported, learner

imported("EBM", "interpret-core", "interpret.glassbox:ExplainableBoosting{}", frames=frames.as_it_comes)
imported(
    "ChimeraBoost",
    "chimeraboost",
    "chimeraboost:ChimeraBoost{}",
    threads="thread_count",
    warm_up=True,
    frames=frames.NamedCategories,
)
imported("PerpetualBooster", "perpetual", "perpetual:Perpetual{}", seed="seed", threads="num_threads")
# 100 trees, as in its README, instead of 10.
imported(
    "RaFFLE",
    "fast-model-trees",
    "pilot:RaFFLE",
    threads="",
    defaults={"n_estimators": 100},
    tasks=("regression",),
)


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
