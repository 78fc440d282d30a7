"""The paper's other ensembles, which ``boostforest_paper.baselines`` holds as they are written."""

from typing import Any

from boostforest_paper.learners import Settings, grids, imported, learner, variant
from boostforest_paper.learners.stages import fit_best_stage, keep_best_members, staged_outputs
from boostforest_paper.types import Task

CLASSIFICATION: tuple[Task, ...] = ("classification",)
BASELINES = "boostforest_paper.baselines:"


imported(
    "GBDT-PL",
    "boostforest",
    f"{BASELINES}GBDTPL{{}}",
    seed="",
    # The paper's code knows no least number of rows, only a least sum of hessians.
    defaults={"max_var": 5, "max_bins": 255, "min_samples_leaf": 1},
    grid=grids.gbdt_pl,
    stop=fit_best_stage,
    staged=staged_outputs,
)
variant("GBDT-PL (31 leaves)", "GBDT-PL", n_estimators=100, max_leaf_nodes=31, reg_lambda=0.01, min_samples_leaf=20)


def _boosts_trees(name: str, estimator: str, depth: int, **options: Any) -> None:
    """Register a baseline that boosts trees; the paper's ``tree_depth`` is a parameter of theirs."""

    @learner(name, "boostforest", tasks=CLASSIFICATION, **options)
    def make(settings: Settings, *, max_depth: int = depth, **params: Any) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        from boostforest_paper import baselines

        tree = DecisionTreeClassifier(max_depth=max_depth)
        return getattr(baselines, estimator)(tree, random_state=settings.seed, **params)


_boosts_trees("MultiBoosting", "MultiBoostClassifier", 4, grid=grids.MULTI_BOOSTING)
imported(
    "DeepBoosting",
    "boostforest",
    f"{BASELINES}DeepBoostClassifier",
    threads="",
    tasks=CLASSIFICATION,
    max_classes=2,
    grid=grids.DEEP_BOOSTING,
)
_boosts_trees("FilterBoost", "FilterBoostClassifier", 1, max_classes=2, grid=grids.FILTER_BOOST, stop=fit_best_stage)
imported(
    "BaggedTAO-l",
    "boostforest",
    f"{BASELINES}BaggedTAOClassifier",
    tasks=CLASSIFICATION,
    grid=grids.BAGGED_TAO,
    stop=keep_best_members,
)
variant("BaggedTAO-l (50 trees)", "BaggedTAO-l", n_estimators=50)  # 250 take minutes a dataset
imported("ELM", "boostforest", f"{BASELINES}ELMRegressor", threads="", tasks=("regression",), grid=grids.ELM)


def _register_networks(name: str, n_estimators: int, epochs: int) -> None:
    """Register bagged networks, with the paper's settings for MNIST (CNN) or HIGGS (DNN)."""

    @learner(name, "boostforest", tasks=CLASSIFICATION, scales_itself=True)
    def make(settings: Settings, **params: Any) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        from boostforest.nodes.torch import CNN, MLP, require_torch
        from boostforest_paper.baselines import BaggedNetworksClassifier
        from boostforest_paper.learners.own import HIGGS_ROWS, as_shares

        require_torch()
        fixed = {"n_estimators": n_estimators, "epochs": epochs, "random_state": settings.seed, **params}
        if "CNN" in name:
            networks = BaggedNetworksClassifier(CNN((28, 28)), batch_size=1024, scale=False, **fixed)
            return make_pipeline(FunctionTransformer(as_shares), networks)
        if settings.n_rows > HIGGS_ROWS:
            fixed["max_samples"] = HIGGS_ROWS
        return BaggedNetworksClassifier(MLP(), batch_size=2048, **fixed)


for _net in ("CNN", "DNN"):
    _register_networks(f"Bagging-{_net}_150", 100, 150)
    _register_networks(f"Bagging-{_net}_3", 6300, 3)
