"""scikit-learn's forests, its single Extra-Tree and its linear SVR."""

from __future__ import annotations

from typing import Any

from boostforest_paper.learners import Settings, frames, grids, learner, variant
from boostforest_paper.learners.stages import average_of_members


def max_leaf_nodes(n_leaves: int) -> dict[str, Any]:
    """Limit the leaves as scikit-learn does."""
    return {"max_leaf_nodes": n_leaves}


FOREST = {
    "grid": grids.forest,
    "judge": "oob",  # as in the paper
    "staged": average_of_members,
    "leaves": max_leaf_nodes,
    "frames": frames.one_hot,
}


@learner("RandomForest", "scikit-learn", **FOREST)
def random_forest(settings: Settings, **params: Any) -> Any:
    """Make a random forest; 250 trees unless something else is said."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    make = settings.pick(RandomForestClassifier, RandomForestRegressor)
    return make(**{"n_estimators": 250, "n_jobs": settings.threads, "random_state": settings.seed, **params})


@learner("Extra-Trees", "scikit-learn", **FOREST)
def extra_trees(settings: Settings, **params: Any) -> Any:
    """Make a forest of Extra-Trees, with bootstrap as in the paper."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    make = settings.pick(ExtraTreesClassifier, ExtraTreesRegressor)
    defaults = {"n_estimators": 250, "bootstrap": True, "n_jobs": settings.threads, "random_state": settings.seed}
    return make(**{**defaults, **params})


@learner("Extra-Tree", "scikit-learn", grid=grids.extra_tree, leaves=max_leaf_nodes)
def extra_tree(settings: Settings, **params: Any) -> Any:
    """Make a single Extra-Tree."""
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

    return settings.pick(ExtraTreeClassifier, ExtraTreeRegressor)(random_state=settings.seed, **params)


@learner("SVR", "scikit-learn", tasks=("regression",), grid=grids.linear_svr)
def linear_svr(settings: Settings, **params: Any) -> Any:
    """Make a linear support vector regression."""
    from sklearn.svm import LinearSVR

    return LinearSVR(random_state=settings.seed, max_iter=10_000, **params)


# The paper's settings for MNIST and HIGGS.
variant("RandomForest (500)", "RandomForest", n_estimators=500)
variant("Extra-Trees (500)", "Extra-Trees", n_estimators=500)
