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


def _trees_of(max_depth: int) -> Any:
    """Make the trees that MultiBoost and FilterBoost get; the paper's ``tree_depth`` is a parameter of theirs."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=max_depth)


@learner("MultiBoosting", "boostforest", tasks=CLASSIFICATION, grid=grids.MULTI_BOOSTING)
def multi_boosting(settings: Settings, *, max_depth: int = 4, **params: Any) -> Any:
    """Make MultiBoost."""
    from boostforest_paper.baselines import MultiBoostClassifier

    return MultiBoostClassifier(_trees_of(max_depth), random_state=settings.seed, **params)


imported(
    "DeepBoosting",
    "boostforest",
    f"{BASELINES}DeepBoostClassifier",
    threads="",
    tasks=CLASSIFICATION,
    max_classes=2,
    grid=grids.DEEP_BOOSTING,
)


@learner(
    "FilterBoost", "boostforest", tasks=CLASSIFICATION, max_classes=2, grid=grids.FILTER_BOOST, stop=fit_best_stage
)
def filter_boost(settings: Settings, *, max_depth: int = 1, **params: Any) -> Any:
    """Make FilterBoost."""
    from boostforest_paper.baselines import FilterBoostClassifier

    return FilterBoostClassifier(_trees_of(max_depth), random_state=settings.seed, **params)


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
