"""The estimators of this library: BoostTree and BoostForest in all their settings, pool forests and model trees."""

from dataclasses import replace
from typing import Any

from boostforest_paper.learners import LEARNERS, Settings, frames, grids, imported, learner, register, variant
from boostforest_paper.learners.forests import max_leaf_nodes
from boostforest_paper.learners.stages import staged_outputs
from boostforest_paper.types import Task

OWN = {"scales_itself": True, "leaves": max_leaf_nodes, "frames": frames.as_it_comes}
CLASSIFICATION: tuple[Task, ...] = ("classification",)
REGRESSION: tuple[Task, ...] = ("regression",)
LEAF_SIZES = (5, 10, 15)  # of table Ex_alpha_MSL
HIGGS_ROWS = 2_000_000  # that each tree of BoostForest-DNN draws at the most


boost_forest = imported(
    "BoostForest",
    "boostforest",
    "boostforest:BoostForest{}",
    defaults={"preset": "paper"},
    staged=staged_outputs,
    **OWN,
)
boost_tree = imported(
    "BoostTree",
    "boostforest",
    "boostforest:BoostTree{}",
    threads="",
    fixed={"min_samples_leaf": 10, "reg_lambda": 0.1},
    **OWN,
)
variant("BoostForest-best", "BoostForest", preset="best")
# The same forests behind one-hot columns and mean imputation: what does it bring to take frames as they come?
for _name in ("BoostForest", "BoostForest-best"):
    register(replace(LEARNERS[_name], name=f"{_name} (one-hot)", frames=frames.one_hot))
variant("BoostForest (w/o clipping)", "BoostForest", tasks=REGRESSION, clip=False)
variant("BoostForest (MSE-SC)", "BoostForest", tasks=REGRESSION, criterion="mse")
variant("BoostForest (Gini-SC)", "BoostForest", tasks=CLASSIFICATION, criterion="gini")
variant("BoostForest (C4.5-SC)", "BoostForest", tasks=CLASSIFICATION, criterion="c45")
# The paper's settings for its largest table.
variant("BoostForest (SUSY)", "BoostForest", tasks=CLASSIFICATION, min_samples_leaf=2, max_leaf_nodes=20_000)
for _leaf in LEAF_SIZES:
    for _lambda in grids.POOL_LAMBDA:
        _name = f"BoostForest (MSL={_leaf}, lambda={float(_lambda)})"
        variant(_name, "BoostForest", min_samples_leaf=_leaf, reg_lambda=_lambda)


def _node_model(kind: str) -> Any:
    """Make the models of nodes whose parameters come from the paper's pools."""
    from boostforest.nodes import ELM, LinearSVR

    if kind == "ELM":
        return ELM(n_hidden=tuple(grids.ELM["n_hidden"]))
    return LinearSVR(C=tuple(grids.LINEAR_SVR["C"]), epsilon=tuple(grids.LINEAR_SVR["epsilon"]))


def _register_nodes(kind: str, **of_a_tree: Any) -> None:
    """Register a forest and a single tree with such models at the nodes; λ of ELMs comes from a pool, too."""

    @learner(f"BoostForest-{kind}", "boostforest", tasks=REGRESSION, **OWN)
    def make_forest(settings: Settings, **params: Any) -> Any:
        return boost_forest(settings, node_model=_node_model(kind), **params)

    @learner(f"BoostTree-{kind}", "boostforest", tasks=REGRESSION, **OWN)
    def make_tree(settings: Settings, **params: Any) -> Any:
        return boost_tree(settings, min_samples_leaf=10, node_model=_node_model(kind), **of_a_tree, **params)


_register_nodes("ELM", reg_lambda=tuple(grids.POOL_LAMBDA))
_register_nodes("SVR")


def as_shares(pixels: Any) -> Any:
    """Return pixels from 0 to 1."""
    return pixels / 255.0


def _network_forest(settings: Settings, node_model: Any, **params: Any) -> Any:
    """Make a BoostForest of 100 trees of depth 5, as the paper's with networks are."""
    from boostforest.nodes.torch import require_torch

    require_torch()
    limits = {"n_estimators": 100, "max_depth": 5, "reg_lambda": 0.1}
    return boost_forest(settings, **{**limits, "node_model": node_model, **params})


@learner("BoostForest-CNN", "boostforest", tasks=CLASSIFICATION, **OWN)
def boost_forest_cnn(settings: Settings, **params: Any) -> Any:
    """Make a BoostForest with convolutional networks at its nodes, with the paper's settings for MNIST."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from boostforest.nodes.torch import CNN, TorchNode

    fixed = {"min_samples_leaf": 1024, "batch_size": None, "scale": False}
    forest = _network_forest(settings, TorchNode(CNN((28, 28)), batch_size=1024), **{**fixed, **params})
    return make_pipeline(FunctionTransformer(as_shares), forest)


@learner("BoostForest-DNN", "boostforest", tasks=CLASSIFICATION, **OWN)
def boost_forest_dnn(settings: Settings, **params: Any) -> Any:
    """Make a BoostForest with networks of about 350,000 parameters at its nodes, the paper's settings for HIGGS."""
    from boostforest.nodes.torch import MLP, TorchNode

    fixed = {"min_samples_leaf": 2048, "batch_size": 100_000}  # the rows that a split is searched on
    if settings.n_rows > HIGGS_ROWS:
        fixed["max_samples"] = HIGGS_ROWS
    return _network_forest(settings, TorchNode(MLP(), batch_size=2048), **{**fixed, **params})


imported("ETForest", "boostforest", "boostforest:ETForest{}", staged=staged_outputs)
imported("LMForest", "boostforest", "boostforest:LMForestClassifier", tasks=CLASSIFICATION)
imported("ModelForest", "boostforest", "boostforest:ModelForestRegressor", tasks=REGRESSION)
# For YB: 250 trees, each leaf with 1,024 slopes for each of 38 classes, would take more than 10 GB.
variant("BoostForest (25 trees)", "BoostForest", tasks=CLASSIFICATION, n_estimators=25)
variant("LMForest (25 trees)", "LMForest", n_estimators=25)
# Weka's options -B -M 5: nodes of more than five rows are split.
imported(
    "LMT",
    "boostforest",
    "boostforest.model_trees:LMTClassifier",
    threads="",
    defaults={"min_samples_split": 6},
    tasks=CLASSIFICATION,
)
# Weka's option -M 5.
imported(
    "M5P",
    "boostforest",
    "boostforest.model_trees:M5PRegressor",
    seed="",
    threads="",
    defaults={"min_samples_leaf": 5},
    tasks=REGRESSION,
)


@learner("Mixture", "boostforest", staged=staged_outputs)
def mixture(settings: Settings, **params: Any) -> Any:
    """Make a pool forest of BoostTrees, Extra-Trees and LMTs or M5Ps, each with the pools of its own forest."""
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

    import boostforest as bf
    from boostforest import model_trees

    leaves = {"min_samples_leaf": range(5, 16)}
    if settings.task == "classification":
        trees = [bf.BoostTreeClassifier(), ExtraTreeClassifier(), model_trees.LMTClassifier(prune=False)]
    else:
        trees = [bf.BoostTreeRegressor(), ExtraTreeRegressor(), model_trees.M5PRegressor(prune=False)]
    pools = [{**leaves, "reg_lambda": grids.POOL_LAMBDA}, leaves, leaves]
    made = settings.pick(bf.PoolForestClassifier, bf.PoolForestRegressor)
    return made(trees, pools=pools, n_jobs=settings.threads, random_state=settings.seed, **params)
