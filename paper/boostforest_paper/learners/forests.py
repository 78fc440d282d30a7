"""scikit-learn's forests, its single Extra-Tree and its linear SVR."""

from typing import Any

from boostforest_paper.learners import frames, grids, imported, variant
from boostforest_paper.learners.stages import average_of_members


def max_leaf_nodes(n_leaves: int) -> dict[str, Any]:
    """Limit the leaves as scikit-learn does."""
    return {"max_leaf_nodes": n_leaves}


FOREST = {
    "grid": grids.FOREST,
    "judge": "oob",  # as in the paper
    "staged": average_of_members,
    "leaves": max_leaf_nodes,
    "frames": frames.one_hot,
}
imported("RandomForest", "scikit-learn", "sklearn.ensemble:RandomForest{}", defaults={"n_estimators": 250}, **FOREST)
imported(
    "Extra-Trees",
    "scikit-learn",
    "sklearn.ensemble:ExtraTrees{}",
    defaults={"n_estimators": 250, "bootstrap": True},  # with bootstrap, as in the paper
    **FOREST,
)
imported(
    "Extra-Tree", "scikit-learn", "sklearn.tree:ExtraTree{}", threads="", grid=grids.EXTRA_TREE, leaves=max_leaf_nodes
)
imported(
    "SVR",
    "scikit-learn",
    "sklearn.svm:LinearSVR",
    threads="",
    defaults={"max_iter": 10_000},
    tasks=("regression",),
    grid=grids.LINEAR_SVR,
)
# The paper's settings for MNIST and HIGGS.
variant("RandomForest (500)", "RandomForest", n_estimators=500)
variant("Extra-Trees (500)", "Extra-Trees", n_estimators=500)
